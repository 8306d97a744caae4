# SPDX-License-Identifier: MIT
"""Every object, beside heaptrack: sqlite3 builds a database (programs/build.sql), once alone, once under
heaptrack, once under bytepoll at T = 1, which records every object too; then each tool makes its report.
Processor seconds of everything that is started, helpers and packers included; memory is the largest
resident size of any one process. The rounds are interleaved, and the least of each figure is shown.

T = 1 is not what bytepoll is for: at its default interval it records one sample for each 512 KiB.
"""
import os
import shutil

import harness
import reader
import workloads

ROWS, QUICK_ROWS = 300000, 20000
FIGURES = (("sqlite3 alone", None), ("recording: heaptrack", "of sqlite3 and heaptrack together"),
           ("recording: bytepoll run -i 1", None), ("recording: bytepoll run", "T = 512 KiB"),
           ("report: heaptrack_print", None), ("report: bytepoll report", "T = 1"),
           ("report: bytepoll report, 512 KiB", None))


def folder_bytes(folder, skip=()):
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if name not in skip)


def round_of(bench, script):
    """{figure: (seconds, processor seconds, MiB, bytes on disk or None)}."""
    program = ["sqlite3", ":memory:", ".read " + script]
    other, exact, sampled = bench.fresh(), bench.fresh(), bench.fresh()
    traces = [os.path.join(folder, "sqlite.bpt") for folder in (exact, sampled)]
    run = [bench.bytepoll, "run", "--quiet", "--no-resident", "--seed", "1"]
    result = {"sqlite3 alone": reader.measure(bench, program) + (None,),
              "recording: heaptrack": reader.measure(
                  bench, ["heaptrack", "-o", os.path.join(other, "sqlite"), *program])}
    recorded = [os.path.join(other, name) for name in os.listdir(other)]
    if len(recorded) != 1:
        raise harness.Failed("heaptrack left %s" % recorded)
    result["recording: heaptrack"] += (folder_bytes(other),)
    result["report: heaptrack_print"] = reader.measure(bench, ["heaptrack_print", recorded[0]]) + (None,)
    for trace, options, record, report in (
            (traces[0], ["--interval", "1"], "recording: bytepoll run -i 1", "report: bytepoll report"),
            (traces[1], [], "recording: bytepoll run", "report: bytepoll report, 512 KiB")):
        result[record] = reader.measure(bench, [*run, *options, "-o", trace, "--", *program])
        result[record] += (folder_bytes(os.path.dirname(trace)),)
        result[report] = reader.measure(bench, [bench.bytepoll, "report", trace]) + (None,)
    for folder in (other, exact, sampled):
        shutil.rmtree(folder)
    return result


def every_object(bench):
    """Prints the table."""
    for name in ("heaptrack", "heaptrack_print", "sqlite3"):
        if shutil.which(name) is None:
            print("\n%s is not installed: not compared." % name)
            return
    script = os.path.join(bench.fresh(), "build.sql")
    with open(os.path.join(workloads.SOURCES, "build.sql"), encoding="ascii") as source:
        rows = QUICK_ROWS if bench.quick else ROWS
        text = source.read().replace("ROWS", str(rows))
    with open(script, "w", encoding="ascii") as file:
        file.write(text)
    rounds = [round_of(bench, script) for _ in range(2 if bench.quick else 3)]
    print("### Every object of a program, beside heaptrack\n\nsqlite3 builds a database of %d rows.\n" % rows)
    print("| | seconds | processor seconds | MiB | on disk, MB |\n|---|---:|---:|---:|---:|")
    figures = bench.figures.setdefault("every-object", {})
    for name, remark in FIGURES:
        seconds, processor, mib = (min(one[name][i] for one in rounds) for i in range(3))
        size = rounds[0][name][3]
        figures[name] = {"seconds": seconds, "processor_seconds": processor, "peak_mib": mib, "bytes": size}
        print("| %s%s | %.2f | %.2f | %.0f | %s |" % (
            name, " (%s)" % remark if remark else "", seconds, processor, mib,
            "" if size is None else "%.2f" % (size / 1e6)))
