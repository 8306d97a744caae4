# SPDX-License-Identifier: MIT
"""How well numbers of objects are known in real programs: with nothing assumed, which is the default, and with a
smallest object of 16 bytes stated. Under the default interval."""
import json
import subprocess

from harness import Failed, median, table
from workloads import PROGRAMS

FACTOR = 10  # a figure is known where its limits are no further apart
ROWS = 10


def limits(figure):
    """The upper limit over the lower one; None: there is no lower one."""
    return figure["high"] / figure["low"] if figure["low"] and figure["high"] is not None else None


def cell(bench, trace, metric, options):
    """Of the largest functions whose bytes are known, of how many the objects are; the median of high / low."""
    done = subprocess.run([bench.bytepoll, "report", trace, "--json", "--metric", metric, "--rows", str(ROWS), *options],
                          check=not options, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        if "smaller" not in done.stderr and "--min-size" not in done.stderr:
            raise Failed(done.stderr)
        return "smaller ones are there"
    data = json.loads(done.stdout)
    rows = [row for row in data["rows"] if (limits(row["bytes"]) or FACTOR + 1) <= FACTOR]
    known = [limits(row["objects"]) for row in rows if (limits(row["objects"]) or FACTOR + 1) <= FACTOR]
    return "%d of %d%s" % (len(known), len(rows), ", %.1f" % median(known) if known else "")


def objects_known(bench):
    """One row per program."""
    rows = []
    for program in PROGRAMS:
        if program.available():
            rows.append((program.name, program.available()))
            continue
        program.run(bench, "unprofiled")  # makes its input
        kept = program.run(bench, "recorder", None, keep=True)
        samples = json.loads(subprocess.run([bench.bytepoll, "report", kept.trace, "--json"], check=True,
                                            stdout=subprocess.PIPE).stdout)["samples"]
        rows.append((program.name, "%d" % samples, *(cell(bench, kept.trace, metric, options)
                                                    for metric in ("allocated", "peak")
                                                    for options in ((), ("--min-size", "16")))))
        bench.drop(kept)
    table("Numbers of objects, with nothing assumed and with a smallest object stated",
          ("program", "samples", "allocated: nothing assumed", "16 B", "peak: nothing assumed", "16 B"), rows,
          ("Of the ten largest functions those whose bytes are known to a factor of ten, and how many of them have a number "
           "of objects known to a factor of ten; the median of (high / low) of these.",))
