#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The JSON that commands print against docs/schema (schemas.py; `control status`: test_control.py)."""
import json
import os
import sys

import profiled
import schemas

PPROF = os.path.join(schemas.ROOT, "tests", "data", "pprof", "go-1.26.pb.gz")
ELSEWHERE = {"control-1", "hosts-1"}  # need a running process; a store and duckdb (test_fleet.py)


def printed(name, *arguments, statuses=(0,)):
    """Runs a command and validates what it prints."""
    result = profiled.run([profiled.BYTEPOLL, *arguments])
    profiled.expect(result.status in statuses, "%s: status %s: %s" % (
        arguments, result.status, result.stderr.decode(errors="replace").strip()))
    data = json.loads(result.stdout)
    profiled.expect(data["schema"] == "bytepoll-" + name, data["schema"])
    schemas.validate(data, name)
    return data


def record(folder, name, program, seed, *options):
    path = os.path.join(folder, name)
    result = profiled.run([profiled.BYTEPOLL, "run", "--quiet", "-o", path, "--interval", "2048",
                           "--seed", str(seed), *options, "--", profiled.program(program)])
    profiled.expect(result.status == 0, result.stderr.decode(errors="replace"))
    return path


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        a, b = (record(folder, "a%d.bpt" % seed, "truth", seed) for seed in (1, 2))
        verified = record(folder, "verified.bpt", "truth", 3, "--verify")
        tree = record(folder, "tree.bpt", "fork_storm", 4)
        pairs = record(folder, "pairs.bpt", "free_sites", 5, "--free-stacks")
        cases = [("report-1", "report", "--json", *options) for options in (
            (a,), ("--by", "stack", a), ("--timeline", a), ("--metric", "peak", "-n", "1", a),
            ("--metric", "allocated", "--by", "thread", a), ("--filter", "function=site_*", a),
            ("--from", "0", "--to", "0.01", "--metric", "allocated", a), (tree,),
            ("--by", "process", tree), (a, b), (PPROF,), ("--by", "size", "--bytes", "usable", a),
            ("--lifetimes", a), ("--lifetimes", "--complete", "--by", "size", a),
            ("--lifetimes", "--pairs", "-n", "3", pairs), ("--lifetimes", "--pairs", "--complete", "--by", "stack", "-n", "2", pairs),
            ("--filter", "freed-by=end_1", pairs),
            ("--rounding", a), ("--rounding", "--by", "stack", "--metric", "peak", "-n", "2", a))]
        cases += [("diff-1", "diff", "--json", *options) for options in (
            (a, b), ("--by", "stack", "--metric", "allocated", a, b),
            ("-n", "1", a, b), (a, b, "--new", b, tree),
            ("--at", "0.001", "--at", "0.01", a))]
        cases += [("growth-1", "report", "--growth", "--json", a),
                  ("verify-1", "verify", "--json", verified),
                  ("plan-1", "plan", "--json", "--heap", "10M", "--accuracy", "5%"),
                  ("plan-1", "plan", "--json", "--heap", "10M", "--interval", "512K", "--share",
                   "10%"),
                  ("plan-1", "plan", "--json", "--heap", "10M", "--change", "10%"),
                  ("plan-fleet-1", "plan", "--json", "--fleet", "--bytes-per-second", "20M", "--host-variation", "5%"),
                  ("plan-overview-1", "plan", "--json"),
                  ("plan-tables-1", "plan", "--json", "--table"),
                  ("plan-profile-1", "plan", "--json", a)]
        cases += [("check-1", "check", "--json", *options) for options in (
            (a, "--limit", "live=1"), (a, "--limit", "peak=1G"), (a, "--limit", "live:none*=1K"),
            (b, "--against", a, "--max-growth", "10%"))]
        documents = {}
        for name, *arguments in cases:
            title = " ".join(os.path.basename(word) for word in arguments)

            def one():
                data = printed(name, *arguments, statuses=(0, 1, 3) if name == "check-1" else (0,))
                documents.setdefault(name, []).append(data)
            tap.attempt("%s: %s" % (name, title), one)
        for name, printed_data in documents.items():
            tap.attempt("%s: damaged ones are refused" % name,
                        lambda: tap.note("%d damages" % sum(
                            schemas.bites(data, name) for data in printed_data)))
        tap.attempt("every schema is of something that is printed", lambda: profiled.expect(
            set(documents) | ELSEWHERE == set(schemas.names()), str(schemas.names())))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
