#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll export`: what other tools read from it is what `bytepoll report --json` says.

A program of known sites is profiled once (T = 2048, seed 7) and exported in every format. Readers are
this folder's own (export_read.py), `go tool pprof`, valgrind's dh_view.js, and bytepoll's own importer.
Totals must be the report's, rounded; sums by function must be it within one for each stack that the
function is on. Hostile names come from pprof files that hold them.
"""
import collections
import gzip
import json
import os
import re
import shutil
import sys

import export_protobuf
import export_read
import profiled

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "pprof"))
import pprof_write  # noqa: E402

DH_VIEW = "/usr/libexec/valgrind/dh_view.js"
FORMATS = ("pprof", "otlp", "collapsed", "speedscope", "dhat", "firefox", "json", "csv", "suppressions")
expect = profiled.expect


def export(trace, to, *options, out=None, status=0):
    """The path of what was written."""
    out = out or os.path.join(os.path.dirname(trace), "out." + to)
    result = profiled.run([profiled.BYTEPOLL, "export", trace, "--to", to, "-o", out, "--force",
                           *options])
    expect(result.status == status, "export --to %s %s: status %s: %s" % (
        to, options, result.status, result.stderr.decode(errors="replace").strip()))
    return out


def refused(arguments, status=1):
    """The one line with which something is refused."""
    result = profiled.run([profiled.BYTEPOLL, "export", *arguments])
    lines = result.stderr.decode().splitlines()
    expect(result.status == status and len(lines) == 1 and not result.stdout,
           "%s: status %s, %s" % (arguments, result.status, lines[:3]))
    return lines[0]


def estimate(data, metric, unit="bytes"):
    return data["totals"][metric][unit]["estimate"]


def at_the_peak(data, unit="bytes"):
    """What was live at the named moment, which is what rows and stacks add up to."""
    return data["totals"]["peak"]["at"][unit]["estimate"]


def near(value, expected, slack, what):
    expect(abs(value - expected) <= slack, "%s: %s, not %s" % (what, value, expected))


def rows(trace, metric, *options):
    data = profiled.report(trace, "--metric", metric, "--rows", "1000000", *options)
    return data, {row["name"]: row for row in data["rows"]}


def expect_functions(stacks, trace, metric, unit="bytes", *options):
    """Sums by function are the report's cumulative rows."""
    stacks = [(stack, value) for stack, value in stacks if value != 0]
    sums, counts = export_read.cumulative(stacks), export_read.cumulative(
        (stack, 1) for stack, _ in stacks)
    _, by_name = rows(trace, metric, "--cumulative", *options)
    expect(set(sums) <= set(by_name), "functions: %s" % sorted(set(sums) - set(by_name))[:3])
    for name, row in by_name.items():
        near(sums[name], row[unit]["estimate"], counts[name] + 1 + 1e-9 * sums[name],
             "%s of %s" % (unit, name))


def by_rows(trace, metric, unit):
    """What the rows by stack add up to. Objects of what was allocated are not calibrated: there the
    exact total counts sizes that no sample has."""
    data = profiled.report(trace, "--by", "stack", "--metric", metric, "--rows", "1000000")
    return sum(row[unit]["estimate"] for row in data["rows"])


# ---- formats ----

PPROF_TYPES = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
               ("inuse_space", "bytes")]


def check_pprof(trace):
    profile = export_read.Pprof(export(trace, "pprof"))
    data = profiled.report(trace)
    expect(profile.types == PPROF_TYPES, profile.types)
    expect(profile.default_type == "inuse_space", profile.default_type)
    expect(profile.period_type == ("space", "bytes") and profile.period == 2048, profile.period)
    expect(profile.duration_ns == round(data["duration_s"] * 1e9), "duration")
    for name, metric, unit in (("alloc_space", "allocated", "bytes"),
                               ("inuse_space", "live", "bytes"),
                               ("inuse_objects", "live", "objects"),
                               ("alloc_objects", "allocated", "objects")):
        near(profile.total(name), by_rows(trace, metric, unit), 0.5001, name)
        expect_functions(profile.stacks(name), trace, metric, unit)
    expect(profile.total("alloc_space") == estimate(data, "allocated"), "the exact total")
    near(profile.total("inuse_space"), estimate(data, "live"), 0.5001, "live")


