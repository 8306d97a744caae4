# SPDX-License-Identifier: MIT
"""What every measurement of `make bench` needs: building the little programs, running a command in
one of its variants, counting instructions, comparing series.

A variant is how the same command is run:
  unprofiled    nothing preloaded
  again         the same: what a comparison shows that has nothing to show
  pass-through  a preload that only jumps to the real functions (programs/pass_through.c)
  recorder      the recorder preloaded, with its trace in a scratch directory; an interval of None: the fine start

Times are CPU times on one processor, in rounds: each round runs every variant once, in an order that
rotates, and a ratio is taken within its round. A figure is the median of its rounds; its interval is
that of the median by order statistics (no assumption on the noise), 95 % or a little more.

The variants of a round run one after the other, or, where a run takes longer than the machine's moods
last, side by side: all at once on the one processor, which the scheduler deals out in slices of some
milliseconds, so that whatever slows the machine slows all of them.
"""
import concurrent.futures
import itertools
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
ASLEEP = 10 ** 12  # T so large that nothing is sampled: the hot path alone
DEFAULT = 512 << 10
VARIANTS = ("unprofiled", "pass-through", "recorder")
FLAGS = ["-O2", "-g", "-fno-builtin", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-pthread"]


class Failed(Exception):
    """A measurement could not be made; the text says why."""


class Result:
    """One run: what it printed, what it took, where its trace is (None: not profiled)."""

    def __init__(self, text, report, trace):
        self.text = text
        self.cpu_s = report["cpu_s"]
        self.wall_s = report["wall_s"]
        self.peak_kib = report["peak_kib"]
        self.trace = trace

    def figures(self):
        """The JSON line that the little programs print."""
        return json.loads(self.text)


class Bench:
    """The build directory, the built programs, a scratch directory, and how long to measure."""

    def __init__(self, build, quick, rounds):
        self.build = os.path.abspath(build)
        self.quick = quick
        self.rounds = rounds
        self.programs = os.path.join(self.build, "bench")
        self.recorder = os.path.join(self.build, "libbytepoll-recorder.so")
        self.bytepoll = os.path.join(self.build, "bytepoll")
        self.scratch = tempfile.mkdtemp(prefix="bytepoll-bench.")
        self.cpu = max(os.sched_getaffinity(0))
        self.figures = {}
        self.seed = 1  # of the recorder
        self.numbers = itertools.count(1)
        if not os.path.exists(self.recorder):
            raise Failed("no " + self.recorder + ": build first")

    def close(self):
        """Removes the scratch directory."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    def compile(self):
        """Builds the little programs, with the system's compiler and always the same flags."""
        os.makedirs(self.programs, exist_ok=True)
        for name in ("micro", "deep", "forks", "launch", "churn", "requests", "stacks", "attached", "allocating"):
            self._cc(["gcc"], [name + ".c"], name)
        self._cc(["gcc", "-fPIC", "-shared"], ["pass_through.c"], "pass_through.so")
        if shutil.which("g++"):
            self._cc(["g++"], ["operators.cc"], "operators")

    def _cc(self, compiler, sources, output):
        sources = [os.path.join(PROGRAMS, name) for name in sources]
        subprocess.run([*compiler, *FLAGS, *sources, "-o", os.path.join(self.programs, output)],
                       check=True)

    def program(self, name):
        """Path of a built program."""
        return os.path.join(self.programs, name)

    def fresh(self):
        """A new empty directory for one run's files."""
        path = os.path.join(self.scratch, str(next(self.numbers)))
        os.mkdir(path)
        return path

    def variables(self, variant, interval, trace):
        """The environment a variant adds."""
        if variant in ("unprofiled", "again"):
            return {}
        if variant == "pass-through":
            return {"LD_PRELOAD": self.program("pass_through.so")}
        return {"LD_PRELOAD": self.recorder, "BYTEPOLL_OUTPUT": trace, "BYTEPOLL_SEED": str(self.seed),
                **({} if interval is None else {"BYTEPOLL_INTERVAL": str(interval)})}

    def run(self, command, variant, interval=DEFAULT, stdin=None, extra=None, pinned=True,
            keep=False, status=0):
        """Runs `command` in `variant`; its files are removed unless `keep`. `status`: what it is to
        exit with."""
        directory = self.fresh()
        report = os.path.join(directory, "report")
        trace = os.path.join(directory, "trace.bpt")
        variables = {**self.variables(variant, interval, trace), **(extra or {})}
        words = [self.program("launch"), str(self.cpu if pinned else -1), report]
        words += ["%s=%s" % pair for pair in variables.items()] + command
        done = subprocess.run(words, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, text=True)
        if done.returncode != 0 or not os.path.exists(report):
            raise Failed("could not run " + " ".join(words))
        with open(report, encoding="ascii") as file:
            figures = json.load(file)
        if figures["status"] != status << 8:
            raise Failed("%s failed (%s): wait status %d" % (command[0], variant, figures["status"]))
        if not keep:
            shutil.rmtree(directory)
        return Result(done.stdout, figures, trace if keep and variant == "recorder" else None)

    def drop(self, result):
        """Removes what a kept run left."""
        shutil.rmtree(os.path.dirname(result.trace))

    def rounds_of(self, variants, measure, rounds=None):
        """{variant: [a value per round]}, interleaved in rotating order. measure(variant) -> value."""
        values = {variant: [] for variant in variants}
        for turn in range(rounds or self.rounds):
            first = turn % len(variants)
            for variant in variants[first:] + variants[:first]:
                values[variant].append(measure(variant))
        return values

    def side_by_side(self, variants, measure, rounds):
        """The same with the variants of a round at once on the one processor. measure runs in threads."""
        values = {variant: [] for variant in variants}
        with concurrent.futures.ThreadPoolExecutor(len(variants)) as threads:
            for turn in range(rounds):
                first = turn % len(variants)
                running = {variant: threads.submit(measure, variant)
                           for variant in variants[first:] + variants[:first]}
                for variant in variants:
                    values[variant].append(running[variant].result())
        return values

    def instructions(self, command, variant, interval=ASLEEP, stdin=None, extra=None, tool="callgrind",
                     output=None, status=0):
        """Instructions of the whole process, by valgrind. `output`: keep callgrind's profile there;
        `status`: what it is to exit with."""
        if not shutil.which("valgrind"):
            raise Failed("valgrind is not installed")
        directory = self.fresh()
        trace = os.path.join(directory, "trace.bpt")
        options = {"callgrind": ["--callgrind-out-file=" + (output or "/dev/null")],
                   "cachegrind": ["--cache-sim=no", "--cachegrind-out-file=/dev/null"]}[tool]
        # The variables are set by env below valgrind, so that the launcher itself is not profiled.
        variables = {**self.variables(variant, interval, trace), **(extra or {})}
        environment = {**os.environ, **variables}
        log = os.path.join(directory, "log")
        words = ["valgrind", "--tool=" + tool, "--log-file=" + log, *options, *command]
        done = subprocess.run(words, input=stdin, stdout=subprocess.DEVNULL, text=True,
                              env=environment, check=False)
        count = None
        with open(log, encoding="utf-8", errors="replace") as file:
            for line in file:
                for mark in ("Collected :", "I   refs:"):
                    if mark in line:
                        count = int(line.split(mark)[1].replace(",", "").split()[0])
        shutil.rmtree(directory)
        if count is None or done.returncode != status:
            raise Failed("valgrind failed: " + " ".join(words))
        return count


def median(values):
    """The middle value."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def interval_of_median(values):
    """(low, high) by order statistics, coverage at least 95 %; None below 6 values."""
    ordered = sorted(values)
    count = len(ordered)
    if count < 6:
        return None
    tail, skip = 0.0, -1
    while tail + math.comb(count, skip + 1) / 2 ** count <= 0.025:
        skip += 1
        tail += math.comb(count, skip) / 2 ** count
    return ordered[skip], ordered[count - 1 - skip]


def ratios(values, variant, base="unprofiled"):
    """The ratio of each round."""
    return [a / b for a, b in zip(values[variant], values[base])]


def with_interval(values, form="%.3f"):
    """'1.043 [1.039, 1.048]'"""
    text = form % median(values)
    ends = interval_of_median(values)
    return text if ends is None else text + " [" + form % ends[0] + ", " + form % ends[1] + "]"


def verdict(value, budget, ends=None):
    """Against an upper budget: met, MISS, or met/missed only by the middle of an interval."""
    if budget is None:
        return ""
    if ends is None or (ends[0] <= budget) == (ends[1] <= budget):
        return "met" if value <= budget else "MISS"
    return "met, interval reaches over" if value <= budget else "missed, interval reaches under"


def verdict_of(values, budget):
    """The same for a series of rounds."""
    return verdict(median(values), budget, interval_of_median(values))


def table(title, head, rows, notes=()):
    """Prints a Markdown table."""
    print("\n### %s\n" % title)
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    for note in filter(None, notes):
        print("\n" + note)
    sys.stdout.flush()


def machine():
    """One line on where and when."""
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    libc = "-".join(platform.libc_ver())
    return "%s, %s, %d processors, Linux %s, %s, load %.1f" % (
        time.strftime("%Y-%m-%d"), model, os.cpu_count(), platform.release(), libc,
        os.getloadavg()[0])
