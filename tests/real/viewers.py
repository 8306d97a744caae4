#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports in the viewers they are for: tests/real/viewers.py BUILD. Wants npm, cargo, go, chromium and the
network; no part of `make test`.

speedscope, a pinned version from npm: the file is valid by the schema in the package, and Chromium
without a screen loads it and shows both profiles with the totals that the report has.
flamegraphs: inferno, a pinned version from crates.io, folds the collapsed stacks; its root is the total.
pprof: `go tool pprof -top` sums to the total, `-http` serves a page that has the function that holds most.
"""
import base64
import html
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import jsonschema

SPEEDSCOPE = "speedscope@1.25.0"
INFERNO = "0.12.8"


def run(arguments, **options):
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=180, check=True, **options).stdout


def shown(folder, release, path):
    """The text of speedscope's page with the file loaded."""
    with open(path, "rb") as file:
        data = base64.b64encode(file.read()).decode()
    script = os.path.join(folder, "profile.js")
    with open(script, "w", encoding="utf-8") as file:
        file.write("speedscope.loadFileFromBase64('profile.json', '%s')" % data)
    page = run(["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                "--user-data-dir=" + os.path.join(folder, "chromium"),
                "--virtual-time-budget=10000", "--dump-dom",
                "file://%s/index.html#localProfilePath=%s" % (release, script)])
    return html.unescape(re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page.decode())))


def flamegraph(bytepoll, folder, trace, total):
    """None, or what is wrong with the folded stacks as inferno draws them."""
    stacks, root = os.path.join(folder, "stacks"), os.path.join(folder, "inferno")
    run([bytepoll, "export", trace, "--to", "collapsed", "-o", stacks])
    subprocess.run(["cargo", "install", "--quiet", "inferno@" + INFERNO, "--root", root], check=True)
    drawn = run([os.path.join(root, "bin", "inferno-flamegraph"), "--countname", "bytes", stacks]).decode()
    wanted = "<title>all ({:,} bytes, 100%)".format(total)
    return None if wanted in drawn else "no %s in %s" % (wanted, re.findall("<title>[^<]*", drawn)[:3])


def pprof(bytepoll, folder, trace, total):
    """None, or what is wrong with the profile in Go's pprof, as text and as a page."""
    path = os.path.join(folder, "profile.pb.gz")
    run([bytepoll, "export", trace, "--to", "pprof", "-o", path])
    top = run(["go", "tool", "pprof", "-top", "-unit=bytes", path]).decode()
    if "of %dB total" % total not in top:
        return "no total %d in %s" % (total, top)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % free.getsockname()[1]
    server = subprocess.Popen(["go", "tool", "pprof", "-no_browser", "-http=" + address, path],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = re.search(r"cum%\n.*% +(\S+)", top).group(1)
    try:
        for _ in range(100):
            try:
                with urllib.request.urlopen("http://%s/ui/top" % address, timeout=10) as answer:
                    page = answer.read().decode()
                return None if most in page else "no %s in the page" % most
            except OSError:
                time.sleep(0.1)
        return "no page"
    finally:
        server.kill()
        server.wait()


def main(build):
    bytepoll = os.path.abspath(os.path.join(build, "bytepoll"))
    with tempfile.TemporaryDirectory() as folder:
        run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder,
             SPEEDSCOPE])
        release = os.path.join(folder, "node_modules", "speedscope", "dist", "release")
        trace, path = os.path.join(folder, "git.bpt"), os.path.join(folder, "git.json")
        run([bytepoll, "run", "--quiet", "--interval", "1K", "-o", trace, "--", "git", "--version"])
        run([bytepoll, "export", trace, "--to", "speedscope", "--metric", "allocated", "-o", path])
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        with open(os.path.join(release, "file-format-schema.json"), encoding="utf-8") as file:
            jsonschema.validate(data, json.load(file))
        print("ok 1 - speedscope's schema")
        text = shown(folder, release, path)
        report = json.loads(run([bytepoll, "report", "--json", trace]))
        exact = "bytes %d exactly" % report["totals"]["allocated"]["bytes"]["estimate"]
        good = all(profile["name"] in text for profile in data["profiles"]) and exact in text
        print("%s 2 - speedscope shows both profiles" % ("ok" if good else "not ok"))
        if not good:
            print("# " + text[:600])
        total = round(report["totals"]["live"]["bytes"]["estimate"])
        for number, (name, check) in enumerate((("inferno's root is the total", flamegraph),
                                                ("pprof's total is ours, and its page is served", pprof)), 3):
            said = check(bytepoll, folder, trace, total)
            print("%s %d - %s" % ("ok" if said is None else "not ok", number, name))
            if said is not None:
                print("# " + said[:600])
                good = False
        print("1..4")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
