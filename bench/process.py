# SPDX-License-Identifier: MIT
"""What a process costs by itself: start, end, fork; and what a thread does."""
import os
import re
import shutil
import subprocess
import time

from harness import ASLEEP, DEFAULT, VARIANTS, median, table, with_interval


def starts(bench, variant, count=40):
    """Mean CPU seconds of /bin/true in this variant."""
    total = 0.0
    for _ in range(count // (4 if bench.quick else 1)):
        total += bench.run(["/bin/true"], variant).cpu_s
    return total / (count // (4 if bench.quick else 1))


def run_wall(bench, profiled):
    """Wall seconds of `/bin/true`, alone or under `bytepoll run`."""
    words = ["/bin/true"]
    if profiled:
        words = [bench.bytepoll, "run", "--quiet", "-o", bench.fresh() + "/trace.bpt", "--", *words]
    start = time.monotonic()
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def process(bench):
    """Start-up of /bin/true, and fork."""
    values = bench.rounds_of(VARIANTS, lambda variant: 1e6 * starts(bench, variant))
    base = values["unprofiled"]
    rows = [("CPU of /bin/true, µs", "%.0f" % median(base))]
    for variant in VARIANTS[1:]:
        rows[0] += (with_interval([a - b for a, b in zip(values[variant], base)], "%+.0f"),)
    bench.figures["start_us"] = values

    forks = 50 if bench.quick else 200
    for name, text in (("cpu_ns", "CPU of a fork with its child, µs"),
                       ("wall_ns", "time of a fork, its child and the wait, µs")):
        values = bench.rounds_of(VARIANTS, lambda variant, n=name: bench.run(
            [bench.program("forks"), str(forks)], variant).figures()[n] / 1e3)
        base = values["unprofiled"]
        rows.append((text, "%.0f" % median(base)) + tuple(
            with_interval([a - b for a, b in zip(values[variant], base)], "%+.0f")
            for variant in VARIANTS[1:]))
        bench.figures["fork " + name] = values

    alone = [1e3 * run_wall(bench, False) for _ in range(bench.rounds)]
    under = [1e3 * run_wall(bench, True) for _ in range(bench.rounds)]
    rows.append(("time of /bin/true under `bytepoll run`, ms", "%.2f" % median(alone), "",
                 with_interval([a - b for a, b in zip(under, alone)], "%+.2f")))
    table("Start and fork", ("what", "unprofiled", "pass-through adds", "recorder adds"), rows,
          ("No budget is set. Each forked child opens its own trace.",))
    births(bench)


# ---- what can be counted, whatever else the machine does ----


def calls(bench, words, variant):
    """System calls of a program and all its threads and children, by strace."""
    folder = bench.fresh()
    log = os.path.join(folder, "log")
    variables = bench.variables(variant, ASLEEP, os.path.join(folder, "trace.bpt"))
    given = [item for pair in variables.items() for item in ("-E", "%s=%s" % pair)]
    subprocess.run(["strace", "-f", "-qq", "-o", log, *given, *words], check=True, stdout=subprocess.DEVNULL)
    with open(log, encoding="utf-8", errors="replace") as file:
        return len(re.findall(r"^\d+ +\w+\(", file.read(), re.M))


def slope(count, few):
    """Per birth: count(words of so many births)."""
    return (count(2 * few) - count(few)) / few


def births(bench):
    """A child of fork, and a thread, which allocate next to nothing: calls, page faults, instructions."""
    rows = []
    forks, requests = bench.program("forks"), bench.program("requests")
    counted = {}
    for variant in ("unprofiled", "recorder"):
        counted[variant] = {
            "faults": median([bench.run([forks, "200"], variant, ASLEEP).figures()["faults"] for _ in range(3)]),
            "instructions": slope(lambda count, v=variant: bench.instructions([requests, str(count)], v, DEFAULT), 300)
            if shutil.which("valgrind") else None}
        for name, program in (("child calls", forks), ("thread calls", requests)):
            counted[variant][name] = slope(lambda count, v=variant, p=program: calls(
                bench, [p, str(count)], v), 20) if shutil.which("strace") else None
    for what, figures in (("a child of fork", ("child calls", "faults", None)),
                          ("a thread", ("thread calls", None, "instructions"))):
        row = [what]
        for name in figures:
            plain, ours = ((counted[variant][name] if name else None) for variant in ("unprofiled", "recorder"))
            row += ["", ""] if plain is None else ["%.1f" % plain, "%+.1f" % (ours - plain)]
        rows.append(row)
    bench.figures["births"] = counted
    table("What a child and a thread add, with their parent's part", (
        "what", "system calls", "recorder adds", "page faults", "recorder adds", "instructions", "recorder adds"), rows,
          ("By strace, getrusage and callgrind (threads; T = 512 KiB): the same on any machine but for some faults. "
           "No child and few threads are sampled.",))
