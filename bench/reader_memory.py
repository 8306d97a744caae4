# SPDX-License-Identifier: MIT
"""What memory and time reading a trace takes, by its number of samples: the program of reader.py is recorded with
about one, three, ten and fifty million samples, and of each trace a report, the page and one frame of `live`
are made. Memory is the largest resident size, time that of the processors, measured once; the slope between two
traces is what a sample takes. (The largest trace takes 1.4 GB on disk, and all of it a quarter of an hour.)
"""
import os
import re

import harness
import reader

OBJECTS, QUICK_OBJECTS = (2840000, 8540000, 28500000, 142500000), (500000, 1500000)
BUDGET_BYTES = 40
COMMANDS = (("report", ["report"]), ("html", ["html", "--force"]), ("live --once", ["live", "--once"]))


def reader_memory(bench):
    """Prints the table."""
    print("### Memory and processor time of reading, by the number of samples\n")
    print("Budget: %d bytes a sample, from the trace of the line above.\n" % BUDGET_BYTES)
    print("| samples | trace, MB |" + "".join(" `%s`, MiB | bytes a sample | s | us a sample |" % name for name, _ in COMMANDS))
    print("|---:|---:|" + "---:|---:|---:|---:|" * len(COMMANDS))
    figures = bench.figures.setdefault("reader-memory", {})
    before = None
    for objects in QUICK_OBJECTS if bench.quick else OBJECTS:
        trace, said = reader.record(bench, objects)
        told = re.search(r"([\d,]+) samples", said)
        if told is None:
            raise harness.Failed("how many samples? " + said)
        samples = int(told.group(1).replace(",", ""))
        cells, now = [], {}
        for name, words in COMMANDS:
            output = ["-o", trace + ".html"] if name == "html" else []
            _, cpu_s, mib = now[name] = reader.measure(bench, [bench.bytepoll, *words, *output, trace])[:3]
            slope = slope_us = None
            if before:
                slope = (mib - before[1][name][2]) * 2 ** 20 / (samples - before[0])
                slope_us = (cpu_s - before[1][name][1]) * 1e6 / (samples - before[0])
            figures["%s, %d" % (name, samples)] = {"peak_mib": mib, "bytes_a_sample": slope, "cpu_s": cpu_s,
                                                   "us_a_sample": slope_us}
            cells.append(" %.0f | %s | %.2f | %s |" % (mib, "%.0f" % slope if before else "", cpu_s,
                                                       "%.2f" % slope_us if before else ""))
        print("| %d | %.0f |" % (samples, os.path.getsize(trace) / 1e6) + "".join(cells))
        before = (samples, now)
        os.unlink(trace)