def check_pprof_details(trace):
    profile = export_read.Pprof(export(trace, "pprof"))
    data = profiled.report(trace)
    text = "\n".join(profile.comments)
    figure = data["totals"]["live"]["bytes"]
    for part in (data["command_line"], "T = 2048 bytes", "95 %",
                 "%.0f [%.0f, %.0f]" % tuple(figure[k] for k in ("estimate", "low", "high")),
                 "bytes %.0f exactly" % estimate(data, "allocated")):
        expect(part in text, "no %r in %s" % (part, profile.comments))
    first = min(profile.mappings.values(), key=lambda m: m["path"] != data["program"])
    expect(re.fullmatch("[0-9a-f]{40}", first["build_id"]), "build-id %s" % first["build_id"])
    expect(first["flags"][:3] == (1, 1, 1), "flags %s" % (first["flags"],))
    for place in profile.locations.values():
        if place["mapping"]:
            mapping = profile.mappings[place["mapping"]]
            expect(mapping["start"] <= place["address"] < mapping["limit"],
                   "%x of %s" % (place["address"], mapping))


def check_variances(trace):
    plain = export_read.Pprof(export(trace, "pprof"))
    profile = export_read.Pprof(export(trace, "pprof", "--variances"))
    expect(profile.types == PPROF_TYPES + [
        (name + "_var", unit + "^2") for name, unit in PPROF_TYPES], profile.types)
    expect([s[1] for s in plain.samples] == [s[1][:4] for s in profile.samples], "values")
    figure = profiled.report(trace)["totals"]["live"]["bytes"]
    error = profile.total("inuse_space_var") ** 0.5
    half = (figure["high"] - figure["low"]) / 2 / 1.96
    expect(0.8 < error / half < 1.25, "standard error %g, half-width %g" % (error, half))


def check_labels(trace):
    profile = export_read.Pprof(export(trace, "pprof", "--label", "bytes", "--label", "thread"))
    sizes = collections.Counter()
    for _, values, labels in profile.samples:
        expect(set(labels) == {"bytes", "thread"} and "tid" in labels["thread"], labels)
        sizes[labels["bytes"]] += values[3]
    _, by_size = rows(trace, "live", "--by", "size")
    for name, row in by_size.items():
        near(sizes[int(name)], row["bytes"]["estimate"], 20, "size " + name)


def check_protobuf(trace):
    """Google's own library reads what our reader of the wire format does, and nothing beside."""
    for options in ((), ("--variances",), ("--label", "bytes", "--label", "thread")):
        path = export(trace, "pprof", *options)
        own = export_read.Pprof(path)
        totals, flat, message = export_protobuf.read(path)
        text = message.string_table
        expect(list(text) == own.strings and text[message.drop_frames] == own.drop_frames, "strings")
        expect([(text[kind.type], text[kind.unit]) for kind in message.sample_type] == own.types,
               "types")
        expect(text[message.default_sample_type] == own.default_type, "default type")
        expect((message.period, message.time_nanos, message.duration_nanos) ==
               (own.period, own.time_ns, own.duration_ns), "period and times")
        expect([text[comment] for comment in message.comment] == own.comments, "comments")
        for name, _ in own.types:
            inner = collections.Counter()
            for stack, value in own.stacks(name):
                inner[stack[-1] if stack else ""] += value
            expect(totals[name] == own.total(name) and flat[name] == inner, name)
        expect(totals["alloc_space"] == estimate(profiled.report(trace), "allocated"),
               "the exact total")
        for name, metric, unit in (("inuse_space", "live", "bytes"),
                                   ("inuse_objects", "live", "objects"),
                                   ("alloc_objects", "allocated", "objects")):
            near(totals[name], by_rows(trace, metric, unit), 0.5001, name)


def check_protobuf_refuses(trace):
    """The check above would see a field that is not in profile.proto, or is cut off."""
    path = export(trace, "pprof")
    with gzip.open(path) as file:
        data = file.read()
    for what, changed in (("a field too many", data + b"\xa0\x06\x01"),
                          ("another wire type", data + b"\x62\x01x"),
                          ("a field too many in a sample", data + b"\x12\x02\x48\x01"),
                          ("cut off", data[:-1])):
        with gzip.open(path, "wb") as file:
            file.write(changed)
        try:
            export_protobuf.read(path)
        except Exception:
            continue
        raise AssertionError(what + " is not seen")


