# SPDX-License-Identifier: MIT
"""Attaching to a process that allocates without pause, beside other tools: how often it fails, and how. Each attempt has
a process of its own: 64 threads that allocate, and one whose main thread does. A failure is a process that has ended,
one that makes no progress for five seconds after the tool has gone (a hang), a tool that is not done after LIMIT_S, or
a recording of nothing. gdb calls dlopen of a library that does nothing (libutil.so.1), as tools that attach by it do first.

Only by `--only attach-peers`: a hang takes its time. BYTEPOLL_ATTEMPTS: attempts of each."""
import glob
import os
import re
import shutil
import signal
import subprocess
import time

from harness import table

ATTEMPTS = 30
LIMIT_S = 20
RECORD_S = 5  # of heaptrack, its attaching included
TARGETS = (("64 threads allocate", "64"), ("the main thread allocates", "0"))


def rounds_of(lines):
    """The last number that the process has printed: how far it is."""
    found = re.findall(rb"^\d+$", lines, re.M)
    return int(found[-1]) if found else -1


class Target:
    """programs/allocating.c, whose progress is in a file."""

    def __init__(self, bench, threads, folder):
        self.log = os.path.join(folder, "log")
        with open(self.log, "wb") as file:
            self.process = subprocess.Popen([bench.program("allocating"), threads], stdout=file,
                                            stderr=subprocess.DEVNULL, start_new_session=True)
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
    if text is not None and "no thread of process" in text:
        return "refused"  # within --wait, and nothing was changed
    return None if text is None else bool(re.search(r"^bytepoll: [1-9][0-9,]* samples of", text, re.M))


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
        return None
    return any(os.path.getsize(name) > 10000 for name in glob.glob(os.path.join(folder, "h*")))


def by_gdb(_bench, pid, folder):
    text = command(["gdb", "-batch", "-nx", "-p", str(pid), "-ex",
                    "print ((void*(*)(const char*, int))dlopen)(\"libutil.so.1\", 2)", "-ex", "detach"], folder)
    return None if text is None else bool(re.search(r"^\$1 = \(void \*\) 0x", text, re.M))


TOOLS = (("bytepoll attach", by_bytepoll, "bash"), ("gdb, call of dlopen", by_gdb, "gdb"),
         ("heaptrack -p", by_heaptrack, "heaptrack"))


def peers(bench):
    """Attempts and failures of each tool on each target."""
    attempts, rows = int(os.environ.get("BYTEPOLL_ATTEMPTS", ATTEMPTS)), []
    for target, threads in TARGETS:
        for name, attach, needed in TOOLS:
            if shutil.which(needed) is None:
                continue
            found = {"good": 0, "refused": 0, "crash": 0, "hang": 0, "not done": 0, "nothing": 0}
            for _ in range(attempts):
                folder = bench.fresh()
                running = Target(bench, threads, folder)
                try:
                    done = attach(bench, running.process.pid, folder)
                    verdict = running.verdict()
                    found[verdict if verdict != "good" else "not done" if done is None else
                          "refused" if done == "refused" else "good" if done else "nothing"] += 1
                finally:
                    running.end()
                shutil.rmtree(folder, ignore_errors=True)
            rows.append((target, name, str(attempts), *(str(found[key]) for key in found)))
            bench.figures["attach peers %s, %s" % (target, name)] = found
    table("Attaching to a process that allocates without pause",
          ("the process", "by", "attempts", "good", "the tool said no", "it crashed", "it hung", "the tool hung (%d s)" % LIMIT_S,
           "nothing recorded"), rows, ())
