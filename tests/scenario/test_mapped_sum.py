#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`report --metric all`: what a program maps and what it mallocs, added, against a program that counts both.

    test_mapped_sum.py glibc|jemalloc

At T = 1 every site is right to the byte. With seeds from 1 on at T = 2048 the mapped part is right to the byte, the interval is
that of the malloc'ed part moved by it, and the rules of rules.py judge sums and means. jemalloc maps arenas, in which the objects
lie: they are left out, so that the sum is the same.

20 runs; BYTEPOLL_LONG_TESTS=1 makes it 300.
"""
import concurrent.futures
import os
import subprocess
import sys

import profiled
import rules
import schemas
import test_foreign

RUNS = 300 if profiled.LONG else 20


def one_run(allocator, interval, seed, by="function"):
    """(the program's count, the report of the sum, that of live, that of what was mapped)"""
    extra = {"BYTEPOLL_MAPPED": "on"}
    if allocator != "glibc":
        extra.update(test_foreign.preload(profiled.RECORDER, test_foreign.path_of(test_foreign.LIBRARIES[allocator])))
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = profiled.run([profiled.program("mapped_sum")], trace, interval, seed, extra=extra)
        profiled.expect(result.status == 0, "seed %d: status %s" % (seed, result.status))
        truth = {name: (int(mapped), int(malloced)) for name, mapped, malloced in
                 (line.split() for line in result.stdout.decode().splitlines())}
        return (truth, *(profiled.report(trace, "--metric", metric, "--by", by)
                         for metric in ("all", "live", "mapped")))


def name_of(row):
    return row["name"] if "name" in row else row["stack"][0]["function"]


def sites_of(data):
    rows = {name_of(row): row for row in data["rows"]}
    profiled.expect(len(rows) == len(data["rows"]), "rows of one name: %s" % sorted(rows))
    return rows


def is_exact(allocator, by):
    """T = 1."""
    truth, data, _, _ = one_run(allocator, 1, 1, by)
    schemas.validate(data, "report-1")
    rows = sites_of(data)
    for site, (mapped, malloced) in truth.items():
        row = rows[site]
        profiled.expect(row["bytes"].get("exact") and row["bytes"]["estimate"] == mapped + malloced and
                        row["mapped_bytes"] == mapped and row["malloced"]["estimate"] == malloced, "%s: %s" % (site, row))
    # What is not of the sites is malloc'ed by libraries; whatever maps is a site or an arena.
    profiled.expect(data["all"]["mapped_bytes"] == sum(mapped for mapped, _ in truth.values()), "%s" % data["all"])
    profiled.expect(sum(row["bytes"]["estimate"] for row in data["rows"]) == data["all"]["bytes"]["estimate"], "rows add up")


def holds_together(data, live, mapped):
    """The parts are those of the other two reports."""
    profiled.expect(data["metric"] == "all" and data["rest"]["bytes"]["estimate"] == 0, data["metric"])
    alone = sites_of(live)
    for name, row in sites_of(data).items():
        for limit in ("estimate", "low", "high"):
            profiled.expect(abs(row["bytes"][limit] - row["malloced"][limit] - row["mapped_bytes"]) < 1e-3, "%s" % row)
            if name in alone:
                profiled.expect(row["malloced"][limit] == alone[name]["bytes"][limit], "%s: %s" % (row, alone[name]))
    profiled.expect(data["all"]["arena_bytes"] + data["all"]["mapped_bytes"] ==
                    mapped["totals"]["mapped"]["bytes"]["estimate"], "%s" % data["all"])


def judge(tap, allocator):
    figures, arenas = {}, []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for truth, data, live, mapped in pool.map(lambda seed: one_run(allocator, 2048, seed), range(1, RUNS + 1)):
            holds_together(data, live, mapped)
            arenas.append(data["all"]["arena_bytes"])
            rows = sites_of(data)
            for site, (exact, malloced) in truth.items():
                profiled.expect(rows[site]["mapped_bytes"] == exact, "%s: %s" % (site, rows[site]))
                figures.setdefault(site, rules.Figure(exact + malloced)).add(rows[site]["bytes"])
    allowed = rules.misses_allowed(RUNS)
    tap.note("%d figures over %d runs; a correct profiler fails the mean rule with probability <= %.1g, the interval rule "
             "<= %.1g" % (len(figures), RUNS, *rules.false_alarm_rates(RUNS, len(figures))))
    wrong = ["%s: %d" % (site, figure.misses) for site, figure in figures.items() if figure.misses > allowed]
    tap.check(not wrong, "no site misses more than %d of %d intervals" % (allowed, RUNS), "\n".join(wrong))
    if profiled.LONG:
        wrong = ["%s: %+.2f" % (site, figure.standard_errors()) for site, figure in figures.items()
                 if abs(figure.standard_errors()) > rules.MEAN_LIMIT_STANDARD_ERRORS]
        tap.check(not wrong, "means within 4.5 standard errors of the count", "\n".join(wrong))
    tap.check((min(arenas) > 0) == (allocator == "jemalloc"), "arenas are those of jemalloc", "%s" % arenas)


def refused(tap):
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        profiled.run([profiled.program("mapped_sum")], trace, 2048, 1)
        result = subprocess.run([profiled.BYTEPOLL, "report", "--metric", "all", trace], capture_output=True, text=True,
                                check=False)
        tap.check(result.returncode == 1 and "does not tell what the program mapped itself" in result.stderr and
                  result.stderr.count("\n") == 1, "without what was mapped there is no sum", result.stderr)


def main():
    tap, allocator = profiled.Tap(), sys.argv[1]
    for by in ("function", "stack"):
        tap.attempt("%s: exact at T = 1 by %s" % (allocator, by), lambda by=by: is_exact(allocator, by))
    judge(tap, allocator)
    refused(tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
