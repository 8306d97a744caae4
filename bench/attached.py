# SPDX-License-Identifier: MIT
"""The hot path of a process that was attached to, and what is left of it after it was detached."""
import os

from harness import ASLEEP, table, verdict

STATES = (("before", "before", None), ("attached", "attached", None), ("after", "detached", 0),
          ("saved", "detached, by pointers that were saved while it was attached", None))
# So few pairs that no countdown of 1 MiB ends, and so many that a start which takes a hundred instructions more or
# less (it draws random numbers) does not show.
FEW, MANY = 5000, 200000


def slope(bench, state, count):
    """(Ir(2 count) - Ir(count)) / count"""
    totals = []
    for pairs in (count, 2 * count):
        folder = bench.fresh()
        settings = os.path.join(folder, "settings")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("BYTEPOLL_OUTPUT=%s\nBYTEPOLL_INTERVAL=%d\n" % (os.path.join(folder, "trace.bpt"), ASLEEP))
        totals.append(bench.instructions([bench.program("attached"), bench.recorder, settings, state, str(pairs)],
                                         "unprofiled"))
    return (totals[1] - totals[0]) / count


def instructions(bench):
    """Instructions of a pair beyond those before the process was attached to."""
    rows, base = [], None
    for state, name, budget in STATES:
        found = slope(bench, state, FEW if state == "attached" else MANY)
        base = found if base is None else base
        rows.append((name, "%.1f" % found, "" if state == "before" else "%+.2f" % (found - base),
                     "" if budget is None else "<= %d" % budget, verdict(round(found - base, 2), budget)))
        bench.figures["attached " + state] = found
    table("Instructions of malloc(64) + free in a process that is attached to, nothing sampled",
          ("the process", "a pair", "added", "budget", "verdict"), rows,
          ("(Ir(2N) - Ir(N)) / N under callgrind, T = 10^12, N = %d, attached %d (programs/attached.c, which calls the "
           "recorder's entries itself). The loop itself is in the second column." % (MANY, FEW),))
