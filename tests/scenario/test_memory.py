#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Resident memory that profiling adds, at T of 1, 64, 4 KiB, 64 KiB and 512 KiB.

A Python script runs with Python's own allocator on top of malloc, and with PYTHONMALLOC=malloc,
where every object is malloc's. Peak (VmHWM) and final (VmRSS) resident memory, read by the script
itself, may exceed the unprofiled run's by at most

    4 MiB + 256 bytes per live sample + its distinct stacks,

live samples at their own peak for the peak; a distinct stack counts 64 bytes and 8 for each frame.
The unprofiled figures are the smallest of three runs.
"""
import os
import shutil
import sys

import profiled

INTERVALS = (1, 64, 4096, 65536, 524288)
FIXED_BYTES = 4 << 20
SAMPLE_BYTES = 256
STACK_BYTES, FRAME_BYTES = 64, 8


def measure(arguments, trace, interval, extra):
    result = profiled.run(arguments, trace, interval, extra=extra)
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:300]))
    peak, now, checksum = result.stdout.decode().split()
    return int(peak) * 1024, int(now) * 1024, checksum


def live_samples(samples):
    """(at the peak, at the end)"""
    changes = sorted([(sample.sequence, 1) for sample in samples] +
                     [(sample.free_sequence, -1) for sample in samples if sample.free_sequence])
    live = peak = 0
    for _, change in changes:
        live += change
        peak = max(peak, live)
    return peak, live


def stack_bytes(samples):
    depths = {sample.stack: sample.depth for sample in samples}
    return sum(STACK_BYTES + FRAME_BYTES * depth for depth in depths.values())


def judge(tap, name, arguments, extra):
    plain = [measure(arguments, None, None, extra) for _ in range(3)]
    peak, now = (min(run[i] for run in plain) for i in (0, 1))
    for interval in INTERVALS:
        label = "%s at T = %d" % (name, interval)
        with profiled.directory() as path:
            trace = os.path.join(path, "trace.bpt")
            try:
                peak_with, now_with, checksum = measure(arguments, trace, interval, extra)
                samples = profiled.samples(trace)
            except AssertionError as error:
                tap.check(False, label, str(error))
                continue
        live = live_samples(samples)
        for what, added, count in (("peak", peak_with - peak, live[0]),
                                   ("end", now_with - now, live[1])):
            allowed = FIXED_BYTES + SAMPLE_BYTES * count + stack_bytes(samples)
            text = "%s: %+.2f MiB, %d live samples, allowed %.2f MiB" % (
                what, added / 2 ** 20, count, allowed / 2 ** 20)
            tap.check(added <= allowed, "%s, %s" % (label, what), text)
            tap.note(text)
        tap.check(checksum == plain[0][2], label + ", output")


def main():
    tap = profiled.Tap()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "memory.py")
    python = shutil.which("python3", path="/usr/bin:/bin")
    judge(tap, "python3", [python, "-I", script], {})
    judge(tap, "python3 without its own allocator", [python, script], {"PYTHONMALLOC": "malloc"})
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
