#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Steering running processes: `bytepoll control`, and `run --delay`, `--duration`, `--start-dormant`.

Each command by a process and by its trace; who may not; a process that is dormant from its beginning to its
end, or to its kill; words out of range in the state page; snapshots against what the program counted
itself and against the trace as it was in the end; windows; forks and images. What is changed ten
thousand times is in test_control_storm.py. Arguments: names of tests, without `test_`.
"""
import ctypes
import fcntl
import json
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

import profiled
import schemas
from steered import (ALL_BYTES, INTERVAL_MASK, LIMIT_S, NUMBER_SHIFT, THREADS, Decoded, Page, Running,
                     control, controlled, refused, status_of)

NOBODY = 65534
STEERED = 16  # of flags_skippable
PID_OFFSET, START_OFFSET, CONTROL_OFFSET = 92, 112, 4096 + 640  # docs/trace-format.md


def test_words(tap):
    with profiled.directory() as path, Running(path, 65536) as program:
        pid, trace = program.process.pid, program.trace
        tap.attempt("start of a started one", lambda: profiled.expect(
            "already on, 1 sample per 64 KiB" in controlled(pid, "start"), "other words"))
        tap.attempt("stop, waited for", lambda: controlled(trace, "stop"))
        tap.attempt("stop of a stopped one", lambda: profiled.expect(
            "already off" in controlled(pid, "stop"), "other words"))
        state = status_of(trace)
        tap.check(state["state"] == "dormant" and state["interval"] == 65536 and
                  state["change"] == 1 and state["pid"] == pid, "status says dormant", state)
        tap.attempt("an interval given while dormant", lambda: profiled.expect(
            "off; start takes up 1 sample per 4 KiB" in controlled(pid, "interval", "4K"), "other words"))
        tap.check(status_of(pid)["change"] == 1, "is no change yet")
        controlled(pid, "start")
        state = status_of(pid)
        tap.check(state["state"] == "on" and state["interval"] == 4096 and state["change"] == 2,
                  "is what start takes up", state)
        controlled(pid, "interval", "auto", "--budget", "2%")
        state = status_of(pid)
        tap.check(state["automatic"] and state["budget_percent"] == 2, "interval auto", state)
        controlled(pid, "interval", "3")
        controlled(pid, "interval", "auto")
        tap.check(status_of(pid)["interval"] >= 16384, "which begins no finer than 16 KiB")
        tap.check(status_of(pid)["begins_in_s"] is status_of(pid)["ends_in_s"] is None,
                  "without a window")
        result = control(pid, "interval", "1M", "--wait", "0")
        tap.check(result.status in (0, 1), "waiting ends")
        result = control(pid, "interval", "2M", "--wait", "5s")
        # The main thread waits in pthread_join and allocates nothing.
        tap.attempt("--wait says who does not follow", lambda: profiled.expect(
            result.status == 1 and b"1 of 5 threads" in result.stderr and
            b"(tid %d)" % pid in result.stderr, "%s" % (result,)))
        state = status_of(pid)["threads"]
        tap.check(state["running"] == 5 and state["following"] == 4 and
                  0 < state["left_bytes_max"] <= 1 << 20, "and so does status", state)
        text = controlled(pid, "status")
        tap.check("4 of 5 threads follow" in text and "in force" in text, "in words", text)
        before = program.made()
        totals = status_of(pid)["allocated"]
        after = program.made()
        # What is no thread's own is less than 64 objects of 64 KiB in all.
        tap.check(sum(map(ALL_BYTES.upto, before)) <= totals["bytes"]["high"] and
                  totals["bytes"]["low"] <= sum(ALL_BYTES.upto(k + 1) for k in after) + (1 << 16)
                  and sum(before) <= totals["objects"]["high"] and
                  totals["objects"]["low"] <= sum(after) + THREADS + 64,
                  "the bytes and objects it says lie between those before and after", totals)
        program.stop()
        tap.attempt("a process that has ended", lambda: refused(
            control(trace, "start"), "has ended"))
        tap.attempt("and one that is gone", lambda: refused(
            control(pid, "start"), "there is no process"))


def test_names(tap):
    """A process goes by what it was started as, as in every report, and no controls of it pass."""
    with profiled.directory() as path, Running(
            path, 65536, called="/no/such/folder/an\x1b[31mname\u202e") as program:
        pid, name = program.process.pid, "an\x1b[31mname\u202e"
        state = status_of(pid)
        tap.check(state["name"] == name and os.path.basename(state["program"]) == "steered",
                  "the name it was started as, and its file", state)
        for text in (controlled(pid, "status"), controlled(pid, "interval", "32K")):
            tap.check(text.startswith("an") and "name" in text.split(" (pid ")[0] and
                      "\x1b" not in text and "\u202e" not in text, "without its controls", text)
        data = json.loads(controlled(pid, "status", "--json"))
        tap.attempt("its JSON is that of docs/schema", lambda: schemas.validate(data, "control-1"))
        tap.attempt("which refuses damaged ones", lambda: schemas.bites(data, "control-1"))
        program.stop()
        report = profiled.report(program.trace)
        tap.check(report["processes"][0]["name"] == name, "reports call it the same",
                  report["processes"])
    with profiled.directory() as path, Running(
            path, 65536, extra={"BYTEPOLL_START": "dormant"}) as program:
        data = json.loads(controlled(program.process.pid, "status", "--json"))
        profiled.expect(data["processes"][0]["in_force"] is None, str(data))
        tap.attempt("also where nothing samples", lambda: schemas.validate(data, "control-1"))


def test_errors(tap):
    pid = os.getpid()
    tap.attempt("a process without a trace", lambda: refused(
        control(pid, "status"), "has no trace open"))
    with profiled.directory() as path:
        name = os.path.join(path, "text")
        with open(name, "w", encoding="ascii") as file:
            file.write("no trace\n" * 10000)
        tap.attempt("a file that is no trace", lambda: refused(
            control(name, "start"), "is no trace"))
        tap.attempt("a file that is not there", lambda: refused(
            control(name + "2", "start"), "no such file"))
    for words in (["start", "now"], [], ["interval"], ["interval", "0"], ["interval", "2T"],
                  ["start", "--json"], ["snapshot"], ["snapshot", "-o", "-"],
                  ["interval", "4K", "--budget", "1"],
                  ["interval", "auto", "--budget", "200%"], ["interval", "auto", "--budget", "0.5"], ["begin"]):
        tap.attempt("usage: %s" % " ".join(words), lambda words=words: refused(
            control(pid, *words), "see bytepoll control --help", 2))


def as_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def test_other_user(tap):
    """As root another user tries; an ordinary user tries at a process of root's."""
    if not profiled.is_root():
        tap.attempt("a process of another user", lambda: refused(
            control(1, "stop"), "be its owner or root"))
        return
    with profiled.directory() as path, Running(path, 65536) as program:
        os.chmod(path, 0o755)
        # The build may lie where nobody cannot go.
        command = shutil.copy(profiled.BYTEPOLL, path)
        for name, operand in (("pid", program.process.pid), ("file", program.trace)):
            for words in (["stop"], ["interval", "1"], ["snapshot", "-o", "/tmp/x.bpt"]):
                tap.attempt("%s of another user's process by %s" % (words[0], name),
                            lambda o=operand, w=words: refused(
                                control(o, *w, command=command, before_exec=as_nobody),
                                "be its owner or root"))
        # Even if the file may be written by all.
        os.chmod(program.trace, 0o666)
        tap.attempt("a trace that all may write", lambda: refused(
            control(program.trace, "stop", command=command, before_exec=as_nobody),
            "be its owner or root"))
        tap.check(status_of(program.process.pid)["change"] == 0, "nothing has changed")


