#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll fleet --by service`, `release`, `host` and `tag:KEY`: rows of what the store says of the runs.

Without DuckDB's program on PATH the test is skipped; test_fleet_clickhouse.py asks the other engine the same.
"""
import json
import shutil
import sys

import profiled
import schemas
from profiled import expect
from test_fleet import HOSTILE, Recordings, ask


def rows_by(recordings, key, metric, *words):
    """Bytes and objects by name: estimate, low and high; and the number of samples."""
    data = json.loads(ask("fleet", "top", recordings.tables, "--json", "--rows", "9999", "--by", key, "--metric", metric,
                          *words).stdout)
    schemas.validate(data, "report-1")
    expect(data["by"] == key, data["by"])
    return {row["name"]: [row[unit][name] for unit in ("bytes", "objects") for name in ("estimate", "low", "high")] + [row["samples"]]
            for row in data["rows"]}


def check_origins(recordings):
    """Rows of runs: of a machine the sum of its processes; of a service or a release that of its machines; and where
    counters tell what was allocated, they tell it of these rows, too."""
    for metric in ("allocated", "live"):
        hosts = rows_by(recordings, "host", metric)
        expect(set(hosts) <= {"h%d" % i for i in range(len(recordings.runs))} and len(hosts) >= 6, "%s" % hosts)
        numbered = rows_by(recordings, "tag:number", metric)
        expect({"h" + name: row for name, row in numbered.items()} == hosts, "tags %s, hosts %s" % (numbered, hosts))
        expect(set(rows_by(recordings, "tag:other", metric)) == {"(none)"}, "a tag that no run has")
        for key, place in (("service", 0), ("release", 1)):
            rows = rows_by(recordings, key, metric)
            for name, row in rows.items():
                of = [hosts["h%d" % i] for i, run in enumerate(recordings.runs) if run[place] == name and "h%d" % i in hosts]
                expect(of, "%s is no %s" % (name, key))
                for column in (0, 3, 6):
                    wanted = sum(host[column] for host in of)
                    expect(abs(row[column] - wanted) <= 1e-9 * max(1, wanted), "%s %s: %s, not %s" % (key, name, row, of))
                expect(row[1] <= row[0] <= row[2] and row[4] <= row[3] <= row[5], row)
            expect(sum(row[6] for row in rows.values()) == sum(row[6] for row in hosts.values()), "%s: %s" % (key, rows))
    # What was allocated, by the report of each recording whose counters are complete.
    alone = {"h%d" % i: profiled.report(trace)["totals"]["allocated"]["bytes"] for i, trace in enumerate(recordings.traces)}
    alone = {host: figure["estimate"] for host, figure in alone.items() if figure["low"] == figure["high"]}
    expect(len(alone) >= 5, "exact totals of %s" % alone)
    which = [word for host in alone for word in ("--host", host)]
    for key, names in (("host", {host: host for host in alone}),
                       ("service", {host: recordings.runs[int(host[1:])][0] for host in alone})):
        rows = rows_by(recordings, key, "allocated", *which)
        for name in set(names.values()):
            wanted = sum(alone[host] for host in alone if names[host] == name)
            expect(rows[name][0] == rows[name][1] == rows[name][2] == wanted, "%s: %s, not %s" % (name, rows[name], wanted))
    header = ask("fleet", "top", recordings.tables, "--csv", "--by", "tag:a,b").stdout.decode().splitlines()[0]
    expect(header.startswith('"tag:a,b",samples,'), header)
    expect(HOSTILE in rows_by(recordings, "service", "live"), "a hostile service is no row")


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        if shutil.which("duckdb") is None:
            tap.skip("rows of runs", "duckdb is not on PATH (pip install duckdb-cli)")
        else:
            recordings = Recordings(folder)
            tap.attempt("rows of runs", lambda: check_origins(recordings))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
