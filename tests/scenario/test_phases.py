#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The peak of a real program in which two moments of different kinds compete (programs/phases.c), over RUNS seeds:

  peak    its interval (95 %) misses the truth on a side in no more runs than one that misses with probability .025
          exceeds with probability 1e-5
  check   a limit of one byte less than the truth is `within` in no more runs than a false-alarm rate of 1 % exceeds
          with that probability
  diff    of a run with the next one: `--metric peak` has a verdict in no more pairs than the stated 5.1 % (5 % of
          false discoveries where nothing differs, and .1 % for the moments) exceeds with that probability
  rows    of the named moment add up to its line

At T = 4096, where the small objects have some 100 samples and the block is recorded for certain, and so its size is
known while that of the others is estimated. The seeds are recorded: a test that passed once passes again."""
import concurrent.futures
import json
import os
import sys

import profiled
import rules

RUNS = 1000 if profiled.LONG else 300
TRUTH = 3200 * 128
CHANCE = 1e-5


def allowed(probability, runs):
    most = int(probability * runs)
    while rules.binomial_tail(runs, probability, most) > CHANCE:
        most += 1
    return most


def one(path, thousandths, seed):
    """What a report says of the peak, whether rows add up, and whether check is wrong."""
    trace = os.path.join(path, "%d.%d.bpt" % (thousandths, seed))
    result = profiled.run([profiled.program("phases"), str(thousandths)], trace, 4096, seed)
    profiled.expect(result.status == 0, "status %s" % result.status)
    data = profiled.report(trace, "--metric", "peak")
    total = data["totals"]["peak"]
    sum_of_rows = sum(row["bytes"]["estimate"] for row in data["rows"])
    adds_up = abs(sum_of_rows - total["at"]["bytes"]["estimate"]) < 1
    checked = profiled.run([profiled.BYTEPOLL, "check", trace, "--limit", "peak=%d" % (TRUTH - 1)])
    profiled.expect(checked.status in (0, 1, 3), str(checked))
    return trace, total["bytes"], adds_up, checked.status == 0


def differs(pair):
    result = profiled.run([profiled.BYTEPOLL, "diff", "--json", "--metric", "peak", *pair])
    profiled.expect(result.status == 0, str(result))
    data = json.loads(result.stdout)
    return any(row["verdict"] != "unclear" for row in [data["total"], *data["rows"]])


def judge(tap, thousandths):
    with profiled.directory() as path, concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda seed: one(path, thousandths, seed), range(1, RUNS + 1)))
        traces = [trace for trace, _, _, _ in found]
        verdicts = sum(pool.map(differs, zip(traces[::2], traces[1::2])))
    low = sum(TRUTH < peak["low"] for _, peak, _, _ in found)
    high = sum(TRUTH > peak["high"] for _, peak, _, _ in found)
    wrong = sum(within for _, _, _, within in found)
    name = "block of %.3g" % (thousandths / 1000)
    tap.note("%s: of %d runs the peak misses %d below and %d above, %d wrongly within; %d of %d pairs differ" % (
        name, RUNS, low, high, wrong, verdicts, RUNS // 2))
    tap.check(max(low, high) <= allowed(.025, RUNS), name + ": the peak", "%d and %d" % (low, high))
    tap.check(wrong <= allowed(.01, RUNS), name + ": check", "%d" % wrong)
    tap.check(verdicts <= allowed(.051, RUNS // 2), name + ": diff", "%d" % verdicts)
    tap.check(all(adds_up for _, _, adds_up, _ in found), name + ": rows add up to the named moment")


def main():
    tap = profiled.Tap()
    for thousandths in (500, 900, 960, 980, 1000) if profiled.LONG else (500, 960):
        judge(tap, thousandths)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
