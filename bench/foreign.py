# SPDX-License-Identifier: MIT
"""The hot path over other allocators than glibc's, which free objects by another test."""
import os

from harness import ASLEEP, table, verdict
from workloads import MIMALLOC, library

ALLOCATORS = (("jemalloc", "libjemalloc.so.2"), ("TCMalloc", "libtcmalloc_minimal.so.4"),
              ("mimalloc", MIMALLOC))
# Program, workload, what one operation is, budget.
COUNTED = (("micro", "pair64", "malloc(64) + free", 10),
           ("micro", "realloc_in_place", "realloc, in place", None),
           ("operators", None, "operator new(64) + sized delete", None))
FEW = 5000


def slope(bench, program, workload, variables):
    """(Ir(2 FEW) - Ir(FEW)) / FEW under an environment."""
    totals = []
    for operations in (FEW, 2 * FEW):
        words = [bench.program(program)] + ([workload] if workload else []) + [str(operations)]
        if workload:
            words.append("0")  # no clock, no output
        variant = "recorder" if bench.recorder in variables["LD_PRELOAD"] else "unprofiled"
        totals.append(bench.instructions(words, variant, ASLEEP, extra=variables))
    return (totals[1] - totals[0]) / FEW


def instructions(bench):
    """Instructions added per operation, the allocator preloaded."""
    rows = []
    for name, file in ALLOCATORS:
        path = library(file)
        for program, workload, what, budget in COUNTED:
            if path is None or not os.path.exists(bench.program(program)):
                continue
            base = slope(bench, program, workload, {"LD_PRELOAD": path})
            added = slope(bench, program, workload,
                          {"LD_PRELOAD": bench.recorder + ":" + path}) - base
            rows.append((name, what, "%.1f" % base, "%+.2f" % added,
                         "" if budget is None else "<= %d" % budget,
                         verdict(round(added, 1), budget)))
            bench.figures["foreign %s %s" % (name, what)] = {"base": base, "hot": added}
    table("Instructions added per operation over other allocators, nothing sampled",
          ("allocator", "operation", "unprofiled", "recorder, hot path", "budget", "verdict"), rows,
          ("(Ir(2N) - Ir(N)) / N under callgrind, T = 10^12, N = %d. The loop itself is in the "
           "third column." % FEW,))
