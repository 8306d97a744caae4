#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll fleet` with dates: what was allocated in one part of a day, and what lived at one moment of it, whichever runs
there were; by people's own SQL, too (bytepoll_live).

Of one run that is the same part of the time since its start; of several it is the sum of what each has in its own part.
Without DuckDB's program on PATH the test is skipped; test_fleet_clickhouse.py asks the other engine the same.
"""
import json
import shutil
import subprocess
import sys

import profiled
from profiled import expect
from test_fleet import MACROS, Recordings, ask, beginning, date, differences


def of_day(start_ns, words):
    """Options whose times are since the start of a run, as dates."""
    return [date(start_ns + round(float(word) * 1e9)) if i % 2 else word for i, word in enumerate(words)]


def check_dates(recordings):
    """A window of a day has what a run allocated in it: of one run as the same window since its start; of several, which
    began one after another, the sum of what each has in its own part of it."""
    chosen = [i for i in range(len(recordings.traces)) if not recordings.traces[i].endswith(".pb.gz")]
    starts = {i: beginning(recordings, i) for i in chosen}
    asked = 0
    for i in chosen:
        first, middle, last = ("%.9f" % (part * recordings.median_s([i])) for part in (.2, .5, .8))
        for words in (["--from", first, "--until", last], ["--from", middle], ["--until", middle], ["--at", middle]):
            by = ["--by", ("function", "process", "thread")[asked % 3]]
            metric = ["--metric", "live" if words[0] == "--at" or asked % 2 else "allocated"]
            done = [subprocess.run([profiled.BYTEPOLL, "fleet", "top", recordings.store, "--json", "--host", "h%d" % i,
                                    *by, *metric, *times_], capture_output=True, check=False)
                    for times_ in (words, of_day(starts[i], words))]
            expect(done[0].returncode == done[1].returncode, "%s: %s" % (words, [one.stderr for one in done]))
            if done[0].returncode != 0:
                expect(b"the recording ends at 20" in done[1].stderr, done[1].stderr)
                continue
            wanted, got = (json.loads(one.stdout) for one in done)
            expect(got.pop("of_day") is True, "of_day")
            for name in ("from", "to", "at"):
                expect((got.get(name) is None) == (wanted.get(name) is None) or name == "at", "%s: %s" % (name, got.get(name)))
                got[name] = wanted[name]
            found = list(differences(got, wanted))
            expect(not found, "h%d %s: %d differences: %s" % (i, words, len(found), "; ".join(found[:4])))
            asked += 1
    expect(asked >= 20, "only %d windows" % asked)
    # One day for all: the window begins within the second run, after the first one has ended, and ends within the last.
    pair = sorted(chosen[:3], key=starts.get)
    edges = [starts[pair[1]] + round(.5e9 * recordings.median_s([pair[1]])),
             starts[pair[2]] + round(.5e9 * recordings.median_s([pair[2]]))]
    words = ["--json", "--metric", "allocated", "--from", date(edges[0]), "--until", date(edges[1])]
    parts = [0]
    for i, more in ((pair[1], ["--from", "%.9f" % ((edges[0] - starts[pair[1]]) / 1e9)]),
                    (pair[2], ["--until", "%.9f" % ((edges[1] - starts[pair[2]]) / 1e9)])):
        parts.append(json.loads(ask("report", "--json", "--metric", "allocated", *more, recordings.traces[i]).stdout)
                     ["totals"]["allocated"]["samples"])
    got = json.loads(ask("fleet", "top", recordings.store, *words, *[word for i in pair for word in ("--host", "h%d" % i)]).stdout)
    expect(min(parts[1:]) > 0 and got["totals"]["allocated"]["samples"] == sum(parts), "%s, not %s" % (
        got["totals"]["allocated"], parts))
    # A moment at which the first of them has ended: what it held then is nothing.
    words = ["--json", "--at", date(edges[1])]
    alone = json.loads(ask("report", "--json", "--at", "%.9f" % ((edges[1] - starts[pair[2]]) / 1e9),
                           recordings.traces[pair[2]]).stdout)["totals"]["live"]
    got = json.loads(ask("fleet", "top", recordings.store, *words, "--host", "h%d" % pair[0], "--host", "h%d" % pair[2]).stdout)
    expect(alone["samples"] > 0 and got["totals"]["live"]["samples"] == alone["samples"], "%s, not %s" % (got["totals"]["live"], alone))
    words = ["--json", "--metric", "allocated", "--from", date(edges[0]), "--until", date(edges[1])]
    text = ask("fleet", "top", recordings.store, *words[1:], "--host", "h%d" % pair[1]).stdout.decode()
    expect("  from 20" in text and "Z to 20" in text, text)


def live_at(recordings, i, moment_ns):
    """Samples, bytes and objects by function of what recording i held then, by its own report."""
    since_s = (moment_ns - beginning(recordings, i)) / 1e9
    if since_s < 0:
        return {}
    done = subprocess.run([profiled.BYTEPOLL, "report", "--json", "--at", "%.9f" % since_s, "--estimator", "ht", "--allocators",
                           "none", "--rows", "1000", recordings.traces[i]], capture_output=True, check=False)
    if done.returncode != 0:
        expect(b"the recording ends at" in done.stderr, done.stderr)
        return {}
    return {row["name"]: [row["samples"], row["bytes"]["estimate"], row["objects"]["estimate"]]
            for row in json.loads(done.stdout)["rows"] if row["samples"] > 0}


def check_live(recordings, rows_of):
    """What bytepoll_live says of a moment is the sum of what each run held then. `rows_of` asks for function, samples,
    bytes and objects of a service and a release at a moment, `2026-01-31 12:00:00`."""
    compared = 0
    own = [i for i in range(len(recordings.traces)) if not recordings.traces[i].endswith(".pb.gz")]
    for i in own:
        moment_ns = beginning(recordings, i) + round(.5e9 * recordings.median_s([i]))
        wanted = {}
        for other in own:
            if recordings.runs[other] == recordings.runs[i]:
                for name, values in live_at(recordings, other, moment_ns).items():
                    wanted[name] = [a + b for a, b in zip(wanted.get(name, [0] * 3), values)]
        got = {row[0]: [float(number) for number in row[1:]] for row in rows_of(
            *recordings.runs[i], date(moment_ns).replace("T", " ").rstrip("Z"))}
        expect(set(got) == set(wanted), "h%d: functions %s, not %s" % (i, sorted(got), sorted(wanted)))
        for name, values in wanted.items():
            expect(all(abs(a - b) <= 1e-9 * b for a, b in zip(got[name], values)),
                   "h%d %s: %s, not %s" % (i, name, got[name], values))
            compared += 1
    expect(compared >= 10, "only %d functions" % compared)


COLUMNS = "function, samples, bytes, objects"


def quoted(text):
    return "'%s'" % text.replace("'", "''")


def live_by_duckdb(recordings):
    with open(MACROS, encoding="utf-8") as file:
        macros = file.read()

    def rows_of(service, release, moment):
        script = "%sSELECT %s FROM bytepoll_live(%s, TIMESTAMP_NS %s) WHERE service = %s AND release = %s;" % (
            macros, COLUMNS, *map(quoted, (recordings.store, moment, service, release)))
        done = subprocess.run(["duckdb", "-init", "/dev/null", "-batch", "-bail", "-json"], input=script.encode(),
                              capture_output=True, check=False)
        expect(done.returncode == 0, done.stderr.decode()[:500])
        return [list(row.values()) for row in json.loads(done.stdout or "[]")]
    check_live(recordings, rows_of)


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        if shutil.which("duckdb") is None:
            for name in ("dates", "SQL of a moment"):
                tap.skip(name, "duckdb is not on PATH (pip install duckdb-cli)")
        else:
            recordings = Recordings(folder)
            tap.attempt("dates", lambda: check_dates(recordings))
            tap.attempt("SQL of a moment", lambda: live_by_duckdb(recordings))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
