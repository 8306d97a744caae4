#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/host, the allocator that docs/hosts.md shows: the page's block is its text; what it records is what it made;
its settings are read as every host's are; `bytepoll control` steers it; labels, and events that cannot be right, are
tested where hosts are (tests/unit/host).

Exact figures hold at any T. The live figure is judged once, at a recorded seed, by an interval of 1 - 1e-6.
"""
import collections
import json
import os
import re
import subprocess
import sys

import profiled

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PROGRAM = os.path.join(profiled.BUILD, "examples/host/host-example")


Said = collections.namedtuple("Said", "status stdout stderr")


def said(result):
    return Said(result.status, result.stdout.decode(), result.stderr.decode())


def run(trace, *words, **settings):
    extra = {"BYTEPOLL_" + name.upper(): value for name, value in settings.items()}
    return said(profiled.run([PROGRAM, *words], extra={"BYTEPOLL_HOST_OUTPUT": trace, **extra}))


def page(tap):
    with open(os.path.join(ROOT, "docs/hosts.md"), encoding="utf-8") as file:
        shown = re.search(r"```c\n(#include \"bytepoll/host.h\".*?)```", file.read(), re.DOTALL).group(1)
    with open(os.path.join(ROOT, "examples/host/heap.c"), encoding="utf-8") as file:
        written = re.search(r"/\* begin of the page \*/\n(.*?)/\* end of the page \*/", file.read(), re.DOTALL).group(1)
    tap.check(shown == written, "the page shows the text of the program")


def figures(tap):
    with profiled.directory() as path:
        trace = os.path.join(path, "one.bpt")
        truth = json.loads(run(trace, "3", "2000", interval="1").stdout)
        data = profiled.report(trace, "--metric", "live", "--by", "function")
        rows = {row["name"].split(" (")[0]: row["bytes"]["estimate"] for row in data["rows"]}
        tap.check(data["totals"]["live"]["bytes"]["estimate"] == truth["live_bytes"] == sum(rows.values()) and
                  set(rows) == {"parse"}, "T = 1: every live object, by the function that made it", str((rows, truth)))
        trace = os.path.join(path, "many.bpt")
        truth = json.loads(run(trace, "5", "100000", interval="16k", seed="7").stdout)
        data = profiled.report(trace, "--confidence", "0.999999")
        total, live = data["totals"]["allocated"], data["totals"]["live"]["bytes"]
        tap.check(total["bytes"].get("exact") and total["bytes"]["estimate"] == truth["bytes"] and
                  total["objects"]["estimate"] == truth["objects"] and not data["warnings"],
                  "five threads: totals are exact", str((total, truth, data["warnings"])))
        tap.check(live["low"] <= truth["live_bytes"] <= live["high"] < 1.5 * live["low"],
                  "and what lives is in its interval", str((live, truth)))


def settings(tap):
    wrong = (({"interval": "64X"}, "BYTEPOLL_INTERVAL is '64X'"), ({"interval": "-1"}, "BYTEPOLL_INTERVAL is '-1'"),
             ({"interval": "4096G"}, "BYTEPOLL_INTERVAL is '4096G'"), ({"interval": "foo\n"}, "BYTEPOLL_INTERVAL is 'foo?'"),
             ({"seed": "0x1"}, "BYTEPOLL_SEED is '0x1'"), ({"start": "later"}, "BYTEPOLL_START is 'later'"))
    with profiled.directory() as path:
        trace = os.path.join(path, "none.bpt")
        for given, words in wrong:
            result = run(trace, "1", "100", **given)
            tap.check(result.status == 0 and words in result.stderr and result.stdout.startswith("{") and
                      result.stderr.count("\n") == 1 and not os.path.exists(trace),
                      "%s: said in a line, and the program runs" % given, str(result))
        with open(trace, "w", encoding="utf-8") as file:
            file.write("not ours")
        result = run(trace, "1", "100")
        tap.check(result.status == 0 and "the file exists, and is not replaced" in result.stderr and
                  os.path.getsize(trace) == 8, "a file that is there is kept, which is said", str(result))
        result = run(os.path.join(path, "missing/x.bpt"), "1", "100")
        tap.check("its folder does not exist" in result.stderr, "so is a folder that is not", str(result))


def steer(trace, *words):
    return said(profiled.run([profiled.BYTEPOLL, "control", trace, *words]))


def is_near(samples, interval, objects=80000):
    """Within 6 standard deviations of what so many objects give, 2e-9 a side."""
    chances = [1 - (1 - 1 / interval) ** (17 + number % 7 * 40) for number in range(objects // 2)] * 2
    return abs(samples - sum(chances)) < 6 * sum(chance * (1 - chance) for chance in chances) ** .5


def control(tap):
    """Each line given to the program makes its threads work once more."""
    with profiled.directory() as path:
        trace = os.path.join(path, "steered.bpt")
        program = subprocess.Popen([PROGRAM, "-i", "2", "40000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "BYTEPOLL_HOST_OUTPUT": trace, "BYTEPOLL_INTERVAL": "4K",
                                        "BYTEPOLL_START": "dormant"})
        truths, samples = [], []

        def work():
            program.stdin.write("\n")
            program.stdin.flush()
            truths.append(json.loads(program.stdout.readline()))
            samples.append(profiled.report(trace, "--metric", "allocated")["samples"])

        work()
        started = steer(trace, "start")
        work()
        set_to = steer(trace, "interval", "1K")
        work()
        stopped = steer(trace, "stop")
        work()
        automatic = steer(trace, "interval", "auto")
        program.stdin.close()
        tap.check(program.wait() == 0 and started.status == set_to.status == stopped.status == 0,
                  "start, interval and stop are done", str((started, set_to, stopped)))
        tap.check("1 sample per 4 KiB" in started.stdout and "1 sample per 1 KiB" in set_to.stdout and "off" in stopped.stdout,
                  "and said", str((started, set_to, stopped)))
        tap.check(automatic.status == 1 and "auto" in automatic.stderr and automatic.stderr.count("\n") == 1,
                  "a host has no budget: refused in a line", str(automatic))
        off, at_4k, at_1k, off_again = [after - before for before, after in zip([0] + samples, samples)]
        tap.check(off == 0 and off_again == 0 and is_near(at_4k, 4096) and is_near(at_1k, 1024),
                  "samples come at the interval that was set, and none while it is off", str(samples))
        total = profiled.report(trace)["totals"]["allocated"]["bytes"]
        sampled = truths[2]["bytes"] - truths[0]["bytes"]
        tap.check(total.get("exact") and total["estimate"] == sampled,
                  "the total is what was allocated while it was on, exactly", str((total, truths)))


def main():
    tap = profiled.Tap()
    for part in (page, figures, settings, control):
        part(tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
