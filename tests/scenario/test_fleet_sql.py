#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The macros of duckdb.sql, for people who ask DuckDB themselves (docs/fleet.md): estimates and limits of functions against
`report`; every entry of the table of quantiles against the gamma distribution; a run that is in the store twice.

Without DuckDB's program on PATH all but the quantiles is skipped; test_fleet_clickhouse.py has the views of the other engine.
"""
import json
import math
import os
import re
import shutil
import subprocess
import sys

import profiled
from profiled import expect
from test_fleet import MACROS, Recordings, ask


def by_macros(form, question):
    """What DuckDB's program prints."""
    with open(MACROS, encoding="utf-8") as file:
        script = file.read() + question
    done = subprocess.run(["duckdb", "-init", "/dev/null", "-batch", "-bail", form], input=script.encode(), capture_output=True,
                          check=False)
    expect(done.returncode == 0, done.stderr.decode()[:500])
    return done.stdout


def check_sql(recordings):
    """The macros of duckdb.sql: estimates of functions are those of report, and limits, too."""
    done = by_macros("-json", "SELECT function, samples, bytes, objects, bytes_least, bytes_high FROM bytepoll_top('%s') "
                     "WHERE service = 'even' AND release = '0.0';" % recordings.store)
    got = {row.pop("function"): list(row.values()) for row in json.loads(done)}
    hosts = [i for i, run in enumerate(recordings.runs) if run == ("even", "0.0")]
    plain = json.loads(ask("report", "--json", "--estimator", "ht", "--allocators", "none", "--metric", "live",
                           *[recordings.traces[i] for i in hosts]).stdout)
    wanted = {row["name"]: [row["samples"], row["bytes"]["estimate"], row["objects"]["estimate"]] for row in plain["rows"]}
    expect(set(got) == set(wanted) and got, "functions: %s, not %s" % (sorted(got), sorted(wanted)))
    for name, values in wanted.items():
        expect(all(abs(a - b) <= 1e-9 * b for a, b in zip(got[name], values)), "%s: %s, not %s" % (name, got[name], values))
    compared = 0
    for row in plain["rows"]:
        _, _, _, least, high = got[row["name"]]
        bytes_, deviation = row["bytes"], (row["bytes"]["high"] - row["bytes"]["estimate"]) / 1.5
        expect(least <= bytes_["low"] * (1 + 1e-9), "%s: not below %s, but low is %s" % (row["name"], least, bytes_["low"]))
        if not bytes_.get("exact"):
            # (The quantile is at least 1.5 standard deviations up; the table is good to 6.5e-6 of them.)
            expect(abs(high - bytes_["high"]) <= 7e-6 * deviation + 1e-9 * high,
                   "%s: at most %s, not %s" % (row["name"], high, bytes_["high"]))
            compared += 1
    expect(compared >= 2, "too few limits: %d" % compared)


def gamma_tail(shape, x):
    """P(G > x) of the gamma distribution: by the series of its complement, or by a continued fraction (Lentz)."""
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        for n in range(1, 100000):
            term *= x / (shape + n)
            total += term
            if term < 1e-17 * total:
                break
        return 1 - front * total
    b = x + 1 - shape
    c, d = 1e300, 1 / b
    fraction = d
    for n in range(1, 100000):
        a = -n * (n - shape)
        b += 2
        d, c = 1 / (a * d + b), b + a / c
        fraction *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return front * fraction


def check_quantiles(_):
    """Every entry of the table in duckdb.sql leaves 2.5 % of its gamma distribution above it; clickhouse.sql has the same."""
    tables = []
    for path in (MACROS, os.path.join(os.path.dirname(MACROS), "clickhouse.sql")):
        with open(path, encoding="utf-8") as file:
            found = re.search(r"bytepoll_quantiles(?:\(\))? AS [^\[]*\[(.*?)\]", file.read(), re.S)
        tables.append([float(word) for word in found[1].split(",")])
    entries = tables[0]
    expect(tables[1] == entries, "another table in clickhouse.sql")
    expect(len(entries) == 301 and abs(math.erfc(entries[0] / math.sqrt(2)) / 2 - .025) < 1e-8, "the normal quantile")
    for i, entry in enumerate(entries[1:], 1):
        shape = 4 / (i * .02) ** 2
        tail = gamma_tail(shape, shape + entry * math.sqrt(shape))
        expect(abs(tail - .025) < 2e-8, "skewness %g: %g above" % (i * .02, tail))


def check_copy(recordings):
    """A copy of a run counts once."""
    question = ("SELECT count(*), sum(samples), (SELECT count(*) FROM bytepoll_processes('%s')) FROM bytepoll_samples('%s');" %
                (recordings.store, recordings.store))
    before = by_macros("-csv", question)
    shutil.copytree(os.path.join(recordings.store, "h0"), os.path.join(recordings.store, "copy"))
    after = by_macros("-csv", question)
    expect(after == before, "%s with a copy, %s without" % (after, before))


def main():
    tap = profiled.Tap()
    tap.attempt("quantiles", lambda: check_quantiles(None))
    with profiled.directory() as folder:
        if shutil.which("duckdb") is None:
            for name in ("figures of functions", "a copy of a run"):
                tap.skip(name, "duckdb is not on PATH (pip install duckdb-cli)")
        else:
            recordings = Recordings(folder)
            tap.attempt("figures of functions", lambda: check_sql(recordings))
            tap.attempt("a copy of a run", lambda: check_copy(recordings))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
