# SPDX-License-Identifier: MIT
"""What it costs that samples stay in the program's own heap (`run --in-place`), in instructions; and what looks at that heap
cost the one who looks."""
import json
import os
import subprocess

from harness import ASLEEP, Failed, table, with_interval
from pairs import FEW

WAYS = (("by default", {}), ("in place", {"BYTEPOLL_IN_PLACE": "1"}))
PAIRS = (("micro", "pair64", "malloc(64) + free"), ("micro", "realloc_in_place", "realloc, in place"),
         ("operators", None, "operator new(64) + sized delete"))
SAMPLED_T, SAMPLED = 4096, 200000
# Objects that live when the heap is looked at.
HEAPS = (10_000, 100_000, 1_000_000)
LOOKED_AT_S = 15
HEAP = """
import ctypes, os, sys, time
malloc, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
malloc.restype = ctypes.c_void_p
free.argtypes = [ctypes.c_void_p]
until = time.monotonic() + int(sys.argv[2])
kept = [malloc(40 + number % 400) for number in range(2 * int(sys.argv[1]))]
for place in kept[::2]:
    free(place)
while time.monotonic() < until:
    sum(range(100000))
    time.sleep(.02)
usage = os.times()
print(usage.user + usage.system)
"""


def slope(bench, words, count, interval, extra):
    """(Ir(2 count) - Ir(count)) / count"""
    totals = [bench.instructions([*words, str(number), "0"] if len(words) > 1 else [*words, str(number)],
                                 "unprofiled" if extra is None else "recorder", interval, extra=extra)
              for number in (count, 2 * count)]
    return (totals[1] - totals[0]) / count


def samples_of(bench, words, count, extra):
    """Samples of a run, whose seed is that of the one that is counted."""
    result = bench.run([*words, str(count), "0"], "recorder", SAMPLED_T, extra=extra, keep=True)
    data = json.loads(subprocess.run([bench.bytepoll, "report", "--json", result.trace], check=True,
                                     stdout=subprocess.PIPE).stdout)
    bench.drop(result)
    return data["samples"]


def in_place(bench):
    """Instructions of a pair and of a sample with its free, both ways."""
    rows = []
    for program, workload, name in PAIRS:
        words = [bench.program(program)] + ([workload] if workload else [])
        if not os.path.exists(words[0]):
            continue
        base = slope(bench, words, FEW, ASLEEP, None)
        added = [slope(bench, words, FEW, ASLEEP, extra) - base for _, extra in WAYS]
        rows.append((name + ", nothing sampled", *("%+.2f" % each for each in added)))
        bench.figures["in place " + name] = added
    words = [bench.program("micro"), "mixed"]
    each = []
    for _, extra in WAYS:
        more = slope(bench, words, SAMPLED, SAMPLED_T, extra) - slope(bench, words, SAMPLED, ASLEEP, extra)
        count = samples_of(bench, words, 2 * SAMPLED, extra) - samples_of(bench, words, SAMPLED, extra)
        each.append(more * SAMPLED / count)
    rows.append(("a sample of 16 B to 4 KiB with its free, T = 4 KiB", *("%.0f" % value for value in each)))
    bench.figures["in place sample"] = each
    table("What it costs to leave samples in the program's heap, instructions",
          ("what", *(name for name, _ in WAYS)), rows,
          ("Pairs: (Ir(2N) - Ir(N)) / N under callgrind less the same without the recorder, T = 10^12, N = %d. Samples: "
           "that of programs/micro.c mixed at T = 4 KiB, N = %d, less the same at T = 10^12, divided by the samples." %
           (FEW, SAMPLED),))
    table_of_looks(bench)


def looked_at(bench, objects, options):
    """CPU seconds of `bytepoll run` itself, without those of the program; the program tells its own."""
    trace = os.path.join(bench.fresh(), "trace.bpt")
    words = [bench.bytepoll, "run", "--quiet", "--python", "off", "-i", "1M", *options, "-o", trace, "--", "/usr/bin/python3",
             "-c", HEAP, str(objects), str(LOOKED_AT_S)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        own = float(process.stdout.read())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    if status != 0:
        raise Failed("could not run " + " ".join(words))
    return usage.ru_utime + usage.ru_stime - own


def table_of_looks(bench):
    """What `run` takes to look at a heap with so many blocks, again and again, against a run that does not look."""
    rows = []
    for objects in HEAPS:
        runs = bench.rounds_of(("with", "without"), lambda way, n=objects: looked_at(
            bench, n, [] if way == "with" else ["--no-resident"]))
        rows.append((objects, with_interval([a - b for a, b in zip(runs["with"], runs["without"])], "%.2f")))
        bench.figures["looks at %d objects" % objects] = runs
    table("Looks at resident memory and at all blocks of the heap, during %d s" % LOOKED_AT_S,
          ("live objects", "CPU of `bytepoll run`, s"), rows,
          ("A program that makes twice as many blocks, frees every other one, and then uses a tenth of a processor; "
           "`bytepoll run` less `bytepoll run --no-resident`, %d rounds." % bench.rounds,))
