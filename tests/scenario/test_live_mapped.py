#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The key M of `bytepoll live`: from what a program malloc'ed to what it mapped itself, and back. A program that runs, and
a recording; and one that was recorded without --mapped, of which the view stays and says why."""
import os
import re
import subprocess
import sys

import profiled
from test_live import live

PROGRAM = "import mmap, sys\nmemory = mmap.mmap(-1, 48 << 20)\nkept = [bytes(5000) for i in range(2000)]\n" \
          "print(flush=True)\nsys.stdin.readline()\n"


def start(trace, *options):
    program = subprocess.Popen([profiled.BYTEPOLL, "run", "-q", "--interval", "1024", *options, "-o", trace, "--",
                                "/usr/bin/python3", "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    program.stdout.readline()
    return program


def there_and_back(terminal):
    terminal.wait("live by function")
    terminal.press("M")
    terminal.wait("mapped by function")
    terminal.wait(re.compile("mapped [0-9.]+ MiB.*exactly"))
    terminal.press("m")
    terminal.wait("mapped-ever by function")
    terminal.wait(lambda t: any(float(size) >= 48 for size in re.findall(r"^[> ] .* ([0-9]+\.?[0-9]*) MiB", t.text, re.M)))
    terminal.press("\r")
    terminal.press("M")
    terminal.wait("live by function")
    profiled.expect("exactly" not in terminal.text, terminal.text)
    terminal.press("q")
    profiled.expect(terminal.end() == 0 and not terminal.restored(), "not restored")


def without(terminal):
    terminal.wait("live by function")
    terminal.press("M")
    terminal.wait("--mapped")
    profiled.expect("live by function" in terminal.text, terminal.text)
    terminal.press("q")
    profiled.expect(terminal.end() == 0, "status")


def main():
    tap = profiled.Tap()
    for options, check in ((["--mapped"], there_and_back), ([], without)):
        with profiled.directory() as path:
            trace = os.path.join(path, "trace.bpt")
            program = start(trace, *options)
            kind = "with --mapped" if options else "without"

            def of_file(name=trace, check=check):
                with live("--metric", "live", name, columns=150) as terminal:
                    check(terminal)
            tap.attempt("a program that runs, %s" % kind, of_file)
            program.communicate(b"\n")
            tap.check(program.returncode == 0, "the program ends, %s" % kind, program.returncode)
            tap.attempt("its recording, %s" % kind, of_file)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