def go_pprof(path, *options):
    """{function: flat} as `go tool pprof` has it; None: it is not installed."""
    go = "/usr/bin/go"
    result = profiled.run([go, "tool", "pprof", "-top", "-nodefraction=0", "-nodecount=100000",
                           "-unit=B", *options, path],
                          extra={"PPROF_BINARY_PATH": "/nonexistent", "HOME": "/nonexistent",
                                 "PPROF_TMPDIR": os.path.dirname(path)})
    expect(result.status == 0, result.stderr.decode())
    text = result.stdout.decode()
    table = text.split("flat%", 1)[1].splitlines()[1:]
    flat = collections.Counter()
    for line in table:
        words = line.split(None, 5)
        flat[words[5].replace(" (inline)", "")] += float(words[0].rstrip("B"))
    return text, flat


def check_go(trace):
    """Charged functions, too: pprof drops the allocator's own frames as the report does."""
    path = export(trace, "pprof", out=os.path.join(os.path.dirname(trace), "out.pb.gz"))
    for index, metric, unit in (("inuse_space", "live", "bytes"),
                                ("alloc_space", "allocated", "bytes"),
                                ("inuse_objects", "live", "objects")):
        text, flat = go_pprof(path, "-sample_index=" + index)
        expect("sampled with T = 2048" in text, "no comment")
        _, by_name = rows(trace, metric)
        for name, row in by_name.items():
            near(flat[name], row[unit]["estimate"], 20 + 1e-9 * flat[name], index + " " + name)


def check_allocators(folder):
    """What pprof drops by our drop_frames is charged to its caller."""
    writer = pprof_write.Writer(period=1)
    names = ("malloc", "operator new", "__libc_calloc", "std::allocator<int>::allocate", "mallocs")
    for i, name in enumerate(names):
        writer.bucket((name, "site%d" % i, "main"), 64, 5, 3)
    path = os.path.join(folder, "allocators.pb.gz")
    with open(path, "wb") as file:
        file.write(writer.finish())
    _, flat = go_pprof(export(path, "pprof"), "-sample_index=inuse_space")
    expect({name: value for name, value in flat.items() if value} ==
           {"site0": 192, "site1": 192, "site2": 192, "site3": 192, "mallocs": 192}, flat)


def check_round_trip(folder):
    """At T = 1 nothing is lost on the way through our own importer."""
    trace = record(folder, "exact.bpt", 1)
    exported = export(trace, "pprof", "--label", "bytes")
    for metric in ("live", "allocated"):
        # (The importer takes no objects of no bytes: Go has none.)
        before, after = ({name: (row["bytes"]["estimate"], row["objects"]["estimate"])
                          for name, row in rows(path, metric, "--filter", "size=1..")[1].items()}
                         for path in (trace, exported))
        expect(before == after, "%s: %s" % (metric, sorted(
            set(before.items()) ^ set(after.items()))[:4]))
    expect_unread(export(trace, "pprof"), b"write it with --label bytes")


def expect_unread(path, words):
    for command in (["report"], ["diff", path], ["report", "--assume-interval", "4096"]):
        result = profiled.run([profiled.BYTEPOLL, *command, path])
        expect(result.status != 0 and not result.stdout and result.stderr.count(b"\n") == 1 and
               words in result.stderr, result)


def check_no_way_back(trace):
    """At other T what is in the file are estimates, a third of which look as if the importer could undo them:
    none is read, and the line says what to read instead. Tools that write the file anew keep its comments."""
    for options in ((), ("--label", "bytes"), ("--metric", "peak"), ("--metric", "allocated")):
        path = export(trace, "pprof", *options)
        expect_unread(path, b"name the recording it was made from")
    again = path + ".again"
    result = profiled.run(["/usr/bin/go", "tool", "pprof", "-proto", "-output", again, path],
                          extra={"HOME": "/nonexistent", "PPROF_TMPDIR": os.path.dirname(path)})
    expect(result.status == 0, result)
    expect_unread(again, b"name the recording it was made from")


