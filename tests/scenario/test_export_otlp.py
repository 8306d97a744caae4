#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll export --to otlp`: what is in the file is what `bytepoll report --json` says.

A program of known sites is profiled once (T = 2048, seed 7). Totals must be the report's, rounded; sums by
function must be it within one for each stack that the function is on. export_otlp.py reads the file, by its
own reader and by Google's protobuf library, and checks the rules of the format.
"""
import collections
import os
import sys

import export_otlp
import export_read
import profiled
import test_export as other
from test_export import PPROF_TYPES, by_rows, estimate, expect_functions, export, near, rows

expect = profiled.expect
TAGS = ("--service", "shop", "--release", "1.4", "--host", "kiosk", "--tag", "zone=eu", "--tag",
        "service.version=2.0", "--tag", "odd=a=b\u202e")


def otlp(trace, *options):
    return export_otlp.Otlp(export(trace, "otlp", *options))


def check_values(trace):
    """The four types have the report's totals, and its sums by function."""
    file, data = otlp(trace), profiled.report(trace)
    expect([(p.type, p.unit) for p in file.profiles] == [PPROF_TYPES[3]] + PPROF_TYPES[:3],
           [p.type for p in file.profiles])
    for name, metric, unit in (("alloc_space", "allocated", "bytes"), ("inuse_space", "live", "bytes"),
                               ("inuse_objects", "live", "objects"), ("alloc_objects", "allocated", "objects")):
        profile = file.profile(name)
        near(profile.total(), by_rows(trace, metric, unit), 0.5001, name)
        expect_functions(profile.stacks(), trace, metric, unit)
        expect(all(value > 0 for _, value, _ in profile.samples), "a sample of nothing")
        expect(profile.period_type == ("space", "bytes") and profile.period == 2048, profile.period)
        expect(profile.duration_ns == round(data["duration_s"] * 1e9), "duration")
    expect(file.profile("alloc_space").total() == estimate(data, "allocated"), "the exact total")
    near(file.profile("inuse_space").total(), estimate(data, "live"), 0.5001, "live")


def check_same_as_pprof(trace):
    """Stack by stack, place by place."""
    for options in ((), ("--metric", "peak"), ("--metric", "allocated"), ("--variances",)):
        file, pprof = otlp(trace, *options), export_read.Pprof(export(trace, "pprof", *options))
        expect(file.profiles[0].type == pprof.default_type, "shown first: " + file.profiles[0].type)
        expect({(p.type, p.unit) for p in file.profiles} == set(pprof.types), "types")
        expect(file.profiles[0].attributes["pprof.profile.comment"] == pprof.comments, "comments")
        expect(file.profiles[0].attributes["pprof.profile.drop_frames"] == pprof.drop_frames, "drop_frames")
        expect(file.profiles[0].time_ns + file.profiles[0].duration_ns == pprof.time_ns, "times")
        for i, (name, _) in enumerate(pprof.types):
            theirs = collections.Counter()
            for places, values, _ in pprof.samples:
                theirs[tuple((p["address"], *[(f["name"], f["system_name"], f["file"], line)
                                              for f, line in p["lines"]]) for p in places)] += values[i]
            ours = collections.Counter()
            for places, value, _ in file.profile(name).samples:
                ours[tuple((p["address"], *[(f["name"], f["system_name"], f["file"], line)
                                            for f, line in p["lines"]]) for p in places)] += value
            expect(ours == +theirs, "%s %s" % (options, name))


def check_mappings(trace):
    file, data = otlp(trace), profiled.report(trace)
    paths = set()
    for profile in file.profiles:
        for places, _, _ in profile.samples:
            for place in places:
                mapping = place["mapping"]
                expect(mapping["start"] <= place["address"] < mapping["limit"], "%x" % place["address"])
                build_id = mapping["attributes"]["process.executable.build_id.gnu"]
                expect(len(build_id) == 40 and int(build_id, 16), build_id)
                paths.add(mapping["path"])
    expect(data["program"] in paths, paths)


def check_resource(trace):
    data = profiled.report(trace)
    file = otlp(trace, *TAGS)
    expect(file.resource == {
        "service.name": "shop", "service.version": "2.0", "host.name": "kiosk", "zone": "eu",
        "odd": "a=b\\u{202e}", "process.pid": data["processes"][0]["pid"],
        "process.executable.path": data["program"], "process.command_line": data["command_line"]},
        file.resource)
    expect(file.scope[0] == "bytepoll" and file.scope[1], file.scope)
    file = otlp(trace)
    expect(file.resource["service.name"] == "truth" and file.resource["host.name"] == os.uname().nodename and
           "service.version" not in file.resource, file.resource)


