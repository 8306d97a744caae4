#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll run --verify`: the count of every object, and the verdict that is made of it.

  the count     what a program knows of its own sites is what was counted, to the byte; forks, objects
                freed by other threads, failures, signal handlers, exec and SIGKILL
  undisturbed   a deterministic program gives the same samples with and without the count
  the verdict   real programs are found right, and a trace whose count was tampered with is not; each
                real program is judged with an error of 1e-8, so that a profiler that is right fails
                this driver with probability below 1e-7
  the file      a reader that does not know of the count reads the rest
"""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys

import profiled
from profiled import expect

DECODER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/trace_decode.py")
RECORDER_VERIFY = os.path.join(profiled.BUILD, "libbytepoll-recorder-verify.so")
ERROR = "1e-8"
CENSUS_CHUNK = 3


def lines_of(trace):
    """Lines of the second decoder, by kind."""
    result = profiled.run([sys.executable, DECODER, trace])
    expect(result.status == 0, result.stderr.decode())
    found = collections.defaultdict(list)
    for line in result.stdout.decode().splitlines():
        fields = json.loads(line)
        found[fields.pop("line")].append(fields)
    return found


def traces_of(trace):
    """The files of a tree, FILE first."""
    folder = trace + ".d"
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [trace] + [os.path.join(folder, name) for name in names if name.endswith(".bpt")]


def verify(trace, *options):
    """(status, answer) of `bytepoll verify --json`."""
    result = profiled.run([profiled.BYTEPOLL, "verify", "--json", *options, trace])
    expect(result.status in (0, 1) and result.stdout,
           "status %s: %s" % (result.status, result.stderr.decode()))
    return result.status, json.loads(result.stdout)


def record(arguments, trace, interval=2048, seed=7, **more):
    return profiled.run(arguments, trace, interval, seed, recorder=RECORDER_VERIFY, **more)


def symbols(path):
    """Starts and names of the functions of an executable."""
    text = subprocess.run(["nm", "-n", path], check=True, capture_output=True, text=True).stdout
    return [(int(address, 16), name) for address, kind, name in
            re.findall(r"^([0-9a-f]+) ([tTwW]) (\S+)$", text, re.MULTILINE)]


def name_of(table, address):
    name = None
    for start, candidate in table:
        if start > address:
            break
        name = candidate
    return name


def counted_by_site(trace, program):
    """{function: sums} of the census by the innermost frame, without any code of bytepoll's outside
    half."""
    lines, table = lines_of(trace), symbols(program)
    module, = [m for m in lines["module"] if os.path.realpath(m["path"]) == os.path.realpath(program)]
    stacks = {stack["id"]: stack["frames"] for stack in lines["stack"]}
    sites = collections.defaultdict(collections.Counter)
    for sums in lines["census"]:
        pc = stacks[sums["stack"]][0][0] - 1
        inside = module["start"] <= pc < module["end"]
        name = name_of(table, pc - module["bias"]) if inside else "elsewhere"
        sites[name].update({key: value for key, value in sums.items() if key not in ("state", "stack")})
    return sites, lines


def expect_consistent(lines):
    """The sums of the stacks are the totals, and both are the recorder's own counters."""
    state, census = lines["state"][0], lines["state"][0]["census"]
    for name in ("allocated_bytes", "allocated_objects", "freed_bytes", "freed_objects"):
        total = sum(sums[name] for sums in lines["census"])
        expect(total == census[name], "%s: %d by stack, %d in all" % (name, total, census[name]))
    objects = sum(census[kind + "_objects"]
                  for kind in ("allocated", "nested", "uncounted", "failed"))
    held = sum(census[kind + "_bytes"] for kind in ("allocated", "nested", "uncounted", "failed"))
    expect(objects == state["end_objects"], "%d objects counted, %d by the counters" % (
        objects, state["end_objects"]))
    expect(held == state["end_trials"] - state["end_objects"], "bytes differ")


def check_truth(path):
    program, trace = profiled.program("truth"), os.path.join(path, "truth.bpt")
    plain = profiled.run([program])
    profiled.expect_same(plain, record([program], trace))
    truth = json.loads(plain.stdout)
    sites, lines = counted_by_site(trace, program)
    expect_consistent(lines)
    for site, expected in truth.items():
        sums = sites.get(site, collections.Counter())
        for unit in ("bytes", "objects"):
            found = {"allocated": sums["allocated_" + unit], "temporary": sums["temporary_" + unit],
                     "live": sums["allocated_" + unit] - sums["freed_" + unit]}
            for metric, value in found.items():
                expect(value == expected[metric][unit], "%s, %s %s: %d instead of %d" % (
                    site, metric, unit, value, expected[metric][unit]))
    expect(len(truth) > 25, "the program printed too little")