def check_collapsed(trace):
    for metric in ("live", "peak", "allocated", "temporary"):
        for unit in ("bytes", "objects"):
            stacks = export_read.collapsed(export(trace, "collapsed", "--metric", metric,
                                                  "--count", unit))
            total = sum(value for _, value in stacks)
            if metric == "peak":
                near(total, at_the_peak(profiled.report(trace), unit), 0.5001, metric)
            near(total, by_rows(trace, metric, unit), 0.5001, metric)
            expect_functions(stacks, trace, metric, unit)


def check_speedscope(trace):
    profiles = export_read.speedscope(export(trace, "speedscope"))
    expect([unit for unit, _ in profiles] == ["bytes", "none"], "units")
    for (_, stacks), unit in zip(profiles, ("bytes", "objects")):
        near(sum(v for _, v in stacks), estimate(profiled.report(trace), "live", unit), 0.5001,
             unit)
        expect_functions(stacks, trace, "live", unit)


def dh_view(path):
    result = profiled.run(["node", os.path.join(HERE, "export_dhat.js"), DH_VIEW, path])
    expect(result.status == 0, result.stderr.decode()[-400:])
    return json.loads(result.stdout)


def check_dhat(trace):
    path = export(trace, "dhat")
    root, data = dh_view(path), profiled.report(trace)
    near(root["tb"], estimate(data, "allocated"), 0, "tb")
    near(root["gb"], at_the_peak(data), 0.5001, "gb")
    near(root["eb"], estimate(data, "live"), 0.5001, "eb")
    near(root["ebk"], estimate(data, "live", "objects"), 0.5001, "ebk")
    dhat = export_read.load(path)
    near(dhat["te"], data["duration_s"] * 1e6, 2, "te")
    near(dhat["tg"], data["peak_at"] * 1e6, 2, "tg")
    names = [re.fullmatch(r"0x[0-9A-F]+: (.*) \((?:in )?(.*?)(?::(\d+))?\)", text)
             for text in dhat["ftbl"][1:]]
    expect(all(names), "a frame that no reader takes apart")
    stacks = [(tuple(names[index - 1].group(1) for index in reversed(point["fs"])), point["eb"])
              for point in dhat["pps"]]
    expect_functions(stacks, trace, "live")


def check_firefox(trace):
    profile = export_read.Firefox(export(trace, "firefox"))
    stacks = profile.retained()
    near(sum(v for _, v in stacks), estimate(profiled.report(trace), "live"), 0.5001, "live")
    expect_functions(stacks, trace, "live")
    allocated = estimate(profiled.report(trace, "--metric", "allocated"), "allocated")
    near(sum(v for _, v in profile.allocated()), allocated, 1.0001, "allocated")
    middle = profiled.report(trace)["duration_s"] / 2
    stacks = profile.retained(middle * 1000)
    near(sum(v for _, v in stacks), estimate(profiled.report(trace, "--at", "%.9f" % middle), "live"),
         3 * len(stacks) ** 0.5 + 1, "at half time")  # each is rounded by itself
    other = export_read.Firefox(export(trace, "firefox", "--metric", "allocated"))
    near(sum(v for _, v in other.allocated()), allocated, 1.0001, "metric allocated")


def allocated_by_format(path):
    """What every format says was allocated in all, bytes."""
    yield "pprof", export_read.Pprof(export(path, "pprof")).total("alloc_space")
    for to, read in (("collapsed", export_read.collapsed),
                     ("speedscope", lambda out: export_read.speedscope(out)[0][1]),
                     ("firefox", lambda out: export_read.Firefox(out).allocated())):
        yield to, sum(value for _, value in read(export(path, to, "--metric", "allocated")))
    yield "firefox of live", sum(value for _, value in export_read.Firefox(export(path, "firefox")).allocated())
    with open(export(path, "json", "--by", "stack", "--metric", "allocated"), encoding="utf-8") as file:
        yield "json", sum(row["bytes"]["estimate"] for row in json.load(file)["rows"])


