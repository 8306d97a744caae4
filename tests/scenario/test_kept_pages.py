#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whose objects keep pages of the heap, against a program that counts it itself: each end of the intervals of what each
site keeps, of what all keep (which the walk of the heap counts) and of what would be free without a site, over runs of
different seeds (BYTEPOLL_LONG_TESTS=1: 300 of them, else 8). At most 2.75 % of the intervals may miss on a side; a run
that is right fails with a probability below 1e-4 for each of the counts. Then: all is exact with -i 1; resident memory
falls within the limits where a site's objects are freed; FILE.pages that is old, damaged or hostile; widths."""
import json
import os
import re
import subprocess
import sys

import profiled
import schemas
from test_residency import most_misses

RUNS = 300 if os.environ.get("BYTEPOLL_LONG_TESTS") == "1" else 8
SITES = ("small", "whole", "strings")
PAGE = 4096
expect = profiled.expect


def run(folder, *options):
    """The trace and the truth by site, (kept, alone, only), of a run that was looked at when the program was ready. (On
    a busy machine the last look may be earlier, or take too long: then the program waits longer.)"""
    trace = os.path.join(folder, "pinned.bpt")
    for wait in ("400", "1000", "3000", "9000"):
        done = subprocess.run([profiled.BYTEPOLL, "run", "-q", "-f", *options, "-o", trace, "--",
                               profiled.program("pinned"), wait], check=True, capture_output=True, timeout=60,
                              env=profiled.environment())
        lines = [line.split() for line in done.stdout.decode().splitlines()]
        truth = {name: tuple(map(int, numbers)) for name, *numbers in lines}
        ready = truth.pop("ready")[0]
        if not os.path.exists(trace + ".pages"):
            continue
        with open(trace + ".pages", encoding="utf-8") as file:
            text = file.read()
        if int(text.split("time_ns=")[1].split()[0]) > ready and "\nheap " in text:
            return trace, truth
    raise AssertionError("no look after the program was ready")


def report(trace, *options, status=0):
    done = subprocess.run([profiled.BYTEPOLL, "report", "--pages", *options, trace], check=False, capture_output=True,
                          timeout=60, env=profiled.environment())
    expect(done.returncode == status, "status %d: %s" % (done.returncode, done.stderr.decode()))
    return done.stdout.decode(), done.stderr.decode()


def said(trace):
    data = json.loads(report(trace, "--json")[0])
    schemas.validate(data, "report-1")
    return data["pages"], {row["name"][len("make_"):]: row for row in data["pages"]["rows"]}


def coverage(folder, interval, runs, samples):
    """`samples`: of the smallest site, expected."""
    misses = {}
    errors = []
    for seed in range(1, runs + 1):
        trace, truth = run(folder, "--in-place", "-i", interval, "--seed", str(seed))
        pages, rows = said(trace)
        expect(pages["samples_elsewhere"] == 0, "samples elsewhere: %s" % pages["samples_elsewhere"])
        known = [("all", pages["all"]["kept"], pages["heap"]["held_bytes"])]
        for site in SITES:
            kept, alone, only = truth[site]
            known += [(site, rows[site]["kept"], kept), (site + " alone", rows[site]["alone"], alone),
                      (site + " free", rows[site]["free_without"], only)]
        for name, limits, true in known:
            # What the C library made for itself, and pages that it shares, is in no sample: some pages in 11,000.
            slack = 16 * PAGE if name == "all" else 2 * PAGE
            misses[name + " low"] = misses.get(name + " low", 0) + (true + slack < limits["low"])
            misses[name + " high"] = misses.get(name + " high", 0) + (true - slack > limits["high"])
        errors.append(rows["small"]["kept"]["estimate"] / truth["small"][0] - 1)
    mean = sum(errors) / runs
    print("# %s, %d runs, misses: %s; mean error of small %.2f %%" % (interval, runs, misses, 100 * mean))
    for name, number in misses.items():
        expect(number <= most_misses(runs), "%s: %d of %d" % (name, number, runs))
    expect(abs(mean) < 5 / (samples * runs) ** .5, "mean error %s" % mean)


