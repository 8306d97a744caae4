#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll fleet --hosts sample`: what a host holds on average, how it grew and how it changed, from hosts that are a
sample of more.

Figures are held against the means of what `bytepoll report` says of each host, and limits against Student's quantiles.
Without DuckDB's program on PATH the test is skipped. (How often such limits miss is simulated in
tests/statistics/test_hosts_simulated.c.)
"""
import json
import math
import os
import shutil
import sys

import profiled
import schemas
from profiled import expect
from test_fleet import ask

STUDENT = {2: 4.302652729749464, 4: 2.7764451051977934}  # the .975 quantiles, by degrees of freedom


def mean_of(totals):
    """Mean, standard error and deviation of the hosts' totals."""
    mean = sum(totals) / len(totals)
    variance = sum((total - mean) ** 2 for total in totals) / (len(totals) - 1)
    return mean, math.sqrt(variance / len(totals)), math.sqrt(variance)


def check_hosts(folder):
    """--hosts sample: the mean of hosts, of which one has two runs, with Student's interval of the hosts' totals; all
    hosts; what does not match; refusals; and the verdicts of check on the same limits."""
    store, traces = os.path.join(folder, "hosts"), {}
    os.mkdir(store)
    for i, host in enumerate(("a", "b", "c", "d", "e", "a")):
        trace = os.path.join(folder, "host%d.bpt" % i)
        profiled.run([profiled.program("churn"), "2", str(3000 + 1500 * i)], trace, 1024, 300 + i)
        ask("export", trace, "--to", "parquet", "-o", os.path.join(store, str(i)), "--host", host)
        traces.setdefault(host, []).append(trace)
    words = ["fleet", "top", store, "--hosts", "sample", "--json"]
    for metric in ("live", "allocated"):
        data = json.loads(ask(*words, "--metric", metric).stdout)
        schemas.validate(data, "hosts-1")
        expect([(host["name"], host["runs"]) for host in data["hosts"]] ==
               [(host, len(traces[host])) for host in sorted(traces)], data["hosts"])
        plain = [json.loads(ask("report", "--json", "--estimator", "ht", "--metric", metric, *traces[host]).stdout)
                 for host in sorted(traces)]
        # (Of what was allocated a report cuts estimates off at what was counted, which is not done to a mean.)
        for name in ("total", "make") if metric == "live" else ("total",):
            got = data["total"] if name == "total" else next(row for row in data["rows"] if row["name"] == name)
            figures = [report["totals"][metric] if name == "total" else
                       next(row for row in report["rows"] if row["name"] == name) for report in plain]
            expect(got["samples"] == sum(figure["samples"] for figure in figures) and got["seen_hosts"] == 5, got)
            mean, error, deviation = mean_of([figure["bytes"]["estimate"] for figure in figures])
            wanted = (mean, mean - STUDENT[4] * error, mean + STUDENT[4] * error)
            for limit, value in zip(("estimate", "low", "high"), wanted):
                expect(abs(got["bytes"][limit] - value) <= 1e-9 * value, "%s %s of %s: %r, not %r" %
                       (metric, limit, name, got["bytes"][limit], value))
            expect(0 < got["bytes"]["deviation"] <= deviation * (1 + 1e-9), "the deviation: %s" % got)
            # (The hosts differ by much more than sampling is in doubt.)
            expect(got["bytes"]["deviation"] > .9 * deviation, "the deviation: %s" % got)
    live = json.loads(ask(*words).stdout)["total"]["bytes"]
    whole = json.loads(ask(*words, "--host-count", "40").stdout)
    expect(whole["all_hosts"] == 40 and schemas.bites(whole, "hosts-1") > 20, "all hosts")
    for name in ("estimate", "low", "high"):
        expect(abs(whole["total"]["bytes"][name] - 40 * live[name]) <= 1e-9 * 40 * live[name], "40 hosts: %s" % name)
    expect(abs(whole["total"]["bytes"]["deviation"] - live["deviation"]) <= 1e-9 * live["deviation"], "of one host")
    # A row that one host has alone.
    one = json.loads(ask(*words, "--by", "process").stdout)
    expect(all(1 <= row["seen_hosts"] <= 5 for row in one["rows"]), one["rows"])
    text = ask("fleet", "top", store, "--hosts", "sample", "--by", "stack").stdout.decode()
    expect("5 hosts, a sample" in text and "4 degrees of freedom" in " ".join(text.split()) and "  #1\n" in text, text)
    check_hosts_refused(store)
    check_hosts_checked(store)


def check_hosts_refused(store):
    words = ["fleet", "top", store, "--hosts", "sample"]
    for hosts in (["a"], ["b", "c"]):
        line = ask(*words, *[word for host in hosts for word in ("--host", host)], status=1).stderr.decode()
        expect("%d host%s no sample" % (len(hosts), " is" if len(hosts) == 1 else "s are") in line, line)
    expect(b"5 hosts already" in ask(*words, "--host-count", "4", status=1).stderr, "--host-count")
    expect(b"--hosts sample" in ask("fleet", "top", store, "--host-count", "9", status=2).stderr, "without a sample")
    expect(b"--csv" in ask(*words, "--csv", status=2).stderr, "--csv")
    expect(b"--hosts" in ask("fleet", "tree", store, "--hosts", "sample", status=2).stderr, "tree")


def check_hosts_checked(store):
    """A limit is judged by the limits that top shows at the confidence 1 - 2a."""
    top = json.loads(ask("fleet", "top", store, "--hosts", "sample", "--json", "--confidence", ".98").stdout)["total"]
    for count, many, unit, suffix in ((1, [], "bytes", ""), (40, ["--host-count", "40"], "objects", ".objects")):
        low, high = (count * top[unit][side] for side in ("low", "high"))
        for most, status in ((high * 1.001, 0), (high * .999, 3), (low * 1.001, 3), (low * .999, 1)):
            data = json.loads(ask("fleet", "check", store, "--hosts", "sample", "--json", *many, "--limit",
                                  "live%s=%d" % (suffix, most), status=status).stdout)
            schemas.validate(data, "check-1")
            interval = data["limits"][0]["interval"]
            expect(abs(interval["low"] - low) <= 1e-9 * low and abs(interval["high"] - high) <= 1e-9 * high,
                   "%s, not [%r, %r]" % (interval, low, high))
    # What one limit would decide for the sum of the runs, a sample does not: the hosts differ.
    text = ask("fleet", "check", store, "--hosts", "sample", "--limit", "live=%d" % (top["bytes"]["high"] * .99),
               status=3).stdout.decode()
    expect("record more of them" in " ".join(text.split()), text)


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        for name, check in (("means of hosts", check_hosts),):
            if shutil.which("duckdb") is None:
                tap.skip(name, "duckdb is not on PATH (pip install duckdb-cli)")
            else:
                tap.attempt(name, lambda check=check: check(folder))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
