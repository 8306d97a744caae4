#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a program counts of malloc_usable_size against what `bytepoll report --rounding` says of it.

    test_rounding.py glibc|jemalloc

The program (programs/rounding.c) asks for the usable size of every object that it makes. It is run by the real recorder with
seeds from 1 on at T = 2048, and of each run the bytes given beyond what was asked for, their share of what was given, by function
and by requested size, of what is live and of what was allocated, are compared with the program's own count in the same run.
What could be asked for instead is what the allocator's classes are.

The interval rule and the mean rule are those of rules.py, whose false-alarm rates are printed; the means are those of the
bytes (a share is a quotient, and no estimate of a quotient is unbiased).

25 runs; BYTEPOLL_LONG_TESTS=1 makes it 300.
"""
import concurrent.futures
import os
import sys

import profiled
import rules
import test_foreign

RUNS = 300 if profiled.LONG else 25
METRICS = ("live", "allocated")
SITES = ("site_node", "site_row", "site_page", "site_large", "site_zero", "site_text")
# By size: the bytes that such a request gets, and what could be asked for instead.
ADVICE = {
    "glibc": {25: (40, "less", 24, 16), 24: (24, "fits", None, None), 1032: (1032, "fits", None, None),
              1024: (1032, "more", 1032, None), 900: (904, "unknown", None, None), 1: (24, "more", 24, None)},
    "jemalloc": {25: (32, "unknown", None, None), 24: (32, "more", 25, None), 1032: (1280, "less", 1024, 256),
                 1024: (1024, "fits", None, None), 900: (1024, "more", 1024, None), 1: (8, "unknown", None, None)},
}


def read_count(output):
    """{(name, metric): (asked, beyond)}"""
    counts = {}
    for line in output.decode().splitlines():
        name, metric, asked, beyond = line.split()
        counts[name, metric] = int(asked), int(beyond)
    return counts


def one_run(allocator, seed):
    """[(what, figure, interval, truth)] of one profiled run, and the sizes of its report of what was allocated."""
    preload = None
    if allocator != "glibc":
        preload = test_foreign.preload(profiled.RECORDER, test_foreign.path_of(test_foreign.LIBRARIES[allocator]))
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = profiled.run([profiled.program("rounding")], trace, 2048, seed, extra=preload)
        profiled.expect(result.status == 0, "seed %d: status %s" % (seed, result.status))
        reports = {metric: profiled.report(trace, "--rounding", "--metric", metric, "--rows", "100000")
                   for metric in METRICS}
    figures = []
    counts = read_count(result.stdout)
    for metric, data in reports.items():
        profiled.expect(profiled.lost(data) == 0, "seed %d: lost samples" % seed)
        profiled.expect(data["rounding"]["in_slots"] == (allocator == "glibc"), "%s in slots" % allocator)
        rows = {row["name"]: row for row in data["rounding"]["rows"]}
        sizes = {row["size"]: row for row in data["rounding"]["sizes"]}
        for (name, of), (asked, beyond) in counts.items():
            if of != metric:
                continue
            site, _, size = name.partition(".")
            row = sizes.get(int(size)) if size else rows.get(site)
            profiled.expect(row is not None, "seed %d: no row of %s" % (seed, name))
            figures.append((name, metric, "bytes", row["lost"], beyond))
            figures.append((name, metric, "share", row["share"], beyond / (asked + beyond)))
    return figures, {row["size"]: row for row in reports["allocated"]["rounding"]["sizes"]}


def judge(tap, allocator, figures):
    allowed = rules.misses_allowed(RUNS)
    false_mean, false_interval = rules.false_alarm_rates(RUNS, len(figures))
    tap.note("%s: %d figures over %d runs; a correct profiler fails the mean rule with probability <= %.1g (by the normal "
             "distribution), the interval rule <= %.1g" % (allocator, len(figures), RUNS, false_mean, false_interval))
    wrong = ["%s %s %s: %d of %d" % (*key, figure.misses, RUNS) for key, figure in figures.items()
             if figure.misses > allowed]
    tap.check(not wrong, "%s: no figure misses more than %d of %d intervals" % (allocator, allowed, RUNS),
              "\n".join(wrong))
    worst = max(figures.items(), key=lambda item: item[1].misses)
    tap.note("worst: %s missed %d times; all figures: %.2f %%" % (" ".join(worst[0]), worst[1].misses, 100 * sum(
        figure.misses for figure in figures.values()) / (RUNS * len(figures))))
    # (With few runs a mean of skew estimates is not normal enough for 4.5 standard errors.)
    if profiled.LONG:
        errors = {key: figure.standard_errors() for key, figure in figures.items() if key[2] == "bytes"}
        wrong = ["%s %s: %+.2f standard errors" % (key[0], key[1], error) for key, error in errors.items()
                 if abs(error) > rules.MEAN_LIMIT_STANDARD_ERRORS]
        tap.check(not wrong, "%s: means within 4.5 standard errors of the count" % allocator, "\n".join(wrong))


def judge_advice(tap, allocator, sizes):
    wrong = []
    for size, expected in ADVICE[allocator].items():
        row = sizes[size]
        found = row["usable"], row["advice"], row["instead"], row["saved_each"]
        if found != expected:
            wrong.append("%d: %s, not %s" % (size, found, expected))
        saved = expected[3] or 0
        if abs(row["saved"]["estimate"] - saved * row["objects"]["estimate"]) > 1e-6 * (1 + row["saved"]["estimate"]):
            wrong.append("%d: saved %s of objects %s" % (size, row["saved"], row["objects"]))
    tap.check(not wrong, "%s: what to ask for instead" % allocator, "\n".join(wrong))


def main():
    tap = profiled.Tap()
    allocator = sys.argv[1]
    figures, sizes = {}, None
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for found, sizes_found in pool.map(lambda seed: one_run(allocator, seed), range(1, RUNS + 1)):
            sizes = sizes or sizes_found
            for *key, interval, truth in found:
                # (The program does the same in each run.)
                figure = figures.setdefault(tuple(key), rules.Figure(truth))
                profiled.expect(figure.truth == truth, "%s: %s, and %s" % (key, figure.truth, truth))
                figure.add(interval)
    tap.check(len(figures) == 2 * len(METRICS) * (len(SITES) + 11), "every site and size has every figure", str(len(figures)))
    judge(tap, allocator, figures)
    judge_advice(tap, allocator, sizes)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
