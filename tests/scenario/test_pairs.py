#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll report --lifetimes --pairs` against a program whose pairs of sites are known (programs/free_sites.c).

Where T is 1 every number is compared for equality, with sampled objects in slots, in place and over jemalloc; ages are
compared with those that the second decoder (tools/trace_decode.py) reads in the same trace. Nothing there fails by
chance.

With T = 1024 and seeds from 1 on the bytes, the objects and the share freed by another thread of each pair are compared
with the truth, and each tail of their intervals is counted apart: a limit of 2.5 % may miss in no more runs than the
interval rule of rules.py allows for that probability (7 of 20 runs, 26 of 300). The test says how often a correct
profiler fails it. In each run the pairs of a site add up to what the report says of the site, and all pairs to what was
allocated, which is exact.

The filter by the place that frees is held against the same truth. With T = 1 its figures are compared for equality; in
each run with T = 1024 its rows have the figures of the pairs of that place, and the tails of the totals of each place
that frees are counted with those of the pairs.

20 runs; BYTEPOLL_LONG_TESTS=1 makes it 300, and adds the mean rule.
"""
import collections
import concurrent.futures
import os
import re
import statistics
import subprocess
import sys

import profiled
import rules
import test_free_stacks
from test_foreign import LIBRARIES, path_of

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tools"))
import trace_decode  # noqa: E402  (the second decoder)

RUNS = 300 if profiled.LONG else 20
INTERVAL = 1024
TAIL = 2e-8  # as of the interval rule
LIVE = "(live)"


def known_pairs():
    """By (allocated in, freed in): [bytes, objects, of which bytes and objects that another thread freed]."""
    pairs = collections.defaultdict(lambda: [0, 0, 0, 0])
    for (made, ended, size, another), count in test_free_stacks.PAIRS.items():
        pair = pairs[made, ended or LIVE]
        for i, one in enumerate((size, 1, size if another else 0, 1 if another else 0)):
            pair[i] += one * count
    return dict(pairs)


KNOWN = known_pairs()


def record(path, interval, seed, extra):
    trace = os.path.join(path, "trace.bpt")
    result = profiled.run([profiled.program("free_sites")], trace, interval, seed,
                          extra={"BYTEPOLL_FREE_STACKS": "on"} | extra)
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:300]))
    return trace


def pairs_of(data):
    """The rows of a report by (allocated in, freed in)."""
    rows = data["pairs"]["rows"]
    profiled.expect(all((row["end"] == "freed") == (row["freed"] is not None) for row in rows), "%s" % rows)
    names = [(row["allocated"]["name"], row["freed"]["name"] if row["freed"] else {"live": LIVE}.get(row["end"], "?"))
             for row in rows]
    profiled.expect(len(set(names)) == len(names), "a pair twice: %s" % sorted(names))
    return {name: row for name, row in zip(names, rows) if name[0].startswith(("make_", "grow_"))}


def ages_of(trace):
    """By size the ages in seconds of freed objects; each size of the program is of one pair."""
    births, ages = {}, collections.defaultdict(list)
    with open(trace, "rb") as file:
        records = list(trace_decode.Trace(file, True).lines())
    for kind, fields in records:
        if kind == "sample":
            births[fields["sequence"]] = fields
    for kind, fields in records:
        if kind == "free" and fields["sample_sequence"] in births:
            birth = births[fields["sample_sequence"]]
            ages[birth["size"]].append((fields["time_ns"] - birth["time_ns"]) / 1e9)
    return ages


def all_sampled(extra):
    with profiled.directory() as path:
        trace = record(path, 1, 1, extra)
        data = profiled.report(trace, "--lifetimes", "--pairs", "--by", "function", "--rows", "1000")
        complete = profiled.report(trace, "--lifetimes", "--pairs", "--complete", "--by", "function", "--rows", "1000")
        filtered = profiled.report(trace, "--lifetimes", "--pairs", "--filter", "function=make_2")
        lines = profiled.report(trace, "--lifetimes", "--pairs", "--by", "line")
        ages = ages_of(trace)
    pairs = pairs_of(data)
    found = {name: [row["bytes"]["estimate"], row["objects"]["estimate"]] for name, row in pairs.items()}
    profiled.expect(found == {name: pair[:2] for name, pair in KNOWN.items()}, "%s, but %s" % (found, KNOWN))
    for name, row in pairs.items():
        for unit, whole, part in (("bytes", 0, 2), ("objects", 1, 3)):
            share = row["freed_by_another"][unit]["estimate"]
            expected = None if name[1] == LIVE else KNOWN[name][part] / KNOWN[name][whole]
            profiled.expect(share == expected, "%s, by another: %s, but %s" % (name, share, expected))
    # Of a pair with objects of one size: the smallest age by which half of them are freed.
    for i, j in ((1, 1), (1, 2), (1, 3), (2, 1), (2, 3), (3, 2), (3, 3)):
        median = pairs["make_%d" % i, "end_%d" % j]["median_s"]["objects"]["estimate"]
        expected = statistics.median_low(ages[100 * i + j])
        profiled.expect(abs(median - expected) < 1e-9, "make_%d to end_%d: %s s, but %s" % (i, j, median, expected))
    profiled.expect({name for name in pairs if name[1] != LIVE} == set(pairs_of(complete)),
                    "--complete has other pairs: %s" % sorted(pairs_of(complete)))
    profiled.expect(complete["pairs"]["all"]["bytes"]["estimate"] ==
                    sum(row["bytes"]["estimate"] for row in complete["pairs"]["rows"]), "the sum of --complete")
    profiled.expect(set(pairs_of(filtered)) == {name for name in KNOWN if name[0] == "make_2"},
                    "filtered: %s" % sorted(pairs_of(filtered)))
    rows = lines["pairs"]["rows"]
    profiled.expect(sum(row["end"] == "live" for row in rows) >= 2 and
                    all("free_sites.c:" in row["freed"]["name"] for row in rows
                        if row["freed"] and "free_sites.c:" in row["allocated"]["name"]), "by line: %s" % rows)


def test_slots():
    all_sampled({})


def test_in_place():
    all_sampled({"BYTEPOLL_IN_PLACE": "1"})


def test_foreign():
    all_sampled({"LD_PRELOAD": "%s:%s" % (profiled.RECORDER, path_of(LIBRARIES["jemalloc"]))})


def test_window():
    """At the beginning of a recording nothing is freed yet, and in the table for people too every pair is live."""
    with profiled.directory() as path:
        trace = record(path, 1, 1, {})
        data = profiled.report(trace, "--lifetimes", "--pairs", "--until", "0.000001")
        ends = {row["end"] for row in data["pairs"]["rows"]}
        profiled.expect(ends <= {"live"}, "%s" % ends)
        data = profiled.report(trace, "--lifetimes", "--pairs", "--rows", "3")
        parts, rest = data["pairs"]["rows"], data["pairs"]["rest"]
        profiled.expect(len(parts) == 3 and data["pairs"]["rows_left_out"] > 0, "%d rows" % len(parts))
        profiled.expect(sum(row["bytes"]["estimate"] for row in parts) + rest["bytes"]["estimate"] ==
                        data["totals"]["allocated"]["bytes"]["estimate"], "three pairs and the rest: %s" % rest)


def test_stacks():
    """By stack both stacks of a pair stand below it, whole and in the order of --json; and so does that of each row of
    --lifetimes."""
    with profiled.directory() as path:
        trace = record(path, 1, 1, {})
        data = profiled.report(trace, "--lifetimes", "--pairs", "--by", "stack", "--rows", "40")
        alone = profiled.report(trace, "--lifetimes", "--by", "stack", "--rows", "40")
        pairs, lifetimes = (subprocess.run(
            [profiled.BYTEPOLL, "report", "--lifetimes", *more, "--by", "stack", "--rows", "40", trace], capture_output=True,
            check=True, env=profiled.environment(extra={"COLUMNS": "120", "LC_ALL": "C.UTF-8"})).stdout.decode()
            for more in (["--pairs"], []))
    blocks = re.split(r"(?m)^  #\d+ .*\n", pairs)[1:]
    profiled.expect(len(blocks) == len(data["pairs"]["rows"]) >= len(KNOWN), "%d pairs of %d:\n%s" % (len(blocks), len(KNOWN), pairs))
    ended = {"live": "(still live)", "freed": "freed"}  # (where an object was freed is known of all of them)
    for block, row in zip(blocks, data["pairs"]["rows"]):
        lines = []
        for line in block.splitlines():
            if not line.startswith("      "):
                break
            lines.append(line.split("  ")[4 if line.startswith(" " * 8) else 3])
        wanted = ["allocated", *functions(row["allocated"]), ended[row["end"]], *(functions(row["freed"]) if row["freed"] else [])]
        profiled.expect(lines == wanted, "%s\nnot %s" % (block, wanted))
    rows = re.split(r"(?m)^  #\d+ .*\n", lifetimes.split("objects freed")[0])[1:]
    profiled.expect([row.split()[0] for row in rows] == [row["stack"][0]["function"] for row in alone["rows"]], lifetimes)


def functions(place):
    return [frame["function"] or "(no name)" for frame in place["stack"]]


def freed_by(trace, place, *options):
    return profiled.report(trace, "--filter", "freed-by=" + place, "--rows", "1000", *options)


def of_rows(data, *units):
    return {row["name"]: [row[unit]["estimate"] for unit in units] for row in data["rows"]}


def known_freed_by(end):
    """What a place freed: by the place that allocated it, and of all: bytes, objects."""
    rows = {made: pair[:2] for (made, ended), pair in KNOWN.items() if ended == end}
    return rows, [sum(pair[i] for pair in rows.values()) for i in (0, 1)]


def test_freed_by():
    """--filter freed-by, where every object is sampled: by function, of several places, of callers, and what lives."""
    with profiled.directory() as path:
        trace = record(path, 1, 1, {})
        everything = profiled.report(trace)["totals"]
        for place in sorted({ended for _, ended in KNOWN} - {LIVE}):
            data = freed_by(trace, place)
            rows, total = known_freed_by(place)
            allocated = data["totals"]["allocated"]
            found = [allocated[unit]["estimate"] for unit in ("bytes", "objects")]
            profiled.expect((of_rows(data, "bytes", "objects"), found) == (rows, total), "%s: %s" % (place, data["rows"]))
            profiled.expect(data["metric"] == "allocated" and data["totals"]["live"]["bytes"]["estimate"] is None,
                            "%s: metric %s, live %s" % (place, data["metric"], data["totals"]["live"]))
        # The frames above the place: another thread freed all that end_3 did, and what is handed to it lives until then.
        handed = known_freed_by("end_3")
        data = freed_by(trace, "free_handed", "--metric", "peak")
        profiled.expect(of_rows(data, "bytes", "objects") == handed[0] and
                        data["totals"]["peak"]["bytes"]["estimate"] == handed[1][0], "free_handed: %s" % data["rows"])
        at = data["totals"]["peak"]["at"]["time_s"]
        live = freed_by(trace, "end_*", "--metric", "live", "--at", "%.9f" % at)
        profiled.expect(of_rows(live, "bytes") == {name: row[:1] for name, row in handed[0].items()}, "%s" % live["rows"])
        live = profiled.run([profiled.BYTEPOLL, "live", "--once", "--filter", "freed-by=end_3", trace]).stdout.decode()
        profiled.expect("allocated by function" in live and "only freed-by=end_3" in live and
                        all(name in live for name in handed[0]) and "grow_1" not in live, live)
        # Two places as alternatives, and with the place that allocated; whatever was freed, and what was not.
        both = freed_by(trace, "end_1|grow_1")["totals"]["allocated"]["objects"]["estimate"]
        profiled.expect(both == known_freed_by("end_1")[1][1] + known_freed_by("grow_1")[1][1], "%s" % both)
        one = freed_by(trace, "end_1", "--filter", "function=make_2")
        profiled.expect(of_rows(one, "bytes", "objects") == {"make_2": KNOWN["make_2", "end_1"][:2]}, "%s" % one["rows"])
        somewhere, nowhere = ([freed_by(trace, place)["totals"]["allocated"][unit]["estimate"]
                               for unit in ("bytes", "objects")] for place in ("*", "(not known where)"))
        for i, unit in enumerate(("bytes", "objects")):
            profiled.expect(somewhere[i] + nowhere[i] + everything["live"][unit]["estimate"] ==
                            everything["allocated"][unit]["estimate"], "%s %s %s" % (somewhere, nowhere, everything))
        whole, part = (profiled.report(trace, "--timeline", "--moments", "50", *filtered)["timeline"]
                       for filtered in ((), ("--filter", "freed-by=*")))
        never = [moment["bytes"]["estimate"] - freed["bytes"]["estimate"] for moment, freed in zip(whole, part)]
        profiled.expect(never == sorted(never) and never[-1] == everything["live"]["bytes"]["estimate"], "%s" % never)


def test_freed_by_refused():
    """Where the filter cannot have an effect one line says why."""
    with profiled.directory() as path:
        trace = record(path, 1, 1, {})
        for words, said in ((["report", "--metric", "live"], "not freed"), (["report", "--growth"], "--growth"),
                            (["report", "--metric", "mapped"], "does not tell what the program mapped"),
                            (["check", "--limit", "live=1K"], "not freed"),
                            (["export", "--to", "suppressions", "-o", "-"], "what is live"),
                            (["fleet", "top"], "a store")):
            result = profiled.run([profiled.BYTEPOLL, *words, "--filter", "freed-by=end_1", trace])
            lines = result.stderr.decode().splitlines()
            profiled.expect(result.status != 0 and len(lines) == 1 and said in lines[0] and result.stdout == b"",
                            "%s: %s" % (words, result))
        limit = profiled.run([profiled.BYTEPOLL, "check", trace, "--limit", "live:freed-by=end_1=1K"])
        profiled.expect(limit.status == 2 and b"not freed" in limit.stderr, "%s" % (limit,))
    with profiled.directory() as path:
        trace = record(path, 1, 1, {"BYTEPOLL_FREE_STACKS": "off"})
        for words in (["report"], ["export", "--to", "pprof", "-o", "-"], ["html", "-o", "-"], ["diff", trace]):
            result = profiled.run([profiled.BYTEPOLL, *words, "--filter", "freed-by=end_1", trace])
            lines = result.stderr.decode().splitlines()
            profiled.expect(result.status != 0 and len(lines) == 1 and "run --free-stacks" in lines[0] and
                            result.stdout == b"", "%s: %s" % (words, result))


def test_refused():
    """A recording without stacks of frees, in one line that says what to do."""
    with profiled.directory() as path:
        trace = record(path, 1, 1, {"BYTEPOLL_FREE_STACKS": "off"})
        result = profiled.run([profiled.BYTEPOLL, "report", "--lifetimes", "--pairs", trace])
        lines = result.stderr.decode().splitlines()
        profiled.expect(result.status == 1 and len(lines) == 1 and "run --free-stacks" in lines[0] and
                        result.stdout == b"", "%s" % (result,))


def close(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1)


def alike(row, pair):
    """The same figures, but for the order in which the samples of everything else were added."""
    return all(close(row[unit][part], pair[unit][part]) for unit in ("bytes", "objects")
               for part in ("estimate", "low", "high"))


def one_run(seed):
    """[(figure, interval, truth)] of one run; the sums are held against each other here."""
    with profiled.directory() as path:
        trace = record(path, INTERVAL, seed, {})
        data = profiled.report(trace, "--lifetimes", "--pairs", "--by", "function", "--rows", "1000")
        filtered = {place: freed_by(trace, place) for place in ("end_1", "end_2", "end_3")}
    profiled.expect(profiled.lost(data) == 0, "seed %d: lost samples" % seed)
    sums = collections.Counter()
    for row in data["pairs"]["rows"]:
        sums[row["allocated"]["name"]] += row["bytes"]["estimate"]
    for row in data["rows"]:
        profiled.expect(close(sums[row["name"]], row["bytes"]["estimate"]),
                        "seed %d: pairs of %s add up to %s, but %s" % (seed, row["name"], sums[row["name"]], row["bytes"]))
    profiled.expect(data["totals"]["allocated"]["bytes"].get("exact"), "seed %d: the total is not exact" % seed)
    pairs, figures = pairs_of(data), []
    for name, (size, count, other_bytes, other_objects) in KNOWN.items():
        row = pairs.get(name)
        if row is None:  # Nothing of it was sampled: no pair is known, and its limits are those of a site without a sample.
            continue
        for unit, truth in (("bytes", size), ("objects", count)):
            figures.append(("%s to %s, %s" % (*name, unit), row[unit], truth))
        if name[1] != LIVE:
            for unit, truth in (("bytes", other_bytes / size), ("objects", other_objects / count)):
                figures.append(("%s to %s, by another, %s" % (*name, unit), row["freed_by_another"][unit], truth))
    for place, report in filtered.items():
        rows = {row["name"]: row for row in report["rows"]}
        same = {made: row for (made, ended), row in pairs.items() if ended == place}
        profiled.expect(set(rows) == set(same) and all(alike(rows[name], same[name]) for name in rows),
                        "seed %d: freed by %s: %s, but as pairs %s" % (seed, place, rows, same))
        for unit, truth in zip(("bytes", "objects"), known_freed_by(place)[1]):
            figures.append(("freed by %s, %s" % (place, unit), report["totals"]["allocated"][unit], truth))
    return figures


def allowed_by_tail(runs):
    most = 0
    while rules.binomial_tail(runs, .025, most) > TAIL:
        most += 1
    return most


def coverage(tap):
    below, above = collections.Counter(), collections.Counter()
    seen, estimates = collections.Counter(), {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for run, figures in enumerate(pool.map(one_run, range(1, RUNS + 1))):
            for key, interval, truth in figures:
                if "another" not in key:  # A run without a sample of the pair estimates 0.
                    estimates.setdefault(key, (truth, [0.0] * RUNS))[1][run] = interval["estimate"]
                slack = 1e-9 * max(1.0, truth)
                seen[key] += 1
                below[key] += truth < interval["low"] - slack
                above[key] += truth > interval["high"] + slack
    most = allowed_by_tail(RUNS)
    tap.note("%d tails over %d runs; a correct profiler fails with probability <= %.1g" % (
        2 * len(seen), RUNS, 2 * len(seen) * rules.binomial_tail(RUNS, .025, most)))
    wrong = ["%s: %d and %d of %d" % (key, below[key], above[key], seen[key]) for key in seen
             if max(below[key], above[key]) > most]
    tap.check(not wrong and len(seen) == 4 * len(KNOWN) - 2 * 2 + 2 * 3,
              "no tail misses in more than %d of %d runs" % (most, RUNS), "\n".join(wrong or [str(len(seen))]))
    if profiled.LONG:
        errors = {}
        for key, (truth, values) in estimates.items():
            figure = rules.Figure(truth)
            figure.estimates = values
            errors[key] = figure.standard_errors()
        wrong = ["%s: %+.2f standard errors" % item for item in errors.items()
                 if abs(item[1]) > rules.MEAN_LIMIT_STANDARD_ERRORS]
        tap.check(not wrong, "means within 4.5 standard errors of the truth", "\n".join(wrong))
    worst = max(seen, key=lambda key: max(below[key], above[key]))
    tap.note("worst: %s: %d below and %d above in %d; all: %.2f %% below, %.2f %% above" % (
        worst, below[worst], above[worst], seen[worst], 100 * sum(below.values()) / sum(seen.values()),
        100 * sum(above.values()) / sum(seen.values())))


def main():
    tap = profiled.Tap()
    for test, what in ((test_slots, "all pairs of objects in slots"), (test_in_place, "all pairs of objects in place"),
                       (test_foreign, "all pairs of objects over jemalloc"),
                       (test_window, "a window, and the rest of the rows"),
                       (test_stacks, "by stack"), (test_refused, "a recording without stacks of frees"),
                       (test_freed_by, "the filter by the place that frees"),
                       (test_freed_by_refused, "where that filter has no effect")):
        tap.attempt(what, test)
    coverage(tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
