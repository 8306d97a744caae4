# SPDX-License-Identifier: MIT
"""What tracepoints cost (docs/tracepoints.md): while nobody listens, while the semaphores are raised, and
while the kernel counts every event.

A raised semaphore is a copy of the recorder whose semaphores stand at 1 in the file: all is told, to
nobody. The kernel's uprobes are set by tracefs, with the semaphores' places, and count by themselves
(uprobe_profile); that takes root and a kernel that has them.
"""
import contextlib
import os
import shutil
import sys

from harness import Failed, HERE, table, with_interval

sys.path.insert(0, os.path.join(HERE, "..", "tests", "scenario"))
import usdt  # noqa: E402

T = 512
DEPTH, PATHS = 27, 16
SIZE = 64
INCLUDED = 1 - (1 - 1 / T) ** (SIZE + 1)
TRACEFS = "/sys/kernel/tracing"
GROUP = "bytepoll_bench"


def raised(bench):
    """A copy of the recorder that tells everything."""
    path = os.path.join(bench.scratch, "libbytepoll-recorder-raised.so")
    shutil.copyfile(bench.recorder, path)
    with open(path, "r+b") as file:
        for probe in usdt.probes(path):
            file.seek(probe.semaphore_offset)
            file.write(b"\1\0")
    return path


def write(name, text):
    """To a file of tracefs, which cannot be sought in as open(..., "a") would."""
    descriptor = os.open(os.path.join(TRACEFS, name), os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, text.encode("ascii"))
    finally:
        os.close(descriptor)


class Uprobes:
    """The kernel counts `alloc` and `free` of a recorder, while it is enabled."""

    def __init__(self, path):
        self.path = os.path.realpath(path)
        self.names = []

    def begin(self):
        try:
            for probe in usdt.probes(self.path):
                if probe.provider != "bytepoll" or probe.name not in ("alloc", "free"):
                    continue
                write("uprobe_events", "p:%s/%s %s:0x%x(0x%x) amount=%%dx:u64\n" % (
                    GROUP, probe.name, self.path, probe.offset, probe.semaphore_offset))
                self.names.append(probe.name)
            write("events/%s/enable" % GROUP, "1\n")
        except OSError as error:
            self.end()
            raise Failed("uprobes: %s" % error) from error

    def hits(self):
        with open(os.path.join(TRACEFS, "uprobe_profile"), encoding="ascii") as file:
            rows = [line.split() for line in file]
        return {row[1]: int(row[2]) for row in rows if row[1] in self.names}

    def end(self):
        with contextlib.suppress(OSError):
            write("events/%s/enable" % GROUP, "0\n")
        for name in self.names:
            with contextlib.suppress(OSError):
                write("uprobe_events", "-:%s/%s\n" % (GROUP, name))
        self.names = []


def deep(bench, recorder):
    """One run: ns of making and of freeing an object, asleep or not."""
    rounds = 640 // (4 if bench.quick else 1)
    words = [bench.program("deep"), str(DEPTH), str(PATHS), str(rounds)]
    return bench.run(words, "recorder", T, extra={"LD_PRELOAD": recorder}).figures()


def times(bench, told):
    """{variant: [ns of a sample and its free, per round]}"""
    uprobes = Uprobes(bench.recorder)
    variants = ["nobody", "told to nobody"]
    try:
        uprobes.begin()
        variants.append("the kernel counts")
    except Failed as error:
        print("\nNo uprobes here: %s" % error)
    uprobes.end()

    def measure(variant):
        if variant == "the kernel counts":
            uprobes.begin()
        try:
            figures = deep(bench, told if variant == "told to nobody" else bench.recorder)
        finally:
            uprobes.end()
        return (figures["allocate_ns"] + figures["free_ns"]) / INCLUDED

    return bench.rounds_of(tuple(variants), measure)


def instructions(bench, recorder):
    """Instructions of a sampled malloc with its free: two lengths of the same run, at T = 1."""
    lengths = (16, 48)
    counts = [bench.instructions([bench.program("deep"), str(DEPTH), str(PATHS), str(rounds)], "recorder", 1,
                                 extra={"LD_PRELOAD": recorder}) for rounds in lengths]
    return (counts[1] - counts[0]) / ((lengths[1] - lengths[0]) * PATHS * 64)


def probes(bench):
    """Cost of the tracepoints, per sample with its free."""
    told = raised(bench)
    rows = []
    seen = times(bench, told)
    base = seen["nobody"]
    for variant, values in seen.items():
        more = [a - b for a, b in zip(values, base)]
        rows.append((variant, with_interval(values, "%.0f"),
                     "" if variant == "nobody" else with_interval(more, "%.0f")))
        bench.figures["probes " + variant] = values
    plain, telling = instructions(bench, bench.recorder), instructions(bench, told)
    table("Tracepoints: time of a sample with its free, ns",
          ("who listens", "time", "more than nobody"), rows,
          ("programs/deep.c, %d B, T = %d, 16 stacks of 30 frames. Instructions of the two together (callgrind, "
           "T = 1): %.0f, and %.0f where it is told." % (SIZE, T, plain, telling),))
    bench.figures["probes instructions"] = {"nobody": plain, "told to nobody": telling}
