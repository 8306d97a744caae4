#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The files that commands write where -o, --svg or --html say: they appear whole or not at all, replace
nothing unasked, follow no symbolic link, and leave nothing behind, however the command ends. (What is in
them: test_export.py, test_html.py.) A file system without nameless files is played by strace."""
import collections
import json
import os
import signal
import stat
import subprocess
import sys
import time

import export_read
import profiled
from profiled import expect
from test_export import export, record, refused


def check_files(folder, trace):
    out = os.path.join(folder, "kept")
    with open(out, "w", encoding="utf-8") as file:
        file.write("mine")
    expect("--force" in refused((trace, "--to", "json", "-o", out)), "no --force")
    with open(out, encoding="utf-8") as file:
        expect(file.read() == "mine", "overwritten")
    export(trace, "json", out=out)
    expect(stat.S_IMODE(os.stat(out).st_mode) == 0o600, "mode")
    expect("regular" in refused((trace, "--to", "json", "-o", folder, "--force")), "a folder")
    expect("created" in refused((trace, "--to", "json", "-o", folder + "/no/x")), "no folder")
    torn = os.path.join(folder, "torn.bpt")
    with open(trace, "rb") as source, open(torn, "wb") as target:
        target.write(source.read(100))
    expect(refused((torn, "--to", "json", "-o", folder + "/x")), "torn")
    left = [name for name in os.listdir(folder) if name.startswith(("kept.", "x", "no"))]
    expect(left == [], "left behind: %s" % left)
    result = profiled.run([profiled.BYTEPOLL, "export", trace, "--to", "collapsed", "-o", "-"])
    expect(result.status == 0 and result.stdout.endswith(b"\n"), "standard output")


def check_links(folder, trace):
    """A symbolic link is neither replaced nor followed, with --force or without."""
    target, link = os.path.join(folder, "target"), os.path.join(folder, "link")
    with open(target, "w", encoding="utf-8") as file:
        file.write("mine")
    os.symlink(target, link)
    for words in ((), ("--force",)):
        for command in (("export", trace, "--to", "json"), ("html", trace), ("plan", "--svg", link)):
            output = () if command[0] == "plan" else ("-o", link)
            result = profiled.run([profiled.BYTEPOLL, *command, *output, *words])
            expect(result.status == 1 and b"symbolic link" in result.stderr and not result.stdout,
                   "%s %s: %s" % (command[0], words, result.stderr))
    os.symlink(os.path.join(folder, "nowhere"), link + ".dangling")
    expect("symbolic link" in refused((trace, "--to", "json", "-o", link + ".dangling", "--force")), "dangling")
    with open(target, encoding="utf-8") as file:
        expect(file.read() == "mine" and os.path.islink(link), "followed or replaced")


def check_killed(folder, trace):
    """However an export ends early, nothing of it is left, and what was there stays. A pipe as input
    cannot hold it up, so it is stopped at random moments of a long reading."""
    out = os.path.join(folder, "killed", "out.json")
    os.mkdir(os.path.dirname(out))
    with open(out, "w", encoding="utf-8") as file:
        file.write("mine")
    ended = collections.Counter()
    for i, name in enumerate(("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL") * 6):
        number = getattr(signal, name)
        with subprocess.Popen([profiled.BYTEPOLL, "export", trace, "--to", "json", "--by", "stack", "-o", out,
                               "--force"], stderr=subprocess.DEVNULL, start_new_session=True) as process:
            time.sleep(0.004 * i)
            process.send_signal(number)
        ended[process.returncode] += 1
        expect(process.returncode in (0, -number), "%s: status %s" % (name, process.returncode))
        expect(os.listdir(os.path.dirname(out)) == ["out.json"], "%s left %s" % (
            name, os.listdir(os.path.dirname(out))))
        with open(out, encoding="utf-8") as file:
            text = file.read()
        expect(text == "mine" or json.loads(text), "half a file")
    expect(sum(count for status, count in ended.items() if status < 0) > 3, "nobody was killed: %s" % ended)


def traced_export(folder, trace, *injections):
    """An export on a file system that has no files without a name, as strace plays it."""
    return subprocess.Popen(
        ["strace", "-f", "-o", "/dev/null", "-e", "trace=openat,write,link,rename", "-P", folder,
         "-P", os.path.join(folder, "out.json"), "-e", "inject=openat:error=EOPNOTSUPP:when=1+",
         *injections, profiled.BYTEPOLL, "export", trace, "--to", "json", "-o",
         os.path.join(folder, "out.json")], stderr=subprocess.PIPE, start_new_session=True)


def check_named(folder, trace):
    """The same where a file must have a name from the beginning: only SIGKILL leaves that one."""
    place = os.path.join(folder, "named")
    out = os.path.join(place, "out.json")
    os.mkdir(place)
    with traced_export(place, trace) as process:
        text = process.communicate(timeout=60)[1]
    expect(process.returncode == 0 and os.listdir(place) == ["out.json"], "%s: %s, %s" % (
        process.returncode, text, os.listdir(place)))
    expect(stat.S_IMODE(os.stat(out).st_mode) == 0o600 and export_read.load(out), "mode")
    os.unlink(out)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with traced_export(place, trace, "-e", "inject=link:delay_enter=5000000") as process:
            deadline = time.monotonic() + 30
            while not any(os.stat(entry).st_size for entry in os.scandir(place)):
                expect(process.poll() is None and time.monotonic() < deadline, "it never wrote")
                time.sleep(0.01)
            expect([name[:9] for name in os.listdir(place)] == ["out.json."], os.listdir(place))
            with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="ascii") as file:
                os.kill(int(file.read().split()[0]), number)
            process.wait(60)
        # (A call at which strace held it is made all the same: then it has its name, and is whole.)
        expect(os.listdir(place) in ([], ["out.json"]), "%s left %s" % (number, os.listdir(place)))
        if os.path.exists(out):
            export_read.load(out)
            os.unlink(out)


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        trace = record(folder, "truth.bpt", 2048)
        for name, action in (("output files", check_files), ("links", check_links), ("killed while writing", check_killed),
                             ("killed where a file has a name", check_named)):
            if (name == "killed where a file has a name") == (sys.argv[1:] == ["named"]):
                tap.attempt(name, lambda: action(folder, trace))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
