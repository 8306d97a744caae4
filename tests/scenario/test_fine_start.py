#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The fine start of a process that was given no interval: which T its threads sample at and from when, by what was
allocated; that a seed repeats; what a child and a new image begin with; what has no fine start; and what ends one.
How well the intervals hold meanwhile is in test_truth.py."""
import json
import os
import sys
import time

import profiled
from steered import Decoded, Running, control, controlled, status_of

FLAG = 128  # of flags_skippable
MIB = 1 << 20
STEPS = {128 << 10: 128 * MIB, 256 << 10: 384 * MIB, 512 << 10: 896 * MIB}
LOOK = MIB  # a thread comes to the recorder after so many trials at the latest
SEED = 11
# Bytes of a thousand each, asked of malloc; a child that goes on; and the image of another program after this one.
FORKS = """
import os, sys
def make(mib):
    for _ in range(mib * 1049):
        bytes(1000)
make(200)
child = os.fork()
make(300)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
if len(sys.argv) > 1:
    os.execv(sys.executable, [sys.executable, "-c", "bytes(1000)"])
"""


def record(path, arguments, interval=None, extra=None, seed=SEED):
    """A run's trace."""
    trace = os.path.join(path, "trace.bpt")
    result = profiled.run(arguments, trace, interval, seed, extra=extra)
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:300]))
    return trace


def changes_of(decoded):
    """{thread: [(trials, T)]}, in order; records that repeat what holds left out."""
    changes = {}
    for thread, records in decoded.changes.items():
        own = changes[thread] = []
        for one in records:
            if not own or own[-1][1] != one["interval"]:
                own.append((one["trials"], one["interval"]))
    return changes


def begins_fine(header, interval):
    profiled.expect(header["flags_skippable"] & FLAG, "flags %d" % header["flags_skippable"])
    profiled.expect(header["interval_bytes"] == interval, "T = %d" % header["interval_bytes"])


def test_alone(tap):
    """One thread takes each step within a look of where it is due, and a seed repeats sample by sample."""
    samples = []
    with profiled.directory() as path:
        for name in ("a", "b"):
            folder = os.path.join(path, name)
            os.mkdir(folder)
            decoded = Decoded(record(folder, [profiled.program("fine_start"), "alone"]))
            samples.append([(one["size"], one["thread"], one["sequence"]) for one in decoded.samples])
        tap.attempt("begins at 64 KiB", lambda: begins_fine(decoded.header, 64 << 10))
        changes = changes_of(decoded)
        tap.check([interval for _, interval in changes.get(1, [])] == list(STEPS) and len(changes) == 1,
                  "takes every step once", changes)
        late = [trials - STEPS[interval] for trials, interval in changes[1]]
        tap.check(all(0 <= trials <= LOOK for trials in late), "takes each within a look", late)
        tap.check(all(one["command"] == 0 for own in decoded.changes.values() for one in own), "which nobody commanded")
        tap.check(samples[0] == samples[1] and len(samples[0]) > 2000, "a seed repeats",
                  "%d and %d samples" % (len(samples[0]), len(samples[1])))


def test_threads(tap):
    """The sum of the threads counts: what each had made when it took a step adds up to that step."""
    with profiled.directory() as path:
        trace = record(path, [profiled.program("fine_start")])
        changes = changes_of(Decoded(trace))
        early = 8000 * 3001
        tap.check(sorted(changes) == [1, 2, 3], "all threads take steps", changes)
        for interval, due in STEPS.items():
            # (A thread that lay idle meanwhile may skip a step.)
            made = [next(trials for trials, own in changes[thread] if own >= interval) for thread in (2, 3)]
            tap.check(due - LOOK <= early + sum(made) <= due + 4 * LOOK,
                      "to %d KiB" % (interval >> 10), "%s of %d" % (made, due))
        data = profiled.report(trace)
        tap.check(data["intervals"] == [65536, 131072, 262144, 524288] and data["sampling"]["fine_start"] and
                  data["sampling"]["changes"] == 0, "JSON says so", data["sampling"])
        text = profiled.run([profiled.BYTEPOLL, "report", trace]).stdout.decode()
        tap.check("1 sample per 64 KiB to 512 KiB" in text, "the report's header says so", text[:300])


