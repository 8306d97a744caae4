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
    check_hosts_tree(store)
    check_hosts_refused(store)
    check_hosts_checked(store)


def check_hosts_tree(store):
    """A path has the figures of the function that is on it alone, with all that it calls; the whole has those of all."""
    top = json.loads(ask("fleet", "top", store, "--hosts", "sample", "--cumulative", "--json", "--rows", "100").stdout)
    text = ask("fleet", "tree", store, "--hosts", "sample", "--host-count", "5").stdout.decode()
    expect("all 5 hosts" in text and "5 hosts, a sample" in text and "4 degrees of freedom" in " ".join(text.split()), text)
    tree = ask("fleet", "tree", store, "--hosts", "sample").stdout.decode()
    lines = [line.split() for line in tree.splitlines()]
    names = {"all": top["total"], **{row["name"]: row for row in top["rows"]}}
    held = 0
    for line in lines:
        # The figure, its error, samples and the chain of names, whose last one has all that the others have.
        row = names.get(line[-1]) if line and line[0][0].isdigit() else None
        if row is None:
            continue
        figure = row["bytes"]
        value, unit = float(line[0]), {"B": 1, "KiB": 2 ** 10, "MiB": 2 ** 20}[line[1]]
        expect(abs(value * unit - figure["estimate"]) <= .06 * unit + .006 * figure["estimate"], "%s: %s" % (line, figure))
        expect(str(row["samples"]) in [word.replace(",", "") for word in line], "%s: %s samples" % (line, row["samples"]))
        held += 1
    expect(held >= 2, "only %d lines of a tree that have a row: %s" % (held, tree))
    stacks = [json.loads(ask("fleet", word, store, "--hosts", "sample", "--json", *more).stdout)
              for word, more in (("tree", []), ("top", ["--by", "stack"]))]
    expect(stacks[0] == stacks[1] and stacks[0]["by"] == "stack", "tree --json is by stack")


def check_hosts_refused(store):
    words = ["fleet", "top", store, "--hosts", "sample"]
    for hosts in (["a"], ["b", "c"]):
        line = ask(*words, *[word for host in hosts for word in ("--host", host)], status=1).stderr.decode()
        expect("%d host%s no sample" % (len(hosts), " is" if len(hosts) == 1 else "s are") in line, line)
    expect(b"5 hosts already" in ask(*words, "--host-count", "4", status=1).stderr, "--host-count")
    expect(b"--hosts sample" in ask("fleet", "top", store, "--host-count", "9", status=2).stderr, "without a sample")
    expect(b"--csv" in ask(*words, "--csv", status=2).stderr, "--csv")
    expect(b"--hosts" in ask("fleet", "html", store, "-o", "-", "--hosts", "sample", status=2).stderr, "html")


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


def check_diff(folder):
    """A host with several runs of a release is one unit: its runs are summed. One host is no sample."""
    store, traces = os.path.join(folder, "diff"), {"1": {}, "2": {}}
    os.mkdir(store)
    for i, (release, host) in enumerate((("1", "a"), ("1", "a"), ("1", "b"), ("1", "c"), ("2", "d"), ("2", "d"),
                                         ("2", "e"), ("2", "a"))):
        trace = os.path.join(folder, "diff%d.bpt" % i)
        profiled.run([profiled.program("churn"), "2", str(3000 + 900 * i)], trace, 1024, 400 + i)
        ask("export", trace, "--to", "parquet", "-o", os.path.join(store, str(i)), "--host", host, "--release", release)
        traces[release].setdefault(host, []).append(trace)
    words = ["fleet", "diff", store, "--json", "--metric", "live", "--base", "1", "--new", "2"]
    data = json.loads(ask(*words, "--hosts", "sample").stdout)
    schemas.validate(data, "diff-1")
    for side, release in (("base", "1"), ("new", "2")):
        totals = [json.loads(ask("report", "--json", "--estimator", "ht", "--metric", "live", *of_host).stdout)
                  ["totals"]["live"]["bytes"]["estimate"] for of_host in traces[release].values()]
        mean, error, _ = mean_of(totals)
        got = data["total"]["bytes"][side] if "bytes" in data["total"] else data["total"][side]["bytes"]
        expect(abs(got["estimate"] - mean) <= 1e-9 * mean, "%s: %r, not %r" % (side, got, mean))
        expect(got["low"] <= max(0, mean - STUDENT[2] * error) + 1e-9 * mean and
               got["high"] >= mean + STUDENT[2] * error - 1e-9 * mean,
               "%s: narrower than Student's: %s, %r" % (side, got, error))
    line = ask(*words[:-1], "9", "--hosts", "sample", status=1).stderr
    expect(b"no recording" in line, line)
    line = ask(*words, "--hosts", "sample", "--host", "a", status=1).stderr
    expect(b"1 host is no sample" in line, line)


