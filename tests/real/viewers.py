#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports in the viewers they are for: tests/real/viewers.py BUILD. Wants npm, chromium and the network;
no part of `make test`.

speedscope, a pinned version from npm: the file is valid by the schema in the package, and Chromium
without a screen loads it and shows both profiles with the totals that the report has.
"""
import base64
import html
import json
import os
import re
import subprocess
import sys
import tempfile

import jsonschema

SPEEDSCOPE = "speedscope@1.25.0"


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
        print("1..2")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