def test_children(tap):
    """A child of fork shares its parent's count; a new image begins anew."""
    with profiled.directory() as path:
        trace = record(path, [sys.executable, "-c", FORKS, "exec"], extra={"PYTHONMALLOC": "malloc"})
        folder = trace + ".d"
        others = [Decoded(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".bpt")]
        first = Decoded(trace)
        tap.attempt("the parent begins fine", lambda: begins_fine(first.header, 64 << 10))
        children = [one for one in others if one.header["pid"] != first.header["pid"]]
        images = [one for one in others if one.header["pid"] == first.header["pid"]]
        tap.check(len(children) == 1 and len(images) == 1, "one of each", sorted(os.listdir(folder)))
        tap.attempt("the child begins as its parent is", lambda: begins_fine(children[0].header, 128 << 10))
        steps = changes_of(children[0])[1]
        made = [trials for trials, interval in changes_of(first)[1] if interval == 256 << 10][0]
        tap.check(len(steps) == 1 and steps[0][1] == 256 << 10 and
                  abs(made + steps[0][0] - STEPS[256 << 10]) < 4 * MIB,
                  "they take the next step by what both have made", "%s and %d" % (steps, made))
        tap.attempt("the new image begins anew", lambda: begins_fine(images[0].header, 64 << 10))


def test_others(tap):
    """What has no fine start."""
    times = {"BYTEPOLL_STOP_TIME": "18000000000000000000"}
    for what, interval, extra, first in (
            ("an interval", "512K", {}, 512 << 10), ("another", "64K", {}, 64 << 10), ("auto", "auto", {}, 16 << 10),
            ("dormant", None, {"BYTEPOLL_START": "dormant"}, 512 << 10), ("an end", None, times, 512 << 10)):
        with profiled.directory() as path:
            decoded = Decoded(record(path, [profiled.program("fine_start"), "alone"], interval, extra))
            header = decoded.header
            tap.check(not header["flags_skippable"] & FLAG and header["interval_bytes"] == first,
                      "none with " + what, header)
            tap.check(what == "auto" or not changes_of(decoded), "and no steps with " + what)


def test_steering(tap):
    """Whoever steers ends it, even with the T that the words hold already."""
    for action in (["interval", "512K"], ["stop"]):
        with profiled.directory() as path, Running(path, None) as program:
            state = status_of(program.process.pid)
            tap.check(state["fine_start"] and state["interval"] == 512 << 10 and state["in_force"]["low"] == 64 << 10,
                      "status tells of it", state)
            words = controlled(program.trace, "start")
            tap.check("was already on, 1 sample per 512 KiB, finer at the start" in words, "so does start", words)
            text = control(program.process.pid, "status").stdout.decode()
            tap.check("finer at the start" in text and "in force" in text, "so does status in words", text)
            words = controlled(program.process.pid, *action)
            if action == ["stop"]:
                controlled(program.process.pid, "start")
            limit = time.monotonic() + 30
            state = status_of(program.process.pid)
            while state["threads"]["following"] == 0 and time.monotonic() < limit:
                state = status_of(program.process.pid)
            tap.check(not state["fine_start"] and state["in_force"]["high"] == 512 << 10 and
                      "finer at the start" not in words, action[0] + " ends it", (words, state))
            program.stop()
            data = profiled.report(program.trace)
            # (A stop that nobody came to see before the start is none.)
            tap.check(data["sampling"]["changes"] in ((1,) if action[0] == "interval" else (1, 2)),
                      "changes are those that were commanded", json.dumps(data["sampling"]))


def main():
    tap = profiled.Tap()
    wanted = sys.argv[1:] or ["alone", "threads", "children", "others", "steering"]
    for name in wanted:
        globals()["test_" + name](tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