def check_totals(folder):
    """All formats agree on what was allocated: with T that changes, frees, large objects; with no counters."""
    program, trace = (os.path.join(folder, name) for name in ("shop", "shop.bpt"))
    built = profiled.run(["g++", "-g", "-o", program, os.path.join(HERE, "..", "..", "examples", "shop.cpp")])
    expect(built.status == 0, built.stderr.decode())
    result = profiled.run([profiled.BYTEPOLL, "run", "--quiet", "--seed", "7", "-o", trace, "--", program])
    expect(result.status == 0, result.stderr.decode())
    expect(len(profiled.report(trace)["intervals"]) > 1, "T did not change")
    for path in (trace, os.path.join(HERE, "..", "data", "pprof", "go-1.26.pb.gz")):
        copy = os.path.join(folder, os.path.basename(path))
        if path != copy:
            shutil.copy(path, copy)
        whole = estimate(profiled.report(copy, "--metric", "allocated"), "allocated")
        for name, total in allocated_by_format(copy):
            near(total, whole, 1.0001, "%s: %s" % (os.path.basename(path), name))
    dhat = dh_view(export(trace, "dhat"))
    near(dhat["tb"], estimate(profiled.report(trace), "allocated"), 0, "dhat")


def check_tree(folder):
    """Many processes, images of one pid among them."""
    trace = os.path.join(folder, "tree.bpt")
    profiled.run([profiled.BYTEPOLL, "run", "--quiet", "--interval", "512", "-o", trace, "--", "sh",
                  "-c", "for i in 1 2 3; do git --version; done; exec env git --version"])
    data = profiled.report(trace)
    expect(len(data["processes"]) > 4, "processes: %d" % len(data["processes"]))
    profile = export_read.Firefox(export(trace, "firefox"))
    expect(len(profile.threads) > 4, "threads")
    near(sum(v for _, v in profile.retained()), estimate(data, "live"), 0.5001, "firefox")
    pprof = export_read.Pprof(export(trace, "pprof"))
    near(pprof.total("alloc_space"), estimate(data, "allocated"), 0, "pprof")
    near(dh_view(export(trace, "dhat"))["eb"], estimate(data, "live"), 0.5001, "dhat")
    pid = data["processes"][-1]["pid"]
    stacks = export_read.collapsed(export(trace, "collapsed", "--pid", str(pid), "--metric",
                                          "allocated"))
    near(sum(v for _, v in stacks), sum(row["bytes"]["estimate"] for row in profiled.report(
        trace, "--pid", str(pid), "--by", "stack", "--metric", "allocated", "--rows", "9999")["rows"]),
         0.5001, "pid")


def check_rows(trace):
    with open(export(trace, "json", "--by", "line"), encoding="utf-8") as file:
        expect(json.load(file) == profiled.report(trace, "--by", "line", "--rows", "1000000"), "json")
    with open(export(trace, "csv", "--metric", "peak"), "rb") as file:
        text = profiled.run([profiled.BYTEPOLL, "report", "--csv", "--metric", "peak", trace]).stdout
        expect(file.read() == text, "csv")


