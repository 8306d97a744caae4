#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The binding of the Boehm collector (bindings/boehm) against the collector's own counters
(programs/boehm.c: three threads, inline lists, strings, buffers that grow and are freed).

T = 1     every object is a sample: all that is reachable is held, and little more (the collector is
          conservative: what a stray word points at lives); totals and types are exact, but for cells
          that lists had not handed out.
T larger  totals are exact; usable bytes allocated agree with GC_get_total_bytes, live ones with what is
          reachable and what the collector says is in use; types with the program's counts. By intervals of
          CONFIDENCE: 7 a run, so a correct binding fails a first run with probability 2e-5. Seeds are fixed;
          which objects a conservative collector keeps, and when it runs, is not.
off       without a trace the program runs as ever.

    BYTEPOLL_BUILD=build tests/scenario/test_boehm.py
"""
import json
import os

import profiled

CONFIDENCE = "0.999999"
TYPES = {"node", "wide", "text", "buffer"}
# What three threads may have in lists: cells of 112 bytes, a block each; and a block each of every size
# that the collector keeps for a thread.
IN_LISTS = 3 * 36 * 112
SLACK = 3 * 30 * 4096


def run(path, interval, steps, seed):
    """What the program says, and its trace."""
    trace = os.path.join(path, "boehm.bpt")
    result = profiled.run([profiled.program("boehm"), str(steps)], extra={
        "BYTEPOLL_HOST_OUTPUT": trace, "BYTEPOLL_INTERVAL": str(interval), "BYTEPOLL_SEED": str(seed)})
    profiled.expect(result.status == 0 and not result.stderr, str(result))
    return json.loads(result.stdout), trace


def check_exact(data, said):
    total = data["totals"]["allocated"]["bytes"]
    own = sum(kind["bytes"] for kind in said["types"])
    profiled.expect(total.get("exact") and total["estimate"] == said["counted"],
                    "counted %d, reported %s" % (said["counted"], total))
    profiled.expect(0 <= said["counted"] - own <= IN_LISTS,
                    "counted %d, asked for %d" % (said["counted"], own))
    profiled.expect(data["samples"] == said["samples"] and profiled.lost(data) == 0, "samples")


def every_object():
    with profiled.directory() as path:
        said, trace = run(path, 1, 20000, 1)
        data = profiled.report(trace, "--by", "type", "--metric", "allocated", "--min-size", "0")
        check_exact(data, said)
        profiled.expect(said["held"] == said["reachable"], "reachable, and not held: %s" % said)
        profiled.expect(said["reachable"] <= said["live_samples"] <= 1.05 * said["reachable"],
                        "unreachable, and held: %s" % said)
        profiled.expect(said["collections"] > 3, "too few collections: %s" % said)
        rows = {row["name"]: row for row in data["rows"]}
        for kind in said["types"]:
            row = rows[kind["name"]]
            profiled.expect(row["samples"] == kind["objects"] and row["bytes"]["estimate"] == kind["bytes"],
                            "%s: %s" % (kind, row))


def overlaps(interval, low, high, what):
    profiled.expect(interval["low"] <= high and low <= interval["high"],
                    "%s: %d to %d, estimated %s" % (what, low, high, interval))


def sampled(interval, seed):
    with profiled.directory() as path:
        said, trace = run(path, interval, 300000, seed)
        common = ("--confidence", CONFIDENCE, "--by", "type")
        data = profiled.report(trace, *common, "--metric", "allocated")
        check_exact(data, said)
        rows = {row["name"]: row for row in data["rows"]}
        profiled.expect(set(rows) <= TYPES, str(set(rows)))
        for kind in said["types"]:
            if kind["name"] in rows:
                overlaps(rows[kind["name"]]["bytes"], kind["bytes"],
                         kind["bytes"] + (IN_LISTS if kind["name"] == "wide" else 0), kind["name"])
        usable = profiled.report(trace, *common, "--bytes", "usable", "--metric", "live")["totals"]
        overlaps(usable["allocated"]["bytes"], said["collector_bytes"] - SLACK, said["collector_bytes"],
                 "GC_get_total_bytes")
        overlaps(usable["live"]["bytes"], said["reachable_usable"], 1.05 * said["reachable_usable"],
                 "reachable")
        profiled.expect(usable["live"]["bytes"]["low"] <= said["memory_use"], "GC_get_memory_use: %s" % said)
        return "%s\nusable: %s" % (said, {name: usable[name]["bytes"] for name in ("allocated", "live")})


def places():
    """Functions and lines are the program's."""
    with profiled.directory() as path:
        _, trace = run(path, 4096, 20000, 3)
        data = profiled.report(trace, "--by", "function", "--metric", "allocated")
        profiled.expect({row["name"] for row in data["rows"]} ==
                        {"new_node", "new_text", "grow_and_free"}, str(data["rows"]))


def off():
    with profiled.directory() as path:
        exists = os.path.join(path, "exists.bpt")
        with open(exists, "w", encoding="ascii") as file:
            file.write("mine")
        result = profiled.run([profiled.program("boehm"), "5000"], extra={"BYTEPOLL_HOST_OUTPUT": exists})
        profiled.expect(result.status == 0 and b"the file exists, and is not replaced" in result.stderr, str(result))
        said = json.loads(result.stdout)
        profiled.expect(said["samples"] == said["counted"] == said["held"] == 0, str(said))


def main():
    tap = profiled.Tap()
    tap.attempt("T = 1: what is reachable is held", every_object)
    for interval, seed in ((8192, 1), (65536, 2), (65536, 3)):
        notes = []
        tap.attempt("T = %d, seed %d: the collector's counters" % (interval, seed),
                    lambda: notes.append(sampled(interval, seed)))
        tap.note("\n".join(notes))
    tap.attempt("functions", places)
    tap.attempt("no trace", off)
    return tap.finish()


if __name__ == "__main__":
    raise SystemExit(main())
