# SPDX-License-Identifier: MIT
"""Attaching to a process that allocates without pause, beside other tools: how often it fails, and how. Each attempt has
a process of its own: 64 threads that allocate, one whose main thread does, and a Python whose threads do. A failure is a
process that has ended, one that makes no progress for five seconds after the tool has gone (a hang), a tool that is not
done after LIMIT_S, or a recording of nothing. gdb calls dlopen of a library that does nothing (libutil.so.1), as tools that
attach by it do first. While a tool works, the states of all threads are read from /proc, over and over: how many of them
were stopped by a tracer at the most, and how long the longest such stop lasted. A look takes up to some milliseconds, and so
stops that are shorter are often not seen; what `bytepoll attach` says of its own is more exact, and is taken instead.

Only by `--only attach-peers`: a hang takes its time. BYTEPOLL_ATTEMPTS: attempts of each.
BYTEPOLL_ATTEMPTS_AT_ONCE: how many go on at the same time (1). BYTEPOLL_MEMRAY_PYTHON: a Python
that has memray; without it memray and the third process are left out."""
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

from harness import table

ATTEMPTS = 30
AT_ONCE = int(os.environ.get("BYTEPOLL_ATTEMPTS_AT_ONCE", 1))
LIMIT_S = 20
RECORD_S = 5  # of heaptrack, its attaching included
PYTHON = os.environ.get("BYTEPOLL_MEMRAY_PYTHON")
PYTHON_PROGRAM = """
import json, threading, time
made = 0
def allocate():
    global made
    while True:
        made += len(json.loads(json.dumps({"a": [made] * 50, "b": "x" * (made % 3000)}))["a"])
for _ in range(4):
    threading.Thread(target=allocate, daemon=True).start()
while True:
    time.sleep(.1)
    print(made, flush=True)
"""


def rounds_of(lines):
    """The last number that the process has printed: how far it is."""
    found = re.findall(rb"^\d+$", lines, re.M)
    return int(found[-1]) if found else -1


class Stops(threading.Thread):
    """Looks at the threads of a process until it is told to end: how many were stopped by a tracer at one look, and the
    longest time for which one was, in milliseconds."""

    def __init__(self, pid):
        super().__init__()
        self.folder, self.over, self.threads, self.longest_ms = "/proc/%d/task" % pid, False, 0, 0.
        self.start()

    def run(self):
        since = {}
        while not self.over:
            now, stopped = time.monotonic(), 0
            try:
                names = os.listdir(self.folder)
            except OSError:
                return
            for name in names:
                try:
                    with open(os.path.join(self.folder, name, "stat"), "rb") as file:
                        state = file.read().rpartition(b") ")[2][:1]
                except OSError:
                    continue
                if state == b"t":
                    stopped += 1
                    self.longest_ms = max(self.longest_ms, (now - since.setdefault(name, now)) * 1000)
                else:
                    since.pop(name, None)
            self.threads = max(self.threads, stopped)

    def end(self):
        self.over = True
        self.join()