def check_fork(path):
    program, trace = profiled.program("verify"), os.path.join(path, "fork.bpt")
    expect(record([program, "fork"], trace).status == 0, "the program failed")
    parent, child = traces_of(trace)
    sites, lines = counted_by_site(parent, program)
    expect_consistent(lines)
    expect(sites["site_parent"]["allocated_objects"] == 1000, "parent: %s" % sites)
    expect(sites["site_parent"]["freed_objects"] == 500, "parent: %s" % sites)
    expect("site_child" not in sites, "the child's objects are in the parent's census")
    sites, lines = counted_by_site(child, program)
    expect_consistent(lines)
    expect("site_parent" not in sites, "the parent's objects are in the child's census")
    expect(sites["site_child"]["allocated_bytes"] == 15000, "child: %s" % sites)
    expect(sites["site_child"]["freed_objects"] == 200, "child: %s" % sites)
    expect(lines["state"][0]["census"]["unknown_frees"] == 1000, "frees of inherited objects")


def check_handed(path):
    program, trace = profiled.program("verify"), os.path.join(path, "handed.bpt")
    expect(record([program, "handed"], trace).status == 0, "the program failed")
    sites, lines = counted_by_site(trace, program)
    expect_consistent(lines)
    sums = sites["site_parent"]
    expect((sums["allocated_objects"], sums["freed_objects"], sums["temporary_objects"]) ==
           (1000, 500, 0), str(sums))
    expect(lines["state"][0]["census"]["peak_bytes"] >= 64000, "peak")


def check_failing(path):
    program, trace = profiled.program("verify"), os.path.join(path, "failing.bpt")
    result = record([program, "failing"], trace)
    expect(result.status == 0, "the program failed: " + result.stderr.decode())
    sites, lines = counted_by_site(trace, program)
    expect_consistent(lines)
    sums = sites["site_parent"]
    expect((sums["allocated_objects"], sums["freed_objects"]) == (20, 10), str(sums))
    census = lines["state"][0]["census"]
    expect(100000 < census["failed_objects"] < 1000000 and
           census["failed_bytes"] == 100 * census["failed_objects"], str(census))
    expect(census["unknown_frees"] == 0 and census["missed_frees"] == 0, str(census))


def check_exec(path):
    program, trace = profiled.program("verify"), os.path.join(path, "exec.bpt")
    expect(record([program, "exec"], trace).status == 0, "the program failed")
    first, second = traces_of(trace)
    sites, lines = counted_by_site(first, program)
    expect_consistent(lines)
    expect(sites["site_parent"]["allocated_bytes"] == 4000, str(sites))
    sites, lines = counted_by_site(second, program)
    expect_consistent(lines)
    expect(sites["site_parent"]["freed_objects"] == 500, str(sites))


def check_kill(path):
    program, trace = profiled.program("verify"), os.path.join(path, "kill.bpt")
    expect(record([program, "kill"], trace, interval=128).status == -9, "the program was not killed")
    sites, _ = counted_by_site(trace, program)
    sums = sites["site_parent"]
    expect((sums["allocated_objects"], sums["freed_objects"]) == (1000, 300), str(sums))
    _, answer = verify(trace, "--error", ERROR)
    expect(answer["verdict"] == "good" and not answer["processes"][0]["ended"], str(answer["verdict"]))


def check_signals(path):
    program, trace = profiled.program("signals"), os.path.join(path, "signals.bpt")
    profiled.expect_same(profiled.run([program]), record([program], trace))
    lines = lines_of(trace)
    expect_consistent(lines)


def events_of(trace):
    """Samples and frees in their order, but for times, addresses and stack numbers; stacks by place."""
    lines = lines_of(trace)
    stacks = {stack["id"]: [pc for pc, _ in stack["frames"]] for stack in lines["stack"]}

    def place(pc):
        for module in lines["module"]:
            if module["start"] <= pc < module["end"]:
                return module["path"], pc - module["bias"]
        return "", pc
    events = []
    for kind in ("sample", "free"):
        for fields in lines[kind]:
            event = {key: value for key, value in fields.items()
                     if key not in ("flags", "time_ns", "address", "stack")}
            event["stack"] = [place(pc) for pc in stacks.get(fields["stack"], [])]
            events.append((fields["sequence"], kind, event))
    return sorted(events, key=lambda event: event[0])