def check_attributes(trace):
    """Threads and sizes as attributes of samples; values stay."""
    plain = otlp(trace)
    file = otlp(trace, "--label", "bytes", "--label", "thread")
    sizes, threads = collections.Counter(), collections.Counter()
    for profile in file.profiles:
        expect(profile.total() == plain.profile(profile.type).total(), profile.type)
    for _, value, attributes in file.profile("inuse_space").samples:
        expect(set(attributes) == {"allocation_size", "thread.id", "thread.name"}, attributes)
        size, unit = attributes["allocation_size"]
        expect(unit == "By", unit)
        sizes[size] += value
        threads[attributes["thread.id"]] += value
    for key, sums in (("size", sizes), ("thread", threads)):
        for name, row in rows(trace, "live", "--by", key)[1].items():
            number = int(name) if key == "size" else int(name.split("tid ")[1].split(")")[0])
            near(sums[number], row["bytes"]["estimate"], 20, "%s %s" % (key, name))


def check_variances(trace):
    file = otlp(trace, "--variances")
    expect([p.type for p in file.profiles[4:]] == [name + "_var" for name, _ in PPROF_TYPES], "types")
    figure = profiled.report(trace)["totals"]["live"]["bytes"]
    error = file.profile("inuse_space_var").total() ** 0.5
    half = (figure["high"] - figure["low"]) / 2 / 1.96
    expect(0.8 < error / half < 1.25, "standard error %g, half-width %g" % (error, half))


def check_ids(trace):
    """A profile that is written again has its id again, and no other has it."""
    ids = [[p.id for p in otlp(trace, *options).profiles] for options in (
        (), (), ("--filter", "function=site_huge"), ("--label", "thread"))]
    expect(ids[0] == ids[1], "the same file, other ids")
    expect(len(set(ids[0] + ids[2] + ids[3])) == 12, "one id for two profiles")


def check_hostile(folder):
    path = other.hostile_file(folder)
    file = otlp(path, "--label", "bytes")
    expect(file.profile("inuse_space").total() == estimate(profiled.report(path), "live"), "live")
    strings = [text.decode() for text in file.raw["string"]]
    expect(not any(c < " " or "\x7f" <= c <= "\x9f" or c == "\u202e" for text in strings for c in text), "controls")
    expect("q" * 1000000 in strings and "(no stack recorded)" in strings, "names")
    expect(len({stack for stack, _ in file.profile("inuse_space").stacks()}) == len(other.HOSTILE) + 1, "stacks")


def check_little(folder):
    """Files that tell only what is live, or nothing; a tree of processes; objects of no bytes."""
    writer = other.pprof_write.Writer(types="live")
    writer.bucket(("f", "main"), 64, 5, 3)
    path = os.path.join(folder, "live.pb.gz")
    with open(path, "wb") as file:
        file.write(writer.finish())
    expect([p.type for p in otlp(path).profiles] == ["inuse_space", "inuse_objects"], "live only")
    trace = os.path.join(folder, "nothing.bpt")
    profiled.run([profiled.program("nothing")], trace, 1 << 40, 1)
    expect(all(p.samples == [] for p in otlp(trace).profiles), "samples of nothing")
    trace = os.path.join(folder, "tree.bpt")
    profiled.run([profiled.BYTEPOLL, "run", "--quiet", "--interval", "512", "-o", trace, "--", "sh", "-c",
                  "for i in 1 2; do git --version; done"])
    data = profiled.report(trace)
    expect(len(data["processes"]) > 2, "processes: %d" % len(data["processes"]))
    near(otlp(trace).profile("alloc_space").total(), estimate(data, "allocated"), 0, "tree")


def check_usage(trace):
    for options, word in ((("--metric", "temporary"), "temporary"), (("--by", "line"), "--by"),
                          (("--count", "objects"), "count"), (("--tag", "zone"), "KEY=VALUE")):
        expect(word in other.refused((trace, "--to", "otlp", "-o", trace + ".x", *options), 2), options)


def check_reader(trace):
    """The reader above sees what it is to see."""
    with open(export(trace, "otlp"), "rb") as file:
        data = file.read()
    string = data.index(b"\x2a\x05count")
    for what, changed in (("a field too many", data + b"\xa0\x06\x01"), ("cut off", data[:-1]),
                          ("an item twice", data.replace(b"\x2a\x05bytes", b"\x2a\x05count")),
                          ("another wire type", data[:string] + b"\x28" + data[string + 1:])):
        try:
            export_otlp.Otlp.read(export_otlp.Otlp.__new__(export_otlp.Otlp), changed)
        except Exception:
            continue
        raise AssertionError(what + " is not seen")


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        trace = other.record(folder, "truth.bpt", 2048)
        for name, action in (
                ("values", check_values), ("the same as pprof", check_same_as_pprof),
                ("mappings", check_mappings), ("resource", check_resource), ("attributes", check_attributes),
                ("variances", check_variances), ("ids", check_ids), ("usage", check_usage),
                ("what the reader refuses", check_reader)):
            tap.attempt(name, lambda: action(trace))
        tap.attempt("hostile names", lambda: check_hostile(folder))
        tap.attempt("files that tell little", lambda: check_little(folder))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
