#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How often `bytepoll check` is wrong on real recordings of a program whose memory is known.

The program of truth.h is recorded 60 times with seeds 1 to 60 at T = 2048 (1000 times under
BYTEPOLL_LONG_TESTS=1) and each trace is checked against limits on single functions, every limit at
the error a = .01 and again at .04 (--false-alarm is a times the number of limits):

  limit = truth      "exceeded" is a false alarm, at a rate of at most a
  limit = truth - 1  "within" is wrong, at a rate of at most a (by the interval of the same check)
  limit = truth / 2  must not be "within": at most a^2, and where 40 samples or more are due at the
                     limit below 2e-11 a run in theory: there it must never be

Every exit status must be that of the verdict. The two rates are held against the binomial
distribution: a limit may be wrong so often that a check of exactly the rate a would be so, or more
often, with probability 1e-9; over some 50 counts, and with the third rule (3e-8) and its
counterpart that such a limit is exceeded in 80 % of runs (theory: 99 %), a correct check fails with
probability below 2e-7. Seeds are fixed; only the functions of threads vary from one run of this test to
another.
"""
import concurrent.futures
import json
import os
import sys

import profiled
import rules

INTERVAL = 2048
RUNS = 1000 if profiled.LONG else 60
RATES = (0.01, 0.04)
FALSE_ALARM = 1e-9
# Functions that only allocate have their peak at the end; the others are judged by what is live and
# what they allocated.
LIMITS = (("live", "site_small_mixed"), ("live", "site_wide_mixed"), ("live", "site_moved"),
          ("live", "site_memalign"), ("live", "site_thread_handed"), ("live", "site_large"),
          ("allocated", "site_small_fixed"), ("allocated", "site_calloc_small"),
          ("allocated", "site_grow"), ("allocated", "site_reallocarray"),
          ("temporary", "site_thread_temporary"), ("peak", "site_thread_leaked"))
STATUS = {"within": 0, "exceeded": 1, "undecided": 3}


def allowed(runs, probability):
    most = 0
    while rules.binomial_tail(runs, probability, most) > FALSE_ALARM:
        most += 1
    return most


def check(trace, limits, rate):
    """What it says of each limit; the exit status must be that of the verdict."""
    options = [word for limit in limits for word in ("--limit", limit)]
    result = profiled.run([profiled.BYTEPOLL, "check", "--json", "--false-alarm",
                           repr(rate * len(limits)), *options, trace])
    profiled.expect(result.status in (0, 1, 3), "status %s: %s" % (
        result.status, result.stderr.decode(errors="replace")))
    data = json.loads(result.stdout)
    verdicts = [limit["verdict"] for limit in data["limits"]]
    expected = ("exceeded" if "exceeded" in verdicts else
                "undecided" if "undecided" in verdicts else "within")
    profiled.expect(data["verdict"] == expected, "verdict %s of %s" % (data["verdict"], verdicts))
    profiled.expect(result.status == STATUS[expected], "status %s for %s" % (
        result.status, expected))
    for limit in data["limits"]:
        profiled.expect(abs(limit["false_alarm"] - rate) < 1e-12, str(limit))
    return data["limits"]


def texts(truth, amount):
    """One limit for each of LIMITS at amount(truth)."""
    return ["%s:%s=%d" % (metric, site, amount(value_of(truth, metric, site)))
            for metric, site in LIMITS]


def value_of(truth, metric, site):
    return truth[site]["live" if metric == "peak" else metric]["bytes"]


def one_run(truth, seed):
    """Entries by rate: at the truth, and at half of it."""
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = profiled.run([profiled.program("truth")], trace, INTERVAL, seed)
        profiled.expect(result.status == 0, "seed %d: status %s" % (seed, result.status))
        return {rate: (check(trace, texts(truth, lambda value: value), rate),
                       check(trace, texts(truth, lambda value: value // 2), rate))
                for rate in RATES}


def samples_due(value):
    """At the limit of half the truth, of small objects."""
    return value / 2 / INTERVAL


def judge(tap, truth, runs, rate):
    most = allowed(RUNS, rate)
    wrong = {"exceeded": {}, "within": {}, "half": {}}
    for number, (metric, site) in enumerate(LIMITS):
        name = "%s:%s" % (metric, site)
        value = value_of(truth, metric, site)
        at_truth = [run[rate][0][number] for run in runs]
        half = [run[rate][1][number]["verdict"] for run in runs]
        wrong["exceeded"][name] = sum(entry["verdict"] == "exceeded" for entry in at_truth)
        wrong["within"][name] = sum(entry["interval"]["high"] <= value - 1 for entry in at_truth)
        wrong["half"][name] = half.count("within")
        if samples_due(value) >= 40:
            tap.check("within" not in half, "a = %g: %s is never within half of it" % (rate, name))
            tap.check(half.count("exceeded") >= RUNS * .8,
                      "a = %g: %s is found to exceed half of it" % (rate, name), str(half))
    for kind in ("exceeded", "within"):
        total = sum(wrong[kind].values())
        tap.note("a = %g: wrongly %s: %d of %d, %.4f; %s" % (
            rate, kind, total, RUNS * len(LIMITS), total / (RUNS * len(LIMITS)), wrong[kind]))
        tap.check(max(wrong[kind].values()) <= most,
                  "a = %g: no limit is wrongly %s in more than %d of %d runs" % (
                      rate, kind, most, RUNS), str(wrong[kind]))
    tap.check(sum(wrong["half"].values()) <= allowed(RUNS * len(LIMITS), rate ** 2),
              "a = %g: within half of it no more often than a^2" % rate, str(wrong["half"]))


def main():
    tap = profiled.Tap()
    truth = json.loads(profiled.run([profiled.program("truth")]).stdout)
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = list(pool.map(lambda seed: one_run(truth, seed), range(1, RUNS + 1)))
    except AssertionError as error:
        tap.check(False, "%d runs" % RUNS, str(error))
        return tap.finish()
    tap.check(True, "%d runs: every exit status is that of the verdict" % RUNS)
    for rate in RATES:
        judge(tap, truth, runs, rate)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
