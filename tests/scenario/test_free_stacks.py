#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks of frees (`bytepoll run --free-stacks`), against a program whose pairs of sites are known (programs/free_sites.c).

T is 1, so that every object is in the trace and each number is compared for equality: nothing here fails by chance. The
trace is read by the second decoder (tools/trace_decode.py). Sampled objects live in slots, or in the program's own
heap (BYTEPOLL_IN_PLACE), or in that of jemalloc; the pairs are the same.
"""
import bisect
import collections
import os
import sys

import profiled
from test_foreign import LIBRARIES, path_of

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tools"))
import trace_decode  # noqa: E402  (the second decoder)

PAIRS = {("make_%d" % i, "end_%d" % j, 100 * i + j, j == 3): 10 * i + j
         for i in (1, 2, 3) for j in (1, 2, 3)}
PAIRS |= {("make_1", None, 400, None): 7, ("make_2", "grow_1", 500, False): 5, ("grow_1", None, 600, None): 5}
# In a signal handler, and by the destructor of thread-specific data while the thread exits.
PAIRS |= {("make_3", "end_1", 700, False): 4, ("make_2", "end_2", 800, False): 6}


def record(path, extra):
    trace = os.path.join(path, "trace.bpt")
    result = profiled.run([profiled.program("free_sites")], trace, 1, 1, extra=extra)
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:300]))
    sites = sorted((int(address), name) for name, address in
                   (line.split() for line in result.stdout.decode().splitlines()))
    return trace, sites


def pairs_of(trace, sites):
    """How many objects there are of (allocated in, freed in, size, freed by another thread); the header's flags; how
    many frees have a stack."""
    samples, frees, stacks, flags, with_stack = {}, {}, {}, 0, 0
    with open(trace, "rb") as file:
        for kind, fields in trace_decode.Trace(file, True).lines():
            if kind == "header":
                flags = fields["flags_skippable"]
            elif kind == "sample":
                samples[fields["sequence"]] = fields
            elif kind == "free":
                frees[fields["sample_sequence"]] = fields
                with_stack += fields["stack"] != 0
            elif kind == "stack":
                stacks[fields["id"]] = fields

    def site(stack):
        pc = stacks[stack]["frames"][0][0]
        place = bisect.bisect_left(sites, (pc, ""))
        return sites[place - 1][1] if place > 0 and pc - sites[place - 1][0] < 256 else "elsewhere"
    pairs = collections.Counter()
    for sequence, sample in samples.items():
        freed = frees.get(sequence)
        made = site(sample["stack"])
        if made == "elsewhere":  # libc's own
            continue
        ended = site(freed["stack"]) if freed and freed["stack"] else None
        pairs[made, ended, sample["size"], freed["thread"] != sample["thread"] if freed else None] += 1
    return pairs, flags, with_stack


def known(path, extra):
    trace, sites = record(path, {"BYTEPOLL_FREE_STACKS": "on"} | extra)
    pairs, flags, _ = pairs_of(trace, sites)
    profiled.expect(pairs == PAIRS, "%s, but %s" % (sorted(pairs.items(), key=str), sorted(PAIRS.items(), key=str)))
    profiled.expect(flags & 2048, "flags %x" % flags)


def test_slots():
    with profiled.directory() as path:
        known(path, {})


def test_in_place():
    with profiled.directory() as path:
        known(path, {"BYTEPOLL_IN_PLACE": "1"})


def test_foreign():
    """Over another malloc, where the recorder finds a sampled object in its table."""
    with profiled.directory() as path:
        known(path, {"LD_PRELOAD": "%s:%s" % (profiled.RECORDER, path_of(LIBRARIES["jemalloc"]))})


def test_off():
    """Without the option no free has a stack, and the header does not say so."""
    for extra in ({}, {"BYTEPOLL_FREE_STACKS": "off"}):
        with profiled.directory() as path:
            _, flags, with_stack = pairs_of(*record(path, extra))
            profiled.expect(with_stack == 0 and not flags & 2048, "%d stacks, flags %x" % (with_stack, flags))


def test_report():
    """The figures of the report are the same with stacks of frees as without."""
    totals = []
    for extra in ({}, {"BYTEPOLL_FREE_STACKS": "on"}):
        with profiled.directory() as path:
            trace, _ = record(path, extra)
            data = profiled.report(trace, "--metric", "live", "--by", "function", "--rows", "100")
            totals.append({row["name"]: row["bytes"] for row in data["rows"] if row["name"].startswith(("make", "grow"))})
            profiled.expect(data["warnings"] == [], "%s" % data["warnings"])
    profiled.expect(totals[0] == totals[1] and len(totals[0]) == 2, "%s" % totals)


def main():
    tap = profiled.Tap()
    for test, what in ((test_slots, "pairs of objects in slots"), (test_in_place, "pairs of objects in place"),
                       (test_foreign, "pairs of objects over jemalloc"),
                       (test_off, "no stacks without the option"), (test_report, "the report is the same")):
        tap.attempt(what, test)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
