#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many threads: no lock in the unsampled path, next to none contended in the sampled one.

crossfree has up to 64 threads free one another's objects. Looked at:

  layout   what the unsampled path writes (the thread-local words of each of 64 living threads) is
           alone in its cache line; what it reads (the table of real functions) shares none with
           anything that is written
  locks    waits for locks of the recorder's, by strace (they are told from the program's by their
           addresses): where nothing is sampled, none but at threads' births; where one object in two
           is, at most FUTEX_MAX for 10^6 samples, FUTEX_MAX_FOREIGN over jemalloc. What is counted is a
           thread that is put aside while it holds a lock, for which others then queue: chance, on few
           processors that have other things to do, and many at a time. The bounds are five times the most
           that was seen on two processors with a load of 17.
  slots    none is taken at the end but by what lives (test build)

Throughput (objects by CPU second) against the unprofiled run, paired and interleaved, is noted beside it,
not judged.
BYTEPOLL_LONG_TESTS=1: longer runs, and more of them.
"""
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys

import profiled
from test_injection import judge_slots, slots_in_use

CROSSFREE = profiled.program("crossfree")
JEMALLOC = ("libjemalloc.so.2",)
LINE_BYTES = 64
SLOTS_OFFSET, SLOT_BYTES, HOT_ADDRESS = 8192, 64, 40  # docs/trace-format.md 1.6
FUTEX_MAX, FUTEX_MAX_FOREIGN = 1000, 5000
OBJECTS = 3000000 if profiled.LONG else 300000
PAIRS = 15 if profiled.LONG else 3


def hot_addresses(trace):
    """Where the thread-local words of the first 896 threads were."""
    with open(trace, "rb") as file:
        file.seek(SLOTS_OFFSET)
        slots = file.read(65536 - SLOTS_OFFSET)
    found = [struct.unpack_from("<Q", slots, at + HOT_ADDRESS)[0]
             for at in range(0, len(slots), SLOT_BYTES)]
    return [address for address in found if address]


def layout():
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        profiled.run([CROSSFREE, "64", "200"], trace, 64)
        addresses = hot_addresses(trace)
    profiled.expect(len(addresses) >= 65, "%d threads" % len(addresses))
    lines = {address // LINE_BYTES for address in addresses}
    profiled.expect(len(lines) == len(set(addresses)), "threads share a cache line")
    profiled.expect(all(address % LINE_BYTES == 0 for address in addresses),
                    "thread-local words that do not begin a line")
    program = subprocess.run(["readelf", "-lW", profiled.RECORDER], capture_output=True, text=True,
                             check=True).stdout
    words = re.search(r"^\s*TLS\s+(.*)$", program, re.M).group(1).split()
    profiled.expect(int(words[4], 16) == LINE_BYTES and int(words[-1], 16) == LINE_BYTES,
                    "the thread-local block is not one line: %s" % words)


def read_only_lines():
    """The table of real functions begins a line, and nothing else is in its last one."""
    text = subprocess.run(["nm", "-S", profiled.RECORDER], capture_output=True, text=True,
                          check=True).stdout
    symbols = {name: (int(start, 16), int(size, 16)) for start, size, name in
               re.findall(r"^(\w+) (\w+) [bBdD] (\S+)$", text, re.M)}
    start, size = symbols["bp_real"]
    end = -(-(start + size) // LINE_BYTES) * LINE_BYTES
    profiled.expect(start % LINE_BYTES == 0, "bp_real at %x" % start)
    others = [name for name, (other, bytes_) in symbols.items()
              if name != "bp_real" and other < end and other + bytes_ > start]
    profiled.expect(not others, "in one line with bp_real: %s" % others)


def waits(threads, trace, interval, preload=()):
    """Waits for the recorder's locks: told from the program's by their addresses. Of system calls futex
    alone is traced: what stops for strace while it holds a lock makes others wait."""
    options = []
    for name, value in (("LD_PRELOAD", ":".join((profiled.RECORDER, *preload))), ("BYTEPOLL_OUTPUT", trace),
                        ("BYTEPOLL_INTERVAL", interval), ("BP_SCENARIO_WHERE", 1)):
        options += ["-E", "%s=%s" % (name, value)]
    with profiled.directory() as path:
        log = os.path.join(path, "log")
        result = profiled.run(["strace", "--seccomp-bpf", "-f", "-qq", "-o", log, "-e", "trace=futex",
                               *options, CROSSFREE, str(threads), str(OBJECTS // threads)],
                              time_limit_s=300)
        profiled.expect(result.status == 0, "strace: %s %s" % (result.status, result.stderr[-300:]))
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read()
    start, end = (int(word, 16) for word in result.stderr.split()[:2])
    addresses = [int(address, 16) for address in re.findall(r"futex\((0x[0-9a-f]+), FUTEX_WAIT", text)]
    return sum(start <= address < end for address in addresses)


def unsampled():
    with profiled.directory() as path:
        ours = waits(64, os.path.join(path, "trace.bpt"), 1 << 40)
    # A thread's birth takes locks, 64 at a time here; its million of calls takes none.
    profiled.expect(ours <= 64 * 4, "%d waits in %d calls, none of them sampled" % (ours, OBJECTS))
    profiled.Tap.note("64 threads, nothing sampled: %d waits" % ours)


def sampled(threads, preload=()):
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        ours = waits(threads, trace, 256, preload)
        samples = profiled.report(trace)["samples"]
    rate = ours / samples * 1e6
    profiled.Tap.note("%d threads%s: %d samples, %d waits for the recorder's locks, %.0f for 10^6" % (
        threads, " over jemalloc" if preload else "", samples, ours, rate))
    profiled.expect(samples > OBJECTS / 4, "only %d samples" % samples)
    most = FUTEX_MAX_FOREIGN if preload else FUTEX_MAX
    profiled.expect(rate <= most, "%d waits, %.0f for 10^6 samples" % (ours, rate))


def balance(interval):
    with profiled.directory() as path:
        trace, count = os.path.join(path, "trace.bpt"), os.path.join(path, "count")
        arguments = [CROSSFREE, "64", str(OBJECTS // 64 // (8 if interval < 64 else 1))]
        result = profiled.run(arguments, trace, interval, recorder=profiled.RECORDER_TEST,
                              extra={"BYTEPOLL_TEST_COUNT": count})
        profiled.expect(result.status == 0 and result.stdout == b"done\n", "status %s: %s" % (
            result.status, result.stderr))
        data = profiled.report(trace)
        profiled.expect(profiled.lost(data) == 0, "lost: %s" % data["losses"])
        profiled.expect(slots_in_use(count) is not None, "nothing counted")
        judge_slots(trace, data, slots_in_use(count))


def seconds(threads, trace):
    result = profiled.run([CROSSFREE, str(threads), str(2 * OBJECTS // threads)], trace,
                          extra={"BP_SCENARIO_TIME": "1"})
    profiled.expect(result.status == 0, "status %s" % result.status)
    return int(result.stderr) / 1e9


def throughput():
    for threads in (1, 2, 64):
        ratios = []
        for _ in range(PAIRS):
            with profiled.directory() as path:
                plain = seconds(threads, None)
                ratios.append(plain / seconds(threads, os.path.join(path, "trace.bpt")))
        profiled.Tap.note("%d threads at the default interval: %.3f of the unprofiled throughput "
                          "(median of %d pairs, %.3f to %.3f)" % (
                              threads, statistics.median(ratios), PAIRS, min(ratios), max(ratios)))


def main():
    tap = profiled.Tap()
    tap.attempt("each thread's words have a cache line of their own", layout)
    tap.attempt("nothing is written beside the table of real functions", read_only_lines)
    for interval in (16, 4096):
        tap.attempt("64 threads free each other's objects at T = %d: no slot stranded" % interval,
                    lambda: balance(interval))
    if shutil.which("strace"):
        tap.attempt("no lock where nothing is sampled", unsampled)
        for threads in (2, 64):
            tap.attempt("locks of %d threads that sample" % threads, lambda: sampled(threads))
        tap.attempt("locks of 64 threads that sample over jemalloc", lambda: sampled(64, JEMALLOC))
    else:
        tap.skip("locks", "needs strace")
    tap.attempt("throughput", throughput)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
