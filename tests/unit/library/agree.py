#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libbytepoll.so says what the command line says: every figure, p-value, name, verdict, warning and
error of `report --json`, `diff --json` and `check --json`, over the traces of the tests and real
recordings. JSON has 12 digits (p and q 10): the library's numbers, written the same way, must be the
same text. Nothing here is left to chance: both read one file.

Usage: agree.py BYTEPOLL LIBRARY TRACES SCENARIO_FOLDER
"""
import json
import lzma
import math
import os
import re
import subprocess
import sys
import tempfile
from ctypes import byref, c_char_p, c_double, c_void_p

import bytepoll_analysis as binding

BYTEPOLL, LIBRARY, TRACES, SCENARIO = sys.argv[1:5]
sys.path.insert(0, SCENARIO)
os.environ["BYTEPOLL_BUILD"] = os.path.dirname(os.path.abspath(BYTEPOLL))
import profiled  # noqa: E402 (which reads BYTEPOLL_BUILD)

KEYS = ["function", "stack", "line", "file", "module", "thread", "size", "type", "process", "kind", "label",
        "label:phase"]
METRICS = ["live", "peak", "allocated", "temporary"]
EXACT, UNKNOWN, LOWER, UPPER = 1, 2, 4, 8
library = binding.Library(LIBRARY)
names = tempfile.TemporaryDirectory(prefix="bytepoll-names-")  # kept between the commands
opened = {}  # profiles that several questions are asked of


def command(*words):
    result = subprocess.run([BYTEPOLL, *words], capture_output=True, timeout=120,
                            env=profiled.environment(extra={"XDG_CACHE_HOME": names.name}))
    if result.stdout:
        return json.loads(result.stdout), result.returncode
    return result.stderr.decode("utf-8", "surrogateescape").strip(), result.returncode


def number(value, digits=12):
    """As JSON has it."""
    if not math.isfinite(value):
        return None
    if digits == 12 and value == math.floor(value) and abs(value) < 2**63:
        return int(value)
    return float(f"{value:.{digits}g}")


def interval(figure):
    return {"estimate": None if figure.flags & UNKNOWN else number(figure.estimate),
            "low": number(figure.low), "high": number(figure.high)}


def figure_json(figure):
    result = interval(figure)
    for flag, name in ((EXACT, "exact"), (LOWER, "lower_bound"), (UPPER, "upper_bound")):
        if figure.flags & flag:
            result[name] = True
    return result


def text(value):
    """A name as JSON has it: what is no UTF-8 is replaced there."""
    return None if value is None else value.decode("utf-8", "replace")


def frames_json(profile, row, count):
    result = []
    frame = binding.Frame()
    for i in range(count):
        profiled.expect(library.profile_frame(profile, row.frames[i], byref(frame)), "no such frame")
        result.append({"function": text(frame.function), "file": text(frame.file),
                       "line": frame.line, "module": text(frame.module),
                       "inlined": frame.inlined})
    return result


def same(told, expected, where):
    """`told` says what `expected` does, in every field that it has."""
    if isinstance(told, dict):
        for name, value in told.items():
            profiled.expect(name in expected, f"{where}.{name}: not in JSON")
            same(value, expected[name], f"{where}.{name}")
    elif isinstance(told, list):
        profiled.expect(len(told) == len(expected),
                        f"{where}: {len(told)} entries, {len(expected)} in JSON")
        for i, (one, other) in enumerate(zip(told, expected)):
            same(one, other, f"{where}[{i}]")
    elif isinstance(told, str) and "\N{REPLACEMENT CHARACTER}" in told:
        pass  # how many of these stand for bad bytes is a matter of taste
    else:
        profiled.expect(told == expected, f"{where}: {told!r} is {expected!r} in JSON")


def row_json(profile, row, with_key=True):
    result = {"samples": row.samples, "bytes": figure_json(row.bytes),
              "objects": figure_json(row.objects)}
    if with_key and row.name is not None:
        result["name"] = text(row.name)
    elif with_key:
        result["stack"] = frames_json(profile, row, row.frame_count)
    return result


def read_all(next_one):
    result = []
    while (value := next_one(len(result))):
        result.append(value)
    return result


def table_json(profile, table, shown):
    """What the library says, in the form of `report --json`."""
    info, total, row = binding.TableInfo(), binding.Total(), binding.Row()
    process = binding.Process()
    library.table_info(table, byref(info))
    totals = {}
    for metric in METRICS:
        known = library.table_total(table, metric.encode(), byref(total))
        none = {"estimate": None, "low": None, "high": None}
        totals[metric] = {"samples": total.samples if known else 0,
                          "bytes": figure_json(total.bytes) if known else none,
                          "objects": figure_json(total.objects) if known else none}
    rows = []
    for one in library.rows(table):
        if len(rows) == shown:
            break
        rows.append(row_json(profile, one))
    result = {"totals": totals, "rows": rows, "samples": info.samples, "lost": info.lost,
              "confidence": number(info.confidence, 10), "size_min": info.size_min,
              "intervals": read_all(lambda i: library.table_interval(table, i)),
              "duration_s": round(info.duration_ns / 1e9, 9),
              "rows_left_out": info.rows - len(rows),
              "warnings": [text(w) for w in read_all(lambda i: library.table_warning(table, i))]}
    if library.table_rest(table, len(rows), byref(row)):
        result["rest"] = row_json(profile, row, with_key=False)
    if library.profile_process(profile, info.process, byref(process)):
        result["pid"] = process.pid
        result["program"] = text(process.program)
        result["command_line"] = text(process.command_line)
    if info.peak_at_ns != 2**64 - 1:
        result["peak_at"] = round(info.peak_at_ns / 1e9, 9)
    return result


def profile_of(*files):
    if files not in opened:
        opened[files] = library.open_files(*files)
    return opened[files]


# What the command line calls by its options, the library calls by its fields.
FIELDS = {"--at": "at_ns", "--from": "from_ns", "--until": "to_ns", "--interval-method": "method", "--min-size": "size_min",
          "--cumulative": "BYTEPOLL_CUMULATIVE", "--bytes requested": "the requested bytes"}


def in_fields(error):
    """The error of a command as the library has it."""
    for option, field in FIELDS.items():
        error = re.sub(r"(?<!\S)%s(?![-a-z])" % option, field, error)
    return re.sub(r"(?<!\S)--(metric|by|edges|estimator|confidence|filter|pid)(?![-a-z])", r"\1", error)


def compare_report(files, words, rows=None, profile=None, **fields):
    """`report --json WORDS FILES` and the library on the same; both may refuse."""
    limit = ["--rows", str(rows)] if rows is not None else []
    expected, status = command("report", "--json", *words, *limit, *files)
    table = None
    try:
        profile = profile or profile_of(*files)
        table = library.aggregate(profile, byref(binding.query(**fields)))
        profiled.expect(status == 0, f"the library answers, report does not: {expected}")
        same(table_json(profile, table, len(expected["rows"])), expected, "report")
    except binding.Failed as failure:
        profiled.expect(status != 0, f"report answers, the library does not: {failure}")
        profiled.expect(str(failure) in in_fields(expected), f"{failure} is not the error {expected}")
    finally:
        library.table_close(table)


def change_json(one, other):
    """Bytes and objects of one column."""
    return {"bytes": figure_json(one), "objects": figure_json(other)}


def difference_row_json(row, objects=False):
    asked = row.objects if objects else row.bytes
    result = {"verdict": text(row.verdict), "p": number(asked.p, 10), "q": number(row.q, 10),
              "ratio": interval(asked.ratio), "tested": row.tested,
              "samples": {"base": row.base_samples, "new": row.new_samples}}
    for name, field in (("base", "base"), ("new", "news"), ("change", "change")):
        result[name] = change_json(getattr(row.bytes, field), getattr(row.objects, field))
    if row.name is not None:
        result["name"] = text(row.name)
    else:
        result["stack"] = frames_json(row.profile, row, row.frame_count)
    return result


def difference_json(difference, objects):
    info, row = binding.DifferenceInfo(), binding.DifferenceRow()
    library.difference_info(difference, byref(info))
    rows = []
    while library.difference_row(difference, len(rows), byref(row)):
        rows.append(difference_row_json(row, objects))
    result = {"rows": rows, "keys": info.rows, "tested": info.tested,
              "confidence": number(info.confidence, 10), "fdr": number(info.false_discoveries, 10),
              "warnings": [text(w) for w in
                           read_all(lambda i: library.difference_warning(difference, i))]}
    library.difference_total(difference, byref(row))
    result["total"] = difference_row_json(row, objects)
    del result["total"]["name"]
    profiled.expect(not library.difference_rest(difference, len(rows), byref(row)), "a rest of none")
    return result


def compare_diff(base, new, words, scales=None, objects=False, **fields):
    expected, status = command("diff", "--json", *words, *base, "--new", *new)
    profiles = [library.open_files(file) for file in base + new]
    handles = (c_void_p * len(profiles))(*profiles)
    news = (c_void_p * len(new))(*profiles[len(base):])
    comparison = binding.Comparison(flags=objects)
    if scales is not None:
        comparison.kept = (c_double * len(scales))(*scales)
        comparison.scales = comparison.kept
    difference = None
    try:
        difference = library.compare(handles, len(base), news, len(new),
                                     byref(binding.query(**fields)), byref(comparison))
        profiled.expect(status == 0, f"the library answers, diff does not: {expected}")
        for profile in profiles:  # the difference keeps them
            library.close(profile)
        profiles = []
        same(difference_json(difference, objects), expected, "diff")
    except binding.Failed as failure:
        profiled.expect(status != 0, f"diff answers, the library does not: {failure}")
        profiled.expect(str(failure) in in_fields(expected), f"{failure} is not the error {expected}")
    finally:
        library.difference_close(difference)
        for profile in profiles:
            library.close(profile)


def moments_of(file):
    """Two moments of a recording, in ns: after a tenth and after nine tenths of it."""
    duration_s = command("report", "--json", file)[0]["processes"][0]["duration_s"]
    return int(duration_s * 1e8), int(duration_s * 9e8)


def compare_moments(file, times, words, **fields):
    at = [word for time in times for word in ("--at", f"{time}ns")]
    expected, _ = command("diff", "--json", *at, *words, file)
    profile = library.open_files(file)
    difference = library.compare_moments(profile, *times, byref(binding.query(**fields)), None)
    library.close(profile)
    same(difference_json(difference, False), expected, "diff")
    library.difference_close(difference)


def compare_check(file, metric, most, filter_text=None, objects=False):
    unit = ".objects" if objects else ""
    name = f":{filter_text}" if filter_text else ""
    expected, status = command("check", "--json", file, "--limit", f"{metric}{unit}{name}={most}")
    profile = profile_of(file)
    limit = binding.Limit(metric=metric.encode(), most=most, flags=objects)
    limit.filter = filter_text.encode() if filter_text else None
    result = binding.CheckResult()
    library.check(profile, None, byref(limit), byref(result))
    entry = expected["limits"][0]
    same({"verdict": text(result.outcome), "reason": text(result.reason),
          "samples": result.samples, "sampling_interval": result.interval,
          "interval": interval(result.figure)}, entry, "check")
    profiled.expect(status == {"within": 0, "exceeded": 1, "undecided": 3}[text(result.outcome)],
                    "exit status of check")
    if entry["needs"] is not None:
        same({"samples": number(result.samples_needed), "interval": result.interval_needed},
             entry["needs"], "needs")


def record(folder, name, words, **settings):
    """A real recording; sampled densely enough that rows have intervals worth comparing."""
    trace = os.path.join(folder, name + ".bpt")
    options = [word for key, value in settings.items() for word in ("--" + key, str(value))]
    result = subprocess.run([BYTEPOLL, "run", "--quiet", "-o", trace, *options, "--", *words],
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                            env=profiled.environment())
    profiled.expect(os.path.exists(trace), f"no recording of {name}: {result.stderr}")
    return trace


SQL = """with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
select count(*), max(length(s)) from (select i, hex(randomblob(200 + i % 300)) as s from n order by s);"""


def recordings(folder):
    sqlite = ["sqlite3", ":memory:", SQL]
    words = "my %h; for my $i (1 .. 30000) { push @{$h{$i % 700}}, 'x' x ($i % 900); } delete @h{1..300};"
    perl = ["perl", "-e", words]
    churn = [profiled.program("truth")]
    leak = [profiled.program("leak")]
    return {"sqlite": record(folder, "sqlite", sqlite, interval="16K", seed=1),
            "sqlite2": record(folder, "sqlite2", sqlite, interval="16K", seed=2),
            "perl": record(folder, "perl", perl, interval="8K", seed=3),
            "perl2": record(folder, "perl2", perl, interval="8K", seed=4),
            "bernoulli": record(folder, "bernoulli", perl, interval="2K", seed=5, law="bernoulli"),
            "truth": record(folder, "truth", churn, interval="4K", seed=6),
            "leaks": record(folder, "leaks", leak, interval="4K", seed=7),
            "leaks2": record(folder, "leaks2", leak, interval="4K", seed=8)}


def foreign(folder):
    """Files of others, which tell less than a trace: of .NET, of Go, and of Go with what is live alone."""
    data = os.path.join(os.path.dirname(SCENARIO), "data")
    nettrace = os.path.join(folder, "mixture.nettrace")
    with lzma.open(os.path.join(data, "dotnet", "mixture-servergc.nettrace.xz")) as packed, open(nettrace, "wb") as file:
        file.write(packed.read())
    return [nettrace, os.path.join(data, "pprof", "go-1.26-64k.pb.gz")]


def check_traces(tap):
    """Every trace of the tests, damaged ones too: each metric, by keys that take turns."""
    for turn, name in enumerate(sorted(os.listdir(TRACES))):
        path = os.path.join(TRACES, name)
        if not os.path.isfile(path):
            continue

        def compare(path=path, turn=turn):
            for i, metric in enumerate(METRICS):
                key = KEYS[(3 * turn + i) % len(KEYS)]
                compare_report([path], ["--metric", metric, "--by", key], metric=metric, by=key)
        tap.attempt(f"report of {name}", compare)


def check_reports(tap, files):
    for name in ("sqlite", "perl", "bernoulli", "truth"):
        def compare(name=name):
            questions = [(metric, "function") for metric in METRICS]
            questions += [(METRICS[(i + len(name)) % 4], key) for i, key in enumerate(KEYS)]
            for metric, key in questions:
                compare_report([files[name]], ["--metric", metric, "--by", key], metric=metric,
                               by=key)
        tap.attempt(f"report of {name}", compare)
    one = [files["sqlite"]]
    for title, words, fields in (
            ("usable bytes, 99 %", ["--bytes", "usable", "--confidence", "0.99", "-m", "live"],
             {"flags": 2, "confidence": 0.99}),
            ("cumulative, by objects", ["-m", "peak", "--cumulative", "--sort", "objects"],
             {"metric": "peak", "flags": 1, "sort": "objects"}),
            ("a moment", ["-m", "live", "--at", "5ms"], {"flags": 4, "at_ns": 5000000}),
            ("a window", ["-m", "allocated", "--from", "2ms", "--to", "20ms"],
             {"metric": "allocated", "flags": 24, "from_ns": 2000000, "to_ns": 20000000}),
            ("filters", ["-m", "allocated", "--filter", "size=64..4K", "--filter", "module=*sqlite*"],
             {"metric": "allocated", "filters": ["size=64..4K", "module=*sqlite*"]}),
            ("n3", ["-m", "allocated", "--interval-method", "n3", "--min-size", "16"],
             {"metric": "allocated", "method": "n3", "flags": 32, "size_min": 16}),
            ("negative binomial", ["-m", "live", "--interval-method", "negative-binomial",
                                   "--edges", "both", "--estimator", "failed-trials"],
             {"method": "negative-binomial", "edges": "both", "estimator": "failed-trials"}),
            ("calibrated", ["-m", "allocated", "--estimator", "calibrated"],
             {"metric": "allocated", "estimator": "calibrated"}),
            ("a question without answer", ["-m", "peak", "--at", "1s"],
             {"metric": "peak", "flags": 4, "at_ns": 10**9}),
            ("an unknown pid", ["-m", "live", "--pid", "4000000"], {"pid": 4000000})):
        tap.attempt(f"report: {title}", lambda words=words, fields=fields: compare_report(
            one, words, **fields))
    tap.attempt("report: the first rows and the rest", lambda: compare_report(
        one, ["-m", "allocated"], rows=5, metric="allocated"))
    for title, words, options in (
            ("other allocators", ["--allocators", "[Pp]erl_.*", "--allocators", "sqlite3.*"],
             {"allocators": [b"[Pp]erl_.*", b"sqlite3.*"], "allocator_count": 2}),
            ("no allocators", ["--allocators", "none"], {"flags": 8})):
        def compare(words=words, options=options):
            if "allocators" in options:
                options["allocators"] = (c_char_p * 2)(*options["allocators"])
            profile = library.open_files(files["perl"], **options)
            compare_report([files["perl"]], ["-m", "allocated", *words], profile=profile,
                           metric="allocated")
            library.close(profile)
        tap.attempt(f"report: {title}", compare)
    tap.attempt("report: two unrelated files", lambda: [compare_report(
        one + [files["perl"]], ["--metric", metric], metric=metric) for metric in METRICS])


def check_timeline(files):
    expected, _ = command("report", "--json", "--timeline", "--moments", "50", files["perl"])
    profile = profile_of(files["perl"])
    table = library.aggregate(profile, None)
    moments = (binding.Moment * 50)()
    library.table_timeline(table, 50, moments)
    same([{"time_s": round(m.time_ns / 1e9, 9), "samples": m.samples, "bytes": figure_json(m.bytes),
           "objects": figure_json(m.objects)} for m in moments], expected["timeline"], "timeline")
    library.table_close(table)


def check_differences(tap, files):
    pairs = (("two seeds", ["sqlite"], ["sqlite2"]), ("two programs", ["sqlite"], ["perl"]),
             ("several runs", ["perl", "perl2"], ["sqlite", "sqlite2"]),
             ("the same run twice", ["perl", "perl"], ["sqlite"]))
    for title, base, new in pairs:
        def compare(base=base, new=new):
            for i, key in enumerate(("function", "stack", "module", "size", "kind", "thread")):
                metric = ("allocated", "live", "peak")[(i + len(new)) % 3]
                if len(base) > 1 and metric == "peak":
                    metric = "temporary"
                compare_diff([files[n] for n in base], [files[n] for n in new],
                             ["--metric", metric, "--by", key], metric=metric, by=key)
        tap.attempt(f"diff of {title}", compare)
    tap.attempt("diff: objects, per unit of work", lambda: compare_diff(
        [files["sqlite"]], [files["perl"]],
        ["--metric", "allocated", "--objects", "--normalize", "1000:1200"],
        scales=[1200 / 1000, 1.0], objects=True, metric="allocated"))
    tap.attempt("diff of two moments", lambda: compare_moments(
        files["perl"], moments_of(files["perl"]), ["--by", "function"], by="function"))


def check_defaults(tap, files, more):
    """What is answered where a question names nothing but files."""
    for name in ("sqlite", "perl"):
        tap.attempt(f"defaults: report of {name}", lambda name=name: compare_report([files[name]], []))
    for path in more:
        tap.attempt(f"defaults: report of {os.path.basename(path)}", lambda path=path: compare_report([path], []))
    chosen = set()

    def compare(base, new):
        compare_diff([base], [new], [])
        chosen.add(command("diff", "--json", base, new)[0]["metric"])
    for base, new in (("sqlite", "sqlite2"), ("perl", "perl2"), ("truth", "truth"), ("leaks", "leaks2")):
        tap.attempt(f"defaults: diff of {base} and {new}", lambda base=base, new=new: compare(files[base], files[new]))
    for path in more:
        tap.attempt(f"defaults: diff of {os.path.basename(path)}", lambda path=path: compare(path, path))
    tap.attempt("defaults: different metrics were chosen",
                lambda: profiled.expect(chosen >= {"live", "allocated"} and len(chosen) >= 2, str(chosen)))


def check_checks(tap, files):
    for metric, most, filter_text, objects in (
            ("live", 1000, None, False), ("peak", 10**9, None, False), ("allocated", 10**5, None, False),
            ("allocated", 10**7, "module=*sqlite*", False), ("peak", 3 * 10**5, None, False),
            ("temporary", 200, None, True), ("allocated", 50, "function=no_such_*", False)):
        tap.attempt(f"check: {metric} {filter_text or ''} {most}", lambda m=metric, n=most,
                    f=filter_text, o=objects: compare_check(files["sqlite"], m, n, f, o))


def main():
    tap = profiled.Tap()
    if sys.argv[5:] == ["defaults"]:
        with profiled.directory() as folder:
            check_defaults(tap, recordings(folder), foreign(folder))
        return tap.finish()
    check_traces(tap)
    with profiled.directory() as folder:
        files = recordings(folder)
        check_reports(tap, files)
        tap.attempt("timeline", lambda: check_timeline(files))
        check_differences(tap, files)
        check_checks(tap, files)
    for profile in opened.values():
        library.close(profile)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
