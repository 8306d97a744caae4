#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll export --to parquet`: the tables hold what was recorded, row by row, in files that other readers
understand.

A small program is profiled, exported, and read back by parquet_read.py; samples, stacks and totals are held
against libbytepoll, which reads the trace by another way. Where pyarrow or duckdb can be imported they must read
the same rows. Hostile names come from pprof files. docs/parquet-format.md must list exactly the columns there are.
"""
import collections
from ctypes import byref
import json
import os
import re
import subprocess
import sys

import parquet_read
import profiled
from profiled import expect

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "bindings/python"), os.path.join(HERE, "..", "pprof")]
import bytepoll_analysis  # noqa: E402
import pprof_write  # noqa: E402

TABLES = ["counters", "frames", "intervals", "pauses", "processes", "readings", "samples", "stacks", "threads"]
HOSTILE = ["'; drop table samples; --", "a\"b,c\nd", "\u202eevil", "\x1b[2J", "=1+1", "caf\u00e9 \U0001f600", "x" * 3000]


def export(trace, out, *options, status=0):
    result = profiled.run([profiled.BYTEPOLL, "export", *([trace] if isinstance(trace, str) else trace), "--to",
                           "parquet", "-o", out, *options])
    expect(result.status == status, "export: status %s: %s" % (result.status, result.stderr.decode()))
    expect(status == 0 or len(result.stderr.splitlines()) == 1, "one line: %s" % result.stderr)
    return result.stderr.decode()


def tables(folder):
    expect(sorted(os.listdir(folder)) == [name + ".parquet" for name in TABLES], sorted(os.listdir(folder)))
    read = {name: parquet_read.read(os.path.join(folder, name + ".parquet")) for name in TABLES}
    expect({note for _, note in read.values()} == {"1"}, "version of the tables")
    return {name: rows for name, (rows, _) in read.items()}


def record(folder):
    trace = os.path.join(folder, "truth.bpt")
    result = profiled.run([profiled.BYTEPOLL, "run", "-q", "--seed", "7", "--interval", "2048", "-o", trace, "--",
                           profiled.program("churn"), "3", "20000"])
    expect(result.status == 0, result.stderr)
    return trace


def by_library(trace):
    """The library, the profile, and what is in it."""
    library = bytepoll_analysis.Library(os.path.join(profiled.BUILD, "src/tool/library/libbytepoll.so"))
    profile = library.open_files(trace)
    info = bytepoll_analysis.ProfileInfo()
    library.profile_info(profile, byref(info))
    return library, profile, info


def check_samples(folder, trace):
    out = os.path.join(folder, "tables")
    export(trace, out)
    read = tables(out)
    names = {row["frame"]: row["function"] for row in read["frames"]}
    stacks = collections.defaultdict(list)
    for row in read["stacks"]:
        expect(len(stacks[row["stack"]]) == row["position"], "positions of stack %d" % row["stack"])
        stacks[row["stack"]].append(names[row["frame"]])
    library, profile, info = by_library(trace)
    expect(info.samples == sum(row["samples"] for row in read["samples"]) > 1000, "number of samples")
    sample, stack, frame = bytepoll_analysis.Sample(), bytepoll_analysis.Stack(), bytepoll_analysis.Frame()
    wanted, got = collections.Counter(), collections.Counter()
    for i in range(info.samples):
        library.profile_sample(profile, i, byref(sample))
        library.profile_stack(profile, sample.stack, byref(stack))
        functions = []
        for j in range(stack.depth):
            library.profile_frame(profile, stack.frames[j], byref(frame))
            functions.append(frame.function.decode())
        wanted[tuple(functions), sample.size, sample.interval] += 1
    for row in read["samples"]:
        got[tuple(stacks[row["stack"]]), row["size"], row["interval"]] += 1
    expect(wanted == got, "samples differ: %s" % list((wanted - got).items())[:2])
    library.close(profile)


def check_totals(folder, trace):
    read = tables(os.path.join(folder, "tables"))
    data = profiled.report(trace)
    row, = read["processes"]
    expect(row["allocated_bytes"] == row["allocated_bytes_high"] == data["totals"]["allocated"]["bytes"]["low"], "bytes")
    expect(row["allocated_objects"] == data["totals"]["allocated"]["objects"]["low"], "objects")
    expect(sum(s["samples"] for s in read["samples"] if s["live"]) == data["totals"]["live"]["samples"], "live")
    expect(sum(s["samples"] for s in read["samples"] if s["temporary"]) == data["totals"]["temporary"]["samples"],
           "temporary")
    expect(all(s["freed_ns"] is None for s in read["samples"] if s["live"]), "freed and live")
    last = None
    for moment in read["counters"]:
        expect(moment["allocated_bytes"] <= moment["allocated_bytes_high"], "limits of a counter")
        expect(last is None or (moment["time_ns"] > last["time_ns"] and
               moment["allocated_bytes"] >= last["allocated_bytes"]), "counters only grow")
        # By then at least what was sampled by then was allocated.
        expect(sum(s["size"] for s in read["samples"] if s["time_ns"] <= moment["time_ns"]) <=
               moment["allocated_bytes_high"], "samples beyond the counters")
        last = moment
    expect(last["allocated_bytes"] == row["allocated_bytes"], "the last counter")
    expect(sum(t["allocated_bytes"] for t in read["threads"]) == row["allocated_bytes"], "threads")


def check_tags(folder, trace):
    out = os.path.join(folder, "tagged")
    export(trace, out, "--service", "it's", "--release", "1;2", "--host", "h\u00f6st", "--tag", "z=1", "--tag", "a=b=c")
    row, = tables(out)["processes"]
    expect([row[name] for name in ("service", "release", "host", "tags")] == ["it's", "1;2", "h\u00f6st", "a=b=c\nz=1"],
           row)
    for words in (("--tag", "x"), ("--tag", "=x"), ("--tag", "a=1", "--tag", "a=2"), ("--host", "a\nb"),
                  ("--metric", "peak"), ("--filter", "size=8")):
        export(trace, out + "2", *words, status=2)
    expect(not os.path.exists(out + "2"), "something was left behind")


def check_replacing(folder, trace):
    out = os.path.join(folder, "kept")
    export(trace, out)
    before = {name: open(os.path.join(out, name), "rb").read() for name in os.listdir(out)}
    expect("--force" in export(trace, out, status=1), "replaced silently")
    export(trace, out + "/", "--force")
    after = {name: open(os.path.join(out, name), "rb").read() for name in os.listdir(out)}
    expect(before == after, "equal profiles, other bytes")
    with open(os.path.join(out, "mine"), "w", encoding="utf-8") as file:
        file.write("x")
    expect("other things" in export(trace, out, "--force", status=1), "a folder of somebody else")
    os.symlink(out, out + ".link")
    expect("no folder" in export(trace, out + ".link", "--force", status=1), "a link")
    expect("-o FOLDER" in export(trace, "-", status=2), "standard output")
    expect([name for name in os.listdir(folder) if name.startswith("kept.") and name != "kept.link"] == [], "left behind")


def check_hostile(folder, _):
    trace = os.path.join(folder, "hostile.pb.gz")
    writer = pprof_write.Writer(period=1)
    for i, name in enumerate(HOSTILE):
        writer.bucket((name, "main"), 64 + i, 5, 3)
    with open(trace, "wb") as file:
        file.write(writer.finish())
    out = os.path.join(folder, "hostile")
    export(trace, out)
    names = {row["function"] for row in tables(out)["frames"]}
    expect(set(HOSTILE) <= names, "names that are missing: %s" % (set(HOSTILE) - names))


READERS = {"pyarrow": "import pyarrow.parquet as p; rows = p.read_table(path).to_pylist()",
           "duckdb": "import duckdb; c = duckdb.connect(); t = c.execute('select * from read_parquet(?)', [path]); "
                     "n = [d[0] for d in t.description]; rows = [dict(zip(n, r)) for r in t.fetchall()]"}


def other_readers():
    """Those that can be imported."""
    return [name for name in READERS if subprocess.run([sys.executable, "-c", "import " + name], capture_output=True,
                                                       check=False).returncode == 0]


def check_other_readers(folder, _):
    out = os.path.join(folder, "tables")
    read = tables(out)
    for name in other_readers():
        for table in TABLES:
            program = "import json, sys; path = sys.argv[1]; %s; print(json.dumps(rows))" % READERS[name]
            done = subprocess.run([sys.executable, "-c", program, os.path.join(out, table + ".parquet")],
                                  capture_output=True, check=True)
            expect(json.loads(done.stdout) == read[table], "%s reads another table %s" % (name, table))


def check_rows(folder, _):
    """Rows that are known, in no, one and several row groups, packed by either library."""
    group = 131072
    for name in ("write_rows", "write_rows_gzip"):
        for count in (0, 1, group, group + 1, 2 * group + 77):
            path = os.path.join(folder, "%s.%d" % (name, count))
            subprocess.run([os.path.join(profiled.BUILD, "tests/unit/parquet", name), path, str(count)], check=True)
            rows, note = parquet_read.read(path)
            expect(note == "1" and len(rows) == count, "%s: %d rows, not %d" % (name, len(rows), count))
            for i, row in enumerate(rows):
                wanted = [i * 7919 % 100003 - 50000, i if i % 3 else None, i % 5 == 0,
                          None if i % 2 else "text %d" % (i * i % 997), 42]
                if list(row.values()) != wanted:
                    raise AssertionError("%s: row %d is %s, not %s" % (name, i, row, wanted))


def check_page(*_):
    """docs/parquet-format.md has every column of every table, and no other."""
    done = subprocess.run([os.path.join(profiled.BUILD, "tests/unit/fleet/list_columns")], capture_output=True,
                          check=True, text=True)
    with open(os.path.join(ROOT, "docs/parquet-format.md"), encoding="utf-8") as file:
        page = file.read()
    described = []
    for part in page.split("\n## ")[1:]:
        table = part.split("\n")[0]
        described += ["%s %s %s" % (table, name, kind) for name, kind in
                      re.findall(r"^\| `(\w+)` \| ([a-z]+\??) \|", part, re.MULTILINE)]
    wanted = done.stdout.splitlines()
    expect(sorted(described) == sorted(wanted),
           "not described: %s; not there: %s" % (set(wanted) - set(described), set(described) - set(wanted)))


CHECKS = {"samples": check_samples, "totals": check_totals, "tags": check_tags, "replacing": check_replacing,
          "hostile names": check_hostile, "other readers": check_other_readers, "rows": check_rows,
          "page": check_page}


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        trace = record(folder)
        for name, check in CHECKS.items():
            if (name == "rows") != (sys.argv[1:] == ["rows"]):
                continue
            if name == "other readers" and not other_readers():
                tap.skip(name, "neither pyarrow nor duckdb can be imported")
                continue
            tap.attempt(name, lambda check=check: check(folder, trace))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
