#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Known lifetimes per call site against what `bytepoll report --lifetimes` says of them.

The program (programs/lifetimes.c) keeps a record of every object that it makes. It is run by the real recorder with seeds
from 1 on at T = 2048, and each report is compared with Kaplan and Meier's estimate of the record of the same run, computed
here by its definition: the share of each site that is freed within 1 ms, 10 ms and 100 ms, the age by which half of it
is, and the share of what was freed that the other thread freed; in bytes and in objects.

The interval rule and the mean rule are those of rules.py; the mean is of the differences from the truth of each run.
Ages by the clock of the program differ from those of the recorder by microseconds (at the end of the process by the
time that it takes to exit); no object is made to live about as long as an age that is looked at. A median may be off by a tenth of a millisecond.

25 runs; BYTEPOLL_LONG_TESTS=1 makes it 300.
"""
import concurrent.futures
import os
import sys

import profiled
import rules

RUNS = 300 if profiled.LONG else 25
AGES_NS = {0: 10**6, 1: 10**7, 2: 10**8}  # by their number in the report
SITES = ("site_soon", "site_mixed", "site_handed", "site_large", "site_sizes")
SLACK_S = 1e-4


def survival(objects, weight):
    """(age in ns, share that has ended) at each age at which an object ends, and the greatest age."""
    objects = sorted(objects, key=lambda one: one["age"])
    at_risk = sum(weight(one) for one in objects)
    share, steps, i = 1.0, [], 0
    while i < len(objects):
        age, ended, gone = objects[i]["age"], 0, 0
        while i < len(objects) and objects[i]["age"] == age:
            gone += weight(objects[i])
            ended += weight(objects[i]) * objects[i]["ended"]
            i += 1
        share *= 1 - ended / at_risk
        at_risk -= gone
        steps.append((age, 1 - share))
    return steps


def figures_of(objects, ages):
    """By (unit, figure): the share that has ended by each of the ages, None where no object is seen as long as that, and
    the age by which half of it has."""
    figures = {}
    for unit, weight in (("bytes", lambda one: one["size"]), ("objects", lambda one: 1)):
        steps = survival(objects, weight)
        for number, most in ages.items():
            share = max((share for age, share in steps if age <= most), default=0.0)
            known = share > 1 - 1e-9 or steps[-1][0] >= most
            figures[unit, number] = share if known else None
        figures[unit, "median"] = min((age for age, share in steps if share >= .5), default=float("inf"))
    return figures


def truth_of(objects):
    """By (unit, figure), with medians in seconds and the share that the other thread freed."""
    truth = figures_of(objects, AGES_NS)
    freed = [one for one in objects if one["ended"]]
    for unit, weight in (("bytes", lambda one: one["size"]), ("objects", lambda one: 1)):
        truth[unit, "median"] /= 1e9
        truth[unit, "another"] = (sum(weight(one) * one["handed"] for one in freed) /
                                  sum(weight(one) for one in freed))
    return truth


def read_record(output):
    sites = {}
    *lines, end = output.decode().splitlines()
    for line in lines:
        site, size, born, died, handed = line.split()
        age = int(died if died != "0" else end) - int(born)
        sites.setdefault(site, []).append({"size": int(size), "age": age, "ended": died != "0",
                                           "handed": int(handed)})
    return sites


def one_run(seed):
    """[(site, unit, figure, interval, truth)] of one profiled run."""
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = profiled.run([profiled.program("lifetimes")], trace, 2048, seed)
        profiled.expect(result.status == 0, "seed %d: status %s" % (seed, result.status))
        data = profiled.report(trace, "--lifetimes", "--by", "function", "--rows", "100000")
    profiled.expect(profiled.lost(data) == 0, "seed %d: lost samples" % seed)
    figures = []
    lifetimes = {row["name"]: row_lifetimes
                 for row, row_lifetimes in zip(data["rows"], data["lifetimes"]["rows"])}
    for site, objects in read_record(result.stdout).items():
        for (unit, figure), truth in truth_of(objects).items():
            row = lifetimes[site][unit]
            interval = (row["median_s"] if figure == "median" else row["freed_by_another"]
                        if figure == "another" else row["freed_within"][figure])
            figures.append((site, unit, figure, interval, truth))
    return figures


def misses(interval, truth, figure):
    slack = SLACK_S if figure == "median" else 1e-9
    low = float("inf") if interval["low"] is None else interval["low"]
    high = float("inf") if interval["high"] is None else interval["high"]
    return truth < low - slack, truth > high + slack


def main():
    tap = profiled.Tap()
    counts, differences = {}, {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for figures in pool.map(one_run, range(1, RUNS + 1)):
            for site, unit, figure, interval, truth in figures:
                key = "%s %s %s" % (site, unit, figure)
                counts.setdefault(key, 0)
                if truth is None:
                    continue
                below, above = misses(interval, truth, figure)
                counts[key] += below + above
                if figure != "median" and interval["estimate"] is not None:
                    differences.setdefault(key, rules.Figure(0)).add(
                        {"estimate": interval["estimate"] - truth, "low": 0, "high": 0})
    tap.check(len(counts) == 2 * len(SITES) * (len(AGES_NS) + 2), "every site has every figure", str(len(counts)))
    allowed = rules.misses_allowed(RUNS)
    false_mean, false_interval = rules.false_alarm_rates(RUNS, len(counts))
    tap.note("%d figures over %d runs; a correct profiler fails the mean rule with probability <= %.1g (by the normal "
             "distribution), the interval rule <= %.1g" % (len(counts), RUNS, false_mean, false_interval))
    wrong = ["%s: %d of %d" % (key, count, RUNS) for key, count in counts.items() if count > allowed]
    tap.check(not wrong, "no figure misses more than %d of %d intervals" % (allowed, RUNS), "\n".join(wrong))
    worst = max(counts.items(), key=lambda item: item[1])
    tap.note("worst: %s missed %d times; all figures: %.2f %%" % (
        *worst, 100 * sum(counts.values()) / (RUNS * len(counts))))
    # (With few runs a mean of skew estimates is not normal enough for 4.5 standard errors.)
    if profiled.LONG:
        errors = {key: figure.standard_errors() for key, figure in differences.items()}
        wrong = ["%s: %+.2f standard errors" % item for item in errors.items()
                 if abs(item[1]) > rules.MEAN_LIMIT_STANDARD_ERRORS]
        tap.check(not wrong, "means within 4.5 standard errors of the truth", "\n".join(wrong))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
