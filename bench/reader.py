# SPDX-License-Identifier: MIT
"""What reading a large trace takes: a program that allocates 27 million objects and frees nearly all of
them, on three threads, is recorded at T = 128 bytes, which makes about ten million samples and as many
frees; then reports are made of it. Seconds are from start to end, the least of the rounds, beside the
seconds of processor time; memory is the largest resident size.

The budget is for the first table of a trace of ten million samples, on two processors.
"""
import os
import subprocess
import time

import harness

OBJECTS, QUICK_OBJECTS = 27200000, 1000000
THREADS = 3
INTERVAL = 128
BUDGET_S, BUDGET_MIB = 2.0, 300
REPORTS = (("report", []), ("report --by stack", ["--by", "stack"]), ("report --json", ["--json"]),
           ("report --metric allocated", ["--metric", "allocated"]), ("report --metric peak", ["--metric", "peak"]))


def record(bench, objects):
    """Records the program; returns the path of the trace and what was said of it."""
    trace = os.path.join(bench.fresh(), "churn.bpt")
    words = [bench.bytepoll, "run", "--interval", str(INTERVAL), "--seed", "1", "-o", trace, "--",
             bench.program("churn"), str(objects), str(THREADS)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    if done.returncode != 0:
        raise harness.Failed("could not run " + " ".join(words) + ": " + done.stderr)
    return trace, done.stderr.split("\n", maxsplit=1)[0]


def measure(bench, words):
    """(seconds, seconds of processor time, MiB) of one command."""
    return measure_all(bench, words)[:3]


def measure_all(bench, words):
    """The same, and voluntary context switches."""
    log = os.path.join(bench.fresh(), "output")
    with open(log, "w", encoding="utf-8") as output:
        start = time.monotonic()
        with subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    if status != 0:
        raise harness.Failed(" ".join(words) + " failed")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, usage.ru_nvcsw


def reader(bench):
    """Prints the table."""
    trace, said = record(bench, QUICK_OBJECTS if bench.quick else OBJECTS)
    print("### Reading a large trace\n\n%s\n" % said.replace(trace, "a trace"))
    print("Budget, for the table of ten million samples on two processors: %.0f s, %d MiB.\n"
          % (BUDGET_S, BUDGET_MIB))
    print("| command | seconds | processor seconds | MiB |\n|---|---:|---:|---:|")
    figures = bench.figures.setdefault("reader", {})
    for name, options in REPORTS:
        rounds = [measure(bench, [bench.bytepoll, "report", *options, trace])
                  for _ in range(2 if bench.quick else 3)]
        seconds, processor, mib = (min(column) for column in zip(*rounds))
        figures[name] = {"seconds": seconds, "processor_seconds": processor, "peak_mib": mib}
        print("| `%s` | %.2f | %.2f | %.0f |" % (name, seconds, processor, mib))
    for name, words in (("html", ["html", "--force", "-o", trace + ".html", trace]),
                        ("export --to pprof", ["export", "--force", "--to", "pprof", "-o",
                                               trace + ".pb.gz", trace])):
        seconds, processor, mib = measure(bench, [bench.bytepoll, *words])
        bytes_ = os.path.getsize(words[words.index("-o") + 1])
        figures[name] = {"seconds": seconds, "processor_seconds": processor, "peak_mib": mib, "bytes": bytes_}
        print("| `%s`, %.1f MB | %.2f | %.2f | %.0f |" % (name, bytes_ / 1e6, seconds, processor, mib))
    os.unlink(trace)