def test_dormant(tap):
    """Never switched on: counters, and nothing else."""
    with profiled.directory() as path, \
            Running(path, 4096, extra={"BYTEPOLL_START": "dormant"}) as program:
        page = Page(program.trace)
        while sum(program.made()) < 200000:
            pass
        early = status_of(program.process.pid)
        made = program.stop()
        decoded = Decoded(program.trace)
        report = profiled.report(program.trace)
        tap.check(early["state"] == "dormant" and early["samples"] == 0 and page.number == 0,
                  "dormant from the start", early)
        profiled_bytes = sum(map(ALL_BYTES.upto, made))
        own = decoded.state["end_objects"] - sum(made)
        off = report["sampling"]["off"]
        tap.check(decoded.header["flags_skippable"] & 2 and not decoded.samples and
                  not decoded.changes, "no sample, no record")
        tap.check(all(decoded.ends[ordinal]["objects"] in made for ordinal in decoded.makers()),
                  "every thread's objects are counted")
        tap.check(off["objects"]["low"] == off["objects"]["high"] == sum(made) + own and
                  0 <= own < 64 and 0 <= off["bytes"]["low"] - profiled_bytes < 1 << 16,
                  "all of it is known, exactly", "%s %d %d" % (off, sum(made), profiled_bytes))


