#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The importer of heap profiles in pprof form: test_pprof.py made|truth.

made    files that tests/pprof/pprof_write.py makes: samples come back one for one, what is absent
        is refused and not 0, and what cannot be read or not be told is one clear line.
truth   intervals against what is true: simulated programs whose allocations are sampled as Go's
        runtime does it (a countdown of bytes, exponential, drawn anew after each sample), and the
        files of tests/data/pprof that Go's own runtime wrote.

How often `truth` fails though all is well. Simulated: SITES sites in each of RUNS files, of which
all figures of one metric are independent; allocated and live are two families, bytes and objects
two each. Each family may have as many misses of 95 % intervals as a binomial law exceeds with
probability 1e-6 / 5 at most. The fifth family are the files of tests/data/pprof. Seeds are recorded,
so the rate is that of having chosen them.
"""
import gzip
import json
import math
import os
import random
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "scenario"))

import pprof_write  # noqa: E402
import profiled  # noqa: E402
import rules  # noqa: E402

DATA = os.path.join(ROOT, "tests", "data", "pprof")
FAMILIES = 5
SITES, RUNS = 60, 24
SEED = 20261
INTERVAL = 524288


def write(folder, data, name="made.pb.gz"):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def refused(path, *options):
    """The one line with which a report is refused."""
    result = profiled.run([profiled.BYTEPOLL, "report", *options, path])
    lines = result.stderr.decode().splitlines()
    profiled.expect(result.status == 1 and len(lines) == 1 and not result.stdout,
                    "status %s, %s" % (result.status, lines[:3]))
    return lines[0]


def expect_equal(value, expected, what):
    profiled.expect(value == expected, "%s: %r, not %r" % (what, value, expected))


def numbers(path, metric, *options):
    """{innermost function: samples} of a file."""
    data = profiled.report(path, "--metric", metric, "--rows", "1000", *options)
    return {row["name"]: row["samples"] for row in data["rows"]}


# ---- made ----

BUCKETS = (("small", 16, 900, 300), ("middle", 4096, 17, 0), ("near", 524288, 5, 5),
           ("huge", 1 << 24, 3, 1))


def bucket_file(folder, **settings):
    writer = pprof_write.Writer(**settings)
    for name, size, allocated, live in BUCKETS:
        writer.bucket((name, "main.run", "runtime.main"), size, allocated, live)
    return write(folder, writer.finish())


def expect_samples(folder):
    for period in (INTERVAL, 4096, 1):
        path = bucket_file(folder, period=period)
        expect_equal(numbers(path, "allocated"), {b[0]: b[2] for b in BUCKETS}, "allocated")
        expect_equal({k: v for k, v in numbers(path, "live").items() if v},
                     {b[0]: b[3] for b in BUCKETS if b[3]}, "live")


def expect_plain(folder):
    writer = pprof_write.Writer()
    writer.bucket(("f", "runtime.main"), 48, 7, 3)
    path = write(folder, writer.finish(packed=False), "plain.pb")
    expect_equal(numbers(path, "allocated"), {"f": 7}, "not packed")


def expect_all_known(path):
    """At T = 1 everything is known."""
    data = profiled.report(path, "--metric", "live")
    true = sum(size * live for _, size, _, live in BUCKETS)
    figure = data["totals"]["live"]["bytes"]
    expect_equal((figure["estimate"], figure["low"], figure["high"]), (true,) * 3, "live bytes")


def expect_snapshot(path):
    """What a snapshot does not tell is absent, and refused."""
    totals = profiled.report(path)["totals"]
    for metric in ("peak", "temporary"):
        expect_equal(totals[metric]["bytes"]["estimate"], None, metric)
        profiled.expect("snapshot" in refused(path, "--metric", metric), metric)
    for options in (("--from", "1s"), ("--at", "0s"), ("--estimator", "failed-trials")):
        profiled.expect("snapshot" in refused(path, *options), options)


def expect_live_only(folder):
    path = bucket_file(folder, types="live")
    expect_equal({k: v for k, v in numbers(path, "live").items()},
                 {b[0]: b[3] for b in BUCKETS if b[3]}, "live")
    profiled.expect("snapshot" in refused(path, "--metric", "allocated"), "allocated")
    expect_compared(folder)


def expect_compared(folder):
    """Two profiles of what is live alone are compared by that, however little it is."""
    def live(name, *buckets):
        writer = pprof_write.Writer(types="live", period=4096)
        for function, samples in buckets:
            writer.bucket((function, "main"), 65536, samples, samples)
        return write(folder, writer.finish(), name)
    before, after = live("before", ("f", 40), ("g", 40)), live("after", ("f", 40), ("g", 400))
    little = live("little", ("f", 1))
    for base, new, changed in ((before, after, {"g": "grew"}), (little, little, {}),
                               (before, little, {"f": "shrank", "g": "gone"})):
        result = profiled.run([profiled.BYTEPOLL, "diff", "--json", base, new])
        profiled.expect(result.status == 0, result.stderr.decode())
        data = json.loads(result.stdout)
        expect_equal(data["metric"], "live", "metric of %s, %s" % (base, new))
        expect_equal({row["name"]: row["verdict"] for row in data["rows"] if row["verdict"] != "unclear"}, changed,
                     "verdicts of %s, %s" % (base, new))


def expect_inlined(folder):
    writer = pprof_write.Writer()
    writer.bucket(("in", "out", "runtime.main"), 64, 4, 4, inlined=True)
    path = write(folder, writer.finish())
    expect_equal(numbers(path, "live", "--cumulative"), {"in": 4, "out": 4, "runtime.main": 4},
                 "frames")


def expect_interval(folder):
    """A period that is not told, and one that is not what samples were drawn with."""
    path = bucket_file(folder, period=None, interval=INTERVAL)
    profiled.expect("--assume-interval" in refused(path), "no period")
    expect_equal(numbers(path, "allocated", "--assume-interval", "512k"),
                 {b[0]: b[2] for b in BUCKETS}, "assumed")
    path = bucket_file(folder)
    once, again = (profiled.report(path, *options)["totals"]["live"]["bytes"]["estimate"]
                   for options in ((), ("--assume-interval", "4k")))
    profiled.expect(again < once / 2, "other interval: %s, %s" % (once, again))


def expect_lost(folder):
    """A bucket of two sizes, and one without a size, beside a good one."""
    writer = pprof_write.Writer()
    writer.bucket(("good", "runtime.main"), 64, 10, 10)
    places = [writer.location(("bad",)), writer.location(("runtime.main",))]
    one, two = (pprof_write.scaled(5, size, INTERVAL) for size in (1024, 65536))
    writer.raw(places, [one[0] + two[0], one[1] + two[1]] * 2, 33280)
    writer.bucket(("bare", "runtime.main"), 64, 10, 10, label=False)
    path = write(folder, writer.finish())
    data = profiled.report(path)
    expect_equal(data["losses"].get("buckets"), 2, "buckets lost")
    result = profiled.run([profiled.BYTEPOLL, "report", path])
    profiled.expect(b"at least" in result.stdout, "not marked as lower bounds")


def expect_refused(folder):
    bare = pprof_write.Writer()
    bare.bucket(("f",), 64, 10, 10, label=False)
    negative = pprof_write.Writer()
    negative.raw([], [-1, -64, 0, 0], 64)
    many = pprof_write.Writer(period=1)
    many.bucket(("f",), 64, 5000000, 0)
    for name, writer, words in (("bare", bare, "cannot be told"),
                                ("negative", negative, "difference"),
                                ("many", many, "more than 4000000 samples"),
                                ("cpu", pprof_write.Writer("cpu"), "no heap profile"),
                                ("bytes", pprof_write.Writer("bytes"), "without objects"),
                                ("period", pprof_write.Writer(period_type="cpu"), "period")):
        line = refused(write(folder, writer.finish()))
        profiled.expect(words in line, "%s: %s" % (name, line))
    for text in (b"heap_v2/524288\n", b"heap profile: 1: 2 [ 1: 2] @ heap_v2/524288\n"):
        profiled.expect("sums by stack" in refused(write(folder, text)), text)
    for data in (gzip.compress(b"not a profile"), gzip.compress(bytes(300))):
        profiled.expect("no format known" in refused(write(folder, data)), "foreign gzip")


def expect_cut(folder):
    """Cut anywhere, a packed file is refused; a plain one is refused or tells what it holds."""
    with open(bucket_file(folder), "rb") as file:
        packed = file.read()
    for length in range(3, len(packed), max(1, len(packed) // 25)):
        refused(write(folder, packed[:length], "cut"))
    plain = gzip.decompress(packed)
    for length in range(1, len(plain), max(1, len(plain) // 25)):
        result = profiled.run(
            [profiled.BYTEPOLL, "report", write(folder, plain[:length], "cut")])
        lines = result.stderr.decode().splitlines()
        profiled.expect((result.status == 0 and not lines) or
                        (result.status == 1 and len(lines) == 1), lines[:3])


def test_made(tap):
    with profiled.directory() as folder:
        for name, action in (("samples", expect_samples), ("not packed", expect_plain),
                             ("everything sampled", lambda place: expect_all_known(bucket_file(place, period=1))),
                             ("absent", lambda place: expect_snapshot(bucket_file(place))),
                             ("live only", expect_live_only), ("inlined", expect_inlined),
                             ("interval", expect_interval), ("lost buckets", expect_lost),
                             ("refused", expect_refused), ("cut", expect_cut)):
            tap.attempt(name, lambda: action(folder))


# ---- truth ----

def sample(choice, size, objects, keep):
    """(samples, those of objects that are kept): Go's countdown over `objects` of one size, of
    which every keep-th stays."""
    taken = kept = at = 0
    while True:
        gap = int(choice.expovariate(1 / INTERVAL)) + 1
        at += gap // size + 1  # the first object beyond the gap
        if at > objects:
            return taken, kept
        taken += 1
        kept += at % keep == 0


def simulate(folder, seed):
    """A file, and {site: (size, objects, live)}."""
    choice = random.Random(seed)
    writer, truth = pprof_write.Writer(), {}
    for i in range(SITES):
        low, high, most = (16, 8 * INTERVAL, 150) if i % 2 else (INTERVAL, 4 * INTERVAL, 30)
        size = round(math.exp(choice.uniform(math.log(low), math.log(high)))) // 8 * 8
        volume = INTERVAL * math.exp(choice.uniform(math.log(4), math.log(most)))
        keep = choice.choice((1, 2, 5))
        objects = max(1, round(volume / size))
        name = "site%d" % i
        truth[name] = size, objects, objects // keep
        writer.bucket((name, "runtime.main"), size, *sample(choice, size, objects, keep))
    return write(folder, writer.finish(), "%d.pb.gz" % seed), truth


def misses(rows, truth, column):
    """(figures, misses) in bytes and in objects. What no sample stands for has no row: bytes are
    then from 0 to -ln(0.025) T."""
    found = {"bytes": [0, 0], "objects": [0, 0]}
    for name in set(truth) - {row["name"] for row in rows}:
        found["bytes"][0] += 1
        found["bytes"][1] += truth[name][0] * truth[name][column] > -math.log(0.025) * INTERVAL
    for row in rows:
        size, number = truth[row["name"]][0], truth[row["name"]][column]
        for unit, true in (("bytes", size * number), ("objects", number)):
            figure = row[unit]
            found[unit][0] += 1
            found[unit][1] += not figure["low"] * (1 - 1e-9) <= true <= figure["high"] * (1 + 1e-9)
    return found


def misses_allowed(figures):
    most = 0
    while rules.binomial_tail(figures, 1 - rules.CONFIDENCE, most) > 1e-6 / FAMILIES:
        most += 1
    return most


def expect_covers(name, figures, missed):
    most = misses_allowed(figures)
    print("# %s: %d of %d intervals miss, %d may" % (name, missed, figures, most))
    profiled.expect(figures > 0 and missed <= most, "%s: %d of %d intervals miss, %d may" % (
        name, missed, figures, most))


def simulated(folder):
    """{(metric, unit): [figures, misses]}"""
    sums = {}
    for run in range(RUNS):
        path, truth = simulate(folder, SEED + run)
        for metric, column in (("allocated", 1), ("live", 2)):
            rows = profiled.report(path, "--metric", metric, "--rows", "1000")["rows"]
            rows = [row for row in rows if row["name"] in truth]
            for unit, (figures, missed) in misses(rows, truth, column).items():
                total = sums.setdefault((metric, unit), [0, 0])
                total[0] += figures
                total[1] += missed
    return sums


def recorded():
    """The files of Go's runtime: bytes and objects, allocated and live, of the four sites."""
    figures = missed = 0
    for name in sorted(os.listdir(DATA)):
        if not name.endswith(".pb.gz"):
            continue
        with open(os.path.join(DATA, name[:-6] + ".truth.json")) as file:
            sites = json.load(file)
        truth = {s["Function"]: (s["Size"], s["Objects"], s["Live"]) for s in sites}
        for metric, column in (("allocated", 1), ("live", 2)):
            rows = profiled.report(os.path.join(DATA, name), "--metric", metric)["rows"]
            rows = [row for row in rows if row["name"] in truth]
            expect_equal(len(rows), len(truth), "%s: sites" % name)
            for number, wrong in misses(rows, truth, column).values():
                figures += number
                missed += wrong
    expect_covers("recorded", figures, missed)


def test_truth(tap):
    with profiled.directory() as folder:
        for (metric, unit), (figures, missed) in simulated(folder).items():
            name = "simulated, %s %s" % (metric, unit)
            tap.attempt(name, lambda: expect_covers(name, figures, missed))
    tap.attempt("recorded by Go", recorded)


def main():
    tap = profiled.Tap()
    {"made": test_made, "truth": test_truth}[sys.argv[1]](tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
