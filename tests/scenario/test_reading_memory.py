#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What memory commands that read a trace take for each sample.

A program is recorded at T = 1 with some 200,000 and some 600,000 samples of the same few call paths, nearly
all of them freed. The largest resident size of each command grows from the one trace to the other by at most
BYTES_MAX a sample, where `html` and `live`, which keep the counters of threads by time, once took 84 to 98.
"""
import os
import subprocess
import sys

import profiled

ROUNDS = (700, 2100)
BYTES_MAX = 48
COMMANDS = {"report": ["report"], "report of a window": ["report", "--from", "0.01s", "--metric", "allocated"],
            "html": ["html", "-o", "-"], "live": ["live", "--once"]}


def peak_bytes(words):
    """The largest resident size of a command."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=profiled.environment()) as process:
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    profiled.expect(process.returncode == 0, "%s: %s" % (" ".join(words), errors.decode()))
    return usage.ru_maxrss * 1024


def record(folder, rounds):
    """(path, samples)"""
    trace = os.path.join(folder, "%d.bpt" % rounds)
    result = profiled.run([profiled.program("leak"), str(rounds)], trace, 1)
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:300]))
    told = subprocess.run([profiled.BYTEPOLL, "report", "--json", trace], stdout=subprocess.PIPE, check=True)
    return trace, profiled.json.loads(told.stdout)["samples"]


def main():
    """Prints TAP."""
    tap = profiled.Tap()
    with profiled.directory() as folder:
        (small, few), (large, many) = (record(folder, rounds) for rounds in ROUNDS)
        tap.check(few > 100000 and many > few + 200000, "there are enough samples", "%d, %d" % (few, many))
        for name, words in COMMANDS.items():
            grown = [peak_bytes([profiled.BYTEPOLL, *words, trace]) for trace in (small, large)]
            slope = (grown[1] - grown[0]) / (many - few)
            tap.note("%s: %.1f bytes a sample, %d KiB" % (name, slope, grown[1] / 1024))
            tap.check(slope <= BYTES_MAX, "%s takes at most %d bytes a sample" % (name, BYTES_MAX),
                      "%.1f: %s for %d and %d" % (slope, grown, few, many))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
