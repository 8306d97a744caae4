#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The importer of .nettrace files: test_nettrace.py files|truth|made|damage.

files   every file of tests/data/dotnet: the decoder of tools/ against what Microsoft's TraceEvent
        found (NAME.decoded.json), the importer against the decoder: events by kind, losses by
        thread, each sample with type, size, offset, heap, thread, time and named stack.
truth   intervals and estimates against what the recorded programs counted themselves.
made    files that tests/dotnet/nettrace_write.py makes: the .NET document's worked example and
        table through the command line, losses that are planted, clocks, other events.
damage  files cut at every byte, lengths that lie in every place: one line or a report.

How often `truth` fails though all is well. Misses of 95 % intervals: in each of FAMILIES families
the figures are independent of one another (different objects, or different processes), the
families are not; each may have as many misses as a binomial law exceeds with probability
1e-6 / FAMILIES at most, so that all together fail with probability 1e-6 at most. Types that the
runtime allocates too are judged by the upper limit alone, which misses more seldom. Estimates: 4.5
standard errors, 6.8e-6 for each if normal; only sums over 90 expected samples and more are judged,
each by two estimators, whose samples are the same. The files are the same every time: the rates
are those of having recorded them.
"""
import collections
import glob
import json
import math
import os
import random
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tests", "scenario")]
sys.dont_write_bytecode = True
import nettrace_decode  # noqa: E402
import nettrace_write  # noqa: E402
import profiled  # noqa: E402
import rules  # noqa: E402


def program(name):
    """Path of one of this folder's programs."""
    return os.path.join(profiled.BUILD, "tests", "dotnet", name)


DATA = os.path.join(ROOT, "tests", "data", "dotnet")
NAMES = sorted(os.path.basename(path)[:-len(".nettrace.xz")]
               for path in glob.glob(os.path.join(DATA, "*.nettrace.xz")))
# Not in a decoder's power, or another tool's words.
NOT_COMPARED = {"file", "readers", "readers_agree", "first_samples",
                "samples_by_program_method_on_the_stack"}
INTERVAL = 102400
P = 1 / INTERVAL
Q_LOG = math.log1p(-P)


def unpack(name, folder):
    """The file of this name, unpacked."""
    path = os.path.join(folder, name + ".nettrace")
    with open(path, "wb") as file:
        file.write(nettrace_decode.load(os.path.join(DATA, name + ".nettrace.xz")))
    return path


def known(name, what):
    path = os.path.join(DATA, "%s.%s.json" % (name, what))
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def readable(name, type_id):
    """A type's name as C# would write it."""
    if name in ("", "NULL"):
        return "type " + type_id
    arrays = re.sub(r"\[(,*)\]", lambda m: "\1" + m[1].replace(",", "\2") + "\3", name)
    arrays = re.sub(r"`\d+", "", arrays)
    arrays = arrays.replace("[", "<").replace("]", ">").replace(",", ", ")
    return arrays.replace("\1", "[").replace("\2", ",").replace("\3", "]")


# ---- files


class Lines:
    """What nettrace_lines printed."""

    def __init__(self, path):
        result = profiled.run([program("nettrace_lines"), path])
        profiled.expect(result.status == 0, result.stderr.decode(errors="replace"))
        self.kinds, self.lost, self.samples = collections.Counter(), {}, []
        for line in result.stdout.decode().splitlines():
            word, *rest = line.split("\t")
            if word == "kind":
                self.kinds["%s/%s/v%s" % tuple(rest[:3])] += int(rest[3])
            elif word == "lost" and rest[1] != "0":
                self.lost[rest[0]] = int(rest[1])
            elif word == "file":
                self.file = [int(value) for value in rest]
            elif word == "process":
                self.process = [int(value) for value in rest]
            elif word == "sample":
                self.samples.append(rest)


def type_names(samples):
    """Readable names by type id, with the id where several types share one."""
    names = {s["type_id"]: readable(s["type"], s["type_id"]) for s in samples}
    shared = collections.Counter(names.values())
    return {id_: name if shared[name] == 1 else "%s (%s)" % (name, id_)
            for id_, name in names.items()}


