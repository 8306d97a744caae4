#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A collector that moves objects, with bytepoll's allocation context in it (examples/gc).

graph     three threads change a graph of small, large and pinned objects over many collections
          (programs/gc_graph.c): every object is what it was, and the live samples that the host holds are
          just the reachable ones that were sampled, where they are now; T fixed, 1, or changing all the
          while, off included. `report` says what was allocated exactly, and live as many samples.
accuracy  .NET's scenarios, small (examples/gc/accuracy.py --check): totals exact, estimates by type within
          what theory allows. 22 types over RUNS seeds: a mean fails with 7e-6 (2e-5 where 117 samples are
          expected, the least), misses with 1e-7: 4e-4 in all, once, for the seeds are fixed. The program's
          own listener must hear what the trace says, sample by sample.
wrong     options that cannot be, and a trace that exists.

    BYTEPOLL_BUILD=build tests/scenario/test_gc.py
"""
import json
import os
import re
import subprocess

import profiled

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCENARIOS = os.path.join(profiled.BUILD, "examples", "gc", "gc-scenarios")
ACCURACY = os.path.join(ROOT, "examples", "gc", "accuracy.py")
RUNS = 10
# T, seed, steps, changing
GRAPHS = ((1, 1, 20000, False), (2000, 2, 300000, False), (512 << 10, 3, 300000, False),
          (5000, 4, 300000, True))


def graph(interval, seed, steps, changing):
    with profiled.directory() as path:
        trace = os.path.join(path, "graph.bpt")
        result = profiled.run([profiled.program("gc_graph"), trace, str(interval), str(seed), str(steps)] +
                              (["changing"] if changing else []))
        text = result.stdout.decode()
        profiled.expect(result.status == 0, "status %s: %s" % (result.status, text))
        said, live, reachable, samples, collections, moved = map(int, re.findall(r"\d+", text))
        profiled.expect(collections > 3 and moved > 1000, "too little was collected: " + text)
        data = profiled.report(trace, "--by", "type", "--metric", "live", "--rows", "100")
        parts = [data["totals"]["allocated"]["bytes"]]
        if changing:  # what was allocated while sampling was off is counted apart
            parts.append(data["sampling"]["off"]["bytes"])
        profiled.expect(all(part.get("exact") for part in parts) and
                        sum(part["estimate"] for part in parts) == said,
                        "%d bytes, reported %s" % (said, parts))
        profiled.expect(data["samples"] == samples and profiled.lost(data) == 0,
                        "%d samples, reported %d, lost %d" % (samples, data["samples"], profiled.lost(data)))
        profiled.expect(sum(row["samples"] for row in data["rows"]) == live,
                        "%d live samples, reported %s" % (live, data["rows"]))
        profiled.expect({row["name"] for row in data["rows"]} <= {"node", "wide", "bytes", "all"},
                        "types: %s" % data["rows"])
        return text.strip() + "; %d reachable" % reachable


def accuracy(count, *options):
    done = subprocess.run([ACCURACY, profiled.BUILD, "--check", "--iterations", str(RUNS), "--count",
                           str(count), *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    profiled.expect(done.returncode == 0, done.stdout)
    return done.stdout


def listener():
    """The listener's samples are the trace's, by type; under the law `exact`, too."""
    for scenario, law in (("types", "bernoulli"), ("ratio", "exact")):
        with profiled.directory() as path:
            trace = os.path.join(path, "gc.bpt")
            result = profiled.run([SCENARIOS, scenario, "--count", "20000", "--law", law, "--output", trace])
            profiled.expect(result.status == 0, result.stderr.decode())
            truth = json.loads(result.stdout)
            data = profiled.report(trace, "--by", "type", "--metric", "allocated", "--rows", "100")
            rows = {row["name"]: row for row in data["rows"]}
            for kind in truth["types"]:
                row = rows.get(kind["name"], {"samples": 0})
                profiled.expect(row["samples"] == kind["heard_samples"], "%s: heard %s, reported %s" % (
                    kind["name"], kind["heard_samples"], row))
                # Small ones of that type, unseen, cannot be excluded; so the upper limit is higher.
                if law == "exact" and kind["size"] >= truth["interval"]:
                    profiled.expect(row["bytes"]["low"] == row["bytes"]["estimate"] == kind["bytes"],
                                    "large objects are exact: %s" % row)


def functions():
    """Frames are the host's own: function, file, line."""
    with profiled.directory() as path:
        trace = os.path.join(path, "gc.bpt")
        result = profiled.run([SCENARIOS, "per-thread", "--count", "100000", "--output", trace])
        profiled.expect(result.status == 0, result.stderr.decode())
        data = profiled.report(trace, "--by", "function", "--metric", "allocated", "--rows", "100")
        profiled.expect({row["name"] for row in data["rows"]} == {"PerThread"}, str(data["rows"]))
        data = profiled.report(trace, "--by", "line", "--metric", "allocated", "--rows", "100")
        profiled.expect("Scenarios.cs:10" in data["rows"][0]["name"], str(data["rows"]))


def wrong():
    with profiled.directory() as path:
        exists = os.path.join(path, "exists.bpt")
        with open(exists, "w", encoding="ascii") as file:
            file.write("mine")
        for words in ([], ["nonsense"], ["types", "--count"], ["types", "--count", "0"],
                      ["types", "--count", "-1"], ["types", "--interval", "1e9"], ["types", "--law", "x"],
                      ["types", "--what", "1"], ["types", "--context", "12"]):
            result = profiled.run([SCENARIOS] + words)
            profiled.expect(result.status == 2 and result.stderr.count(b"\n") == 1,
                            "%s: %s" % (words, result))
        result = profiled.run([SCENARIOS, "types", "--output", exists])
        profiled.expect(result.status == 1 and result.stderr.count(b"\n") == 1, str(result))
        with open(exists, encoding="ascii") as file:
            profiled.expect(file.read() == "mine", "a file that existed was changed")


def main():
    tap = profiled.Tap()
    for case in GRAPHS:
        notes = []
        tap.attempt("graph: T = %d, seed %d%s" % (case[0], case[1], ", changing" if case[3] else ""),
                    lambda: notes.append(graph(*case)))
        tap.note("\n".join(notes))
    for scenario, count in (("small-and-big", 50000), ("per-thread", 100000), ("types", 50000),
                            ("ratio", 2000), ("automatic", 200000), ("doubles", 100000)):
        notes = []
        tap.attempt("accuracy: " + scenario, lambda: notes.append(accuracy(count, "--only", scenario)))
        tap.note("\n".join(notes))
    tap.attempt("the listener hears what the trace says", listener)
    tap.attempt("functions and lines of the host", functions)
    tap.attempt("wrong options, an existing trace", wrong)
    return tap.finish()


if __name__ == "__main__":
    raise SystemExit(main())
