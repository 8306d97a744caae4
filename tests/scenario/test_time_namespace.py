#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes in another time namespace, whose CLOCK_MONOTONIC is a thousand seconds ahead of the machine's, or
behind it: what is said of times is as without one, of a tree of which only the child is there, from inside and
from outside, of an ended and of a running process, of a trace that was folded, and with a start that was put
off.
"""
import json
import os
import re
import subprocess
import sys
import time

import profiled
from profiled import BYTEPOLL, expect

# A second and more, and until standard input ends; what is held grows during the first two thirds.
PROGRAM = """
import sys, time
kept = []
for i in range(12):
    kept.append(bytearray(300000 if i < 8 else 10))
    for j in range(5000):
        bytes(600 + j % 100)
    time.sleep(.1)
sys.stdin.read()
"""
PYTHON = ["/usr/bin/python3", "-S", "-c", PROGRAM]
RUN = [BYTEPOLL, "run", "--force", "-i", "1K", "-o"]
# util-linux 2.36: -T; the namespace begins with the next program.
AHEAD = ["unshare", "--time", "--boottime", "1000", "--monotonic", "1000"]
# A machine that has not run for long can go back by a part of that only.
BEHIND = ["unshare", "--time", "--boottime", "-%d", "--monotonic", "-%d"]
LONGEST_S = 60


def why_not():
    """None, or why there are no time namespaces here."""
    if not profiled.is_root():
        return "a time namespace takes root"
    done = subprocess.run(AHEAD + ["true"], stderr=subprocess.PIPE, check=False)
    return None if done.returncode == 0 else "no time namespaces here: " + done.stderr.decode().strip()


def behind():
    """The words of a namespace whose clock is half of the machine's uptime behind."""
    seconds = int(time.clock_gettime(time.CLOCK_MONOTONIC) / 2)
    return [word % seconds if "%d" in word else word for word in BEHIND]


def report(trace):
    """JSON of the report by peak."""
    result = profiled.run([BYTEPOLL, "report", "--json", "--metric", "peak", trace])
    expect(result.status == 0, result)
    return json.loads(result.stdout)


def judge(trace, longest_s=LONGEST_S):
    """The run took some seconds, and the peak lies in it."""
    data = report(trace)
    expect(1.2 < data["duration_s"] < longest_s, data["duration_s"])
    at = data["totals"]["peak"]["at"]["time_s"]
    expect(.5 < at < data["duration_s"], at)
    resident = profiled.run([BYTEPOLL, "report", "--summary", trace]).stdout.decode()
    for text in re.findall(r"(\d[\d.]*) s\b", resident):
        expect(float(text) < longest_s, resident)


def check_child(folder, namespace, name):
    trace = os.path.join(folder, name)
    result = profiled.run(RUN + [trace, "--", *namespace, *PYTHON])
    expect(result.status == 0, result)
    judge(trace)


def check_whole_run(folder):
    """`run` itself is in the namespace; the report is made outside and inside."""
    trace = os.path.join(folder, "whole.bpt")
    expect(profiled.run(AHEAD + RUN + [trace, "--", *PYTHON]).status == 0, "run")
    judge(trace)
    outside = profiled.run([BYTEPOLL, "report", trace]).stdout
    expect(outside == profiled.run(AHEAD + [BYTEPOLL, "report", trace]).stdout, outside.decode())


def check_running(folder):
    """`live`, `control status` and a snapshot, of a running process and from another namespace."""
    trace = os.path.join(folder, "running.bpt")
    with subprocess.Popen(RUN + [trace, "--", *AHEAD, *PYTHON], env=profiled.environment(),
                          stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        time.sleep(1)
        pid = os.listdir(trace + ".d")[0].split(".", maxsplit=1)[0]
        texts = [profiled.run(words + [BYTEPOLL, *command]).stdout.decode()
                 for words in ([], AHEAD) for command in (["live", "--once", trace], ["control", pid, "status"])]
        snapshot = os.path.join(folder, "snapshot.bpt")
        done = profiled.run([BYTEPOLL, "control", pid, "snapshot", "-o", snapshot])
        process.stdin.close()
        expect(process.wait() == 0, "run")
        expect(done.status == 0, done)
    for text in texts:
        head = text.split("\n", maxsplit=1)[0]
        found = re.search(r"(?:running|for) ([\d.]+) (ms|s)\b", head)
        expect(found is not None and float(found.group(1)) * (1 if found.group(2) == "s" else .001) < LONGEST_S, head)
    expect(.1 < report(snapshot)["duration_s"] < LONGEST_S, report(snapshot)["duration_s"])


def check_folded(folder):
    trace = os.path.join(folder, "folded.bpt")
    expect(profiled.run(RUN + [trace, "--", *AHEAD, *PYTHON]).status == 0, "run")
    child = os.path.join(trace + ".d", sorted(name for name in os.listdir(trace + ".d") if name.endswith(".bpt"))[0])
    before = report(trace)
    done = profiled.run([BYTEPOLL, "fold", child])
    expect(done.status == 0 and os.path.exists(child + ".fold"), done)
    judge(trace)
    after = report(trace)
    expect(after["duration_s"] == before["duration_s"] and after["samples"] == before["samples"], after["duration_s"])


def check_delay(folder):
    trace = os.path.join(folder, "delay.bpt")
    expect(profiled.run(RUN + [trace, "--delay", "300ms", "--duration", "500ms", "--", *AHEAD, *PYTHON]).status == 0, "run")
    off = report(trace)["sampling"]["off"]
    expect(off["bytes"]["high"] > 0 and report(trace)["totals"]["allocated"]["bytes"]["estimate"] > 500000, off)


def main():
    """Prints TAP."""
    tap = profiled.Tap()
    reason = why_not()
    with profiled.directory() as folder:
        for name, action in (
                ("a child that is ahead", lambda: check_child(folder, AHEAD, "ahead.bpt")),
                ("a child that is behind", lambda: check_child(folder, behind(), "behind.bpt")),
                ("a whole run", lambda: check_whole_run(folder)),
                ("a running process", lambda: check_running(folder)),
                ("a folded trace", lambda: check_folded(folder)),
                ("a start that is put off", lambda: check_delay(folder))):
            if reason is not None:
                tap.skip(name, reason)
            else:
                tap.attempt(name, action)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