def expected_samples(decoded):
    names = type_names(decoded["all_samples"])
    frequency = decoded["qpc_frequency"]
    return collections.Counter(
        (s["type_id"][2:], names[s["type_id"]], str(s["size"]), str(s["offset"]),
         str(s["timestamp"] * 10**9 // frequency), str(s["thread"]), s["kind"],
         *(f[2:] if re.fullmatch(r"0x[0-9a-f]+", f) else f for f in s["stack"]))
        for s in decoded["all_samples"] if s["offset"] < s["size"])


def expect_equal(path, decoded):
    """The importer sees what the decoder sees."""
    lines = Lines(path)
    events = {key: count for key, count in decoded["events"].items() if "unknown" not in key}
    profiled.expect({k: v for k, v in lines.kinds.items() if v} == events,
                    "events: %s, decoder %s" % (lines.kinds, events))
    profiled.expect(lines.lost == decoded["lost_by_thread"],
                    "lost: %s, decoder %s" % (lines.lost, decoded["lost_by_thread"]))
    version, pointer, pid, _, frequency, total, _, bad_blocks, cut, in_cut = lines.file
    profiled.expect(
        (version, pointer, frequency, total, bad_blocks, cut, in_cut) ==
        (decoded["format_major"], decoded["pointer_size"], decoded["qpc_frequency"],
         decoded["events_total"], 0, decoded["truncated"], decoded["events_in_cut_block"]),
        "file: %s" % lines.file)
    profiled.expect(decoded["pid"] in (None, pid), "pid %d" % pid)
    profiled.expect(lines.process == [
        decoded["samples"] - decoded["invalid_offsets"], decoded["invalid_offsets"],
        decoded["lost_events"], decoded["frames"], decoded["frames_named"],
        decoded["truncated"]], "process: %s" % lines.process)
    heaps = {str(heap): heap for heap in range(3)}
    seen = collections.Counter(
        (id_, name, size, offset, time, thread, heaps.get(kind), *frames)
        for id_, name, size, offset, kind, thread, time, _, *frames in lines.samples)
    expected = expected_samples(decoded)
    profiled.expect(seen == expected, "%d samples differ: %s, decoder %s" % (
        (seen - expected).total(), list(seen - expected)[:1], list(expected - seen)[:1]))


def expect_baseline(name, decoded):
    baseline = known(name, "decoded")
    for field, value in baseline.items():
        if field not in NOT_COMPARED:
            profiled.expect(decoded[field] == value, "%s: %s, not %s" % (
                field, str(decoded[field])[:200], str(value)[:200]))
    for first in baseline["first_samples"]:
        profiled.expect(any(all(sample[key] == value for key, value in first.items())
                            for sample in decoded["all_samples"]), "no sample is %s" % first)


def expect_reported(path, name, decoded):
    report = profiled.report(path, "--by", "type", "--rows", "1000")
    names = type_names(decoded["all_samples"])
    counts = collections.Counter(names[s["type_id"]] for s in decoded["all_samples"])
    rows = {row["name"]: row["samples"] for row in report["rows"]}
    profiled.expect(rows == counts, "rows %s, decoder %s" % (rows, counts))
    profiled.expect(report["lost"] == decoded["lost_events"], "lost %s" % report["lost"])
    lower = decoded["truncated"] or decoded["lost_events"] != 0
    for metric in ("bytes", "objects"):
        for row in [*report["rows"], report["totals"]["allocated"]]:
            profiled.expect(row[metric].get("lower_bound", False) == lower,
                            "%s: marks of lower bounds: %s" % (name, row))
    for absent in ("live", "peak", "temporary"):
        profiled.expect(report["totals"][absent]["bytes"]["estimate"] is None, absent)


def test_files(tap):
    tap.check(len(NAMES) == 18, "the files are there", str(NAMES))
    with profiled.directory() as folder:
        for name in NAMES:
            path = unpack(name, folder)
            decoded = nettrace_decode.decode(nettrace_decode.load(path), True)
            tap.attempt("%s: decoder and baseline" % name,
                        lambda: expect_baseline(name, decoded))
            tap.attempt("%s: importer and decoder" % name, lambda: expect_equal(path, decoded))
            tap.attempt("%s: report and decoder" % name,
                        lambda: expect_reported(path, name, decoded))


# ---- truth

ALONE = re.compile(r"AllocTruth\.|<>c__DisplayClass|Inner`|System\.Int32\[,\]|System\.Int16\[\]")
# zoo-v6 and its like hold the events of zoo-rundown; live-midrun holds a part that is not counted.
JUDGED = ("entry-points", "kinds-doubles", "mixture-servergc", "ratio-loh", "short-threads",
          "small-and-big", "small-and-big-rundown", "two-threads-rundown", "workload-rundown",
          "zoo-rundown")
FAMILIES = ("types, bytes", "types, objects", "sites, bytes", "sites, objects", "phases", "totals")


def misses_allowed(figures):
    most = 0
    while rules.binomial_tail(figures, 1 - rules.CONFIDENCE, most) > 1e-6 / len(FAMILIES):
        most += 1
    return most


def variance(estimator, sizes):
    """Of the estimated bytes of objects {size: number}."""
    total = 0.0
    for size, number in sizes.items():
        missed = math.exp(int(size) * Q_LOG)  # the probability
        if estimator == "weighted":
            total += number * int(size) ** 2 * missed / (1 - missed)
        else:  # the sum of s q/p + u: a geometric number of failures, cut at the object's end
            total += number * (1 - missed) * (1 - P) / P ** 2
    return total


class Family:
    def __init__(self, name):
        self.name, self.figures, self.low, self.high = name, 0, [], []

    def judge(self, what, truth, interval, above_only=False):
        """`above_only`: the truth may be more than is known."""
        self.figures += 1
        if truth > interval["high"] * (1 + 1e-9):
            self.high.append(what)
        if truth < interval["low"] * (1 - 1e-9) and not above_only:
            self.low.append(what)


def rows_of(path, by, *options):
    report = profiled.report(path, "--by", by, "--rows", "1000", "--metric", "allocated", *options)
    return {row["name"]: row for row in report["rows"]}, report["totals"]["allocated"]


def judge_types(name, path, truth, families, nothing):
    rows, total = rows_of(path, "type")
    for entry in truth["types"]:
        shown = readable(entry["name"], "")
        row = rows.get(shown, nothing)
        above_only = not ALONE.match(entry["name"])
        what = "%s %s" % (name, shown)
        families["types, bytes"].judge(what, entry["bytes"], row["bytes"], above_only)
        families["types, objects"].judge(what, entry["objects"], row["objects"], above_only)
    families["totals"].judge(name, truth["total_allocated_bytes"]["at_exit"], total["bytes"])


def judge_sites(name, path, truth, families, nothing):
    rows, _ = rows_of(path, "function")
    sites = collections.defaultdict(lambda: [0, 0])  # a method may allocate several types
    for site in truth["sites"]:
        sites[site["method"]][0] += site["bytes"]
        sites[site["method"]][1] += site["objects"]
    for method, of in sites.items():
        # Of a lambda the program does not know the whole name: <InLambda>b__13_0.
        found = [row for function, row in rows.items()
                 if function == method or (method.endswith(">b") and
                                           function.startswith(method + "__"))]
        profiled.expect(len(found) <= 1, "%s is not one row" % method)
        row, what = found[0] if found else nothing, "%s %s" % (name, method)
        families["sites, bytes"].judge(what, of[0], row["bytes"])
        families["sites, objects"].judge(what, of[1], row["objects"])
    for phase in truth["phases"]:
        _, total = rows_of(path, "type", "--filter", "stack=" + phase["method"])
        families["phases"].judge("%s %s" % (name, phase["method"]), phase["bytes"],
                                 total["bytes"])


def judge_estimates(tap, name, path, truth, sums):
    for estimator in ("weighted", "failed-trials"):
        rows, _ = rows_of(path, "type", "--estimator", estimator)
        estimate = of = spread = expected = 0.0
        for entry in truth["types"]:
            if not ALONE.match(entry["name"]):
                continue
            row = rows.get(readable(entry["name"], ""))
            estimate += row["bytes"]["estimate"] if row else 0
            of += entry["bytes"]
            spread += variance(estimator, entry["objects_by_size"])
            expected += sum(number * -math.expm1(int(size) * Q_LOG)
                            for size, number in entry["objects_by_size"].items())
        sums[estimator] = [a + b for a, b in zip(sums[estimator],
                                                 (estimate, of, spread, expected))]
        if expected >= 90:
            judge_estimate(tap, "%s, %s" % (name, estimator), (estimate, of, spread, expected))


def judge_estimate(tap, what, figures):
    estimate, of, spread, expected = figures
    z = (estimate - of) / math.sqrt(spread)
    tap.check(abs(z) <= rules.MEAN_LIMIT_STANDARD_ERRORS,
              "%s: %.0f bytes estimated of %.0f, %.0f samples expected, z %+.2f" % (
                  what, estimate, of, expected, z))


def test_truth(tap):
    families = {name: Family(name) for name in FAMILIES}
    sums = {"weighted": [0.0] * 4, "failed-trials": [0.0] * 4}
    with profiled.directory() as folder:
        for name in JUDGED:
            path, truth = unpack(name, folder), known(name, "truth")
            _, nothing = rows_of(path, "type", "--filter", "type=no such type")
            profiled.expect(nothing["bytes"]["low"] == 0 and nothing["bytes"]["high"] > 0,
                            "of nothing: %s" % nothing)
            judge_types(name, path, truth, families, nothing)
            if known(name, "decoded")["frames_named"]:
                judge_sites(name, path, truth, families, nothing)
            judge_estimates(tap, name, path, truth, sums)
    for estimator, figures in sums.items():
        judge_estimate(tap, "all files, " + estimator, figures)
    for family in families.values():
        most = misses_allowed(family.figures)
        missed = family.low + family.high
        tap.check(family.figures > most and len(missed) <= most,
                  "%s: %d of %d intervals miss (%d below them, %d above), at most %d may" % (
                      family.name, len(missed), family.figures, len(family.low),
                      len(family.high), most), str(missed))


# ---- made

# The document's table: successes, and its limits for the failures before them.
with open(os.path.join(ROOT, "tests", "data", "statistics", "values.csv"), encoding="utf-8") as csv:
    TABLE = [tuple(map(int, m)) for m in re.findall(
        r"negative_binomial_floor_quantile,s=(\d+);T=102400;[^,]*,lo=(\d+);hi=(\d+)", csv.read())]


def made(folder, name, samples, form="4", pointer=8, frequency=10**9, lost=(), point=True,
         block_events=100):
    """A file of samples (type id, name, size, offset); `lost`: numbers of those left out."""
    writer = nettrace_write.Writer(form, pointer, frequency, block_events=block_events)
    for i, sample in enumerate(samples):
        writer.sample(*sample, thread=100 + i % 3, time=1000 + i, ips=(0x7000 + i % 5, 0x8001),
                      lost=i in lost)
    return write(folder, name + ".nettrace", writer.finish(point))


def document(path, method="negative-binomial", edges="sample"):
    return profiled.report(path, "--metric", "allocated", "--interval-method", method, "--edges",
                           edges, "--estimator", "failed-trials")["totals"]["allocated"]["bytes"]


def expect_near(value, expected, tolerance, what):
    profiled.expect(abs(value - expected) <= tolerance, "%s: %s, not %s" % (
        what, value, expected))


def expect_example(folder, form, pointer):
    """Eight samples with 10,908 bytes from the successful one on."""
    samples = [(16 + i, "Type%d" % i, 2000, 2000 - part) for i, part in
               enumerate((1908, 500, 1500, 2000, 1, 1999, 1000, 2000))]
    path = made(folder, "example", samples, form, pointer, block_events=3)
    seen = document(path)
    expect_near(seen["estimate"], 830100, 0.5, "estimate")
    expect_near(seen["low"], 364574, 0.5, "low")
    expect_near(seen["high"], 1487778, 0.5, "high")
    expect_near(document(path, edges="end")["high"], 1625045, 0.5, "high for an open end")
    # Camp and Paulson's low end of eight samples is 0.75 % off at most (statistics, section 12).
    expect_near(document(path, "camp-paulson")["low"], 364574, 3000, "low by approximation")


def expect_row(folder, successes, low, high):
    """Samples of one byte each: what is from the successful byte on is one byte a sample."""
    path = made(folder, "row", [(16, "One", 24, 23)] * successes, block_events=5000)
    seen = document(path)
    expect_near(seen["low"], low + successes, 0.5 + 1e-10 * low, "low")
    expect_near(seen["high"], high + successes, 0.5 + 1e-10 * high, "high")
    expect_near(seen["estimate"], successes * (1 - P) / P + successes, 1e-9 * successes / P,
                "estimate")


def expect_losses(folder, form, seed, point):
    """Each thread's count is exact, its end included if a sequence point tells of it."""
    choice = random.Random(seed)
    samples = [(16 + i % 4, "T%d" % (i % 4), 24 + 8 * (i % 9), i % 24) for i in range(300)]
    lost = set(choice.sample(range(300), 60)) | set(range(280, 300))
    path = made(folder, "losses", samples, form, lost=lost, point=point, block_events=17)
    told = lost
    if not point:  # only what is before a thread's last event
        told = {i for i in lost if any(j not in lost for j in range(i + 3, 300, 3))}
    by_thread = collections.Counter(str(100 + i % 3) for i in told)
    decoded = nettrace_decode.decode(nettrace_decode.load(path), True)
    profiled.expect(decoded["lost_by_thread"] == by_thread, "decoder: %s" % decoded["lost_events"])
    expect_equal(path, decoded)
    report = profiled.report(path, "--by", "type")
    profiled.expect(report["lost"] == len(told), "lost %s of %d" % (report["lost"], len(told)))
    for row in [*report["rows"], report["totals"]["allocated"]]:
        profiled.expect(row["bytes"].get("lower_bound") and row["objects"].get("lower_bound"),
                        "not marked: %s" % row)
    text = profiled.run([profiled.BYTEPOLL, "report", path])
    for thread, count in by_thread.items():
        profiled.expect(("%d in thread %s" % (count, thread)).encode() in text.stdout,
                        "thread %s is not named: %s" % (thread, text.stdout.decode()))
    expect_undecided(path)


def check_status(path, limit):
    return profiled.run([profiled.BYTEPOLL, "check", path, "--limit", limit]).status


def expect_undecided(path):
    profiled.expect(check_status(path, "allocated=100G") == 3, "check: not undecided")
    profiled.expect(check_status(path, "allocated=1K") == 1, "check: lost samples hide no excess")


def expect_cut_undecided(folder):
    path = made(folder, "whole", [(16, "T", 64, i % 64) for i in range(50)])
    profiled.expect(check_status(path, "allocated=100G") == 0, "check of a whole file")
    data = nettrace_decode.load(path)
    expect_undecided(write(folder, "cut.nettrace", data[:-1]))


def expect_invalid_counted(folder):
    """An offset beyond the object, no type: not samples, and said."""
    samples = [(16, "T", 64, 8), (16, "T", 64, 64), (16, "T", 64, 1 << 40), (0, "", 64, 8)]
    report = profiled.report(made(folder, "invalid", samples))
    profiled.expect(report["samples"] == 1 and report["lost"] == 3, "%s samples, %s lost" % (
        report["samples"], report["lost"]))
    profiled.expect(report["totals"]["allocated"]["bytes"].get("lower_bound"), "not marked")


def expect_assumed(folder):
    path = made(folder, "assumed", [(16, "T", 1 << 20, 5), (16, "T", 48, 7)])
    for interval in (None, 4096):
        options = () if interval is None else ("--assume-interval", str(interval))
        report = profiled.report(path, *options)
        profiled.expect(report["intervals"] == [interval or INTERVAL], str(report["intervals"]))
        profiled.expect(any("assumed" in w for w in report["warnings"]), str(report["warnings"]))
        seen = sum(size / rules.inclusion_probability(size, interval or INTERVAL, 0)
                   if size < (interval or INTERVAL) else size / -math.expm1(
                       size * math.log1p(-1 / (interval or INTERVAL))) for size in (1 << 20, 48))
        expect_near(report["totals"]["allocated"]["bytes"]["estimate"], seen, 1e-6 * seen,
                    "estimate at %s" % interval)


def expect_ticks_refused(folder):
    writer = nettrace_write.Writer()
    for i in range(5):
        writer.event(nettrace_write.RUNTIME, 10, 4, bytes(40), time=i)
    path = write(folder, "ticks.nettrace", writer.finish())
    result = profiled.run([profiled.BYTEPOLL, "report", path])
    lines = result.stderr.decode().splitlines()
    profiled.expect(result.status == 1 and len(lines) == 1 and "AllocationTick" in lines[0] and
                    "AllocationSampled" in lines[0], "%s: %s" % (result.status, lines))


def code(writer, id_, event, start, name, time, size=64):
    provider = nettrace_write.RUNDOWN if event == "rundown" else nettrace_write.RUNTIME
    number = {"load": 143, "unload": 144, "rundown": 144}[event]
    writer.event(provider, number, 2, nettrace_write.method(id_, start, size, "N.T", name),
                 time=time)


def expect_code_by_time(folder, frequency):
    """Code of one place, one after the other; a return address that is the end of its method."""
    writer = nettrace_write.Writer(ticks_per_second=frequency)
    code(writer, 1, "load", 0x5000, "first", 10)
    code(writer, 1, "unload", 0x5000, "first", 30)
    code(writer, 2, "load", 0x5000, "second", 40)
    code(writer, 3, "rundown", 0x5040, "behind", 100)
    code(writer, 4, "load", 0x6000, "gone", 10)
    code(writer, 4, "unload", 0x6000, "gone", 30)
    code(writer, 5, "rundown", 0x6000, "there", 100)
    for time in (10, 29, 40, 99):
        writer.sample(16, "T", 64, 8, time=time, ips=(0x5010, 0x5040, 0x6010))
    path = write(folder, "code.nettrace", writer.finish())
    frames = [tuple(sample[8:]) for sample in Lines(path).samples]
    profiled.expect(frames == [("N.T.first", "N.T.first", "N.T.gone")] * 2 + [
        ("N.T.second", "N.T.second", "N.T.there")] * 2, str(frames))


def expect_stacks_dropped(folder, form):
    """Ids of stacks end at a sequence point."""
    writer = nettrace_write.Writer(form)
    writer.sample(16, "T", 64, 8, time=1, ips=(0x5010,))
    writer.sequence_point()
    writer.stacks[0x5010,] = 1  # as if it were in force still
    writer.sample(16, "T", 64, 8, time=2, ips=(0x5010,))
    path = write(folder, "stacks.nettrace", writer.finish())
    frames = [tuple(sample[8:]) for sample in Lines(path).samples]
    profiled.expect(frames == [("5010",), ()], str(frames))
    expect_equal(path, nettrace_decode.decode(nettrace_decode.load(path), True))


def test_made(tap):
    with profiled.directory() as folder:
        for form in nettrace_write.FORMS:
            for pointer in (4, 8):
                tap.attempt("worked example of the document, form %s, %d bits" % (
                    form, 8 * pointer), lambda: expect_example(folder, form, pointer))
        tap.check(len(TABLE) == 25, "the table of the document has 25 rows")
        for row in TABLE:
            tap.attempt("%d samples" % row[0], lambda: expect_row(folder, *row))
        for form in nettrace_write.FORMS:
            for seed, point in ((1, True), (2, True), (3, False)):
                tap.attempt("planted losses, form %s, seed %d%s" % (
                    form, seed, "" if point else ", no last sequence point"),
                    lambda: expect_losses(folder, form, seed, point))
        for form in nettrace_write.FORMS:
            tap.attempt("stacks after a sequence point, form " + form,
                        lambda: expect_stacks_dropped(folder, form))
        tap.attempt("a cut file is undecided", lambda: expect_cut_undecided(folder))
        tap.attempt("invalid events", lambda: expect_invalid_counted(folder))
        tap.attempt("--assume-interval", lambda: expect_assumed(folder))
        tap.attempt("AllocationTick alone", lambda: expect_ticks_refused(folder))
        for frequency in (10**9, 10**7, 3124099, 24 * 10**9):
            tap.attempt("code by time, %d ticks a second" % frequency,
                        lambda: expect_code_by_time(folder, frequency))


# ---- damage


def damage(how, path):
    """(place, imported, samples, cut, message) of each damage."""
    result = profiled.run([program("nettrace_damage"), how, path], time_limit_s=300)
    profiled.expect(result.status == 0 and not result.stderr, "status %s: %s" % (
        result.status, result.stderr.decode(errors="replace")[-1500:]))
    lines = [line.split("\t") for line in result.stdout.decode(errors="replace").splitlines()]
    profiled.expect(lines and all(len(line) == 5 for line in lines), "a message of several lines")
    for place, imported, _, _, message in lines:
        profiled.expect((imported == "1") == (message == ""), "place %s: %r" % (place, message))
    return [(int(p), i == "1", int(s), c == "1", m) for p, i, s, c, m in lines]


def expect_cuts(path):
    """No sample is invented, none is lost that a longer beginning does not bring back."""
    lines = damage("cuts", path)
    most = 0
    for place, imported, samples, cut, message in lines[:-1]:
        profiled.expect(cut == imported, "place %d: is not said to be cut off" % place)
        profiled.expect(not imported or samples >= most, "place %d: fewer samples" % place)
        profiled.expect(imported or not most, "place %d: %s" % (place, message))
        most = samples if imported else most
    _, imported, samples, cut, _ = lines[-1]
    profiled.expect(imported and not cut and samples >= most > 0, "whole: %s" % (lines[-1],))


def expect_cut_reports(path, folder):
    data = nettrace_decode.load(path)
    choice = random.Random(5)
    for length in (1, 8, 31, 32, 60, *choice.sample(range(61, len(data)), 6)):
        cut = write(folder, "cut.nettrace", data[:length])
        result = profiled.run([profiled.BYTEPOLL, "report", cut])
        lines = result.stderr.decode(errors="replace").splitlines()
        profiled.expect((result.status == 0 and b"cut off" in result.stdout and not lines) or (
            result.status == 1 and len(lines) == 1 and lines[0].startswith("bytepoll: ")),
            "%d bytes: status %s, %s" % (length, result.status, lines[:5]))


def test_damage(tap):
    with profiled.directory() as folder:
        samples = [(16 + i % 3, "N.T`1[U]", 24 + i, i % 20) for i in range(30)]
        paths = {"form %s, %d bits" % (form, 8 * pointer): made(
            folder, "%s-%d" % (form, pointer), samples, form, pointer, block_events=8)
            for form in nettrace_write.FORMS for pointer in (4, 8)}
        paths["small-and-big"] = unpack("small-and-big", folder)
        for name, path in paths.items():
            tap.attempt("%s: cut at every byte" % name, lambda: expect_cuts(path))
            tap.attempt("%s: cut, reported" % name, lambda: expect_cut_reports(path, folder))
            if name != "small-and-big":
                tap.attempt("%s: hostile lengths" % name, lambda: damage("lengths", path))


def main():
    tap = profiled.Tap()
    {"files": test_files, "truth": test_truth, "made": test_made,
     "damage": test_damage}[sys.argv[1]](tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