def check_undisturbed(path, name, arguments, stdin):
    found = {}
    for recorder in (profiled.RECORDER, RECORDER_VERIFY):
        trace = os.path.join(path, "%s%d.bpt" % (name, len(found)))
        result = profiled.run(arguments, trace, 4096, 11, recorder=recorder, stdin=stdin)
        expect(result.status == 0, result.stderr.decode())
        found[recorder] = (result.stdout, events_of(trace))
    plain, counted = found.values()
    expect(plain[0] == counted[0], "other output")
    expect(len(plain[1]) > 100, "too few events to compare: %d" % len(plain[1]))
    expect(len(plain[1]) == len(counted[1]), "%d events without the count, %d with it" % (
        len(plain[1]), len(counted[1])))
    for before, after in zip(plain[1], counted[1]):
        expect(before == after, "%s\nbecame %s" % (before, after))


def check_places(path):
    """Every object that is not sampled lies in the heap where it lay without the count. The recorders
    are copied to names of one length, which the loader keeps on the heap."""
    program, outputs = profiled.program("verify"), []
    for name, recorder in (("plain.so", profiled.RECORDER), ("count.so", RECORDER_VERIFY)):
        copy = shutil.copy(recorder, os.path.join(path, name))
        result = profiled.run([program, "places"], os.path.join(path, name[:5] + ".bpt"), 20000, 1,
                              recorder=copy)
        expect(result.status == 0, result.stderr.decode())
        outputs.append(result.stdout.decode())
    inside = int(outputs[0].split()[0])
    expect(15000 < inside < 20000, "%d of 20,000 in the heap: others must be samples" % inside)
    expect(outputs[0] == outputs[1], "%s became %s" % tuple(outputs))


SQL = b"""create table t(a integer primary key, b text, c text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into t select i, 'x' || i, hex(i * 7919) from n;
create index ib on t(b); create index ic on t(c);
select count(*), sum(length(b)) from t; select count(*) from t x join t y on x.b = y.c;
"""
PYTHON = """import json, random
random.seed(1)
rows = [{"k%d" % i: [random.random() for _ in range(20)], "s": "x" * random.randrange(3000)}
        for i in range(1500)]
print(len(json.dumps(sorted(json.loads(json.dumps(rows)), key=lambda row: len(row["s"])))))
"""
LUA = """local t, s = {}, {}
for i = 1, 60000 do t[i] = { name = "item" .. i, value = i * 2 } end
for i = 1, 60000, 3 do t[i] = nil end
for i = 2, 60000, 3 do s[#s + 1] = string.rep(t[i].name, i % 50) end
print(#s, #table.concat(s))
"""
C = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define F(n) static int f##n(int x) { int s = 0; for (int i = 0; i < x; i++) { \\
    if (i % n == 0) s += i * n; else if (i % 7 == 3) s -= x; else s ^= i; } return s; }
