#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The exact totals against a counting allocator below the recorder.

The test build of the recorder counts, in a shared file and at the other end of the hooks, every
call that goes from it to the real malloc family and every object it places in its own slots:
{objects, bytes} from the first hook to the exit, libc's own allocations included. `bytepoll
report` must say the same total, to the byte and the object, and call it exact, at every interval.
Where a program knows its own requests the count must not be below them, so that a counter that
does not count is noticed. The totals also hold where a signal handler leaves the recorder for good.
"""
import json
import os
import shutil
import struct
import sys

import profiled

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tools"))
import trace_decode  # noqa: E402  (the second decoder)

INTERVALS = (1, 64, 2048, None)
SIGNALS = 300 if profiled.LONG else 20


def programs():
    """(name, arguments, standard input)"""
    count = "print(sum(len(str(i)) for i in range(9999)))"
    hash_table = "my %h; $h{$_} = \"v$_\" for 1 .. 5000; print scalar keys %h"
    for name in ("truth", "truth_cpp", "thread_storm", "contents", "zeroed", "new_handler",
                 "libc_extras", "usable_size", "jumps", "odd_stacks", "signals", "errno_kept", "refused"):
        yield name, [profiled.program(name)], None
    yield "many_streams", [profiled.program("many_streams"), "threads", "50", "300", "70"], None
    for name, arguments, text in (
            ("sqlite3", ["sqlite3", ":memory:"],
             b"create table t(a, b); insert into t values (1, 'x'), (2, 'y'); select * from t;"),
            ("perl", ["perl", "-e", hash_table], None),
            ("python3", ["/usr/bin/python3", "-I", "-c", count], None)):
        if shutil.which(arguments[0]):
            yield name, arguments, text


def compare(arguments, text, interval):
    with profiled.directory() as path:
        trace, count = os.path.join(path, "trace.bpt"), os.path.join(path, "count")
        with open(count, "wb") as file:
            file.write(bytes(4096))
        result = profiled.run(arguments, trace, interval, recorder=profiled.RECORDER_TEST,
                              # Small objects of Python are counted, too, and are no calls of malloc.
                              extra={"BYTEPOLL_TEST_COUNT": count, "BYTEPOLL_PYTHON": "frames"}, stdin=text)
        profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:300]))
        with open(count, "rb") as file:
            objects, bytes_counted = struct.unpack("<2Q", file.read(16))
        data = profiled.report(trace)
        total = data["totals"]["allocated"]
        seen = total["objects"]["estimate"], total["bytes"]["estimate"]
        profiled.expect(total["bytes"].get("exact") and total["objects"].get("exact"),
                        "not exact: %s" % total)
        profiled.expect(seen == (objects, bytes_counted),
                        "%s objects, %s bytes instead of %d, %d" % (*seen, objects, bytes_counted))
        if arguments[0].endswith("/refused"):
            profiled.expect(not profiled.lost(data), "lost: %s" % data["losses"])
        if arguments[0].endswith(("/truth", "/truth_cpp")):
            sites = json.loads(result.stdout).values()
            own = sum(site["allocated"]["bytes"] for site in sites)
            profiled.expect(bytes_counted >= own, "%d counted, %d requested" % (bytes_counted, own))


def signals_often():
    """A handler that allocates meets each instruction at the end of a visit, but rarely: one run in six saw a wrong
    total where the recorder added to it by more than one instruction."""
    for _ in range(SIGNALS):
        compare([profiled.program("signals")], None, 2048)


def left_for_good(way, interval):
    """A signal handler leaves a visit by a jump, or ends the process in it."""
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = profiled.run([profiled.program("jumps_out"), way], trace, interval)
        profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:300]))
        words = result.stdout.split()
        data = profiled.report(trace)
        for kind, asked, of_libc in (("bytes", int(words[0]), 4096), ("objects", int(words[2]), 8)):
            total = data["totals"]["allocated"][kind]
            low, high = total["low"], total["high"]
            profiled.expect(asked <= low <= high <= asked + of_libc, "%s [%s, %s], asked for %d" % (
                kind, low, high, asked))
        profiled.expect(data["losses"]["interrupted"] > 0, "no loss: %s" % data["losses"])
        live = data["totals"]["live"]["bytes"]
        profiled.expect(not live.get("exact"), "what is live counts as exact: %s" % live)
        process = data["processes"][0]
        profiled.expect(way == "exit" or process["unoffered_objects"] >= 10000,
                        "%s objects were not offered" % process["unoffered_objects"])


def open_end(way, interval):
    """Threads allocate while the process ends, or ended without a word: the total is exact only if it is right."""
    with profiled.directory() as path:
        trace, count = os.path.join(path, "trace.bpt"), os.path.join(path, "count")
        with open(count, "wb") as file:
            file.write(bytes(4096))
        result = profiled.run([profiled.program("ends_open"), way], trace, interval, recorder=profiled.RECORDER_TEST,
                              extra={"BYTEPOLL_TEST_COUNT": count})
        profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:300]))
        with open(count, "rb") as file:
            objects, bytes_counted = struct.unpack("<2Q", file.read(16))
        data = profiled.report(trace)
        # Each of four threads may be in the middle of an object.
        flying = 4 if way == "allocating" else 0
        for unit, true, size in (("bytes", bytes_counted, 100), ("objects", objects, 1)):
            total = data["totals"]["allocated"][unit]
            profiled.expect(total["low"] - flying * size <= true <= total["high"] + flying * size,
                            "%s: %s, made %d" % (unit, total, true))
            profiled.expect(way != "waiting" or total.get("exact"), "%s: %s" % (unit, total))
            profiled.expect(way != "gone" or interval or not total.get("exact"), "%s: %s" % (unit, total))
        said = " ".join(data["warnings"])
        profiled.expect(("ended without a word" in said) == (data["processes"][0]["open_threads"] > 0), said)


def counters_of_reallocs():
    """At T = 1 the counters of a free by realloc are those of the thread's last object before the new one: trials and
    objects of one moment, or what a killed process made at least would be a byte too much."""
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = profiled.run([profiled.program("contents")], trace, 1)
        profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:300]))
        with open(trace, "rb") as file:
            records = [(record["sequence"], kind, record) for kind, record in
                       trace_decode.Trace(file, True).lines() if kind in ("sample", "free")]
    last, frees = {}, 0
    for _, kind, record in sorted(records, key=lambda entry: entry[0]):
        counters = record["trials"], record["objects"]
        if kind == "sample":
            last[record["thread"]] = counters
        elif record["flags"] & 4 and record["thread"] in last:
            frees += 1
            profiled.expect(counters == last[record["thread"]], "%s after %s" % (record, last[record["thread"]]))
    profiled.expect(frees > 1000, "%d frees" % frees)


def main():
    tap = profiled.Tap()
    if sys.argv[1:] == ["signals"]:
        tap.attempt("signals, %d times" % SIGNALS, signals_often)
        return tap.finish()
    for name, arguments, text in programs():
        for interval in INTERVALS:
            tap.attempt("%s at T = %s" % (name, interval or "default"),
                        lambda: compare(arguments, text, interval))
    for way in ("allocating", "gone", "waiting"):
        for interval in (64, None):
            tap.attempt("the end of a process, threads %s, at T = %s" % (way, interval or "default"),
                        lambda: open_end(way, interval))
    tap.attempt("counters of a free by realloc are those before the new object", counters_of_reallocs)
    for way in ("main", "thread", "exit"):
        for interval in (64, 512):
            tap.attempt("a visit is left for good, %s, at T = %d" % (way, interval),
                        lambda: left_for_good(way, interval))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
