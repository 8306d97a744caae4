#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The disk is full for a time: sampling goes on when there is room again, and the time between is told.

programs/watched.c does as it is told beside a file that takes what is left of a small file system. At T = 64
each of its objects is recorded with certainty, so that figures must be the truth itself, not near it; at a
larger T the truth must lie in intervals of confidence 0.99999. In the outage the program frees what was
sampled, begins threads and ends them, forks, and is killed. Needs root, for a mount namespace.
"""
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time

import profiled
from watched import Watched

KIB = 1024
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000
LIMIT_S = 20
FIRST, DURING, LAST = 2000, 1500, 4000  # objects of 1000 bytes: before, in and after the outage
ENOUGH = 3000  # objects that fill what is present of a chunk, and more than 2^20 trials


class SmallDisk:
    """A file system of its own, and the file that takes what is left of it."""

    def __init__(self, path, kilobytes):
        self.path = os.path.join(path, "small")
        self.fill_path = os.path.join(self.path, "fill")
        os.mkdir(self.path)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % kilobytes, "tmpfs", self.path], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=True)

    def fill(self):
        with open(self.fill_path, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                return

    def empty(self):
        os.unlink(self.fill_path)


def command(*arguments):
    return subprocess.run([profiled.BYTEPOLL, *map(str, arguments)], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=profiled.environment()).stdout


def status(watched):
    return json.loads(command("control", watched.trace, "status", "--json"))["processes"][0]


def begin_outage(disk, watched):
    watched.tell("hold %d" % FIRST)
    profiled.expect("outage_s" not in status(watched), "an outage before the disk is full")
    disk.fill()
    watched.tell("waste %d" % ENOUGH)
    profiled.expect(status(watched)["outage_s"] > 0, "no outage")
    text = command("control", watched.trace, "status")
    profiled.expect("nothing has been recorded since" in text, text)


def end_outage(disk, watched):
    """Makes room, and lets the program come to the recorder until it has found out."""
    disk.empty()
    deadline = time.monotonic() + LIMIT_S
    while "outage_s" in status(watched):
        profiled.expect(time.monotonic() < deadline, "it does not try again")
        watched.tell("waste %d" % ENOUGH)
        time.sleep(0.1)
    watched.tell("waste %d" % ENOUGH)  # now its thread samples again


def function(trace, metric, name, *options):
    """Figures of one function."""
    data = profiled.report(trace, "--metric", metric, "--filter", "function=" + name, *options)
    return data["totals"][metric]


def expect_exactly(figure, count, size):
    """`count` objects of `size` bytes, all of them recorded."""
    profiled.expect(figure["objects"]["estimate"] == count, "%s objects for %d" % (figure["objects"], count))
    profiled.expect(figure["bytes"]["estimate"] == count * size, "%s for %d" % (figure["bytes"], count * size))


def expect_within(figure, truth):
    profiled.expect(figure["low"] <= truth <= figure["high"], "%s for %d" % (figure, truth))


def the_outage(data):
    outages = data["sampling"].get("outages", [])
    profiled.expect(len(outages) == 1, "outages: %s" % outages)
    return outages[0]


def both(data, what):
    """Allocated while sampling was on, and off: (low, high)."""
    on, off = data["totals"]["allocated"][what], data["sampling"]["off"][what]
    return on["low"] + off["low"], on["high"] + off["high"]


def goes_on(interval):
    """Frees of samples, threads and a fork in the outage; then everything goes on."""
    with profiled.directory() as path, SmallDisk(path, 2 * KIB) as disk:
        with Watched(disk.path, interval) as watched:
            begin_outage(disk, watched)
            watched.tell("drop")
            watched.tell("hold %d" % DURING)
            watched.tell("thread during")
            watched.tell("fork")
            end_outage(disk, watched)
            watched.tell("hold %d" % LAST)
            samples = status(watched)["samples"]
            watched.end()
        trace = watched.trace
        data = profiled.report(trace)
        lost = data["losses"]
        profiled.expect(lost["trace_full"] == 0 and lost["free"] == 0, "lost: %s" % lost)
        profiled.expect(lost["child_trace"] == 1, "the child found room for a trace: %s" % lost)
        profiled.expect(samples > 0 and data["samples"] >= samples, "samples are missing")
        hole = the_outage(data)
        profiled.expect(0 < hole["from_s"] < hole["to_s"] < data["duration_s"], "outage: %s" % hole)
        judge_figures(trace, interval, data, hole)
        judge_timeline(trace, hole)


def judge_figures(trace, interval, data, hole):
    """Of what was allocated while sampling was on; the rest is counted."""
    sure = ("--confidence", "0.99999")
    if interval == 64:
        expect_exactly(function(trace, "allocated", "site_hold"), FIRST + LAST, 1000)
        expect_exactly(function(trace, "live", "site_hold"), LAST, 1000)
        expect_exactly(function(trace, "live", "site_hold", "--at", "%.9f" % hole["from_s"]), FIRST, 1000)
        expect_exactly(function(trace, "live", "site_hold", "--at", "%.9f" % hole["to_s"]), 0, 1000)
    else:
        expect_within(function(trace, "allocated", "site_hold", *sure)["bytes"], (FIRST + LAST) * 1000)
        expect_within(function(trace, "live", "site_hold", *sure)["bytes"], LAST * 1000)
    profiled.expect(data["sampling"]["off"]["bytes"]["low"] >= DURING * 1000 + 500 * 2000,
                    "off: %s" % data["sampling"]["off"])
    low, high = both(data, "bytes")
    profiled.expect(low == high, "totals are not exact: %s to %s" % (low, high))


def judge_timeline(trace, hole):
    """No figure is shown for a moment of the outage, and one for every other."""
    text = command("report", "--timeline", trace)
    said = "nothing was recorded from %.2f s to %.2f s" % (hole["from_s"], hole["to_s"])
    profiled.expect(said in re.sub(r"\s+", " ", text), text)
    profiled.expect("(nothing was recorded)" in text, text)
    moments = profiled.report(trace, "--timeline")["timeline"]
    for moment in moments:
        within = hole["from_s"] <= moment["time_s"] < hole["to_s"]
        profiled.expect(within == moment.get("unrecorded", False), "%s in %s" % (moment, hole))
    profiled.expect(said in re.sub(r"\s+", " ", command("report", "--summary", trace)), "the summary")
    command("html", "--force", "-o", trace + ".html", trace)


def totals_of_program():
    """What the program asks for in `ends_within`, by its own sizes: without what libc itself allocates."""
    return (FIRST + ENOUGH + DURING) * 1000


def ends_within(by_kill):
    """It ends, in order or not, while the disk is full."""
    with profiled.directory() as path, SmallDisk(path, 2 * KIB) as disk:
        with Watched(disk.path, 64) as watched:
            begin_outage(disk, watched)
            watched.tell("hold %d" % DURING)
            if by_kill:
                os.kill(watched.pid, signal.SIGKILL)
                watched.process.wait()
            else:
                watched.end()
        data = profiled.report(watched.trace)
        hole = the_outage(data)
        profiled.expect(hole["to_s"] is None, "the outage ended: %s" % hole)
        profiled.expect("nothing was recorded since %.2f s" % hole["from_s"] in " ".join(data["warnings"]),
                        "%s" % data["warnings"])
        low, high = both(data, "bytes")
        truth = totals_of_program()
        profiled.expect(low <= truth + 64 * KIB and truth <= high, "%d to %d for %d" % (low, high, truth))
        off = data["sampling"]["off"]["bytes"]
        profiled.expect(DURING * 1000 <= off["high"] and off["low"] <= (DURING + ENOUGH) * 1000,
                        "off: %s" % off)
        profiled.expect(by_kill or off["low"] >= DURING * 1000, "off: %s" % off)
        # What waited in memory is lost, and counted: the last sample of the thread, and frees.
        profiled.expect(data["losses"]["trace_full"] >= 1, "%s" % data["losses"])


def overflows():
    """More frees than wait in memory: they are counted, and sampling goes on all the same."""
    count = 450000
    with profiled.directory() as path, SmallDisk(path, 40 * KIB) as disk:
        with Watched(disk.path, 64) as watched:
            watched.tell("hold %d" % count)
            begin_outage(disk, watched)
            watched.tell("drop")
            end_outage(disk, watched)
            watched.tell("hold %d" % LAST)
            watched.end()
        data = profiled.report(watched.trace)
        profiled.expect(data["losses"]["free"] > 0, "nothing was lost: %s" % data["losses"])
        profiled.expect(data["losses"]["free"] < count, "nothing waited: %s" % data["losses"])
        the_outage(data)
        figure = function(watched.trace, "allocated", "site_hold")
        profiled.expect(figure["objects"]["estimate"] == count + FIRST + LAST, "%s" % figure)


def enter_namespace():
    libc = ctypes.CDLL(None, use_errno=True)
    return (libc.unshare(CLONE_NEWNS) == 0 and
            libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0)


def main():
    tap = profiled.Tap()
    if not profiled.is_root() or not enter_namespace():
        tap.skip("a disk that is full for a time", "needs root")
        return tap.finish()
    tap.attempt("sampling goes on, and every figure is the truth", lambda: goes_on(64))
    tap.attempt("sampling goes on, and intervals hold the truth", lambda: goes_on(4096))
    tap.attempt("the program ends in the outage", lambda: ends_within(False))
    tap.attempt("the program is killed in the outage", lambda: ends_within(True))
    tap.attempt("more frees than wait in memory", overflows)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
