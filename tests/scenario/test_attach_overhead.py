#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a pair of malloc and free costs a process that is attached to, and that after it was detached it costs nothing:
instructions counted by callgrind, as `bench/run --only attached` tells them (bench/attached.py)."""
import os
import shutil
import sys

import profiled

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
sys.dont_write_bytecode = True
import attached  # noqa: E402
import harness  # noqa: E402

HOT = 10  # as in front of another malloc than glibc's
PASS = 8  # a jump through the library each way
# Of instructions, which the random numbers of a start move a little: 200 in 5000 pairs, 200 in 200,000.
NOISE, NOISE_AFTER = .04, .001


def costs():
    bench = harness.Bench(profiled.BUILD, False, None)
    bench.programs = os.path.join(bench.scratch, "bench")
    try:
        bench.compile()
        base = attached.slope(bench, "before", attached.MANY)
        while_attached = attached.slope(bench, "attached", attached.FEW) - base
        after = attached.slope(bench, "after", attached.MANY) - base
        saved = attached.slope(bench, "saved", attached.MANY) - base
    finally:
        bench.close()
    profiled.Tap.note("a pair: %.2f; attached %+.3f, detached %+.4f, by saved pointers %+.3f" % (
        base, while_attached, after, saved))
    profiled.expect(abs(after) <= NOISE_AFTER, "detached: %+.4f" % after)
    profiled.expect(1 < while_attached <= HOT + NOISE, "attached: %+.3f" % while_attached)
    profiled.expect(1 < saved <= PASS + NOISE, "by saved pointers: %+.3f" % saved)


def main():
    tap = profiled.Tap()
    if shutil.which("valgrind") is None:
        tap.skip("instructions of a pair", "needs valgrind")
    else:
        tap.attempt("instructions of a pair", costs)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