def exact(folder):
    trace, truth = run(folder, "--in-place", "-i", "1")
    pages, rows = said(trace)
    for site in SITES:
        for name, true in zip(("kept", "alone"), truth[site]):
            figure = rows[site][name]
            expect(figure["low"] == figure["high"], "%s %s is not exact: %s" % (site, name, figure))
            expect(abs(figure["estimate"] - true) <= 3 * PAGE, "%s %s: %s, in truth %d" % (site, name, figure, true))
        limits = rows[site]["free_without"]
        expect(limits["low"] <= truth[site][2] + 3 * PAGE and truth[site][2] - 3 * PAGE <= limits["high"], str(limits))
    heap, kept = pages["heap"], pages["all"]["kept"]["estimate"]
    expect(abs(kept - heap["held_bytes"]) <= 16 * PAGE, "all keep %s of %s" % (kept, heap))
    expect(abs(pages["all"]["alone"]["estimate"] - heap["alone_bytes"]) <= 16 * PAGE, str(heap))
    expect(heap["live_bytes"] + heap["free_beside_live_bytes"] == heap["held_bytes"], str(heap))


def experiment(folder):
    """Limits from one run, and by how much resident memory falls in another one, which is not profiled. (Caches of
    threads, which keep some freed objects, are off in it.)"""
    trace, _ = run(folder, "--in-place", "-i", "2K", "--seed", "1")
    _, rows = said(trace)
    for site in SITES:
        done = subprocess.run([profiled.program("pinned"), "0", site], check=True, capture_output=True, timeout=60,
                              env=dict(os.environ, GLIBC_TUNABLES="glibc.malloc.tcache_count=0"))
        fell = int(re.search(rb"fell (-?\d+)", done.stdout).group(1))
        limits = rows[site]["free_without"]
        print("# %s: resident memory fell by %d, limits %d to %d" % (site, fell, limits["low"], limits["high"]))
        # The kernel's counter is good to some pages.
        expect(limits["low"] - 64 * PAGE <= fell <= limits["high"] + 64 * PAGE, "%s: %d, %s" % (site, fell, limits))


