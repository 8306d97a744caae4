#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The smallest build: without the extras that meson_options.txt lists, bytepoll compiles without a warning,
records, reports, compares, checks, exports and writes a page; and where an extra is asked for, it says in one line
that this build has it not, with the option that would add it.

Usage: core_build.py SOURCE_ROOT BUILD_ROOT
"""

import os
import subprocess
import sys
import tempfile

EXTRAS = ("dotnet", "pprof", "charts", "lua", "lttng", "boehm", "sqlite", "duktape", "zstd")


def run(*words, **more):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def expect(condition, text):
    if not condition:
        sys.exit(text)


def build(source, folder):
    options = ["-D%s=disabled" % name for name in EXTRAS + ("tests",)]
    configured = run("meson", "setup", *options, folder, source)
    expect(configured.returncode == 0, configured.stdout.decode())
    built = run("ninja", "-C", folder, "bytepoll", "libbytepoll-recorder.so")
    text = built.stdout.decode()
    expect(built.returncode == 0 and "warning:" not in text, text)


def works(bytepoll, folder):
    trace = os.path.join(folder, "true.bpt")
    later = os.path.join(folder, "later.bpt")
    for words in (("run", "-o", trace, "--", "ls", "/"), ("run", "-o", later, "--", "ls", "/"), ("report", trace),
                  ("report", "--json", trace), ("diff", trace, later), ("check", trace, "--limit", "peak=1G"),
                  ("export", trace, "--to", "pprof", "-o", trace + ".pb.gz"),
                  ("html", "-o", trace + ".html", trace), ("plan", "--heap", "1G"), ("help",), ("completion", "bash")):
        done = run(bytepoll, *words, stdin=subprocess.DEVNULL)
        expect(done.returncode == 0, "bytepoll %s: %s" % (" ".join(words), done.stdout.decode()))


def says_what_is_missing(bytepoll, source, folder):
    nettrace = os.path.join(folder, "a.nettrace")
    with open(nettrace, "wb") as file:
        file.write(b"Nettrace" + bytes(100))
    pprof = os.path.join(source, "tests/data/pprof/go-1.26.pb.gz")
    text = os.path.join(source, "tests/data/pprof/go-1.26-text.txt")
    for status, option, words in ((125, "dotnet", ("dotnet",)), (1, "dotnet", ("report", nettrace)),
                                  (1, "pprof", ("report", pprof)), (1, "pprof", ("report", text)),
                                  (2, "charts", ("plan", "--chart", "probability", "--svg", folder + "/c.svg"))):
        done = run(bytepoll, *words)
        text = done.stdout.decode()
        expect(done.returncode == status and "-D%s=enabled" % option in text,
               "bytepoll %s: status %d: %s" % (" ".join(words), done.returncode, text))


def main():
    source = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        built = os.path.join(folder, "build")
        build(source, built)
        bytepoll = os.path.join(built, "bytepoll")
        works(bytepoll, folder)
        says_what_is_missing(bytepoll, source, folder)


if __name__ == "__main__":
    main()
