# SPDX-License-Identifier: MIT
"""Resident memory of python3 at sampling intervals from 1 byte to the default, against the bound
4 MiB + 256 bytes per live sample + its distinct stacks."""
import json
import os
import subprocess

import trace_sizes
from harness import PROGRAMS, Failed, median, table, verdict

INTERVALS = ((1, "1"), (64, "64"), (4096, "4 KiB"), (65536, "64 KiB"), (524288, "512 KiB"))
# A stack in the recorder's table (src/target/unwind/stack_table.c): a head and 8 bytes a frame.
STACK_BYTES, FRAME_BYTES = 64, 8


def run(bench, variant, interval):
    """(peak KiB, kept result)"""
    command = ["/usr/bin/python3", "-S", os.path.join(PROGRAMS, "objects.py"),
               "20000" if bench.quick else "60000", "memory"]
    result = bench.run(command, variant, interval, keep=True,
                       extra={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})
    return result


def most_live(bench, trace):
    """Samples live at the peak, by bytepoll itself."""
    done = subprocess.run([bench.bytepoll, "report", "--json", "--rows", "1", trace], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise Failed("bytepoll report: " + done.stderr.strip())
    totals = json.loads(done.stdout)["totals"]
    return totals["peak"]["samples"]


def memory(bench):
    """One row per interval."""
    if not os.path.exists("/usr/bin/python3"):
        raise Failed("/usr/bin/python3 is not installed")
    rounds = 2 if bench.quick else 3
    base_kib = median([run(bench, "unprofiled", 1).peak_kib for _ in range(rounds)])
    rows = []
    for interval, text in INTERVALS:
        peaks = []
        for turn in range(rounds):
            result = run(bench, "recorder", interval)
            peaks.append(result.peak_kib)
            if turn == 0:
                live = most_live(bench, result.trace)
                found = trace_sizes.sizes(result.trace)
            bench.drop(result)
        stacks = found["stack"][0] * STACK_BYTES + found["frames"] * FRAME_BYTES
        added = median(peaks) - base_kib
        bound = 4096 + (256 * live + stacks) / 1024
        rows.append((text, "%.1f" % (median(peaks) / 1024), "%+.2f" % (added / 1024), live,
                     found["stack"][0], "%.2f" % (bound / 1024), verdict(added, bound)))
        bench.figures["memory " + text] = {"peak_kib": peaks, "base_kib": base_kib, "live": live,
                                           "stacks": found["stack"][0], "stack_bytes": stacks}
    table("Peak resident memory of python3 by interval (unprofiled: %.1f MiB)" % (base_kib / 1024),
          ("T", "peak, MiB", "added, MiB", "samples live at the peak", "distinct stacks",
           "bound, MiB", "verdict"), rows,
          ("Bound: 4 MiB + 256 bytes a live sample + %d bytes and %d a frame of each distinct stack."
           % (STACK_BYTES, FRAME_BYTES),))
