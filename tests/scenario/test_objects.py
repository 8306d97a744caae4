#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Numbers of objects of a real program whose small objects are rare among the samples (programs/rare_sizes.c),
over RUNS seeds at T = 4096: no smallest size is assumed.

  intervals  of each function's objects, allocated (at 50, 95 and 99 %), live and at the peak (at 95 %), and of
             all that is live, miss the truth on a side in no more runs than one that misses with the stated
             probability exceeds with probability 1e-6 (a function without a sample is in no row, and
             is not looked at)
  usable     the same of usable bytes at 95 %, against what glibc gives for such requests
  assumed    with the smallest sampled size stated as --min-size, as reports used to take it, the upper limit of
             `mixed` must be seen to miss more often than that

With about 130 figures a right profiler fails with a probability below 1e-4. The seeds are recorded: a test
that passed once passes again."""
import concurrent.futures
import os
import sys

import profiled
import rules

RUNS = 1000 if profiled.LONG else 300
CHANCE = 1e-6
QUESTIONS = (("allocated", .5), ("allocated", .95), ("allocated", .99), ("live", .95), ("peak", .95))
ALLOCATED = {**{"many%d" % i: 50 for i in range(8)}, "mixed": 63, "small": 400}
USABLE_QUESTIONS = ("allocated", "live")


def usable(size):
    """What glibc gives: chunks are multiples of 16, at least 32, and 8 of their bytes are not the program's."""
    return max(32, (size + 8 + 15) // 16 * 16) - 8


USABLE = {**{"many%d" % i: 50 * usable(2000) for i in range(8)}, "mixed": 3 * usable(3000) + 60 * usable(16),
          "small": 400 * usable(8)}
TRUTH = {"allocated": ALLOCATED, "live": {**ALLOCATED, "small": 0}, "peak": {**ALLOCATED, "small": 0}}


def allowed(probability):
    most = int(probability * RUNS)
    while rules.binomial_tail(RUNS, probability, most) > CHANCE:
        most += 1
    return most


def reported(trace, metric, confidence, *options, by="function"):
    """Intervals of objects, or of usable bytes, by function, and of all that is live."""
    data = profiled.report(trace, "--metric", metric, "--by", by, "--confidence", "%g" % confidence, *options)
    unit = "bytes" if "usable" in options else "objects"
    rows = {row["name"]: row[unit] for row in data["rows"]}
    if metric == "live":
        rows["all"] = data["totals"]["live"][unit]
    return data, rows


def one(path, seed):
    trace = os.path.join(path, "%d.bpt" % seed)
    result = profiled.run([profiled.program("rare_sizes")], trace, 4096, seed)
    profiled.expect(result.status == 0, "status %s" % result.status)
    found = {question: reported(trace, *question)[1] for question in QUESTIONS}
    for metric in USABLE_QUESTIONS:
        found["usable", metric] = reported(trace, metric, .95, "--bytes", "usable")[1]
    data, _ = reported(trace, "allocated", .95, by="size")
    profiled.expect(data["size_min"] == 0, "a smallest size of %s is assumed" % data["size_min"])
    smallest = min(int(row["name"].split()[0].replace(",", "")) for row in data["rows"])
    stated, rows = reported(trace, "allocated", .95, "--min-size", str(smallest))
    profiled.expect(stated["size_min"] == smallest, str(stated["size_min"]))
    profiled.expect(any("no object is smaller" in text for text in stated["warnings"]), str(stated["warnings"]))
    found["assumed"] = rows
    return found


def misses(found, key, name, truth):
    """Runs in which the interval lies above the truth, and below it."""
    rows = [run[key][name] for run in found if name in run[key]]
    return sum(truth < row["low"] - 1e-9 for row in rows), sum(truth > row["high"] + 1e-9 for row in rows)


def main():
    tap = profiled.Tap()
    with profiled.directory() as path, concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda seed: one(path, seed), range(1, RUNS + 1)))
    for metric, confidence in QUESTIONS:
        truth = dict(TRUTH[metric])
        if metric == "live":
            truth["all"] = sum(truth.values())
        counts = {name: misses(found, (metric, confidence), name, number) for name, number in truth.items()}
        most = allowed((1 - confidence) / 2)
        tap.note("%s at %g %%: at most %d allowed, misses below and above: %s" % (
            metric, 100 * confidence, most, counts))
        tap.check(max(max(pair) for pair in counts.values()) <= most,
                  "%s at %g %%" % (metric, 100 * confidence), str(counts))
    for metric in USABLE_QUESTIONS:
        truth = dict(USABLE, small=USABLE["small"] if metric == "allocated" else 0)
        if metric == "live":
            truth["all"] = sum(truth.values())
        counts = {name: misses(found, ("usable", metric), name, number) for name, number in truth.items()}
        tap.note("usable bytes, %s: at most %d allowed, misses below and above: %s" % (metric, allowed(.025), counts))
        tap.check(max(max(pair) for pair in counts.values()) <= allowed(.025), "usable bytes, %s" % metric, str(counts))
    low, high = misses(found, "assumed", "mixed", TRUTH["allocated"]["mixed"])
    tap.check(high > allowed(.025), "an assumed size misses", "%d" % high)
    tap.note("with the smallest sampled size assumed, mixed misses %d below and %d above of %d" % (low, high, RUNS))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
