# SPDX-License-Identifier: MIT
"""Allocation contexts: what sampling adds per refill where the sampling limit is kept (explicit, as in
bytepoll/alloc_context.h) and where it is drawn anew (implicit, as .NET does)."""
import os
import subprocess

from harness import PROGRAMS, Failed, median, table

ROOT = os.path.dirname(os.path.dirname(PROGRAMS))
CONTEXTS = (256, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10)
INTERVALS = (8 << 10, 64 << 10, 100 << 10, 512 << 10)
OFF = 0
FORMS = ("explicit", "implicit")
# Allocated bytes of a counted run, and of a timed one: each has 64 samples at the largest T.
COUNTED, TIMED, SLICES = 32 << 20, 256 << 20, 64


def compile_contexts(bench):
    """The program, with the sampler's sources."""
    output = bench.program("contexts")
    sources = [os.path.join(PROGRAMS, "contexts.c")]
    sources += [os.path.join(ROOT, "src", "sampler", name) for name in
                ("alloc_context.c", "sampler.c", "gap.c")]
    include = [os.path.join(ROOT, name) for name in ("include", "src", "tests/unit/sampler")]
    words = ["gcc", "-std=gnu11", "-O2", "-g", "-ffp-contract=off", "-D_GNU_SOURCE", "-Wall", "-Wextra"]
    done = subprocess.run(words + ["-I" + path for path in include] + sources + ["-o", output],
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Failed("cannot compile contexts: " + done.stderr)
    return output


def words_of(program, form, context, interval, allocated):
    """Its command line."""
    return [program, form, str(context), str(interval), str(allocated)]


def count(bench, program, form, context, interval):
    """Instructions per refill, start-up left out."""
    totals = [bench.instructions(words_of(program, form, context, interval, times * COUNTED),
                                 "unprofiled") for times in (1, 2)]
    return (totals[1] - totals[0]) / (COUNTED // context)


def time(bench, program, form, context, interval):
    """ns per refill."""
    words = words_of(program, form, context, interval, TIMED) + [str(SLICES)]
    return bench.run(words, "unprofiled").figures()["refill_ns"]


def added(bench, program, context, interval):
    """{form: (instructions added per refill, ns added per refill)}"""
    found = {}
    plain = count(bench, program, "plain", context, interval)
    values = bench.rounds_of(("plain",) + FORMS,
                             lambda form: time(bench, program, form, context, interval))
    for form in FORMS:
        ns = median([a - b for a, b in zip(values[form], values["plain"])])
        found[form] = (count(bench, program, form, context, interval) - plain, ns)
    bench.figures["contexts %d %d" % (context, interval)] = found
    return found


def size(count_of_bytes):
    """8 KiB"""
    return "%d KiB" % (count_of_bytes >> 10) if count_of_bytes >= 1024 else "%d B" % count_of_bytes


def contexts(bench):
    """What is added per refill, by size of context and T."""
    program = compile_contexts(bench)
    rows = []
    chosen = [(8 << 10, 100 << 10), (256, 512 << 10), (64 << 10, 8 << 10)] if bench.quick else [
        (context, interval) for context in CONTEXTS for interval in (OFF,) + INTERVALS]
    for context, interval in chosen:
        found = added(bench, program, context, interval)
        rows.append((size(context), "off" if interval == OFF else size(interval),
                     "" if interval == OFF else "%.3g" % (context / interval),
                     "%.1f" % found["explicit"][0], "%.1f" % found["implicit"][0],
                     "%.1f" % found["explicit"][1], "%.1f" % found["implicit"][1]))
    table("Added per refill of an allocation context, samples included",
          ("context", "T", "samples a refill", "instructions, explicit", "implicit", "ns, explicit",
           "implicit"), rows,
          ("programs/contexts.c, objects of 64 bytes; callgrind's count, and the median of %d rounds (5th "
           "percentile of %d slices), minus the same allocator without sampling. Decisions only: nobody is "
           "told of a sample. The fast path is the same in all." % (bench.rounds, SLICES),))
