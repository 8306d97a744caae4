# SPDX-License-Identifier: MIT
"""What one sample and the free of one cost, warm and cold, by stack depth; what they take in the
trace; where the instructions go."""
import os
import shutil
import subprocess

import trace_sizes
from harness import ASLEEP, Failed, table, verdict, verdict_of, with_interval
from workloads import DENSE

T = 512
PROGRAM_T = 4096
SIZE = 64
# Probability that an object of SIZE bytes is sampled at T: SIZE + 1 trials.
INCLUDED = 1 - (1 - 1 / T) ** (SIZE + 1)
# Depth below main, distinct stacks (0: nearly every one new), text, budget in ns.
CASES = (
    (4, 1, "7 frames, one stack", None),
    (4, 16, "7 frames, 16 stacks", None),
    (27, 1, "30 frames, one stack", None),
    (27, 16, "30 frames, 16 stacks", 1000),
    (27, 64, "30 frames, 64 stacks", 1000),
    (57, 16, "60 frames, 16 stacks", None),
    (27, 0, "30 frames, each stack new", None),
)


def deep(bench, depth, paths, interval, cold):
    """One run: {'allocate_ns', 'free_ns'}."""
    rounds = (160 if cold else 640) // (4 if bench.quick else 1)
    words = [bench.program("deep"), str(depth), str(paths), str(rounds)]
    result = bench.run(words + (["cold"] if cold else []), "recorder", interval)
    return result.figures()


def cost(bench, depth, paths, cold):
    """(ns of one sample per round, ns of one free per round): against the sampler asleep."""
    interval = 1 if cold else T  # cold: each single object is a sample
    included = 1 if cold else INCLUDED
    rounds = bench.rounds_of((interval, ASLEEP), lambda t: deep(bench, depth, paths, t, cold))
    pairs = list(zip(rounds[interval], rounds[ASLEEP]))
    return [[(a[name] - b[name]) / included for a, b in pairs] for name in
            ("allocate_ns", "free_ns")]


def in_program(bench, program):
    """The same in a real program, where caches are cold: one sample together with its free."""
    runs = bench.rounds_of((PROGRAM_T, ASLEEP),
                           lambda t: program.run(bench, "recorder", t, short=True, keep=True))
    count = trace_sizes.tree_samples(runs[PROGRAM_T][0].trace)
    each = [1e9 * (a.cpu_s - b.cpu_s) / count
            for a, b in zip(runs[PROGRAM_T], runs[ASLEEP])]
    for result in runs[PROGRAM_T] + runs[ASLEEP]:
        bench.drop(result)
    bench.figures["sample in " + program.name] = {"ns": each, "samples": count}
    return ("in %s, T = 4 KiB, %d samples: with its free" % (program.name, count),
            with_interval(each, "%.0f"), "", "<= 4000", verdict_of(each, 4000))


def samples(bench):
    """Time of one sample and of one free."""
    rows = []
    cases = [(*case, False) for case in CASES] + [(27, 1, "30 frames, cold (24 MiB swept before each)",
                                                  4000, True)]
    if bench.quick:
        cases = [case for case in cases if case[3] is not None]
    for depth, paths, name, budget, cold in cases:
        sample, free = cost(bench, depth, paths, cold)
        rows.append((name, with_interval(sample, "%.0f"), with_interval(free, "%.0f"),
                     "" if budget is None else "<= %d" % budget,
                     "" if budget is None else verdict_of(sample, budget)))
        bench.figures["sample " + name] = {"sample_ns": sample, "free_ns": free}
    if not bench.quick:
        rows += [in_program(bench, program) for program in DENSE if program.available() is None]
    table("Time of one sample and of the free of one, ns",
          ("stack", "sample", "free", "budget of a sample", "verdict"), rows,
          ("programs/deep.c, objects of %d B, T = %d (%.1f %% of them samples; cold: T = 1), minus the same "
           "with the sampler asleep, divided by the samples. Everything included: draw, slot, walk, stack "
           "table, clock, record, file." % (SIZE, T, 100 * INCLUDED),))


