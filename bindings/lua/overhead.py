#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the module costs: the table of docs/lua.md. For every program the instructions of the whole process,
counted by callgrind without the module and with it, and the ratio of processor times of runs in pairs, in
alternating order, with its 95 % interval (of the mean of logarithms).

Usage: overhead.py BUILD [--pairs N] [--interval SIZE] [PROGRAM ...]
Needs valgrind, and the packages of tests/scenario/test_lua_programs.py.
"""
import argparse
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests",
                                "scenario"))
import test_lua_programs  # noqa: E402

# The worst there is, and nothing at all.
PROGRAMS = {
    "tables": "local keep = {} for i = 1, 1000000 do keep[i % 1000] = {i, i} end",
    "strings": 'local keep = {} for i = 1, 1000000 do keep[i % 1000] = "item " .. i end',
    "fib": "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end\n"
           "print(fib(27))",
    "nothing": "",
    **test_lua_programs.REAL}
TOTALS = "\nlocal b, o = bytepoll.totals() io.stderr:write('TOTALS ', o, ' ', b, '\\n')"


class Runs:
    def __init__(self, build, folder, interval):
        self.folder = folder
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("BYTEPOLL_")},
            "LUA_CPATH": os.path.join(os.path.abspath(build), "bindings", "lua", "?.so") + ";;",
            "BYTEPOLL_HOST_OUTPUT": os.path.join(folder, "%p.bpt"), "BYTEPOLL_SEED": "1",
            "BYTEPOLL_INTERVAL": interval}

    def run(self, module, script, *before):
        """Standard error; the trace is removed."""
        result = subprocess.run([*before, "lua5.4", *(["-lbytepoll"] if module else []), script],
                                env=self.environment, stdout=subprocess.DEVNULL, check=True,
                                stderr=subprocess.PIPE, text=True, cwd=self.folder)
        for name in os.listdir(self.folder):
            if name.endswith(".bpt"):
                os.unlink(os.path.join(self.folder, name))
        return result.stderr

    def instructions(self, module, script):
        said = self.run(module, script, "valgrind", "--tool=callgrind",
                        "--callgrind-out-file=/dev/null")
        return int(re.search(r"Collected : (\d+)", said).group(1))

    def seconds(self, module, script):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.run(module, script)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def ratio(self, script, pairs):
        """(ratio of processor times, lower and upper limit)"""
        logarithms = []
        for pair in range(pairs):
            times = {}
            for module in (pair % 2 == 0, pair % 2 == 1):
                times[module] = self.seconds(module, script)
            logarithms.append(math.log(times[True] / times[False]))
        mean = statistics.mean(logarithms)
        margin = 1.96 * statistics.stdev(logarithms) / math.sqrt(pairs)
        return math.exp(mean), math.exp(mean - margin), math.exp(mean + margin)


def main():
    parser = argparse.ArgumentParser(description="what the module for Lua costs")
    parser.add_argument("build")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--interval", default="512K")
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    arguments = parser.parse_args()
    print("| program | objects made | instructions | with the module | more | a new object | time |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(arguments.build, folder, arguments.interval)
        for name in arguments.programs or list(PROGRAMS):
            script = os.path.join(folder, "use_%s.lua" % name)
            with open(script, "w", encoding="utf-8") as file:
                file.write(PROGRAMS[name] + TOTALS)
            objects = int(re.search(r"TOTALS (\d+)", runs.run(True, script)).group(1))
            with open(script, "w", encoding="utf-8") as file:
                file.write(PROGRAMS[name])
            plain, more = runs.instructions(False, script), runs.instructions(True, script)
            print("| %s | %s | %.1f M | %.1f M | %+.2f %% | %.0f | %.3f [%.3f, %.3f] |" % (
                name, f"{objects:,}", plain / 1e6, more / 1e6, 100 * (more / plain - 1),
                (more - plain) / objects, *runs.ratio(script, arguments.pairs)), flush=True)


if __name__ == "__main__":
    main()
