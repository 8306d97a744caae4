# SPDX-License-Identifier: MIT
"""The automatic interval against its budget: CPU time of real programs with it, beside the recorder asleep.

What the recorder measures of itself is the time between two clocks. What it costs a program beyond that,
caches above all, only the whole program's CPU time shows."""
from harness import ASLEEP, median, ratios, table, verdict_of, with_interval
from workloads import PROGRAMS

BUDGET = 0.005
# docs/recorder.md: the first half millisecond, the debt, and what is spent until T has doubled once or twice.
GIVEN_S = 0.00125
INTERVALS = {"asleep": ASLEEP, "again": ASLEEP, "auto": "auto"}


def auto(bench):
    """One row per program."""
    rows = []
    rounds = bench.rounds if bench.quick else max(bench.rounds, 9)
    for program in PROGRAMS:
        if program.available():
            rows.append((program.name, program.available()))
            continue
        program.run(bench, "unprofiled", short=bench.quick)  # makes its input
        runs = bench.side_by_side(
            tuple(INTERVALS), lambda variant, program=program: program.run(
                bench, "recorder", INTERVALS[variant], short=bench.quick), rounds)
        seconds = {variant: [run.cpu_s for run in all_] for variant, all_ in runs.items()}
        bound = 1 + BUDGET + GIVEN_S / median(seconds["asleep"])
        ratio = ratios(seconds, "auto", "asleep")
        rows.append((program.name, "%.2f" % median(seconds["asleep"]), with_interval(ratio),
                     "<= %.3f" % bound, verdict_of(ratio, bound),
                     with_interval(ratios(seconds, "again", "asleep"))))
        bench.figures["auto " + program.name] = seconds
    table("CPU time of real programs with an automatic interval, budget 0.5 %",
          ("program", "CPU asleep, s", "auto / asleep", "bound", "verdict", "again / asleep"), rows,
          ("%d rounds, the three runs of a round side by side on one processor. The bound: 0.5 %% and %.2f ms. "
           "again: the recorder asleep against itself." % (rounds, 1000 * GIVEN_S),))