def trace(bench):
    """Bytes in the trace."""
    rows = []
    commands = [("deep, 16 stacks of 30 frames, T = 512", [bench.program("deep"), "27", "16", "320"], T),
                ("mixed 16 B to 4 KiB, T = 4 KiB",
                 [bench.program("micro"), "mixed", "600000", "65536"], 4096),
                ("mixed in 2 threads, T = 4 KiB",
                 [bench.program("micro"), "threads2", "600000", "65536"], 4096)]
    for program in DENSE:
        if program.available() is None:
            commands.append((program.name + ", T = 16 KiB", program, 16384))
    for name, what, interval in commands:
        if isinstance(what, list):
            result = bench.run(what, "recorder", interval, keep=True)
        else:
            result = what.run(bench, "recorder", interval, short=True, keep=True)
        found = trace_sizes.sizes(result.trace)
        bench.drop(result)
        each = {kind: found[kind][1] / max(1, found[kind][0]) for kind in ("sample", "free", "stack")}
        rows.append((name, found["sample"][0], "%.1f" % each["sample"], verdict(each["sample"], 32),
                     "%.1f" % each["free"], verdict(each["free"], 16), found["stack"][0],
                     "%.1f" % (found["frames"] / max(1, found["stack"][0])), "%.1f" % each["stack"]))
        bench.figures["trace " + name] = found
    table("Bytes in the trace",
          ("run", "samples", "bytes a sample", "<= 32", "bytes a free", "<= 16", "distinct stacks",
           "frames a stack", "bytes a stack"), rows,
          ("Records with tag and length; without chunk headers (0.1 %).",))


def functions(path):
    """{function: instructions of its own} from a callgrind profile."""
    annotated = subprocess.run(["callgrind_annotate", "--auto=no", "--tree=none", "--threshold=100", path],
                               check=True, text=True, stdout=subprocess.PIPE).stdout
    found = {}
    for line in annotated.splitlines():
        # "40,785 (17.25%)  ./elf/dl-lookup.c:do_lookup_x [/usr/lib/ld-linux-x86-64.so.2]"
        count, _, rest = line.strip().partition(" (")
        if not count.replace(",", "").isdigit() or "%)" not in rest or ":" not in rest:
            continue
        name = rest.partition(")")[2].strip().partition(" [")[0].rsplit(":", 1)[1]
        found[name] = found.get(name, 0) + int(count.replace(",", ""))
    return found


def profile(bench):
    """Instructions of one sample and its free, by function."""
    if not shutil.which("valgrind"):
        raise Failed("valgrind is not installed")
    rounds = 160
    words = [bench.program("deep"), "27", "16"]
    counts = {}
    for interval in (T, ASLEEP):
        for times in (1, 2):  # the difference of the two leaves start-up and first looks out
            output = os.path.join(bench.scratch, "callgrind.%d.%d" % (interval, times))
            bench.instructions(words + [str(times * rounds)], "recorder", interval, output=output)
            counts[interval, times] = functions(output)
    sampled = rounds * 16 * 64 * INCLUDED
    per_sample = {}
    for name in counts[T, 2]:
        added = ((counts[T, 2].get(name, 0) - counts[T, 1].get(name, 0)) -
                 (counts[ASLEEP, 2].get(name, 0) - counts[ASLEEP, 1].get(name, 0)))
        per_sample[name] = added / sampled
    total = sum(per_sample.values())
    ordered = sorted(per_sample.items(), key=lambda pair: -abs(pair[1]))[:16]
    rows = [(name.replace("|", ""), "%.0f" % value, "%.1f %%" % (100 * value / total))
            for name, value in ordered]
    rows.append(("all", "%.0f" % total, ""))
    bench.figures["profile"] = per_sample
    table("Instructions of one sample of 30 frames with its free, by function",
          ("function", "instructions", "share"), rows,
          ("callgrind, deep with 16 stacks, T = 512 minus asleep; negative: glibc's malloc, spared.",))
