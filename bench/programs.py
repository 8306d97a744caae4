# SPDX-License-Identifier: MIT
"""Real programs: instructions, CPU time and resident memory added at the default interval."""
from harness import ASLEEP, DEFAULT, median, ratios, table, verdict, verdict_of, with_interval
from workloads import OVER_ALLOCATORS, PROGRAMS

SLOW = ("cc1plus", "git log")  # left out by --quick
VARIANTS = ("unprofiled", "again", "pass-through", "recorder")


def instructions(bench):
    """Instructions added, by cachegrind's count of the whole process."""
    rows, added = [], []
    for program in PROGRAMS:
        if program.available() or (bench.quick and program.name in SLOW):
            rows.append((program.name, program.available() or "left out by --quick"))
            continue
        counts = {"unprofiled": program.count(bench, "unprofiled", DEFAULT),
                  "pass-through": program.count(bench, "pass-through", DEFAULT),
                  "asleep": program.count(bench, "recorder", ASLEEP),
                  "recorder": program.count(bench, "recorder", DEFAULT)}
        base = counts["unprofiled"]
        change = {name: 100 * (count / base - 1) for name, count in counts.items()}
        rows.append((program.name, "%.1f" % (base / 1e6), "%+.2f %%" % change["pass-through"],
                     "%+.2f %%" % change["asleep"], "%+.2f %%" % change["recorder"], "<= 2 %",
                     verdict(change["recorder"], 2)))
        added.append(change["recorder"])
        bench.figures["instructions " + program.name] = counts
    notes = ["Whole process, start and end included, short inputs; seed of the sampler 1."]
    if added:
        notes.append("Median of these %d: %+.2f %% (budget <= 0.5 %%: %s)."
                     % (len(added), median(added), verdict(median(added), 0.5)))
    table("Instructions added to real programs, T = 512 KiB",
          ("program", "unprofiled, million", "pass-through", "recorder asleep", "recorder",
           "budget", "verdict"), rows, notes)


def paired(bench, program, rounds):
    """One row: CPU time and peak resident memory, and the ratios of the rounds."""
    program.run(bench, "unprofiled", short=bench.quick)  # makes its input
    runs = bench.side_by_side(VARIANTS, lambda variant: program.run(bench, variant, short=bench.quick),
                              rounds)
    seconds = {variant: [run.cpu_s for run in all_] for variant, all_ in runs.items()}
    peaks = {variant: median([run.peak_kib for run in all_]) for variant, all_ in runs.items()}
    ratio = ratios(seconds, "recorder")
    extra_kib = peaks["recorder"] - peaks["unprofiled"]
    bound_kib = 4096 + peaks["unprofiled"] / 100
    bench.figures["cpu " + program.name] = {"seconds": seconds, "peak_kib": peaks}
    return (program.name, "%.2f" % median(seconds["unprofiled"]), with_interval(ratio),
            verdict_of(ratio, 1.03), with_interval(ratios(seconds, "recorder", "pass-through")),
            with_interval(ratios(seconds, "again")), "%.1f" % (peaks["unprofiled"] / 1024),
            "%+.2f" % (extra_kib / 1024), "%.2f" % (bound_kib / 1024),
            verdict(extra_kib, bound_kib)), median(ratio)


def cpu(bench):
    """CPU time and peak resident memory, paired."""
    rows, middles = [], []
    rounds = bench.rounds if bench.quick else max(bench.rounds, 9)
    for program in PROGRAMS + OVER_ALLOCATORS:
        if program.available():
            rows.append((program.name, program.available()))
            continue
        row, middle = paired(bench, program, rounds)
        rows.append(row)
        if program not in OVER_ALLOCATORS:
            middles.append(middle)
    notes = ["%d rounds, the four runs of a round side by side on one processor; ratio of user + system "
             "time within a round, its median and the median's interval. again / unprofiled: the program "
             "against itself." % rounds]
    if middles:
        notes.append("Median of the %d programs with the allocator they come with: %.3f "
                     "(budget <= 1.01: %s)."
                     % (len(middles), median(middles), verdict(median(middles), 1.01)))
    table("CPU time and memory of real programs, T = 512 KiB",
          ("program", "CPU unprofiled, s", "recorder / unprofiled", "<= 1.03",
           "recorder / pass-through", "again / unprofiled", "peak unprofiled, MiB", "added, MiB",
           "bound 4 MiB + 1 %", "verdict"), rows, notes)
