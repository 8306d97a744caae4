#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""On which processor objects are freed: a program that is bound to processors, with known shares (programs/processors.c).

At T = 1 shares are equal to the truth; at T = 4096 the interval rule of rules.py judges 20 seeds of each figure. The
second decoder finds the very processors in the trace. Without --free-stacks there are none in it."""
import os
import platform
import re
import sys

import profiled
import rules

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tools"))
import trace_decode  # noqa: E402  (the second decoder)

RUNS = 20
SHARES = {"site_some": .25, "site_all": 1}


def record(path, interval, seed, extra):
    trace = os.path.join(path, "trace.bpt")
    a, b = sorted(os.sched_getaffinity(0))[:2]
    result = profiled.run([profiled.program("processors"), str(a), str(b)], trace, interval, seed, extra=extra)
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:200]))
    return trace, a, b


def shares_of(trace, *options):
    """{(site, unit): share} of the rows, and of the pairs."""
    data = profiled.report(trace, "--lifetimes", "--by", "function", "--rows", "100", *options)
    rows = {(row["name"], unit): lifetimes[unit].get("freed_on_another_processor")
            for row, lifetimes in zip(data["rows"], data["lifetimes"]["rows"]) for unit in ("bytes", "objects")}
    data = profiled.report(trace, "--lifetimes", "--pairs", "--rows", "100", *options)
    pairs = {(row["allocated"]["name"], unit): row["freed_on_another_processor"][unit]
             for row in data["pairs"]["rows"] if row["end"] == "freed" for unit in ("bytes", "objects")}
    return rows, pairs


def exact(extra, *options):
    with profiled.directory() as path:
        trace, a, b = record(path, 1, 1, {"BYTEPOLL_FREE_STACKS": "on", **extra})
        for shares in shares_of(trace, *options):
            for site, share in SHARES.items():
                for unit in ("bytes", "objects"):
                    figure = shares[site, unit]
                    profiled.expect(figure["estimate"] == figure["low"] == figure["high"] == share,
                                    "%s, %s: %s, but %s" % (site, unit, figure, share))
        with open(trace, "rb") as file:
            records = [fields for kind, fields in trace_decode.Trace(file, True).lines() if kind in ("sample", "free")]
    made = {fields["processor"] for fields in records if fields.get("size") in (100, 300)}
    freed = {fields["processor"] for fields in records if "sample_sequence" in fields}
    profiled.expect(made == {a + 1} and freed == {a + 1, b + 1}, "made on %s, freed on %s, of %s" % (made, freed, (a, b)))


def shown(path):
    """The tables for people have a column for it, with a note; where there is no room for all the column goes first."""
    trace, _, _ = record(path, 1, 1, {"BYTEPOLL_FREE_STACKS": "on"})
    for options, row in (((), r"(?m)^  site_some .* 25 %$"), (("--pairs",), r"(?m)^  site_some → main .* 25 %$")):
        words = {columns: profiled.run([profiled.BYTEPOLL, "report", "--lifetimes", *options, trace],
                                       extra={"COLUMNS": str(columns), "LC_ALL": "C.UTF-8"}).stdout.decode() for columns in (140, 70)}
        profiled.expect("other CPU\n" in words[140] and "Other CPU: the part" in words[140] and re.search(row, words[140]), words[140])
        profiled.expect("other CPU" not in words[70].lower() and "half after" in words[70], words[70])


def unasked():
    with profiled.directory() as path:
        trace, _, _ = record(path, 1, 1, {})
        with open(trace, "rb") as file:
            told = [fields for kind, fields in trace_decode.Trace(file, True).lines()
                    if kind in ("sample", "free") and fields["processor"] != 0]
        data = profiled.report(trace, "--lifetimes")
    profiled.expect(not told and "freed_on_another_processor" not in data["lifetimes"]["all"]["bytes"], "%s" % told[:2])


def in_folder(test):
    with profiled.directory() as path:
        test(path)


def coverage(tap):
    misses = dict.fromkeys(((site, unit) for site in SHARES for unit in ("bytes", "objects")), 0)
    for seed in range(1, RUNS + 1):
        with profiled.directory() as path:
            rows, _ = shares_of(record(path, 4096, seed, {"BYTEPOLL_FREE_STACKS": "on"})[0])
        for (site, unit), count in misses.items():
            figure = rows[site, unit]
            misses[site, unit] = count + (not figure["low"] - 1e-9 <= SHARES[site] <= figure["high"] + 1e-9)
    allowed = rules.misses_allowed(RUNS)
    tap.note("a correct profiler fails with probability <= %.1g" % rules.false_alarm_rates(RUNS, len(misses))[1])
    tap.check(max(misses.values()) <= allowed, "no share misses more than %d of %d intervals" % (allowed, RUNS), "%s" % misses)


def main():
    tap = profiled.Tap()
    for what, test in (("T = 1: equal to the truth", lambda: exact({})),
                       ("the same in place", lambda: exact({"BYTEPOLL_IN_PLACE": "1"})),
                       ("the same with ages in bytes", lambda: exact({}, "--age-bytes")),
                       ("tables", lambda: in_folder(shown)),
                       ("without stacks of frees there are no processors", unasked)):
        if len(os.sched_getaffinity(0)) < 2:
            tap.skip(what, "there is one processor")
        elif platform.machine() != "x86_64":
            tap.skip(what, "processors are recorded on x86-64 alone")
        else:
            tap.attempt(what, test)
    if len(os.sched_getaffinity(0)) >= 2 and platform.machine() == "x86_64":
        coverage(tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