def test_killed_dormant(tap):
    with profiled.directory() as path, Running(path, 4096, extra={
            "BYTEPOLL_START": "dormant"}) as program:
        while sum(program.made()) < 50000:
            pass
        program.kill()
        made = program.made()
        off = profiled.report(program.trace)["sampling"]["off"]
        truth = sum(map(ALL_BYTES.upto, made))
        slack = (THREADS + 1) * 78000
        tap.check(off["bytes"]["low"] <= truth + slack and truth <= off["bytes"]["high"] and
                  off["objects"]["low"] <= sum(made) + 64 and
                  sum(made) <= off["objects"]["high"],
                  "killed while dormant: the truth lies between the limits", "%s %d %d" % (
                      off, truth, sum(made)))


def test_quiet_end(tap):
    """A process that has nothing to record still lives: a snapshot ends when it was taken, a trace under
    `run` when its process was killed."""
    with profiled.directory() as path, Running(path, 4096, extra={
            "BYTEPOLL_START": "dormant"}) as program:
        time.sleep(1)
        copy = os.path.join(path, "copy.bpt")
        controlled(program.process.pid, "snapshot", "-o", copy)
        program.stop()
        lasted = [profiled.report(trace)["processes"][0]["duration_s"]
                  for trace in (copy, program.trace)]
        tap.check(1 <= lasted[0] <= lasted[1], "a snapshot lasts until it was taken", lasted)
        killed = os.path.join(path, "killed.bpt")
        profiled.run([profiled.BYTEPOLL, "run", "--quiet", "-o", killed, "--", "sh", "-c",
                      "sleep 1; kill -9 $$"])
        lasted = profiled.report(killed)["processes"][0]["duration_s"]
        tap.check(1 <= lasted < 20, "a killed process until it was killed", lasted)


def test_bad_words(tap):
    """Words out of range are ignored, and the next good one holds."""
    with profiled.directory() as path, Running(path, 65536) as program:
        page = Page(program.trace)
        for word in (2**64 - 1, INTERVAL_MASK, (1 << 40) + 1, 5 << NUMBER_SHIFT | (3 << 40) + 1):
            page.word.value = page.resume.value = word
            made = program.made()
            while any(now < then + 1000 for now, then in zip(
                    program.made(), made)):
                time.sleep(1e-3)
        tap.attempt("status of such a word", lambda: controlled(program.trace, "status"))
        tap.attempt("stop of such a word", lambda: controlled(program.trace, "stop"))
        page.resume.value = INTERVAL_MASK
        tap.attempt("start of such a word", lambda: controlled(program.trace, "start"))
        tap.check(status_of(program.trace)["interval"] == 65536, "takes up the first interval")
        program.stop()
        decoded = Decoded(program.trace)
        intervals = {change["interval"] for changes in decoded.changes.values()
                     for change in changes}
        tap.check(intervals <= {0, 65536} and
                  {sample["interval"] for sample in decoded.samples} == {65536}, "no thread took one up", intervals)


