#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes that give up system calls, and the list of those the recorder makes.

docs/recorder.md lists what the recorder asks of the kernel. Held against it here: the table that
src/base/recorder_calls.h asks filters about, the calls that a long run makes beyond those of the
same run unprofiled, and a filter that allows the listed calls and nothing else, under which
nothing may be lost. With any one of them forbidden the program must do what it does unprofiled,
and what is given up is what the table says; so with all of them forbidden, and in strict mode.
Servers start a child or a thread for each request: how many calls the recorder adds is bounded.
"""
import os
import re
import shutil
import subprocess
import sys

import profiled

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SANDBOX = profiled.program("sandbox")
PROGRAM_NEEDS = ("exit_group",)  # of its own, once it is in the sandbox
INTERVAL = 512
# The calls that the recorder adds to the life of a child of fork, and of a thread, neither of which is sampled. A
# child: who it is and when it began (3); the folder of the tree (4); its file opened, looked at, sized, mapped once,
# and its first pages made present (10); the folder's end and the parent's page (2); a page of records, the name of
# its thread, and whose end it is (4). A thread: its number, and its name at both ends.
CALLS_MAX = {"child": 23, "thread": 3}


def listed():
    """The two lists of docs/recorder.md: a set, and a dict of what is given up without each."""
    with open(os.path.join(ROOT, "docs", "recorder.md"), encoding="utf-8") as file:
        text = file.read()
    rows = dict(re.findall(r"^\| `(\w+)` \| (everything|files|children) \|", text, re.M))
    start = re.search(r"second list:\n\n(.*?)\n\n", text, re.S).group(1)
    return set(re.findall(r"`(\w+)`", start)), rows


def asked_about():
    """What recorder_calls.h asks a filter about: the same dict. A call may stand there twice."""
    names = {"ALL": "everything", "FILES": "files", "CHILDREN": "children"}
    worst = ("children", "files", "everything")
    calls = {}
    with open(os.path.join(ROOT, "src", "base", "recorder_calls.h"), encoding="utf-8") as file:
        for seal, name in re.findall(r"BP_SEAL_(\w+),\s*BP_CALL\((\w+)\),", file.read()):
            calls[name] = max(names[seal], calls.get(name, "children"), key=worst.index)
    return calls


def numbers():
    """Numbers of the system calls of this machine."""
    text = subprocess.run(["cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"],
                          capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^#define __NR_(\w+) (\d+)$", text, re.M))


def both(arguments, interval=INTERVAL, seed=1):
    """Runs unprofiled and profiled, compares, and gives the report."""
    plain = profiled.run([SANDBOX, *arguments])
    profiled.expect(plain.status == 0, "unprofiled: %s %s" % (plain.status, plain.stdout))
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = profiled.run([SANDBOX, *arguments], trace, interval, seed)
        profiled.expect_same(plain, result)
        return profiled.report(trace)


def strict(road, interval):
    data = both(["strict", road], interval)
    profiled.expect(data["samples"] > 100, "samples: %s" % data["samples"])
    profiled.expect(data["losses"].get("trace_full", 0) > 100, "lost: %s" % data["losses"])
    profiled.expect(data["totals"]["allocated"]["bytes"]["estimate"] is None,
                    "totals of a process without an end are called known")


def filtered(action, forbidden):
    """All listed calls allowed but one (None: none), the rest answered by `action`."""
    rows = listed()[1]
    number = numbers()
    allowed = [number[name] for name in (*rows, *PROGRAM_NEEDS)
               if name in number and name != forbidden]
    data = both(["filter", action, ",".join(allowed)])
    lost = {reason: count for reason, count in data["losses"].items() if count}
    given_up = action != "errno" and rows.get(forbidden) == "everything"
    if given_up:
        profiled.expect(lost.get("trace_full", 0) > 100, "lost: %s" % lost)
    elif action != "errno":
        profiled.expect(not lost, "lost: %s" % lost)
    profiled.expect(data["samples"] > (100 if given_up else 1000), "samples: %s" % data["samples"])


def nothing_allowed(action):
    data = both(["filter", action, numbers()["exit_group"]])
    profiled.expect(profiled.lost(data) > 0, "nothing lost")


def refused():
    data = both(["refused"])
    profiled.expect(profiled.lost(data) == 0, "lost: %s" % data["losses"])


def children():
    """A child of fork where its trace cannot be opened: counted, and nobody's business."""
    number = numbers()
    needed = PROGRAM_NEEDS + ("clone", "clone3", "wait4", "set_robust_list", "rseq", "getpid")
    allowed = {number[name] for name in (*listed()[1], *needed) if name in number}
    for name, expected in ((None, 0), ("getppid", 1), ("openat", 1), ("futex", 0)):
        data = both(["filter", "kill", ",".join(allowed - {number.get(name)}), "fork"])
        counted = data["losses"].get("child_trace", 0)
        profiled.expect(counted >= expected if expected else name or not counted,
                        "%s forbidden: lost %s" % (name, data["losses"]))


