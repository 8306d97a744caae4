#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recorder that a running program opens: exact totals, intervals that hold the truth, a storm of threads that
outlives every attach and detach, and what is left behind. Then `bytepoll attach` and `detach` from outside: programs
of many kinds that must not notice, and kills of the command. Seeds are not fixed here,
since the moments of attaching are not: the intervals of one site are judged together, and a correct recorder fails that
with a probability below 1e-6."""
import concurrent.futures
import contextlib
import ctypes
import os
import platform
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import profiled
import schemas
from attaching import command, compiled, expect_done, expect_refused, running
from steered import Decoded

CYCLES = 1000 if profiled.LONG else 60
THREADS = 64
SYS_SCHED_SETATTR = 314 if platform.machine() == "x86_64" else 274
ATTACHED = 512  # of flags_skippable
DETACHED = 6  # end_reason


def attach_self(path, cycles, threads):
    """[(cycle, bytes, objects)] of a run; every attach and detach must have succeeded."""
    result = profiled.run([profiled.program("attach_self"), profiled.RECORDER, path, str(cycles), str(threads)],
                          time_limit_s=600)
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[-300:]))
    lines = [tuple(map(int, line.split())) for line in result.stdout.decode().splitlines()]
    profiled.expect(len(lines) == cycles, "%d cycles" % len(lines))
    profiled.expect(all(line[3:5] == (0, 0) for line in lines), "results %s" % sorted({line[3:5] for line in lines}))
    return lines


def is_exact(path):
    """One thread, so that its own count is the whole: the totals agree to the byte, in every trace."""
    for cycle, size, objects, *_ in attach_self(path, 10, 0):
        trace = os.path.join(path, "%d.bpt" % cycle)
        allocated = profiled.report(trace)["totals"]["allocated"]
        found = [allocated[key][end] for key in ("bytes", "objects") for end in ("low", "high")]
        profiled.expect(found == [size, size, objects, objects], "%s instead of %d and %d" % (found, size, objects))
        data = profiled.report(trace)
        schemas.validate(data, "report-1")
        known = data["processes"][0]["attached"]
        profiled.expect(known["covered_objects"] == known["loaded_objects"] > 1, "%s" % known)
        profiled.expect(abs(known["at_s"] - time.time()) < 600, "%s" % known)
        text = profiled.run([profiled.BYTEPOLL, "report", trace]).stdout
        profiled.expect(b"since attached" in text and b"live at the end" in text, "%s" % text[:300])
        decoded = Decoded(trace)
        profiled.expect(decoded.header["flags_skippable"] & ATTACHED, "flags")
        profiled.expect(decoded.state["end_reason"] == DETACHED, "end %d" % decoded.state["end_reason"])
        profiled.expect(decoded.state["objects"] == decoded.state["covered_objects"] > 1, "%s" % decoded.state)


def storm_holds(path):
    """Under 64 threads: of the site's intervals some 95 % hold what it allocated by its own count."""
    missed = inexact = 0
    for cycle, size, *_ in attach_self(path, CYCLES, THREADS):
        data = profiled.report(os.path.join(path, "%d.bpt" % cycle), "--metric", "allocated")
        allocated = data["totals"]["allocated"]["bytes"]
        inexact += "exact" not in allocated
        profiled.expect(size <= allocated["low"] <= allocated["high"], "totals of cycle %d: %s" % (cycle, allocated))
        rows = [row["bytes"] for row in data["rows"] if row["name"] == "counted"]
        missed += not rows or not rows[0]["low"] <= size <= rows[0]["high"]
    profiled.expect(missed <= CYCLES * .05 + 5 * (CYCLES * .05 * .95) ** .5, "%d of %d missed" % (missed, CYCLES))
    # A thread that allocates at the very end leaves an interval.
    profiled.expect(inexact <= CYCLES // 4, "%d of %d totals are not exact" % (inexact, CYCLES))


def left_behind(path):
    """Memory and mappings after so many cycles, and after many more."""
    sizes = []
    for cycles in (20, 120):
        folder = os.path.join(path, str(cycles))
        os.mkdir(folder)
        result = profiled.run([profiled.program("attach_self"), profiled.RECORDER, folder, str(cycles), "0"])
        found = re.search(rb"mappings (\d+) descriptors (\d+) resident_kib (\d+)", result.stderr)
        profiled.expect(found is not None, "%s" % result.stderr[-200:])
        sizes.append([int(number) for number in found.groups()])
    (mappings, descriptors, resident), (more_mappings, more_descriptors, more_resident) = sizes
    profiled.expect(more_mappings <= mappings + 2, "mappings %d, then %d" % (mappings, more_mappings))
    profiled.expect(more_descriptors == descriptors, "descriptors %d, then %d" % (descriptors, more_descriptors))
    profiled.expect(more_resident <= resident + 512, "KiB %d, then %d" % (resident, more_resident))


def held_within(path):
    """A thread that cannot leave the recorder when its program is detached: the call returns soon, and a later one ends
    the recording."""
    result = profiled.run([profiled.program("attach_held"), profiled.RECORDER, path], time_limit_s=600)
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[-300:]))
    for number in re.fullmatch(rb"held (\d+) (\d+)\n", result.stdout).groups():
        trace = os.path.join(path, "%d.bpt" % int(number))
        data = profiled.report(trace)
        lost = sum(data["losses"].values()) - data["losses"]["free"]
        profiled.expect(data["samples"] > 0 and lost == 0, "%d samples, lost %s" % (data["samples"], data["losses"]))
        profiled.expect(Decoded(trace).state["end_reason"] == DETACHED, "the end of %s" % trace)


