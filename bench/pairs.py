# SPDX-License-Identifier: MIT
"""The hot path: instructions added per operation, and time of the allocation patterns."""
import os

from harness import (ASLEEP, DEFAULT, VARIANTS, median, ratios, table,
                     verdict, verdict_of, with_interval)

# What is counted: program, workload, what one operation is, budget.
COUNTED = (
    ("micro", "pair64", "malloc(64) + free", 10),
    ("micro", "mixed", "malloc + free, 16 B to 4 KiB, 10,000 live", None),
    ("micro", "calloc64", "calloc(1, 64) + free", None),
    ("micro", "realloc_in_place", "realloc, in place", None),
    ("micro", "grow_48k", "realloc, growing to 48 KiB", None),
    ("micro", "posix_memalign64", "posix_memalign(16, 64) + free", None),
    ("operators", None, "operator new(64) + sized delete", None),
)
# Counts of operations: so few that no countdown of 1 MiB ends between the two (the hot path alone),
# and enough that looks of the cold path take their share.
FEW, MANY = 5000, 200000

# Workload, operations in a run, operations in a slice, what it is, budget for time / unprofiled.
TIMED = (
    ("pair64", 4_000_000, 20000, "pair, 64 B", 1.06),
    ("pair16", 4_000_000, 20000, "pair, 16 B", None),
    ("pair256", 4_000_000, 20000, "pair, 256 B", None),
    ("mixed", 3_000_000, 65536, "mixed 16 B to 4 KiB, 10,000 live", None),
    ("threads2", 2_000_000, 65536, "mixed in each of 2 threads", None),
    ("large", 200_000, 4096, "large: 64 KiB to 1 MiB, 64 live, first byte", None),
    ("large_pages", 20_000, 512, "the same, 16 live, all pages", None),
    ("huge", 60_000, 1024, "large (>= T): 512 KiB to 8 MiB, 16 live, first byte", 1.1),
    ("huge_pages", 2_000, 64, "the same, all pages (>= T)", 1.1),
    ("pair1m", 400_000, 4096, "pair of 1 MiB (>= T), first byte", 1.1),
    ("pair1m_pages", 30_000, 512, "1 to 2 MiB (>= T), 1 live, all pages", 1.1),
    ("grow_256k", 10_000_000, 65536, "realloc x 1.25 to 256 KiB, unwritten", 1.2),
    ("grow_600k_written", 1_000_000, 16384, "realloc x 1.125 to 600 KiB, written", 1.2),
    ("grow_4m_written", 200_000, 4096, "realloc x 1.125 to 4 MiB, written", 1.2),
    ("grow_64m_by_4k", 120_000, 16128, "realloc + 4 KiB, 1 to 64 MiB (every step a sample)", 1.6),
    ("grow_64m_by_4k_written", 120_000, 16128, "the same, written", 1.6),
)
# Short runs want more rounds: the pair is a matter of single cycles.
ROUNDS_FACTOR = {"pair64": 5, "pair16": 3, "pair256": 3}
QUICK = ("pair64", "mixed", "huge", "pair1m_pages", "grow_256k", "grow_4m_written", "grow_64m_by_4k")


def slope(bench, program, workload, variant, count):
    """(Ir(2 count) - Ir(count)) / count"""
    totals = []
    for operations in (count, 2 * count):
        words = [bench.program(program)] + ([workload] if workload else []) + [str(operations)]
        if workload:
            words.append("0")  # no clock, no output
        totals.append(bench.instructions(words, variant, ASLEEP))
    return (totals[1] - totals[0]) / count


def instructions(bench):
    """Instructions added per operation: exact, whatever the machine does meanwhile."""
    rows = []
    for program, workload, name, budget in COUNTED:
        fixed = workload not in ("mixed", "grow_48k")  # the same work each time, 64 bytes at most
        if not os.path.exists(bench.program(program)) or (bench.quick and not fixed):
            continue
        base = slope(bench, program, workload, "unprofiled", FEW if bench.quick else MANY)
        hot = slope(bench, program, workload, "recorder", FEW) - base if fixed else None
        passed = added = None
        if not bench.quick:
            passed = slope(bench, program, workload, "pass-through", MANY) - base
            added = slope(bench, program, workload, "recorder", MANY) - base
        shown = ["" if value is None else "%+.2f" % value for value in (passed, hot, added)]
        held = hot if fixed else added
        rows.append((name, "%.1f" % base, *shown, "" if budget is None else "<= %d" % budget,
                     verdict(round(held, 1), budget)))
        bench.figures["instructions " + name] = {"base": base, "pass": passed, "hot": hot,
                                                 "added": added}
    table("Instructions added per operation, nothing sampled",
          ("operation", "unprofiled", "pass-through", "recorder, hot path", "with its looks",
           "budget", "verdict"), rows,
          ("(Ir(2N) - Ir(N)) / N under callgrind, T = 10^12; hot path: N = %d, so that no countdown ends; "
           "with its looks: N = %d. The loop itself is in the first column." % (FEW, MANY),
           "" if os.path.exists(bench.program("operators")) else "No g++: operators left out."))


def run_timed(bench, workload, operations, slice_, variant):
    """5th percentile of the slices; for threads the CPU time. Variant `asleep`: nothing sampled."""
    threads = workload == "threads2"
    if bench.quick and workload not in ROUNDS_FACTOR:
        operations = max(operations // 4, 8 * slice_)
    interval = ASLEEP if variant == "asleep" else DEFAULT
    result = bench.run([bench.program("micro"), workload, str(operations), str(slice_)],
                       "recorder" if variant == "asleep" else variant, interval, pinned=not threads)
    return result.figures()["cpu_ns" if threads else "p5_ns"]


def fast(values):
    """The 10th percentile: the faster of several modes, if it came up in a tenth of the rounds."""
    return sorted(values)[len(values) // 10]


def times(bench):
    """Time of one operation against unprofiled and against the pass-through."""
    rows = []
    variants = VARIANTS if bench.quick else VARIANTS + ("asleep",)
    chosen = [line for line in TIMED if not bench.quick or line[0] in QUICK]
    for workload, operations, slice_, name, budget in chosen:
        values = bench.rounds_of(variants, lambda variant, w=workload, o=operations, s=slice_:
                                 run_timed(bench, w, o, s, variant),
                                 bench.rounds * ROUNDS_FACTOR.get(workload, 1))
        ours = ratios(values, "recorder")
        asleep = "" if bench.quick else with_interval(ratios(values, "asleep"))
        rows.append((name, "%.4g ns" % median(values["unprofiled"]),
                     with_interval(ratios(values, "pass-through")), asleep, with_interval(ours),
                     "" if budget is None else "<= %.2f" % budget, verdict_of(ours, budget)))
        bench.figures["time " + workload] = values
    beside = fast(bench.figures["time pair64"]["recorder"]) / fast(
        bench.figures["time pair64"]["pass-through"])
    table("Time of one operation against unprofiled, T = 512 KiB, samples included",
          ("pattern", "unprofiled", "pass-through", "recorder asleep", "recorder", "budget",
           "verdict"), rows,
          ("%d interleaved rounds (pairs: 3 or 5 times as many), 5th percentile of a run's slices (2 "
           "threads: CPU time); [interval of the median]." % bench.rounds,
           "Pair of 64 B against the pass-through, 10th percentiles of the rounds (the pass-through has a "
           "slow mode, by where the loader puts it): %.3f (budget <= 1.02: %s)."
           % (beside, verdict(beside, 1.02))))