def slots_hold(snapshot, final):
    """Every sample that a thread had made when its counters were read is in the copy."""
    present = {sample["sequence"] for sample in snapshot.samples}
    for sample in final.samples:
        slot = snapshot.slots.get(sample["thread"])
        if slot is not None and sample["objects"] <= slot["objects"]:
            profiled.expect(sample["sequence"] in present, "missing: %s" % sample)
    known = {sample["sequence"] for sample in final.samples}
    profiled.expect(present <= known, "samples that never were")


def test_snapshot(tap):
    with profiled.directory() as path, Running(path, 32768) as program:
        pid, copies = program.process.pid, []
        while sum(program.made()) < 50000:
            pass  # there is something to copy
        for number in range(5):
            copy = os.path.join(path, "copy%d.bpt" % number)
            before = program.made()
            text = controlled(pid, "snapshot", "-o", copy)
            after = program.made()
            copies.append((copy, before, after, text))
        tap.attempt("a copy is not overwritten", lambda: refused(
            control(pid, "snapshot", "-o", copies[0][0]), "exists"))
        tap.attempt("unless that is wanted", lambda: controlled(
            pid, "snapshot", "--force", "-q", "-o", copies[4][0]))
        tap.attempt("the trace itself is not", lambda: refused(
            control(pid, "snapshot", "--force", "-o", program.trace), "writes to"))
        tap.attempt("a copy is nobody's trace", lambda: refused(
            control(copies[0][0], "stop"), "no process writes to"))
        program.stop()
        final = Decoded(program.trace)
        for copy, before, after, text in copies[:4]:
            tap.attempt("snapshot: " + text.splitlines()[0].split(": ")[1],
                        lambda c=copy, b=before, a=after: check_snapshot(c, b, a, final))
        left = [name for name in os.listdir(path) if name.endswith(".new")]
        tap.check(not left and os.stat(copies[0][0]).st_mode & 0o777 == 0o600,
                  "nothing else is left, and nobody else may read it", left)


