#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What profiling a Python program costs with bytepoll, and with memray and tracemalloc beside it, and whether they name
the same lines: six scripts of some ten seconds.

    python_peers.py BUILD PYTHON [ROUNDS [SCRIPT ...]]

PYTHON has numpy, pandas and memray (a virtual environment, for instance). ROUNDS (3) is for bytepoll, each beside a run
that is not profiled, in turns; the others, which cost tens of percent at least, run once. Prints Markdown tables. All
six scripts take half an hour.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SCRIPTS = ("trees", "documents", "texts", "tasks", "arrays", "frames")
FOLDER = pathlib.Path(__file__).resolve().parent / "programs" / "python"
TOP = 5
LEAST = 0.01  # of all bytes: lines below it are told apart by chance
TRACEMALLOC = "import runpy, sys, tracemalloc; tracemalloc.start(1); runpy.run_path(sys.argv[1], run_name='__main__')"


class Run:
    """One process: what it took."""

    def __init__(self, words, extra=None):
        began = time.monotonic()
        pid = os.posix_spawn(words[0], words, {**os.environ, "PYTHONHASHSEED": "0", **(extra or {})},
                             file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
        _, status, used = os.wait4(pid, 0)
        if status != 0:
            sys.exit("%s: status %d" % (words, status))
        self.wall_s, self.cpu_s = time.monotonic() - began, used.ru_utime + used.ru_stime
        self.mib = used.ru_maxrss / 1024


class Script:
    """The runs of one script."""

    def __init__(self, build, python, name, folder):
        self.python, self.path, self.folder = python, str(FOLDER / (name + ".py")), folder
        self.bytepoll = os.path.join(build, "bytepoll")
        self.recorder = os.path.join(build, "libbytepoll-recorder.so")
        self.trace = os.path.join(folder, "trace.bpt")

    def plain(self):
        return Run([self.python, self.path])

    def profiled(self):
        if os.path.exists(self.trace):
            os.unlink(self.trace)
        return Run([self.python, self.path], {"LD_PRELOAD": self.recorder, "BYTEPOLL_OUTPUT": self.trace,
                                              "BYTEPOLL_SEED": "1"})

    def memray(self, *options):
        output = os.path.join(self.folder, "memray.bin")
        run = Run([self.python, "-m", "memray", "run", "-q", "-f", "-o", output, *options, self.path])
        return run, output

    def traced(self):
        return Run([self.python, "-c", TRACEMALLOC, self.path])

    def lines(self):
        """The lines that allocated most, by bytepoll."""
        data = json.loads(subprocess.run([self.bytepoll, "report", "--json", "--by", "line", "--metric", "allocated",
                                          self.trace], check=True, stdout=subprocess.PIPE).stdout)
        least = LEAST * data["totals"]["allocated"]["bytes"]["estimate"]
        return [place(row["name"]) for row in data["rows"]
                if ".py:" in row["name"] and (row["bytes"]["estimate"] or 0) >= least][:TOP]

    def memray_lines(self, output):
        """The same by memray."""
        report = output + ".json"
        subprocess.run([self.python, "-m", "memray", "stats", "--json", "-f", "-n", "50", "-o", report, output],
                       check=True, stdout=subprocess.DEVNULL)
        stats = json.loads(pathlib.Path(report).read_text(encoding="utf-8"))
        least = LEAST * stats["total_bytes_allocated"]
        return [place(":".join(entry["location"].rsplit(":", 2)[-2:])) for entry in stats["top_allocations_by_size"]
                if ".py:" in entry["location"] and entry["size"] >= least][:TOP]


def place(text):
    """FILE.py:LINE, without folders."""
    return os.path.basename(text.strip())


def ratio(run, base):
    return "%.2f" % (run / base)


def row_of(script, rounds):
    plain, ours = [], []
    for _ in range(rounds):
        plain.append(script.plain())
        ours.append(script.profiled())
    bytes_ours = os.stat(script.trace).st_blocks * 512
    base = statistics.median(run.cpu_s for run in plain)
    wall, mib = statistics.median(run.wall_s for run in plain), statistics.median(run.mib for run in plain)
    ratios = sorted(mine.cpu_s / other.cpu_s for mine, other in zip(ours, plain))
    best = min(run.cpu_s for run in ours) / min(run.cpu_s for run in plain)
    small, _ = script.memray()
    large, bin_large = script.memray("--trace-python-allocators")
    bytes_large = os.path.getsize(bin_large)
    theirs = script.memray_lines(bin_large)
    native, _ = script.memray("--trace-python-allocators", "--native")
    traced = script.traced()
    mine = script.lines()
    cost = ("%.1f" % base, "%.3f [%.3f, %.3f]" % (statistics.median(ratios), ratios[0], ratios[-1]), "%.3f" % best,
            ratio(small.cpu_s, base), ratio(large.cpu_s, base), ratio(native.cpu_s, base), ratio(traced.cpu_s, base))
    size = ("%.0f" % mib, "+%.0f" % (statistics.median(run.mib for run in ours) - mib), "+%.0f" % (large.mib - mib),
            "+%.0f" % (traced.mib - mib), ratio(statistics.median(run.wall_s for run in ours), wall),
            ratio(large.wall_s, wall), "%.1f" % (bytes_ours / 2**20), "%.1f" % (bytes_large / 2**20))
    same = ("%d of %d" % (len(set(mine) & set(theirs)), len(theirs)), ", ".join(mine), ", ".join(theirs))
    return cost, size, same


def table(title, columns, rows):
    print("\n### %s\n\n| %s |\n|%s" % (title, " | ".join(columns), "---|" * len(columns)))
    for row in rows:
        print("| %s |" % " | ".join(row))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build, python = os.path.abspath(sys.argv[1]), sys.argv[2]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    costs, sizes, sames = [], [], []
    for name in sys.argv[4:] or SCRIPTS:
        with tempfile.TemporaryDirectory() as folder:
            cost, size, same = row_of(Script(build, python, name, folder), rounds)
        costs.append((name, *cost))
        sizes.append((name, *size))
        sames.append((name, *same))
        print("%s: done" % name, file=sys.stderr)
    table("CPU time of Python programs, as a multiple of that without a profiler",
          ("script", "CPU, s", "bytepoll", "best by best", "memray", "memray, Python's objects too", "and native frames",
           "tracemalloc"), costs)
    table("Memory, wall time and file", ("script", "memory, MiB", "bytepoll", "memray", "tracemalloc", "wall, bytepoll",
                                         "wall, memray", "trace, MiB", "memray's file, MiB"), sizes)
    table("The lines that allocated most", ("script", "the same of %d" % TOP, "bytepoll", "memray"), sames)


if __name__ == "__main__":
    main()
