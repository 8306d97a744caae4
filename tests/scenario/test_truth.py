#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Known bytes and objects per call site against what bytepoll says of them.

    test_truth.py truth|truth_cpp|fine_start|python

The program counts what each site allocated, what is live at its end and what was temporary. It is
run 300 times (python: 100 times) by the real recorder with seeds from 1 on at T = 2048 (fine_start: with no interval given, through
all steps of the fine start; of it the peak is known, too), and the figures of `bytepoll
report --by function` are judged by the two rules of rules.py, whose false-alarm rates are printed.
(python: a program of Python, most of whose objects are pymalloc's. The truth is what was recorded with every object
sampled, T = 1; that such a recording is right to the object is what test_python.py shows.)
Sites of objects that are all recorded with certainty must be right to the byte in every run,
figures whose truth is zero must be zero, and the allocated totals must be exact and the same in
all runs.

BYTEPOLL_LONG_TESTS=1 makes it 1000 runs under each law.
"""
import concurrent.futures
import json
import math
import os
import sys

import profiled
import rules

INTERVALS = {"truth": 2048, "truth_cpp": 2048, "fine_start": None, "python": 2048}
SITES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "python", "sites.py")
EXTRA = {"PYTHONHASHSEED": "0"}  # Python's alone: its tables are the same in every run
LARGEST = 512 << 10  # T at the end of a fine start
RUNS = 1000 if profiled.LONG else 100 if sys.argv[1:] == ["python"] else 300
METRICS = ("allocated", "live", "temporary")
UNITS = ("bytes", "objects")


def absent_row(interval):
    """What a report says of a site without a sample by leaving it out: [0, ln 40 / lambda], the
    same for objects, since the smallest size in the process is 0."""
    high = math.log(2 / (1 - rules.CONFIDENCE)) / -math.log1p(-1 / interval)
    return {"estimate": 0, "low": 0, "high": high}


def command_of(name):
    return ["/usr/bin/python3", "-S", SITES] if name == "python" else [profiled.program(name)]


def exact_truth(command, unprofiled):
    """Of a program that does not count by itself: every object of every function that is a site."""
    reports = one_run(command, 1, "exact", 1, unprofiled.stdout)
    truth = {}
    for metric, data in reports.items():
        for name, row in sites_of(data).items():
            if name.startswith("site_"):
                truth.setdefault(name, {m: dict.fromkeys(UNITS, 0) for m in METRICS})[metric] = {
                    unit: row[unit]["estimate"] for unit in UNITS}
    return truth


def one_run(program, interval, law, seed, expected_output):
    """The reports of one profiled run, by metric."""
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = profiled.run(program, trace, interval, seed, law, extra=EXTRA)
        profiled.expect(result.status == 0, "seed %d: status %s: %s" % (
            seed, result.status, result.stderr.decode(errors="replace")))
        profiled.expect(result.stdout == expected_output, "seed %d: other output" % seed)
        return {metric: profiled.report(trace, "--by", "function", "--metric", metric,
                                        "--rows", "100000") for metric in METRICS}


def sites_of(data):
    """Rows by name; a name that stands twice is an error."""
    rows = {}
    for row in data["rows"]:
        name = row["name"].replace("sites.", "", 1)  # the module of Python's
        profiled.expect(name not in rows, "two rows named " + name)
        rows[name] = row
    return rows


def collect(program, interval, law, truth, output):
    figures = {(site, metric, unit): rules.Figure(truth[site][metric][unit])
               for site in truth for metric in METRICS for unit in UNITS}
    totals, peaks, losses = set(), [], 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(one_run, program, interval, law, seed, output) for seed in range(1, RUNS + 1)]
        for job in jobs:
            reports = job.result()
            losses += profiled.lost(reports["allocated"])
            total = reports["allocated"]["totals"]["allocated"]
            peaks.append(reports["allocated"]["totals"]["peak"]["bytes"])
            totals.add(json.dumps({unit: total[unit] for unit in UNITS}, sort_keys=True))
            for metric in METRICS:
                rows = sites_of(reports[metric])
                for site in truth:
                    row = rows.get(site)
                    for unit in UNITS:
                        figures[site, metric, unit].add(
                            row[unit] if row else absent_row(interval or LARGEST))
    return figures, totals, peaks, losses


def judge(tap, law, figures):
    varying = {key: figure for key, figure in figures.items()
               if figure.truth > 0 or any(figure.estimates)}
    names = {key: "%s %s %s" % key for key in varying}
    means = {names[key]: figure.standard_errors() for key, figure in varying.items()}
    misses = {names[key]: figure.misses for key, figure in varying.items()}
    allowed = rules.misses_allowed(RUNS)
    false_mean, false_interval = rules.false_alarm_rates(RUNS, len(varying))
    tap.note("%s: %d figures over %d runs; a correct profiler fails the mean rule with probability "
             "<= %.1g, the interval rule <= %.1g" % (
                 law, len(varying), RUNS, false_mean, false_interval))
    wrong = ["%s: %+.2f standard errors" % item for item in means.items()
             if abs(item[1]) > rules.MEAN_LIMIT_STANDARD_ERRORS]
    tap.check(not wrong, "%s: means within 4.5 standard errors of the truth" % law,
              "\n".join(wrong))
    worst = max(means.items(), key=lambda item: abs(item[1]))
    tap.note("worst mean: %s at %+.2f" % worst)
    wrong = ["%s: %d of %d" % (name, count, RUNS) for name, count in misses.items()
             if count > allowed]
    tap.check(not wrong, "%s: no figure misses more than %d of %d intervals" % (law, allowed, RUNS),
              "\n".join(wrong))
    tap.note("worst: %s missed %d times; all figures: %.2f %%" % (
        *max(misses.items(), key=lambda item: item[1]),
        100 * sum(misses.values()) / (RUNS * len(misses))))
    return varying


def judge_certain(tap, figures):
    """Figures of zero, and those of objects that are always recorded."""
    nothing = [key for key, figure in figures.items()
               if figure.truth == 0 and any(figure.estimates)]
    tap.check(not nothing, "what is zero is zero in every run", str(nothing))
    always = [key for key in figures if key[0] in ("site_large", "site_huge", "site_calloc_large",
                                                   "site_large_first", "site_large_grow")
              and any(abs(x - figures[key].truth) > .5 for x in figures[key].estimates)]
    tap.check(not always, "objects recorded with certainty are right in every run", str(always))


def judge_peak(tap, law, truth, peaks):
    """Of fine_start: all that is live at its end, and what it has freed last."""
    most = truth["site_early"]["allocated"]["bytes"] + sum(site["live"]["bytes"] for site in truth.values())
    low = sum(most < peak["low"] for peak in peaks)
    high = sum(most > peak["high"] for peak in peaks)
    tap.check(low + high <= rules.misses_allowed(RUNS), "%s: the peak" % law,
              "below %d times, above %d times" % (low, high))
    tap.note("peak: %d below and %d above of %d; mean width %.1f %%" % (
        low, high, RUNS, 100 * sum(peak["high"] - peak["low"] for peak in peaks) / RUNS / most))


def main():
    program, interval = command_of(sys.argv[1]), INTERVALS[sys.argv[1]]
    tap = profiled.Tap()
    unprofiled = profiled.run(program, extra=EXTRA)
    tap.check(unprofiled.status == 0, "the program runs unprofiled", unprofiled.stderr.decode())
    truth = exact_truth(program, unprofiled) if sys.argv[1] == "python" else json.loads(unprofiled.stdout)
    for law in ("exact", "bernoulli") if profiled.LONG else ("exact",):
        try:
            figures, totals, peaks, losses = collect(program, interval, law, truth, unprofiled.stdout)
        except AssertionError as error:
            tap.check(False, "%s: %d runs" % (law, RUNS), str(error))
            continue
        judge(tap, law, figures)
        if interval is None:
            judge_peak(tap, law, truth, peaks)
        elif law == "exact":
            judge_certain(tap, figures)
        tap.check(losses == 0, "%s: nothing was lost" % law, "%d lost" % losses)
        # (Python reads its environment, in which the seed and the name of the trace stand.)
        tap.check((len(totals) == 1 or sys.argv[1] == "python") and
                  all(json.loads(total)["bytes"].get("exact") for total in totals),
                  "%s: allocated totals are exact and equal in all runs" % law, "\n".join(sorted(totals)[:3]))
        least = sum(truth[site]["allocated"]["bytes"] for site in truth)
        total = json.loads(next(iter(totals)))["bytes"]["estimate"]
        tap.check(least <= total and (total <= least * 1.1 or sys.argv[1] == "python"), "%s: the total holds all sites" % law,
                  "sites %d, total %s" % (least, total))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