def check_suppressions(trace):
    with open(export(trace, "suppressions"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    patterns = [line[5:] for line in lines if line.startswith("leak:")]
    expect(all(not line or line[0] == "#" or line.startswith("leak:") for line in lines), "lines")
    _, by_name = rows(trace, "live")
    expect(patterns and set(patterns) <= set(by_name), "patterns %s" % patterns)


def check_hiding(folder, trace):
    """report --suppressions: what is hidden and what is left is everything live."""
    path = os.path.join(folder, "hide.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("# two sites\n\nleak:site_huge$\nleak:^site_m*c\n")
    data, hidden = profiled.report(trace), profiled.report(trace, "--suppressions", path)
    text = [w for w in hidden["warnings"] if w.startswith("hidden by suppressions")]
    bytes_hidden, low, high = map(int, re.search(r"bytes (\d+) \[(\d+), (\d+)\]", text[0]).groups())
    names = {row["name"] for row in data["rows"]} - {row["name"] for row in hidden["rows"]}
    expect("site_huge" in names and all(n == "site_huge" or n.startswith("site_m") for n in names),
           "hidden: %s" % names)
    near(estimate(hidden, "live") + bytes_hidden, estimate(data, "live"), 1, "live")
    expect(low <= bytes_hidden < high, "interval")
    near(bytes_hidden, sum(row["bytes"]["estimate"] for row in data["rows"]
                           if row["name"] in names), 1, "hidden")
    everything = profiled.report(trace, "--suppressions", export(trace, "suppressions"))
    expect(everything["rows"] == [], "rows: %s" % everything["rows"][:1])


def refused_report(*options):
    result = profiled.run([profiled.BYTEPOLL, "report", *options])
    lines = result.stderr.decode().splitlines()
    expect(result.status in (1, 2) and len(lines) == 1, "%s: %s" % (options, lines[:2]))
    return lines[0]


def check_bad_suppressions(folder, trace):
    path = os.path.join(folder, "bad.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("leak:good\nrace:\x1b[2Jno\n")
    expect("line 2" in refused_report(trace, "--suppressions", path), "line")
    expect(refused_report(trace, "--suppressions", folder + "/none"), "no file")
    expect(refused_report(trace, "--suppressions", trace), "a trace")
    expect("--metric" in refused_report(trace, "--suppressions", path, "--metric", "peak"), "peak")


def check_sanitizer(folder):
    """LeakSanitizer itself reads what we write: with it, it has nothing to say."""
    trace, program = os.path.join(folder, "leak.bpt"), os.path.join(folder, "leak")
    profiled.run([profiled.program("leak"), "300"], trace, 1, 5)
    path = export(trace, "suppressions", "--filter", "function=site_leak")
    built = profiled.run(["cc", "-g", "-O1", "-fno-builtin", "-fsanitize=leak", "-o", program,
                          os.path.join(HERE, "programs", "leak.c")])
    expect(built.status == 0, built.stderr.decode()[:300])
    for options, status in (("", 23), ("suppressions=" + path, 0)):
        result = profiled.run([program, "300"], extra={"LSAN_OPTIONS": options})
        expect(result.status == status, "LSAN_OPTIONS=%s: status %s: %s" % (
            options, result.status, result.stderr.decode()[-600:]))


# ---- odd inputs ----

HOSTILE = ("<script>alert(1)</script>", "a\"b\\c", "x;y\nz", "\x1b]0;owned\x07", "\u202egnp.exe",
           "bad\udcff\udcfe", "\x9b31m", "*^$+0x12", "q" * 1000000, "f (in /x:3)")


def hostile_file(folder):
    class Writer(pprof_write.Writer):
        def finish(self, packed=True):
            strings = b"".join(pprof_write.chunk(6, text.encode(errors="surrogateescape"))
                               for text in self.strings)
            return self.head + self.tail + strings
    writer = Writer(period=1)
    for i, name in enumerate(HOSTILE):
        writer.bucket((name, "run", "main"), 64 + i, 5, 3)
    writer.bucket((), 32, 4, 4)
    path = os.path.join(folder, "hostile.pb")
    with open(path, "wb") as file:
        file.write(writer.finish())
    return path


def check_hostile(folder):
    path = hostile_file(folder)
    live = estimate(profiled.report(path), "live")
    for to in FORMATS:
        out = export(path, to)
        with open(out, "rb") as file:
            data = file.read()
        if to in ("pprof", "otlp"):
            continue
        text = data.decode()  # valid UTF-8
        allowed = "\r\n" if to == "csv" else "\n"
        if to not in ("csv",):
            expect(not any(c < " " and c not in allowed or "\x7f" <= c <= "\x9f" or
                           c == "\u202e" for c in text), to)
        expect("q" * 100000 in text, to + ": the long name is cut")
    profile = export_read.Pprof(export(path, "pprof", "--label", "bytes"))
    expect(profile.total("inuse_space") == live, "pprof")
    expect(not any(bp < " " for text in profile.strings for bp in text), "pprof: controls")
    for stacks in (export_read.collapsed(export(path, "collapsed")),
                   export_read.speedscope(export(path, "speedscope"))[0][1],
                   export_read.Firefox(export(path, "firefox")).retained()):
        expect(sum(v for _, v in stacks) == live and len(dict(stacks)) == len(HOSTILE) + 1,
               "%d stacks, %d bytes" % (len(stacks), sum(v for _, v in stacks)))
    expect(("main", "run", "x:y\\x0az") in dict(export_read.collapsed(export(path, "collapsed"))),
           "a semicolon in a name")
    root = dh_view(export(path, "dhat"))
    expect(root["tb"] > live, "dhat")
    expect(go_pprof(export(path, "pprof"))[1], "go tool pprof")


def check_part_files(folder):
    """Files that tell only what is live, or nothing at all."""
    writer = pprof_write.Writer(types="live")
    writer.bucket(("f", "main"), 64, 5, 3)
    path = os.path.join(folder, "live.pb.gz")
    with open(path, "wb") as file:
        file.write(writer.finish())
    profile = export_read.Pprof(export(path, "pprof"))
    expect(profile.types == PPROF_TYPES[2:], profile.types)
    expect("--to pprof" in refused((path, "--to", "dhat", "-o", path + ".dhat")), "dhat")
    expect(not os.path.exists(path + ".dhat"), "something was left behind")
    trace = os.path.join(folder, "nothing.bpt")
    profiled.run([profiled.program("nothing")], trace, 1 << 40, 1)
    for to in FORMATS:
        out = export(trace, to)
        if to in ("speedscope", "firefox", "json"):
            export_read.load(out)
    export_read.Firefox(export(trace, "firefox"))
    expect(export_read.Pprof(export(trace, "pprof")).samples == [], "samples of nothing")


def check_usage(trace):
    for arguments, word in (((trace, "-o", "x"), "--to"), ((trace, "--to", "json"), "-o"),
                            ((trace, "--to", "perf", "-o", "x"), "pprof"),
                            ((trace, "--to", "pprof", "-o", "x", "--by", "line"), "--by"),
                            ((trace, "--to", "pprof", "-o", "x", "--metric", "temporary"),
                             "temporary"),
                            ((trace, "--to", "json", "-o", "x", "--variances"), "pprof"),
                            ((trace, "--to", "pprof", "-o", "x", "--count", "objects"), "count"),
                            (("--to", "pprof", "-o", "x"), "no file")):
        expect(word in refused(arguments, 2), "%s: no %r" % (arguments, word))


def check_query(trace):
    """Filters, windows and the peak are the report's."""
    _, by_name = rows(trace, "live")
    name = max(by_name, key=lambda n: by_name[n]["bytes"]["estimate"])
    stacks = export_read.collapsed(export(trace, "collapsed", "--filter", "function=" + name))
    near(sum(v for _, v in stacks), by_name[name]["bytes"]["estimate"], 0.5001, "filter")
    profile = export_read.Pprof(export(trace, "pprof", "--metric", "peak"))
    near(profile.total("inuse_space"), at_the_peak(profiled.report(trace)), 0.5001, "peak")
    half = "%.9f" % (profiled.report(trace)["duration_s"] / 2)
    stacks = export_read.collapsed(export(trace, "collapsed", "--metric", "allocated", "--from",
                                          "0", "--until", half))
    near(sum(v for _, v in stacks), sum(row["bytes"]["estimate"] for row in profiled.report(
        trace, "--by", "stack", "--rows", "100000", "--metric", "allocated", "--from", "0", "--to",
        half)["rows"]), 0.5001, "window")


def record(folder, name, interval):
    trace = os.path.join(folder, name)
    result = profiled.run([profiled.program("truth")], trace, interval, 7)
    expect(result.status == 0, "the program: %s" % result.stderr.decode())
    return trace


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        trace = record(folder, "truth.bpt", 2048)
        for name, action in (
                ("pprof", check_pprof), ("pprof: mappings and comments", check_pprof_details),
                ("pprof: variances", check_variances), ("pprof: labels", check_labels),
                ("pprof by Google's protobuf", check_protobuf),
                ("pprof: what protobuf refuses", check_protobuf_refuses),
                ("pprof by go tool pprof", check_go),
                ("pprof: no way back", check_no_way_back), ("collapsed", check_collapsed),
                ("speedscope", check_speedscope), ("dhat by dh_view.js", check_dhat),
                ("firefox", check_firefox), ("json and csv", check_rows),
                ("suppressions", check_suppressions), ("queries", check_query),
                ("usage", check_usage)):
            tap.attempt(name, lambda: action(trace))
        tap.attempt("pprof back through the importer", lambda: check_round_trip(folder))
        tap.attempt("allocators' frames", lambda: check_allocators(folder))
        tap.attempt("totals of all formats", lambda: check_totals(folder))
        tap.attempt("a tree of processes", lambda: check_tree(folder))
        tap.attempt("report --suppressions", lambda: check_hiding(folder, trace))
        tap.attempt("bad suppressions", lambda: check_bad_suppressions(folder, trace))
        tap.attempt("suppressions for LeakSanitizer", lambda: check_sanitizer(folder))
        tap.attempt("hostile names", lambda: check_hostile(folder))
        tap.attempt("files that tell little", lambda: check_part_files(folder))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