def damaged_forms(text):
    """Names and texts of files that are not what they seem, and must be ignored."""
    heap = re.search(r"heap (\w+) (\w+) 0\n", text)
    start, end = int(heap.group(1), 16), int(heap.group(2), 16)
    block = re.search(r"\n(\d+ \d+ [-0-9a-f]{8})\n", text).group(1)
    yield "cut", text[:len(text) // 2]
    yield "last line gone", text[:text.rindex("end ")]
    yield "end counts less", re.sub(r"end \d+", "end 3", text)
    yield "version 9", text.replace("pages 2", "pages 9", 1)
    yield "heap in version 1", text.replace("pages 2", "pages 1", 1)
    yield "no whole page", text.replace(heap.group(0), "heap %x %x 0\n" % (start + 8, end), 1)
    yield "reversed", text.replace(heap.group(0), "heap %x %x 0\n" % (end, start), 1)
    yield "huge", text.replace(heap.group(0), "heap %x %x 0\n" % (start, start + (1 << 50)), 1)
    yield "beyond all addresses", text.replace(heap.group(0), "heap ffffffffffff0000 ffffffffffffff00 0\n", 1)
    yield "overlapping", text.replace(heap.group(0), heap.group(0) * 2, 1)
    yield "half of it", text.replace(heap.group(0), "heap %x %x 0\n" % (start, (start + end) // 2 // PAGE * PAGE), 1)
    yield "more blocks than there are", text.replace(block, "4000000000 " + block.split(" ", 1)[1], 1)
    yield "no blocks", text.replace(block, "0 " + block.split(" ", 1)[1], 1)
    yield "more live than a page has", text.replace(block, "1 99999 " + block[-8:], 1)
    yield "negative", text.replace(block, "1 -5 " + block[-8:], 1)
    yield "ff", text.replace(block, block[:-8] + "ffffffff", 1)
    yield "class beyond all", text.replace("kept 1", "kept 9", 1)
    yield "class with too much", re.sub(r"kept (\d+) \d+", r"kept \1 99999999999999999999", text, count=1)
    yield "unknown line", text.replace("end ", "more 1 2\nend ", 1)


def files(folder):
    trace, _ = run(folder, "--in-place", "-i", "64K")
    with open(trace + ".pages", encoding="utf-8") as file:
        text = file.read()
    for name, damaged in damaged_forms(text):
        expect(damaged != text, name + ": nothing was changed")
        with open(trace + ".pages", "w", encoding="utf-8") as file:
            file.write(damaged)
        out, err = report(trace, "--json", status=1)
        expect(out == "" and ".pages is torn or damaged" in err, "%s: %s" % (name, err))
    # Of a time behind the end: the end's, as far as the recording goes.
    time = re.search(r"time_ns=(\d+)", text).group(1)
    with open(trace + ".pages", "w", encoding="utf-8") as file:
        file.write(text.replace(time, str(int(time) + 10 ** 13), 1))
    expect(json.loads(report(trace, "--json")[0])["pages"]["at"] > 0, "a time behind the end")
    # The first version has no heap: --resident reads it as before.
    old = [line for line in text.splitlines() if line.split()[0] in ("looked", "present")]
    with open(trace + ".pages", "w", encoding="utf-8") as file:
        file.write("\n".join(["bytepoll pages 1", text.splitlines()[1], *old, "end %d\n" % len(old)]))
    expect("older bytepoll" in report(trace, status=1)[1], "the first version")
    done = subprocess.run([profiled.BYTEPOLL, "report", "--resident", "--json", trace], check=True, capture_output=True,
                          timeout=60, env=profiled.environment())
    expect("not_resident" in json.loads(done.stdout)["resident"], "the first version is not read")
    os.unlink(trace + ".pages")
    expect("there is no" in report(trace, status=1)[1], "without the file")
    # Not in place. (The other program would count pages from the recorder's memory to the heap.)
    subprocess.run([profiled.BYTEPOLL, "run", "-q", "-f", "-i", "64K", "-o", trace, "--", profiled.program("halves"),
                    "500"], check=True, capture_output=True, timeout=60, env=profiled.environment())
    expect("--in-place" in report(trace, status=1)[1], "samples in slots")


def screens(folder):
    trace, _ = run(folder, "--in-place", "-i", "16K", "--seed", "1")
    for columns in (80, 130):
        for language, ascii_only in (("C", True), ("C.UTF-8", False)):
            done = subprocess.run([profiled.BYTEPOLL, "report", "--pages", trace], check=True, capture_output=True,
                                  timeout=60, env=profiled.environment(extra={
                                      "COLUMNS": str(columns), "LC_ALL": language, "NO_COLOR": "1"}))
            text = done.stdout.decode()
            expect("\x1b" not in text, "an escape sequence")
            expect(not ascii_only or text.isascii(), "not ASCII")
            expect(all(len(line) <= columns for line in text.splitlines()), "a line beyond %d columns" % columns)
            cells = re.findall(r"^  +[0-9a-f]{8,14}  (\S.*)$", text, re.M)
            expect(2 <= len(cells) <= 16 and max(map(len, cells)) > columns / 2, "no picture: %s" % text)
            expect("lie free on pages that hold a live object" in text, text)
    stacks = json.loads(report(trace, "--json", "--by", "stack")[0])["pages"]["rows"]
    expect(stacks[0]["stack"][0]["function"].startswith("make_"), str(stacks[0])[:300])
    expect("make_" in report(trace, "--by", "stack")[0], "names of stacks")


def main():
    tap = profiled.Tap()
    with profiled.directory() as path:
        tap.attempt("coverage", lambda: coverage(path, "4K", RUNS, 70))
        tap.attempt("coverage with few samples", lambda: coverage(path, "24K", RUNS // 2, 12))
        tap.attempt("exact", lambda: exact(path))
        tap.attempt("experiment", lambda: experiment(path))
        tap.attempt("files", lambda: files(path))
        tap.attempt("screens", lambda: screens(path))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