# ---- from outside ----

CYCLES_OUTSIDE = int(os.environ.get("BYTEPOLL_ATTACH_CYCLES", 1000)) if profiled.LONG else 12
KILLS = 1000 if profiled.LONG else 40
PYTHON = """
import json, signal, threading, time
over = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: over.set())
def work():
    n = 0
    while not over.is_set():
        n += 1
        text = json.dumps({"a": [n] * 50, "b": "x" * (n % 3000)})
        assert json.loads(text)["a"][0] == n
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
print("ready", flush=True)
over.wait()
for thread in threads:
    thread.join()
print("well")
"""
NODE = """
console.log("ready"); process.on("SIGTERM", () => { console.log("well"); process.exit(0); });
function work() {
    for (let i = 0; i < 200; i++) {
        const made = JSON.stringify({ a: [...Array(50).keys()], b: Buffer.alloc(1000 + i * 50).length });
        if (JSON.parse(made).a[9] !== 9) process.exit(9);
    }
    setTimeout(work, 1);
}
work();
"""


def read_and_remove(trace):
    """The bytes that were allocated, at the most."""
    data = profiled.report(trace)
    # A call of free that had begun before the program was attached to is not seen.
    lost = sum(data["losses"].values()) - data["losses"]["free"]
    profiled.expect(lost == 0, "lost %s" % data["losses"])
    os.remove(trace)
    return data["totals"]["allocated"]["bytes"]["high"]


def cycles(path, *arguments, before_exec=None):
    """Attached and detached again and again, at one small T in five; returns the stop times, in milliseconds. What was
    recorded is read while the next cycles go on."""
    stops, unread, allocated = [], [], 0
    with running(*arguments, before_exec=before_exec) as process, concurrent.futures.ThreadPoolExecutor(1) as reader:
        for i in range(CYCLES_OUTSIDE):
            trace = os.path.join(path, "%d.bpt" % i)
            interval = "64K" if i % 5 else "4K"
            stops.append(expect_done(command("attach", process.pid, "-o", trace, "--interval", interval)))
            time.sleep(.01)
            stops.append(expect_done(command("detach", process.pid)))
            unread.append(reader.submit(read_and_remove, trace))
            if len(unread) == 4 or i == CYCLES_OUTSIDE - 1:
                allocated += sum(each.result() for each in unread)
                unread = []
    # (One cycle may pass without an object, where only children allocate.)
    profiled.expect(allocated > 0, "nothing was allocated")
    return stops