def test_stopped_snapshot(tap):
    """A snapshot that a signal ends leaves nothing behind. It is held up by somebody who folds. The program makes so
    many objects and no more, however long that takes."""
    with profiled.directory() as path, Running(path, 32768) as program:
        program.grant(100000)
        copy = os.path.join(path, "copy.bpt")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with open(program.trace, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                process = subprocess.Popen([profiled.BYTEPOLL, "control", program.trace,
                                            "snapshot", "-o", copy])
                limit = time.monotonic() + LIMIT_S
                while not is_held(process.pid, number) and time.monotonic() < limit:
                    time.sleep(1e-3)
                process.send_signal(number)
                try:
                    status = process.wait(LIMIT_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    status = "%s after the time limit" % process.wait()
            left = [name for name in os.listdir(path) if name.startswith("copy")]
            tap.check(status == -number and not left, "%s ends a snapshot" % number.name,
                      "%s %s" % (status, left))
        tap.attempt("the next one is made", lambda: controlled(
            program.trace, "snapshot", "-o", copy))


def is_held(pid, number):
    """Does the process keep that signal blocked?"""
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        masks = [line.split()[1] for line in file if line.startswith("SigBlk:")]
    return bool(masks) and int(masks[0], 16) >> (number - 1) & 1 == 1


def test_pending_window(tap):
    """A process that will begin and end by itself says so."""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    with profiled.directory() as path, Running(path, 65536, extra={
            "BYTEPOLL_START_TIME": str(now + 10**12), "BYTEPOLL_STOP_TIME": "+%d" % (2 * 10**12)
            }) as program:
        state = status_of(program.trace)
        tap.check(0 < state["begins_in_s"] <= 1000 < state["ends_in_s"] <= 2000,
                  "status has the times to come", state)
        tap.attempt("in words", lambda: profiled.expect(
            "sampling begins in " in controlled(program.trace, "status"), "other words"))
        tap.attempt("a stop before the begin", lambda: profiled.expect(
            "its --delay holds all the same" in controlled(program.trace, "stop"),
            "other words"))
        tap.attempt("a start before the end", lambda: profiled.expect(
            "its --duration holds all the same" in controlled(program.trace, "start"),
            "other words"))


def test_forking_tree(tap):
    """A snapshot of a tree that goes on forking is made, and does not read through holes."""
    with profiled.directory() as path:
        trace, copy = os.path.join(path, "trace.bpt"), os.path.join(path, "copy.bpt")
        process = subprocess.Popen(
            ["/bin/sh", "-c", "while :; do /bin/cat /dev/null; done"], start_new_session=True,
            env=profiled.environment(trace, 65536), stdin=subprocess.DEVNULL)
        try:
            limit = time.monotonic() + LIMIT_S
            while time.monotonic() < limit and (
                    not os.path.isdir(trace + ".d") or len(os.listdir(trace + ".d")) < 100):
                time.sleep(1e-2)
            for number in range(3):
                tap.attempt("snapshot %d" % number, lambda: controlled(
                    trace, "snapshot", "--tree", "--force", "-o", copy))
            tap.attempt("can be reported", lambda: profiled.report(copy))
            tap.check(len(os.listdir(copy + ".d")) >= 99, "with the processes that have ended")
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def check_snapshot(copy, before, after, final):
    decoded = Decoded(copy)
    total = profiled.report(copy)["totals"]["allocated"]["bytes"]
    low, high = (sum(map(ALL_BYTES.upto, made)) for made in (before, after))
    slack = (THREADS + 1) * 78000
    profiled.expect(decoded.counts["damaged_chunks"] == 0, "damaged")
    profiled.expect(low - slack <= total["high"] and total["low"] <= high + slack,
                    "%s not in [%d, %d]" % (total, low, high))
    profiled.expect(total["low"] <= total["high"] and
                    decoded.state["samples"] >= len(decoded.samples) > 0, "other samples")
    slots_hold(decoded, final)


def start_time_of(pid):
    """The two times in the environment of a process."""
    with open("/proc/%d/environ" % pid, "rb") as file:
        variables = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if entry)
    return tuple(int(variables.get(b"BYTEPOLL_" + name, b"0"))
                 for name in (b"START_TIME", b"STOP_TIME"))


def find_child(pid, name):
    """The child of `pid` that runs `name`."""
    limit = time.monotonic() + LIMIT_S
    while time.monotonic() < limit:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
            for child in file.read().split():
                with open("/proc/%s/comm" % child, encoding="ascii") as comm:
                    if comm.read().strip() == name:
                        return int(child)
    raise AssertionError("%s did not start" % name)


def test_window(tap):
    """run --delay and --duration: nothing is sampled before and after; the counters go on."""
    with profiled.directory() as path:
        trace, orders = os.path.join(path, "trace.bpt"), os.path.join(path, "orders")
        with open(orders, "wb") as file:
            file.truncate(4096)
        process = subprocess.Popen(
            [profiled.BYTEPOLL, "run", "-o", trace, "-i", "4K", "--delay", "200ms", "--duration",
             "0.2", "--", profiled.program("steered"), orders, str(THREADS)],
            env=profiled.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        begin, end = start_time_of(find_child(process.pid, "steered"))
        while time.clock_gettime_ns(time.CLOCK_MONOTONIC) < end + 100_000_000:
            pass
        with open(orders, "r+b") as file:
            words = mmap.mmap(file.fileno(), 4096)
        ctypes.c_uint64.from_buffer(words, 0).value = 1
        errors = process.communicate(timeout=LIMIT_S)[1].decode()
        decoded = Decoded(trace)
        report = profiled.report(trace)
        times = [sample["time_ns"] for sample in decoded.samples]
        tap.check(process.returncode == 0 and end - begin == 200_000_000,
                  "--delay and --duration are times for the whole tree", errors)
        tap.check(times and min(times) >= begin, "no sample before")
        # A thread that looked at the clock just before the end may take one sample after it, and
        # the one whose look finds the end another.
        late = [sample for sample in decoded.samples if sample["time_ns"] > end]
        tap.check(len(late) <= 2 * THREADS, "no sample after", len(late))
        tap.check(report["sampling"]["changes"] == 2 and
                  report["sampling"]["off"]["bytes"]["low"] ==
                  report["sampling"]["off"]["bytes"]["high"] > 0, "the rest is known exactly",
                  report["sampling"])
        tap.check("sampling was off" in errors, "and run says so", errors)
    for words in (["--start-dormant", "--delay", "1"], ["--duration", "0"], ["--budget", "1%", "-i",
                  "4K"], ["--delay", "x"], ["--verify", "--delay", "1"], ["--budget", "1%"]):
        result = profiled.run([profiled.BYTEPOLL, "run", *words, "--", "true"])
        tap.attempt("run %s is refused" % " ".join(words),
                    lambda r=result: refused(r, "see bytepoll run --help", 125))


FAMILY = """
import os, sys
IMAGE = [sys.executable, "-S", "-c", "x = [bytearray(5000) for i in range(999)]"]
blocks = [bytearray(3000) for i in range(2000)]
for line in sys.stdin:
    blocks = [bytearray(3000 + i) for i in range(3000)]
    if line.startswith("fork"):
        if os.fork() == 0:
            blocks += [bytearray(3000 + i) for i in range(3000)]
            os._exit(0)
        os.wait()
    if line.startswith("exec"):
        if os.fork() == 0:
            os.execv(sys.executable, IMAGE)
        os.wait()
    if line.startswith("spawn"):
        os.waitpid(os.posix_spawn(sys.executable, IMAGE, os.environ), 0)
    print("done", flush=True)
"""


def test_family(tap):
    """A forked child begins as its parent is at the fork, a new image as the one before it or, where a
    process begins with it, as its parent."""
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", FAMILY], start_new_session=True,
            env=profiled.environment(trace, 8192, extra={"BYTEPOLL_START": "dormant"}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def order(word):
            known = set(os.listdir(trace + ".d")) if os.path.isdir(trace + ".d") else set()
            process.stdin.write(word + "\n")
            process.stdin.flush()
            process.stdout.readline()
            names = sorted(set(os.listdir(trace + ".d")) - known) if word != "go" else []
            return [Decoded(os.path.join(trace + ".d", name)) for name in names]
        try:
            child = order("fork")[0]
            tap.check(child.header["flags_skippable"] & 2 and not child.samples,
                      "child of a dormant one: dormant")
            image = order("exec")[-1]
            tap.check(image.header["flags_skippable"] & 2 and not image.samples,
                      "image started by it: dormant")
            controlled(process.pid, "interval", "2K")
            controlled(process.pid, "start")
            order("go")
            child = order("fork")[0]
            tap.check(not child.header["flags_skippable"] & 2 and child.samples and
                      child.header["interval_bytes"] == 2048 and
                      all(sample["interval"] == 2048 for sample in child.samples),
                      "child of one that was started: samples at its parent's interval",
                      child.header)
            for word in ("exec", "spawn"):
                image = order(word)[-1]
                tap.check(image.header["flags_skippable"] & (STEERED | 2) == STEERED and
                          image.header["interval_bytes"] == 2048 and len(image.samples) > 99 and
                          all(sample["interval"] == 2048 for sample in image.samples),
                          "image by %s: the same" % word, image.header)
            text = controlled("--tree", process.pid, "stop")
            tap.check(text.count("sampling off") == 1, "--tree of one", text)
            order("go")
            for word in ("exec", "spawn"):
                image = order(word)[-1]
                tap.check(image.header["flags_skippable"] & (STEERED | 2) == STEERED | 2 and
                          image.header["interval_bytes"] == 2048 and not image.samples,
                          "image by %s of one that was stopped: dormant" % word, image.header)
            copy = os.path.join(path, "copy.bpt")
            controlled("--tree", trace, "snapshot", "-o", copy)
            # The images that ended are in it, too.
            tap.check(len(os.listdir(copy + ".d")) == len(os.listdir(trace + ".d")) >= 3 and
                      len(profiled.report(copy)["processes"]) ==
                      len(profiled.report(trace)["processes"]), "snapshot of a tree")
        finally:
            process.stdin.close()
            process.wait(LIMIT_S)


def image_after(path, name, change_header):
    """The trace of an image that finds FILE, of its own process as it seems, stopped by somebody."""
    trace = os.path.join(path, name)
    with Running(path, 8192) as program:
        controlled(program.process.pid, "stop")
        program.stop()
        with open(program.trace, "rb") as file:
            before = bytearray(file.read(65536))
        os.unlink(program.trace)
    with subprocess.Popen(
            ["sh", "-c", 'read go && exec env LD_PRELOAD="$0" true', profiled.RECORDER],
            env=profiled.environment(extra={"BYTEPOLL_OUTPUT": trace}), stdin=subprocess.PIPE) as process:
        struct.pack_into("<I", before, PID_OFFSET, process.pid)
        change_header(before)
        with open(trace, "wb") as file:
            file.write(before)
        process.stdin.write(b"go\n")
        process.stdin.close()
        process.wait(LIMIT_S)
        return Decoded("%s.d/%d.0.bpt" % (trace, process.pid)).header


def test_stale_predecessor(tap):
    """The trace of an earlier process of the same number, or of another, says nothing to an image."""
    def begun(when_ns):
        return lambda header: struct.pack_into("<Q", header, START_OFFSET, when_ns)
    with profiled.directory() as path:
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        header = image_after(path, "own.bpt", begun(now + 10**9))
        tap.check(header["flags_skippable"] & (STEERED | 2) == STEERED | 2,
                  "a trace of this process says how to begin", header)
        header = image_after(path, "earlier.bpt", begun(now - 10**9))
        tap.check(header["flags_skippable"] & (STEERED | 2) == 0,
                  "one that began before the process did does not", header)
        header = image_after(path, "other.bpt", lambda header: (
            begun(now + 10**9)(header), struct.pack_into("<I", header, PID_OFFSET, 1)))
        tap.check(header["flags_skippable"] & (STEERED | 2) == 0, "one of another neither", header)
        for at, value in ((0, 0), (8, 99), (CONTROL_OFFSET, 1 << 40 | 1), (CONTROL_OFFSET + 8, 1 << 40 | 1)):
            header = image_after(path, "bad.%d.bpt" % at, lambda header, at=at, value=value: (
                begun(now + 10**9)(header), struct.pack_into("<Q", header, at, value)))
            tap.check(header["flags_skippable"] & (STEERED | 2) == 0,
                      "nor one with %d at %d" % (value, at), header)


TESTS = (test_words, test_names, test_errors, test_other_user, test_dormant, test_killed_dormant, test_quiet_end, test_bad_words,
         test_snapshot, test_stopped_snapshot, test_pending_window, test_forking_tree, test_window, test_family, test_stale_predecessor)


def main():
    tap = profiled.Tap()
    for test in TESTS:
        if sys.argv[1:] and test.__name__[len("test_"):] not in sys.argv[1:]:
            continue
        begin = time.monotonic()
        try:
            test(tap)
        except Exception as error:  # an ending is a failure like any other
            tap.check(False, test.__name__, "%s: %s" % (type(error).__name__, error))
        tap.note("%s: %.1f s" % (test.__name__, time.monotonic() - begin))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
