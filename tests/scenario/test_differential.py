#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every hooked function of the malloc family with every odd argument does what it does without the recorder.

    test_differential.py [NAME=FOLDER...]

`programs/differential.cpp` prints one line for each call; here the lines of profiled runs at T = 1, 64 and the
default are compared with those of a run without. Without arguments the programs use the machine's own C
library; each FOLDER holds the files of another one (libc.so.6 and its loader), which is used through its
own loader (scripts/differential-libcs). A difference counts unless EXPLAINED says why it must be.
"""
import os
import re
import resource
import sys

import profiled

INTERVALS = (1, 64, None)
LINES_MIN = 12000  # what the program prints is not lost on the way
LOADER = "ld-linux-x86-64.so.2"
DIES = r"signal 6, .+"
# (which calls, what each of their outcomes may be under the recorder, why)
EXPLAINED = (
    (r"(free|realloc to 0) of a block that says 33", r"survives|" + DIES,
     "A wrong block of that size goes to the thread's cache unseen while there is room in it, and is noticed "
     "when it is full. Objects that were sampled did not fill it."),
    (r"free twice of \d+", DIES,
     "The process ends either way. glibc's words name the list that the first free put the object on, which "
     "depends on what else is on it; a sampled object is on none of them, and its words are always the same."),
)


def without_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def lines_of(folder, trace, interval):
    """{call: outcome} of one run"""
    program = profiled.program("differential")
    command, preload = [program], {}
    if folder is not None:
        command = [os.path.join(folder, LOADER), "--library-path", folder]
        if trace is not None:
            command += ["--preload", profiled.RECORDER]
            preload = {"LD_PRELOAD": ""}
        command.append(program)
    result = profiled.run(command, trace, interval, extra=preload, before_exec=without_core_files)
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[-300:]))
    lines = result.stdout.decode().splitlines()
    found = dict(line.split(": ", 1) for line in lines)
    profiled.expect(len(found) == len(lines) >= LINES_MIN, "%d lines, %d calls" % (len(lines), len(found)))
    return found


def explained(call, outcome):
    return any(re.fullmatch(calls, call) and
               all(re.fullmatch(allowed, part) for part in outcome.split(" | "))
               for calls, allowed, _ in EXPLAINED)


def compare(name, folder, plain, interval):
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        found = lines_of(folder, trace, interval)
        samples = profiled.report(trace)["samples"]
    profiled.expect(samples > 100, "%d samples" % samples)
    profiled.expect(found.keys() == plain.keys(), "other calls were made: %s" % sorted(
        found.keys() ^ plain.keys())[:5])
    different = [call for call in plain if plain[call] != found[call]]
    wrong = [call for call in different if not explained(call, found[call])]
    profiled.Tap.note("%s at T = %s: %d calls compared, %d samples, %d explained differences" % (
        name, interval or "default", len(plain), samples, len(different) - len(wrong)))
    profiled.expect(not wrong, "%d calls differ:\n" % len(wrong) + "\n".join(
        "%s: %s\n    instead of: %s" % (call, found[call], plain[call]) for call in wrong[:20]))


def main():
    libraries = dict(word.split("=", 1) for word in sys.argv[1:]) or {"own": None}
    tap, compared, functions = profiled.Tap(), 0, set()
    for name, folder in libraries.items():
        plain = {}
        if not tap.attempt("%s: unprofiled" % name, lambda: plain.update(lines_of(folder, None, None))):
            continue
        functions |= {re.split(r"\(|\.| of | from ", call)[0] for call in plain}
        for interval in INTERVALS:
            tap.attempt("%s: T = %s" % (name, interval or "default"),
                        lambda: compare(name, folder, plain, interval))
            compared += len(plain)
    profiled.Tap.note("%d functions, %d intervals, %d C libraries: %d comparisons of calls with all "
                      "their arguments" % (len(functions), len(INTERVALS), len(libraries), compared))
    for calls, _, reason in EXPLAINED:
        profiled.Tap.note("explained: %s: %s" % (calls, reason))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
