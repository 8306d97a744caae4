# SPDX-License-Identifier: MIT
"""Three real programs: instructions, CPU time and resident memory added at the default interval."""
import os
import shutil
import subprocess

from harness import (ASLEEP, DEFAULT, PROGRAMS as SOURCES, median, ratios, table,
                     verdict, verdict_of, with_interval)


class Program:
    """A program with a long input, whose time is taken, and a short one, for valgrind."""

    def __init__(self, name, needs, command, stdin=None, extra=None):
        self.name = name
        self.needs = needs
        self.command = command  # (bench, short) -> words
        self.stdin = stdin      # (short) -> text
        self.extra = extra

    def available(self):
        """None, or what is missing."""
        for name in self.needs:
            if not shutil.which(name):
                return name + " is not installed"
        return None

    def run(self, bench, variant, interval=DEFAULT, short=False, keep=False):
        """One run."""
        stdin = self.stdin(short) if self.stdin else None
        return bench.run(self.command(bench, short), variant, interval, stdin, self.extra, keep=keep)

    def count(self, bench, variant, interval):
        """Instructions of the short input."""
        stdin = self.stdin(True) if self.stdin else None
        return bench.instructions(self.command(bench, True), variant, interval, stdin, self.extra,
                                  tool="cachegrind")


def sql(short):
    """The script, with its number of rows."""
    with open(os.path.join(SOURCES, "build.sql"), encoding="ascii") as file:
        return file.read().replace("ROWS", "20000" if short else "100000")


def compiler(bench, _short):
    """The C++ compiler proper on a preprocessed file (made once)."""
    path = os.path.join(bench.programs, "templates.ii")
    if not os.path.exists(path):
        subprocess.run(["g++", "-E", os.path.join(SOURCES, "templates.cc"), "-o", path], check=True)
    proper = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.strip()
    return [proper, "-fpreprocessed", "-quiet", path, "-o", "/dev/null"]


PROGRAMS = (
    Program("sqlite3", ["sqlite3"], lambda bench, short: ["sqlite3", ":memory:"], sql),
    Program("python3", ["/usr/bin/python3"],
            lambda bench, short: ["/usr/bin/python3", "-S", os.path.join(SOURCES, "objects.py"),
                                  "15000" if short else "100000"],
            extra={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}),
    Program("cc1plus", ["g++"], compiler),
)


def instructions(bench):
    """Instructions added, by cachegrind's count of the whole process."""
    rows, added = [], []
    for program in PROGRAMS:
        if program.available() or (bench.quick and program.name == "cc1plus"):
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


def cpu(bench):
    """CPU time and peak resident memory, paired."""
    rows, middles = [], []
    rounds = bench.rounds if bench.quick else max(bench.rounds, 31)
    for program in PROGRAMS:
        if program.available():
            rows.append((program.name, program.available()))
            continue
        runs = bench.rounds_of(("unprofiled", "recorder"),
                               lambda variant, p=program: p.run(bench, variant, short=bench.quick),
                               rounds)
        seconds = {variant: [run.cpu_s for run in all_] for variant, all_ in runs.items()}
        peaks = {variant: median([run.peak_kib for run in all_]) for variant, all_ in runs.items()}
        ratio = ratios(seconds, "recorder")
        middles.append(median(ratio))
        extra_kib = peaks["recorder"] - peaks["unprofiled"]
        bound_kib = 4096 + peaks["unprofiled"] / 100
        rows.append((program.name, "%.2f" % median(seconds["unprofiled"]), with_interval(ratio),
                     verdict_of(ratio, 1.03), "%.1f" % (peaks["unprofiled"] / 1024),
                     "%+.2f" % (extra_kib / 1024), "%.2f" % (bound_kib / 1024),
                     verdict(extra_kib, bound_kib)))
        bench.figures["cpu " + program.name] = {"seconds": seconds, "peak_kib": peaks}
    notes = ["%d interleaved rounds on one processor; ratio of user + system time within a round, its "
             "median and the median's interval." % rounds]
    if middles:
        notes.append("Median of these %d: %.3f (budget <= 1.01: %s)."
                     % (len(middles), median(middles), verdict(median(middles), 1.01)))
    table("CPU time and memory of real programs, T = 512 KiB",
          ("program", "CPU unprofiled, s", "recorder / unprofiled", "<= 1.03",
           "peak unprofiled, MiB", "added, MiB", "bound 4 MiB + 1 %", "verdict"), rows, notes)
