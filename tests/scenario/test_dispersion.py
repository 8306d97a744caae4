#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""2000 short threads and 500 short forks that allocate the same: are their streams independent?

With s_i samples in stream i of R, D = sum (s_i - mean)^2 / (mean (1 - pi)) / (R - 1) is 1 with
standard deviation sqrt(2 / R) for independent binomial counts. The bands (1 +- 0.155 for 2000, 1 +-
0.309 for 500) and the limit of the sum (4.9 standard deviations) have a false-alarm rate of 1e-6
each, so about 1e-5 for the whole test where seeds are drawn by the system. Streams seeded from
recycled addresses, or inherited over fork, leave the bands by far.
"""
import collections
import math
import os
import sys

import profiled
import rules

INTERVAL = 1024
OBJECTS, SIZE = 160, 64


def counts_of(kind, streams, seed):
    """Samples in each stream; the main thread's (ordinal 1 of the first process) are left out."""
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = profiled.run([profiled.program("many_streams"), kind, str(streams), str(OBJECTS),
                               str(SIZE)], trace, INTERVAL, seed)
        profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr))
        found = profiled.samples(trace)
    own = [sample for sample in found if sample.size == SIZE]
    counts = collections.Counter((sample.pid, sample.thread) for sample in own)
    profiled.expect(len(counts) <= streams, "%d streams instead of %d" % (len(counts), streams))
    return [counts[key] for key in counts] + [0] * (streams - len(counts))


def judge(tap, kind, streams, seed):
    name = "%d %s, %s" % (streams, kind, "seed %d" % seed if seed else "seeds of the system")
    try:
        counts = counts_of(kind, streams, seed)
    except AssertionError as error:
        tap.check(False, name, str(error))
        return
    probability = rules.inclusion_probability(SIZE, INTERVAL)
    expected = streams * OBJECTS * probability
    distance = (sum(counts) - expected) / math.sqrt(expected * (1 - probability))
    tap.check(abs(distance) <= 4.9, name + ": as many samples as are due",
              "%d instead of %.0f: %+.1f standard deviations" % (sum(counts), expected, distance))
    if not sum(counts):
        tap.check(False, name + ": dispersion", "no samples")
        return
    spread = rules.dispersion(counts, probability)
    tap.check(abs(spread - 1) <= rules.dispersion_band(streams), name + ": dispersion is 1",
              "%.3f, band %.3f" % (spread, rules.dispersion_band(streams)))
    tap.note("dispersion %.3f, sum %+.2f standard deviations" % (spread, distance))


def main():
    tap = profiled.Tap()
    for seed in (None, 1):
        judge(tap, "threads", 2000, seed)
        judge(tap, "forks", 500, seed)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
