# SPDX-License-Identifier: MIT
"""What a process costs by itself: start, end, fork."""
import subprocess
import time

from harness import VARIANTS, median, table, with_interval


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