def last_served():
    """What bytepoll does, and the test, comes first: 64 busy threads would hold up a cycle for more than a second. Where
    the kernel shares the processors among sessions first, that of the threads is a session with a smaller share; and where it
    knows slices of one's own (Linux 6.12), theirs are a tenth of a millisecond, so that the one which is stopped goes on
    before the 63 others have had a long turn each."""
    os.nice(19)
    os.setsid()
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w", encoding="ascii") as file:
        file.write("8")
    # size, policy, flags, nice, priority, runtime (of the slice, in ns), deadline, period, two clamps
    attributes = struct.pack("<IIQiI3Q2I", 56, os.SCHED_OTHER, 0, 19, 0, 100000, 0, 0, 0, 0)
    ctypes.CDLL(None).syscall(SYS_SCHED_SETATTR, 0, attributes, 0)


def program_holds(*arguments, before_exec=None):
    def test(path):
        stops = sorted(cycles(path, *arguments, before_exec=before_exec))
        profiled.Tap.note("%s: %d stops of a thread, median %.2f ms, longest %.2f ms" % (
            os.path.basename(arguments[0]) + " " + arguments[1], len(stops), stops[len(stops) // 2], stops[-1]))
        profiled.expect(stops[len(stops) // 2] < 50, "a median of %s ms" % stops[len(stops) // 2])
    return test


def attached(*arguments, before_exec=None):
    return program_holds(profiled.program("attached"), *arguments, before_exec=before_exec)


def waits_for_lines(path):
    """sed, which waits for lines within stdio: it is attached to and detached there, and answers as ever."""
    with subprocess.Popen(["sed", "-u", "s/x/y/"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=profiled.environment()) as process:
        def answer(text):
            process.stdin.write(text + "\n")
            process.stdin.flush()
            return process.stdout.readline()

        profiled.expect(answer("x0") == "y0\n", "the first line")
        for i in range(CYCLES_OUTSIDE):
            trace, line = os.path.join(path, "%d.bpt" % i), "x" * (1 + 997 * i % 5000)
            expect_done(command("attach", process.pid, "-o", trace, "--interval", "1", "--wait", "5s"))
            profiled.expect(answer(line) == "y" + line[1:] + "\n", "another answer while attached")
            expect_done(command("detach", process.pid))
            profiled.expect(answer(line) == "y" + line[1:] + "\n", "another answer once detached")
            os.remove(trace)
        process.stdin.close()
        profiled.expect(process.stdout.read() == "" and process.wait() == 0, "status %s" % process.returncode)


HANDLER = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <unistd.h>
static volatile sig_atomic_t over;
static void end(int number) { over = number; }
static void live(int number) {
    sigset_t none;
    (void)number;
    signal(SIGTERM, end);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    puts("ready");
    fflush(stdout);
    for (int i = 0; !over; i++) {
        struct timeval pause = { 0, 1000 };
        free(malloc(20000 + i % 7));
        select(0, NULL, NULL, NULL, &pause);
    }
    puts("well");
    exit(0);
}
int main(void) {
    signal(SIGALRM, live);
    alarm(1);
    for (;;)
        select(0, NULL, NULL, NULL, NULL);
}
"""


def lives_in_a_handler(path):
    """A handler that does not return, of a signal that interrupted a wait: so processes of PostgreSQL 15 live."""
    program = compiled(path, "handler", HANDLER)
    with running(program) as process:
        for i in range(5):
            trace = os.path.join(path, "%d.bpt" % i)
            expect_done(command("attach", process.pid, "-o", trace, "--interval", "4K"))
            time.sleep(.1)
            expect_done(command("detach", process.pid))
            total = profiled.report(trace)["totals"]["allocated"]["bytes"]
            profiled.expect(total["high"] > 20000 and total["exact"], "%s" % total)


def kills(path):
    """The command is killed at any moment: the program lives, and the next attach and detach work."""
    kills, late = {"attach": 0, "detach": 0}, 0
    with running(profiled.program("attached"), "threads", "6") as process:
        # The first loads the recorder, which takes longer.
        expect_done(command("attach", process.pid, "-o", os.path.join(path, "first.bpt")))
        expect_done(command("detach", process.pid))
        # Within how many seconds each is killed: follows how long it takes here and now, so that about one kill in
        # three comes too late, and the others at all moments.
        within = {"attach": .05, "detach": .05}
        for i in range(10 * KILLS):
            if min(kills.values()) >= KILLS:
                break
            trace = os.path.join(path, "%d.bpt" % i)
            for arguments in (["attach", "-o", trace], ["detach"]):
                name = arguments[0]
                if name == "detach":  # of what is attached, by the command that was killed or the next
                    again = command("attach", process.pid, "-o", trace + ".again")
                    if again.status != 0:
                        expect_refused(again, "is being recorded already")
                killed = subprocess.Popen([profiled.BYTEPOLL, *arguments, str(process.pid)], env=profiled.environment(),
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(random.uniform(0, within[name]))
                killed.kill()
                in_time = killed.wait() == -signal.SIGKILL
                within[name] *= 1.1 if in_time else .8
                kills[name] += in_time
                late += not in_time
                profiled.expect(process.poll() is None, "killed by kill %d of %s" % (i, name))
        time.sleep(.2)
        command("detach", process.pid)  # attached or not
        expect_done(command("attach", process.pid, "-o", os.path.join(path, "last.bpt")))
        expect_done(command("detach", process.pid))
    profiled.Tap.note("kills in time: %s, %d came too late; at last within %s ms" % (
        kills, late, {name: round(1000 * limit, 1) for name, limit in within.items()}))
    profiled.expect(min(kills.values()) >= KILLS, "kills in time: %s, too late: %d" % (kills, late))
    # Those for this process alone: other tests attach at the same time.
    leftovers = [name for name in os.listdir("/tmp") if name.startswith("bytepoll-attach-%d-" % process.pid)]
    profiled.Tap.note("%d files of settings left by kills" % len(leftovers))
    for name in leftovers:
        os.remove(os.path.join("/tmp", name))


TESTS = {"exact": ("totals of one thread", is_exact), "storm": ("a storm of threads", storm_holds),
         "left": ("what is left behind", left_behind),
         "held": ("a thread that is held within the recorder", held_within),
         "threads": ("threads that allocate", attached("threads", "64", before_exec=last_served)),
         "throw": ("a program that throws", attached("throw", "4")),
         "wait": ("threads that wait", attached("wait", "6")),
         "fork": ("a program that forks", attached("fork", "0")),
         "dlopen": ("a program that opens and closes libraries",
                    attached("dlopen", os.path.join(profiled.PROGRAMS, "libplugin.so"))),
         "python": ("python3 with threads", program_holds("/usr/bin/python3", "-c", PYTHON)),
         "node": ("node", program_holds("node", "-e", NODE)),
         "lines": ("a program that waits for lines", waits_for_lines),
         "handler": ("a life within a signal handler", lives_in_a_handler),
         "kills": ("kills of the command", kills)}


def main():
    tap = profiled.Tap()
    for name in sys.argv[1:] or TESTS:
        if name == "node" and shutil.which("node") is None:
            tap.skip(TESTS[name][0], "needs node")
            continue
        with profiled.directory() as path:
            title, test = TESTS[name]
            tap.attempt(title, lambda test=test, path=path: test(path))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