class Target:
    """A process whose progress is in a file."""

    def __init__(self, words, folder):
        self.log = os.path.join(folder, "log")
        with open(self.log, "wb") as file:
            self.process = subprocess.Popen(words, stdout=file, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(.5)

    def progress(self):
        with open(self.log, "rb") as file:
            return rounds_of(file.read())

    def verdict(self):
        """Whether it lives, and goes on."""
        if self.process.poll() is not None:
            return "crash"
        before, until = self.progress(), time.monotonic() + 5
        while self.progress() <= before:
            if time.monotonic() > until:
                return "hang"
            time.sleep(.05)
        return "good"

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def command(words, folder):
    """None: it is not done after LIMIT_S, and was killed."""
    process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        return process.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None


def by_bytepoll(bench, pid, folder):
    trace = os.path.join(folder, "t.bpt")
    text = command([bench.bytepoll, "attach", "--duration", "1s", "-o", trace, str(pid)], folder)
    if text is None:
        return None, None
    own = [float(number) for number in re.findall(r"stood still one at a time, for ([0-9.]+) ms", text)]
    if "no thread of process" in text or "does not stop" in text:
        print(text, file=sys.stderr, flush=True)
        return "refused", None  # within --wait, and nothing was changed; or sampling has ended, and the rest is for later
    done = bool(re.search(r"^bytepoll: [1-9][0-9,]* samples of", text, re.M))
    if not done:
        print(text, file=sys.stderr, flush=True)
    return done, max(own) if own else None


def by_heaptrack(_bench, pid, folder):
    """heaptrack -p goes on until it is interrupted, and then detaches."""
    process = subprocess.Popen(["heaptrack", "-p", str(pid), "-o", os.path.join(folder, "h")], cwd=folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        process.wait(RECORD_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(LIMIT_S - RECORD_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None, None
    return any(os.path.getsize(name) > 10000 for name in glob.glob(os.path.join(folder, "h*"))), None


def by_memray(_bench, pid, folder):
    file = os.path.join(folder, "m.bin")
    text = command([PYTHON, "-m", "memray", "attach", "--native", "--trace-python-allocators", "--duration", "1",
                    "-o", file, str(pid)], folder)
    if text is None:
        return None, None
    time.sleep(2)  # the command returns once it has begun
    return os.path.exists(file) and os.path.getsize(file) > 10000, None


def by_gdb(_bench, pid, folder):
    text = command(["gdb", "-batch", "-nx", "-p", str(pid), "-ex",
                    "print ((void*(*)(const char*, int))dlopen)(\"libutil.so.1\", 2)", "-ex", "detach"], folder)
    return None if text is None else bool(re.search(r"^\$1 = \(void \*\) 0x", text, re.M)), None


TOOLS = (("bytepoll attach", by_bytepoll, "bash"), ("gdb, call of dlopen", by_gdb, "gdb"),
         ("heaptrack -p", by_heaptrack, "heaptrack"), ("memray attach", by_memray, None))


def targets(bench):
    """(what it is, its command)"""
    allocating = bench.program("allocating")
    found = [("64 threads allocate", [allocating, "64"]), ("the main thread allocates", [allocating, "0"])]
    return found + ([("Python, four threads", [PYTHON, "-c", PYTHON_PROGRAM])] if PYTHON else [])


def attempt(bench, words, attach, found, stops):
    """One attempt on a new process: counts its end in `found`, and its stops."""
    folder = bench.fresh()
    running = Target(words, folder)
    try:
        looking = Stops(running.process.pid)
        try:
            done, own_ms = attach(bench, running.process.pid, folder)
        finally:
            looking.end()
        verdict = running.verdict()
        found[verdict if verdict != "good" else "not done" if done is None else
              "refused" if done == "refused" else "good" if done else "nothing"] += 1
        stops.append((looking.threads, looking.longest_ms if own_ms is None else own_ms))
    finally:
        running.end()
    shutil.rmtree(folder, ignore_errors=True)


def peers(bench):
    """Attempts and failures of each tool on each target, and how it stopped the target's threads."""
    attempts, rows = int(os.environ.get("BYTEPOLL_ATTEMPTS", ATTEMPTS)), []
    for target, words in targets(bench):
        for name, attach, needed in TOOLS:
            if words[0] != PYTHON if needed is None else shutil.which(needed) is None:
                continue
            found, stops = {"good": 0, "refused": 0, "crash": 0, "hang": 0, "not done": 0, "nothing": 0}, []
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
                for each in [pool.submit(attempt, bench, words, attach, found, stops) for _ in range(attempts)]:
                    each.result()
            longest = [each for _, each in stops]
            rows.append((target, name, str(attempts), *(str(found[key]) for key in found),
                         str(max(threads for threads, _ in stops)),
                         "%.3g, %.3g" % (statistics.median(longest), max(longest))))
            bench.figures["attach peers %s, %s" % (target, name)] = found
            print("%s, %s: %s" % (target, name, found), file=sys.stderr, flush=True)
    table("Attaching to a process that allocates without pause",
          ("the process", "by", "attempts", "good", "the tool said no", "it crashed", "it hung", "the tool hung (%d s)" % LIMIT_S,
           "nothing recorded", "threads stopped at once", "longest stop, ms: median, worst"), rows, ())
