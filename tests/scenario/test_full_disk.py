#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The disk fills at random moments: the program goes on, and what was recorded stays.

The trace lies in a file system of a random size (drawn from a recorded seed between nothing and what
the run writes), alone or with another writer that takes what is left after a random time. The
program must do what it does unprofiled; the trace, if its header found room, must read; every
sample that the test build's probe was told of must be in it, or be counted as lost (the last ones wait for
room, and may do so in vain); and if anything else is missing, that must be counted. 6 moments, 100 with BYTEPOLL_LONG_TESTS=1. Needs root, for a mount namespace.
"""
import array
import os
import random
import sys

import profiled

MOMENTS = 100 if profiled.LONG else 6
#            program, largest size of the file system in KiB
PROGRAMS = ((("crossfree", "4", "20000"), 2500), (("thread_storm",), 700), (("fork_storm",), 3000),
            (("dynamic_loading", profiled.program("libplugin.so")), 600))


class Run:
    """One run in a file system of `kilobytes`; `delay_s`: another writer fills it then."""

    def __init__(self, path, words, kilobytes, delay_s):
        small = os.path.join(path, "small")
        os.mkdir(small)
        trace = os.path.join(small, "trace.bpt")
        variables = profiled.environment(trace, 64, 1, recorder=profiled.RECORDER_TEST,
                                         extra={"BYTEPOLL_TEST_REPORT_FD": "9"})
        names = ("LD_PRELOAD", "BYTEPOLL_OUTPUT", "BYTEPOLL_INTERVAL", "BYTEPOLL_SEED",
                 "BYTEPOLL_TEST_REPORT_FD")
        command = " ".join([profiled.program(words[0]), *words[1:]])
        reported = os.path.join(path, "reported")
        filler = ("{ sleep %.3f; cat /dev/zero > %s/fill; } 2>/dev/null & " % (delay_s, small)
                  if delay_s else "")
        script = ("mount -t tmpfs -o size=%dk tmpfs %s || exit 99; %s"
                  "env %s %s 9>>%s; status=$?; kill $! 2>/dev/null; wait; rm -f %s/fill; "
                  "cp -r %s %s/copy; exit $status" % (
                      kilobytes, small, filler,
                      " ".join("%s=%s" % (name, variables[name]) for name in names), command,
                      reported, small, small, path))
        self.result = profiled.run(["unshare", "-m", "sh", "-c", script])
        self.trace = os.path.join(path, "copy", "trace.bpt")
        self.reported = array.array("Q")
        with open(reported, "rb") as file:
            data = file.read()
        self.reported.frombytes(data[:len(data) // 8 * 8])


def judge(run, words):
    """True if anything was lost."""
    plain = profiled.run([profiled.program(words[0]), *words[1:]])
    profiled.expect_same(plain, run.result)
    if not profiled.has_begun(run.trace):
        # A child of fork may have found room that its parent did not.
        profiled.expect(words[0] == "fork_storm" or not run.reported, "samples, but no trace")
        return True
    data = profiled.report(run.trace)
    if words[0] != "fork_storm":  # children number on where their parent was
        present = {sample.sequence for sample in profiled.samples(run.trace)}
        missing = [number for number in run.reported if number not in present]
        lost = data["losses"]["trace_full"]
        profiled.expect(len(missing) <= lost, "%d of %d reported samples are missing, %d counted as lost" % (
            len(missing), len(run.reported), lost))
        profiled.expect(len(run.reported) == data["samples"] + len(missing), "%d reported, %d in the trace" % (
            len(run.reported), data["samples"]))
    return profiled.lost(data) > 0


def main():
    tap = profiled.Tap()
    reason = profiled.no_mounts()
    if reason is not None:
        tap.skip("a disk that fills", reason)
        return tap.finish()
    moments = random.Random(20250601)
    lost = 0
    for number in range(MOMENTS):
        words, largest = PROGRAMS[number % len(PROGRAMS)]
        kilobytes = moments.randrange(4, largest, 4)
        delay_s = moments.uniform(0.001, 0.2) if number % 3 == 2 else 0
        outcome = []
        with profiled.directory() as path:
            tap.attempt("%s in %d KiB%s" % (words[0], kilobytes, ", which somebody else fills after "
                                            "%.0f ms" % (delay_s * 1e3) if delay_s else ""),
                        lambda: outcome.append(judge(Run(path, words, kilobytes, delay_s), words)))
        lost += sum(outcome)
    tap.note("something was lost in %d of %d runs" % (lost, MOMENTS))
    tap.check(lost >= MOMENTS / 3, "the disk did fill")
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
