# SPDX-License-Identifier: MIT
"""What reading the trace of a program with very many threads takes: a server with a thread for each request
(programs/requests.c) is recorded at T = 256 bytes, so that there are records of a thread's begin and end
around every three samples; then one report and one frame of `live` are made of it. Figures are the least of
the rounds: seconds, processor seconds (and of those for a million samples: that they do not grow with the
number of threads is what is asked), voluntary context switches, memory.
"""
import os
import re
import subprocess

import harness
import reader

THREADS, QUICK_THREADS = (100000, 300000, 1000000), (20000, 60000)
INTERVAL = 256
BUDGET_S = 1.0  # of processor time for a million samples, of a report
COMMANDS = (("report", ["report"]), ("live --once", ["live", "--once"]))


def record(bench, threads):
    """Records the program; returns the path of the trace and the number of its samples."""
    trace = os.path.join(bench.fresh(), "requests.bpt")
    words = [bench.bytepoll, "run", "--interval", str(INTERVAL), "--seed", "1", "-o", trace, "--",
             bench.program("requests"), str(threads)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    said = re.search(r"([\d,]+) samples", done.stderr)
    if done.returncode != 0 or said is None:
        raise harness.Failed("could not run " + " ".join(words) + ": " + done.stderr)
    return trace, int(said.group(1).replace(",", ""))


def threads_reading(bench):
    """Prints the table."""
    print("### Reading the trace of very many threads\n")
    print("Budget, for a million samples: %.0f s of processor time.\n" % BUDGET_S)
    print("| threads | samples | MB | command | seconds | processor seconds | for 10^6 samples | switches | MiB |")
    print("|---:|---:|---:|---|---:|---:|---:|---:|---:|")
    figures = bench.figures.setdefault("threads-reading", {})
    for threads in QUICK_THREADS if bench.quick else THREADS:
        trace, samples = record(bench, threads)
        for name, words in COMMANDS:
            rounds = [reader.measure_all(bench, [bench.bytepoll, *words, trace])
                      for _ in range(2 if bench.quick else 5)]
            seconds, processor, mib, switches = (min(column) for column in zip(*rounds))
            figures["%s, %d" % (name, threads)] = {
                "threads": threads, "samples": samples, "seconds": seconds, "processor_seconds": processor,
                "peak_mib": mib, "switches": switches}
            print("| %d | %d | %.0f | `%s` | %.2f | %.2f | %.2f | %d | %.0f |"
                  % (threads, samples, os.path.getsize(trace) / 1e6, name, seconds, processor,
                     processor * 1e6 / samples, switches, mib))
        os.unlink(trace)
