#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/sqlite: a real program whose own allocator is sampled by bytepoll/host.h, against what
SQLite says of itself.

The same SQL is run with seeds 1 to RUNS. Live when the trace ends must be sqlite3_memory_used(), the
peak sqlite3_memory_highwater(), live objects SQLite's count of outstanding allocations: judged by
the two rules of rules.py (the peak by the interval rule alone, since its estimate is not meant to
be unbiased), whose false-alarm rates are printed. What was allocated must be what an
allocator below the wrapper counted, exactly. Then the library that is preloaded: the program's output is
the same, and statements are found.

BYTEPOLL_LONG_TESTS=1 makes it 1000 runs.
"""
import concurrent.futures
import json
import os
import sys

import profiled
import rules

RUNS = 1000 if profiled.LONG else 60
INTERVAL = 32768
EXAMPLE = os.path.join(profiled.BUILD, "examples/sqlite")
WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/sqlite/work.sql")
FIGURES = (("live", "bytes", "memory_used"), ("live", "objects", "malloc_count"),
           ("peak", "bytes", "memory_highwater"))


def run_sql(trace, seed, threads=1, interval=INTERVAL):
    result = profiled.run([os.path.join(EXAMPLE, "run_sql"), trace, str(interval), str(seed), WORK,
                           str(threads)])
    profiled.expect(result.status == 0, str(result))
    return json.loads(result.stdout)


def expect_exact(data, truth):
    """To the byte, whatever the seed."""
    total = data["totals"]["allocated"]
    for unit in ("bytes", "objects"):
        profiled.expect(total[unit].get("exact") and total[unit]["estimate"] == truth[unit],
                        "%s: %s of %d" % (unit, total[unit], truth[unit]))
    profiled.expect(profiled.lost(data) == 0, str(data["losses"]))


def one_run(seed):
    with profiled.directory() as path:
        trace = os.path.join(path, "sql.bpt")
        truth = run_sql(trace, seed)
        data = profiled.report(trace)
        expect_exact(data, truth)
        return truth, data["totals"]


def judge(tap):
    figures, first = {}, None
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for truth, totals in pool.map(one_run, range(1, RUNS + 1)):
            first = first or truth
            profiled.expect(truth == first, "another truth: %s, %s" % (truth, first))
            for metric, unit, key in FIGURES:
                figures.setdefault((metric, unit), rules.Figure(truth[key])).add(
                    totals[metric][unit])
    profiled.expect(first["live_bytes"] == first["memory_used"], str(first))
    allowed = rules.misses_allowed(RUNS)
    false_mean, false_interval = rules.false_alarm_rates(RUNS, len(figures))
    tap.note("%d figures over %d runs; a correct profiler fails the mean rule with probability "
             "<= %.1g, the interval rule <= %.1g" % (len(figures), RUNS, false_mean,
                                                     false_interval))
    for (metric, unit), figure in figures.items():
        errors = figure.standard_errors()
        tap.check(metric == "peak" or abs(errors) <= rules.MEAN_LIMIT_STANDARD_ERRORS,
                  "%s %s: the mean is that of SQLite's %d" % (metric, unit, figure.truth),
                  "%+.2f standard errors" % errors)
        tap.check(figure.misses <= allowed, "%s %s: at most %d of %d intervals miss it" % (
            metric, unit, allowed, RUNS), "%d" % figure.misses)
        tap.note("%+.2f standard errors, %d missed" % (errors, figure.misses))


def statements():
    """Each statement is a function, on the line it begins on; the rows add up to the total."""
    with profiled.directory() as path:
        trace = os.path.join(path, "sql.bpt")
        truth = run_sql(trace, 1, 3, 4096)
        data = profiled.report(trace, "--by", "function", "--metric", "allocated", "--rows", "100")
        expect_exact(data, truth)
        names = [row["name"] for row in data["rows"]]
        profiled.expect("CREATE INDEX item_k ON item (k)" in names and "VACUUM" in names,
                        str(names))
        whole = sum(row["bytes"]["estimate"] for row in data["rows"])
        profiled.expect(abs(whole - truth["bytes"]) < 1e-6 * truth["bytes"], str(whole))
        lines = profiled.report(trace, "--by", "line", "--metric", "allocated")["rows"]
        with open(WORK, encoding="utf-8") as file:
            text = file.read().split("\n")
        begins = {text[int(row["name"].rsplit(":", 1)[1]) - 1].split()[0] for row in lines
                  if ":" in row["name"]}
        profiled.expect({"CREATE", "VACUUM;", "WITH", "DELETE"} <= begins, str(begins))
        expect_cut_in_the_middle(trace, names)


def expect_cut_in_the_middle(trace, names):
    """A statement is no name in C++: of one that is too long its beginning and its end are shown."""
    for view in ("report", "report --tree", "plan"):
        result = profiled.run([profiled.BYTEPOLL, *view.split(), "--metric", "allocated", trace],
                              extra={"COLUMNS": "60", "LC_ALL": "C.UTF-8"})
        profiled.expect(result.status == 0, str(result))
        cut = [line.split("…") for line in result.stdout.decode().splitlines() if "…" in line]
        profiled.expect(len(cut) > 3, "%s: %d names are cut" % (view, len(cut)))
        for begin, end in cut:
            begin, end = begin.split("  ")[-1], end.split("  ")[0]
            profiled.expect(any(name.startswith(begin) and name.endswith(end) for name in names),
                            "%s: %s … %s" % (view, begin, end))


def preloaded():
    """The command line of SQLite under the library that is preloaded: same output, statements known."""
    with profiled.directory() as path, open(WORK, "rb") as file:
        sql, trace = file.read(), os.path.join(path, "shell.bpt")
        plain = profiled.run(["sqlite3", ":memory:"], stdin=sql)
        result = profiled.run(["sqlite3", ":memory:"], stdin=sql, extra={
            "LD_PRELOAD": os.path.join(EXAMPLE, "libsqlite-sampled.so"),
            "BYTEPOLL_HOST_OUTPUT": trace, "BYTEPOLL_INTERVAL": "16384"})
        profiled.expect_same(plain, result)
        data = profiled.report(trace, "--by", "function", "--metric", "allocated")
        names = [row["name"] for row in data["rows"]]
        profiled.expect("VACUUM" in names and data["samples"] > 500, str(names))
        profiled.expect(data["totals"]["allocated"]["bytes"]["exact"], str(data["totals"]))
        again = profiled.run(["sqlite3", ":memory:", "select 1"], extra={
            "LD_PRELOAD": os.path.join(EXAMPLE, "libsqlite-sampled.so"),
            "BYTEPOLL_HOST_OUTPUT": trace})
        profiled.expect(again.status == 0 and again.stdout == b"1\n" and
                        b"the file exists" in again.stderr, str(again))


def main():
    tap = profiled.Tap()
    try:
        judge(tap)
    except AssertionError as error:
        tap.check(False, "%d runs" % RUNS, str(error))
    for action in (statements, preloaded):
        tap.attempt(action.__doc__, action)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