def check_growth(folder):
    """The mean of what the hosts grow by, each of which `fleet growth` knows alone, with Student's interval of these or
    the wider one of sampling; two runs of a host are one unit; hosts that were not recorded are left out."""
    store, lengths = os.path.join(folder, "growth"), []
    os.mkdir(store)
    for i, host in enumerate(("a", "b", "c", "d", "e", "a")):
        trace = os.path.join(folder, "growth%d.bpt" % i)
        profiled.run([profiled.program("churn"), "2", str(8000 + 3000 * i)], trace, 512, 500 + i)
        ask("export", trace, "--to", "parquet", "-o", os.path.join(store, str(i)), "--host", host)
        lengths.append(profiled.report(trace)["duration_s"])
    words = ["fleet", "growth", store, "--json", "--from", "%.9f" % (.1 * min(lengths)), "--until",
             "%.9f" % (.95 * min(lengths))]
    got = json.loads(ask(*words, "--hosts", "sample").stdout)
    schemas.validate(got, "growth-1")
    expect([host["name"] for host in got["hosts"]] == list("abcde") and got["hosts"][0]["runs"] == 2, got["hosts"])
    alone = [json.loads(ask(*words, "--host", host).stdout) for host in "abcde"]
    students = 0
    for name in ("total", "make"):
        rows = [data["total"] if name == "total" else next(row for row in data["rows"] if row["name"] == name)
                for data in [got, *alone]]
        for side in ("from", "to"):
            mean = sum(row[side]["bytes"]["estimate"] for row in rows[1:]) / 5
            expect(abs(rows[0][side]["bytes"]["estimate"] - mean) <= 1e-9 * mean, "%s of %s" % (side, name))
        rates = [row["bytes_per_s"]["estimate"] for row in rows[1:]]
        mean, error, _ = mean_of(rates)
        rate, slack = rows[0]["bytes_per_s"], 1e-9 * max(abs(value) for value in rates)
        expect(abs(rate["estimate"] - mean) <= slack, "%s: %r, not %r" % (name, rate, mean))
        for limit, value in (("low", mean - STUDENT[4] * error), ("high", mean + STUDENT[4] * error)):
            students += abs(rate[limit] - value) <= slack
            expect(rate[limit] <= value + slack if limit == "low" else rate[limit] >= value - slack,
                   "%s of %s is narrower than Student's: %r, %r" % (limit, name, rate, value))
    expect(students > 0, "no limit is Student's: the hosts differ too little to try it")
    text = ask(*[word for word in words if word != "--json"], "--hosts", "sample").stdout.decode()
    expect("5 hosts, a sample" in text and "of one host, on average" in text and "are summed" not in text, text)
    late = [*words[:5], "%.9f" % (.1 * min(lengths)), "--until", "%.9f" % (.999 * sorted(lengths)[2]), "--hosts", "sample"]
    few = json.loads(ask(*late).stdout)
    expect(len(few["hosts"]) < 5 or few["hosts"][0]["runs"] < 2, few["hosts"])
    expect(any("left out" in warning for warning in few["warnings"]), few["warnings"])
    expect(b"2 hosts are no sample" in ask(*words, "--hosts", "sample", "--host", "b", "--host", "c", status=1).stderr, "two")


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        for name, check in (("means of hosts", check_hosts), ("differences of hosts", check_diff),
                            ("growth of hosts", check_growth)):
            if shutil.which("duckdb") is None:
                tap.skip(name, "duckdb is not on PATH (pip install duckdb-cli)")
            else:
                tap.attempt(name, lambda check=check: check(folder))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
