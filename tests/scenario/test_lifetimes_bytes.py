#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Known lifetimes in bytes against what `bytepoll report --lifetimes --age-bytes` says of them.

The program (programs/lifetimes_bytes.c) counts what its threads allocate, and keeps a record of every object. It is run
by the real recorder with seeds from 1 on at T = 2048, with one thread and with four that take turns, and each report is
compared with Kaplan and Meier's estimate of the record of the same run: the share of each site that is freed within
4 KiB, 64 KiB and 1 MiB, and the age by which half of it is; in bytes and in objects. At T = 1 with one thread all is
compared for equality.

The same runs have the stacks of frees, and `--pairs` is asked for the ages by which half of the freed objects of each
site had been freed, and for those of the objects that still live.

The interval rule and the mean rule are those of rules.py; the mean is of the differences from the truth of each run, of
one thread, whose ages are known. (The estimate of four threads is one at a point between limits, and may be off by what
lies between the records of threads; its limits are held to the interval rule.)

12 runs of each; BYTEPOLL_LONG_TESTS=1 makes it 300.
"""
import concurrent.futures
import os
import sys

import profiled
import rules
from test_lifetimes import figures_of

RUNS = 300 if profiled.LONG else 12
AGES = {0: 1 << 12, 1: 1 << 16, 2: 1 << 20}  # by their number in the report
SITES = ("site_soon", "site_turn", "site_mixed", "site_late")
FIGURES = 8 * len(SITES) + 4 * len(SITES) - 2  # of site_soon nothing lives at the end
THREADS = (1, 4)


def read_record(output):
    sites = {}
    for line in output.decode().splitlines():
        site, size, born, died, freed = line.split()
        sites.setdefault(site, []).append({"size": int(size), "age": int(died) - int(born), "ended": freed == "1"})
    return sites


def one_run(threads, seed, interval=2048):
    """[(site, unit, figure, interval, truth)] of one profiled run, and how exactly ages are known."""
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = profiled.run([profiled.program("lifetimes_bytes"), str(threads)], trace, interval, seed,
                              extra={"BYTEPOLL_FREE_STACKS": "on"})
        profiled.expect(result.status == 0, "seed %d: status %s" % (seed, result.status))
        data = profiled.report(trace, "--lifetimes", "--age-bytes", "--by", "function", "--rows", "100000")
        pairs = profiled.report(trace, "--lifetimes", "--pairs", "--age-bytes", "--rows", "100000")
    profiled.expect(profiled.lost(data) == 0, "seed %d: lost samples" % seed)
    told = data["lifetimes"]
    profiled.expect([told["ages_bytes"][number] for number in AGES] == list(AGES.values()), told["ages_bytes"])
    figures = []
    lifetimes = {row["name"]: of_row for row, of_row in zip(data["rows"], told["rows"])}
    for site, objects in read_record(result.stdout).items():
        for (unit, figure), truth in figures_of(objects, AGES).items():
            row = lifetimes[site][unit]
            figures.append((site, unit, figure, row["median_bytes"] if figure == "median" else row["freed_within"][figure],
                            truth))
        figures += figures_of_pairs(pairs, site, objects)
    return figures, told["width_bytes"]


def figures_of_pairs(data, site, objects):
    """The medians of a site's freed objects, all of which are freed in one place, and of those that live. Without a
    sample there is no pair."""
    figures = []
    rows = {row["end"]: row for row in data["pairs"]["rows"] if row["allocated"]["name"] == site}
    profiled.expect(sum(row["allocated"]["name"] == site for row in data["pairs"]["rows"]) == len(rows) and
                    not {"freed", "live"} ^ {"freed", "live", *rows}, "%s: pairs %s" % (site, sorted(rows)))
    for end in ("freed", "live"):
        part = [dict(one, ended=True) for one in objects if one["ended"] == (end == "freed")]
        profiled.expect(part or end not in rows, "%s: what is %s" % (site, end))
        if end in rows:
            truth = figures_of(part, {})
            figures += [(site, unit, "median, " + end, rows[end]["median_bytes"][unit], truth[unit, "median"])
                        for unit in ("bytes", "objects")]
    return figures


def misses(interval, truth):
    low = float("inf") if interval["low"] is None else interval["low"]
    high = float("inf") if interval["high"] is None else interval["high"]
    return (truth < low - 1e-9) + (truth > high + 1e-9)


def check_exact(tap):
    figures, width = one_run(1, 1, interval=1)
    wrong = ["%s %s %s: %s, not %r" % (site, unit, figure, interval, truth) for site, unit, figure, interval, truth in figures
             if truth is not None and (misses(interval, truth) or interval["low"] != interval["high"])]
    tap.check(width == 0 and len(figures) == FIGURES and not wrong, "T = 1, one thread: all is exact",
              "width %s\n%s" % (width, "\n".join(wrong)))


def main():
    tap = profiled.Tap()
    check_exact(tap)
    for threads in THREADS:
        counts, differences, widths = {}, {}, []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for figures, width in pool.map(lambda seed, n=threads: one_run(n, seed), range(1, RUNS + 1)):
                widths.append(width)
                for site, unit, figure, interval, truth in figures:
                    key = "%s %s %s" % (site, unit, figure)
                    counts.setdefault(key, 0)
                    if truth is None:
                        continue
                    counts[key] += misses(interval, truth)
                    if not isinstance(figure, str) and interval["estimate"] is not None:
                        differences.setdefault(key, rules.Figure(0)).add(
                            {"estimate": interval["estimate"] - truth, "low": 0, "high": 0})
        allowed = rules.misses_allowed(RUNS)
        false_mean, false_interval = rules.false_alarm_rates(RUNS, len(counts))
        tap.note("%d threads: %d figures over %d runs; a correct profiler fails the mean rule with probability <= %.1g (by the "
                 "normal distribution), the interval rule <= %.1g; nine of ten ages known to %d bytes or less (the median run)"
                 % (threads, len(counts), RUNS, false_mean, false_interval, sorted(widths)[RUNS // 2]))
        tap.check(len(counts) == FIGURES and max(widths) < 1 << 16 and (threads > 1 or max(widths) == 0),
                  "%d threads: every site has every figure, and ages are known" % threads, "%s %s" % (len(counts), max(widths)))
        wrong = ["%s: %d of %d" % (key, count, RUNS) for key, count in counts.items() if count > allowed]
        tap.check(not wrong, "%d threads: no figure misses more than %d of %d intervals" % (threads, allowed, RUNS), "\n".join(wrong))
        tap.note("worst: %s missed %d times; all figures: %.2f %%" % (
            *max(counts.items(), key=lambda item: item[1]), 100 * sum(counts.values()) / (RUNS * len(counts))))
        # (With few runs a mean of skew estimates is not normal enough for 4.5 standard errors.)
        if profiled.LONG and threads == 1:
            wrong = ["%s: %+.2f standard errors" % (key, figure.standard_errors()) for key, figure in differences.items()
                     if abs(figure.standard_errors()) > rules.MEAN_LIMIT_STANDARD_ERRORS]
            tap.check(not wrong, "means within 4.5 standard errors of the truth", "\n".join(wrong))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