#define TEN(n) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
TEN(1) TEN(2) TEN(3) TEN(4) TEN(5)
int main(int c, char **v) { return f11(c) + f29(c) + f37(c) + f55(c) + (int)strlen(v[0]); }
"""


def real_programs(path):
    source = os.path.join(path, "source.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(C)
    return {"sqlite3": (["sqlite3", ":memory:"], SQL, 16384),
            "python3": (["/usr/bin/python3", "-c", PYTHON], None, 65536),
            "lua5.4": (["lua5.4", "-e", LUA], None, 16384),
            "gcc": (["gcc", "-O2", "-c", "-o", "/dev/null", source], None, 65536)}


def check_real(path, name, arguments, stdin, interval):
    trace = os.path.join(path, name + ".bpt")
    result = profiled.run([profiled.BYTEPOLL, "run", "--verify", "-o", trace, "--interval",
                           str(interval), "--seed", "3", "--"] + arguments, stdin=stdin,
                          extra={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "1"})
    expect(result.status == 0, result.stderr.decode())
    expect("\nverdict: " in result.stderr.decode(), "no verdict: " + result.stderr.decode())
    # The size of the smallest object is given: assuming it is another matter.
    status, answer = verify(trace, "--error", ERROR, "--min-size", "0")
    expect(answer["verdict"] == "good" and status == 0, json.dumps(answer, indent=1)[:3000])
    rows = {(group["metric"], group["by"]): group["bytes"] for group in answer["groups"]}
    expect(rows["allocated", "stack"]["figures"] > 50 and rows["allocated", "stack"]["unsampled"] > 10,
           "too few rows to judge: %s" % rows)
    for process in answer["processes"]:
        expect(process["totals"]["allocated"]["bytes"]["exact"], "allocated is not exact")
        expect(process["census"]["uncounted_objects"] == 0, "uncounted objects")
    profiled.Tap.note("%s: %s" % (name, ", ".join("%s by %s %d of %d" % (
        *key, group["held"], group["figures"]) for key, group in rows.items())))


def census_chunks(data):
    return [at for at in range(65536, len(data) - 64, 65536)
            if struct.unpack_from("<II", data, at) == (0x4B435042, CENSUS_CHUNK)]


def check_tampered(path):
    """Sums exchanged among the stacks, the largest with the smallest: every total is right, rows are
    not."""
    trace = os.path.join(path, "sqlite3.bpt")
    with open(trace, "rb") as file:
        data = bytearray(file.read())
    for at in census_chunks(data):
        places = [at + 64 + 64 * i for i in range(1023)]
        used = [place for place in places if struct.unpack_from("<I", data, place)[0] == 1]
        used.sort(key=lambda place: struct.unpack_from("<Q", data, place + 8)[0])
        sums = [bytes(data[place + 8:place + 64]) for place in used]
        for place, wrong in zip(used, reversed(sums)):
            data[place + 8:place + 64] = wrong
    other = os.path.join(path, "tampered.bpt")
    with open(other, "wb") as file:
        file.write(data)
    status, answer = verify(other, "--error", ERROR, "--min-size", "0")
    expect(answer["verdict"] == "bad" and status == 1, "verdict %s" % answer["verdict"])
    expect(answer["counts_wrong"] == 0 and answer["totals_missed"] == 0, "the totals were right")


def check_unknown(path):
    """Chunks, flags and a minor version of another future: the rest is read as before."""
    trace, other = os.path.join(path, "sqlite3.bpt"), os.path.join(path, "unknown.bpt")
    with open(trace, "rb") as file:
        data = bytearray(file.read())
    chunks = census_chunks(data)
    expect(chunks and struct.unpack_from("<HIQQ", data, 10)[3] & 1, "there is no census")
    for at in chunks:
        struct.pack_into("<I", data, at + 4, 99)
    struct.pack_into("<H", data, 10, 9)
    struct.pack_into("<Q", data, 24, 1 << 63)
    with open(other, "wb") as file:
        file.write(data)
    for metric in ("allocated", "live", "peak"):
        options = ("--metric", metric, "--by", "stack", "--rows", "100000")
        before, after = profiled.report(trace, *options), profiled.report(other, *options)
        for name in before.keys() | after.keys():
            # FILE.resident lies beside the one file alone.
            expect(name in ("processes", "resident") or before.get(name) == after.get(name),
                   "%s: %s became %s" % (metric, before.get(name), after.get(name)))
    result = profiled.run([profiled.BYTEPOLL, "verify", other])
    expect(result.status == 1 and b"run --verify" in result.stderr, result.stderr.decode())


def check_refusals(path):
    plain = os.path.join(path, "plain.bpt")
    profiled.run([profiled.program("zeroed")], plain)
    for arguments, status, word in (
            ([plain], 1, "run --verify"), ([os.path.join(path, "none.bpt")], 1, "no such file"),
            ([], 2, "one file"), ([plain, plain], 2, "one file"),
            (["--error", "2", plain], 2, "--error")):
        result = profiled.run([profiled.BYTEPOLL, "verify"] + arguments)
        text = result.stderr.decode()
        expect(result.status == status and word in text and not result.stdout,
               "%s: status %s: %s" % (arguments, result.status, text))


def main():
    tap = profiled.Tap()
    tap.note("a right profiler fails this driver with probability <= 1e-7")
    with profiled.directory() as path:
        tap.attempt("a program's own count, site by site", lambda: check_truth(path))
        for name, check in (("inherited objects", check_fork), ("freed by another thread", check_handed),
                            ("requests that fail", check_failing), ("exec", check_exec),
                            ("SIGKILL", check_kill), ("signal handlers", check_signals)):
            tap.attempt(name, lambda check=check: check(path))
        tap.attempt("nothing is moved", lambda: check_places(path))
        programs = real_programs(path)
        for name in ("sqlite3", "lua5.4"):
            arguments, stdin, _ = programs[name]
            tap.attempt("%s: the same samples with the count" % name, lambda: check_undisturbed(
                path, name, arguments, stdin))
        for name, (arguments, stdin, interval) in programs.items():
            tap.attempt("%s: verdict" % name, lambda: check_real(
                path, name, arguments, stdin, interval))
        tap.attempt("a tampered count is found out", lambda: check_tampered(path))
        tap.attempt("a reader that does not know the census", lambda: check_unknown(path))
        tap.attempt("refusals", lambda: check_refusals(path))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