def same_table():
    rows, calls = listed()[1], asked_about()
    profiled.expect(rows == calls, "docs/recorder.md and recorder_calls.h differ: %s" %
                    sorted(set(rows.items()) ^ set(calls.items())))


def calls_in_order(arguments, trace, interval=64):
    """(thread, name) of each system call that a program and its threads and children make."""
    with profiled.directory() as path:
        log = os.path.join(path, "log")
        environment = [] if trace is None else [
            item for key, value in profiled.environment(trace, interval).items()
            if key in ("LD_PRELOAD", "BYTEPOLL_OUTPUT", "BYTEPOLL_INTERVAL")
            for item in ("-E", "%s=%s" % (key, value))]
        result = profiled.run(["strace", "-f", "-qq", "-o", log, *environment, *arguments])
        profiled.expect(result.status == 0, "strace: %s %s" % (
            result.status, result.stderr.decode(errors="replace")[-300:]))
        with open(log, encoding="utf-8", errors="replace") as file:
            return re.findall(r"^(\d+) +(\w+)\(", file.read(), re.M)


def calls_of(arguments, trace):
    """The names alone."""
    return {name for _, name in calls_in_order(arguments, trace)}


def births():
    """The second child and the second thread of a program: the first ones find less that is there already."""
    def lives(trace):
        calls = calls_in_order([profiled.program("births")], trace, 10 ** 12)
        threads = list(dict.fromkeys(thread for thread, _ in calls))
        profiled.expect(len(threads) == 5, "%d threads and processes" % len(threads))
        return [[name for thread, name in calls if thread == wanted] for wanted in (threads[2], threads[4])]
    with profiled.directory() as path:
        for kind, plain, ours in zip(CALLS_MAX, lives(None), lives(os.path.join(path, "trace.bpt"))):
            added = len(ours) - len(plain)
            profiled.expect(0 < added <= CALLS_MAX[kind], "%s: %d calls more, not %d at most: %s" % (
                kind, added, CALLS_MAX[kind], " ".join(ours)))


def traced():
    start, rows = listed()
    plugin = profiled.program("libplugin.so")
    for words in (("thread_storm",), ("dynamic_loading", plugin), ("fork_with_threads",),
                  ("odd_stacks",), ("limits", "work")):
        arguments = [profiled.program(words[0]), *words[1:]]
        with profiled.directory() as path:
            extra = calls_of(arguments, os.path.join(path, "trace.bpt")) - calls_of(arguments, None)
        profiled.expect(not extra - start - set(rows), "%s: not listed: %s" % (
            words[0], sorted(extra - start - set(rows))))


def main():
    tap = profiled.Tap()
    tap.attempt("docs/recorder.md lists what filters are asked about", same_table)
    if shutil.which("strace"):
        tap.attempt("a long run makes no other system call", traced)
        tap.attempt("children and threads make few system calls", births)
    else:
        tap.skip("a long run makes no other system call", "needs strace")
        tap.skip("children and threads make few system calls", "needs strace")
    for road in ("prctl", "seccomp", "syscall"):
        for interval in (1, 4096):
            tap.attempt("strict mode by %s at T = %d" % (road, interval),
                        lambda: strict(road, interval))
    tap.attempt("filters that the kernel refuses", refused)
    for action in ("kill", "trap", "errno"):
        tap.attempt("a filter that allows nothing, %s" % action, lambda: nothing_allowed(action))
    tap.attempt("a filter that allows what is listed", lambda: filtered("kill", None))
    for number, name in enumerate(sorted(listed()[1])):
        for action in (("kill", "trap", "errno") if profiled.LONG else
                       (("kill", "trap", "errno")[number % 3], "kill")):
            tap.attempt("a filter without %s, %s" % (name, action),
                        lambda: filtered(action, name))
    tap.attempt("children of fork behind a filter", children)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
