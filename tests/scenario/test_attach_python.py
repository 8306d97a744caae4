#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small objects of a CPython that was attached to, against counts that the script knows: at T = 1 each object of a
marked line, at a large T the totals; what the script does, whose allocators are in place, and what is said where
small objects are not recorded, or not yet.

    test_attach_python.py [TEST ...]   the Python of this machine
    test_attach_python.py others [TEST ...]   those under ~/.pyenv/versions, one of each version from 3.8 on
    test_attach_python.py free-threaded PYTHON   a build without the GIL
    BYTEPOLL_LONG_TESTS=1              200 cycles and kills of each, instead of a few; and all versions
"""
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import profiled
import pythons
from attaching import command, expect_done
from steered import Decoded

CYCLES = 200 if profiled.LONG else 10
PYTHON_OBJECT = 11
BEGIN, END = 60001, 60002  # bytes
OVERHEAD = 33  # of an object of bytes
# Reads `go N` and does all N times, between two large objects. (CPython 3.12 makes two strings whenever it collects
# garbage, in whatever line that comes.)
SCRIPT = """
import gc, sys
gc.disable()
class Thing:
    __slots__ = ("x",)
def slots(kept):
    for i in range(1000):
        kept[i] = Thing()
LENGTHS = [i % 440 + 2 for i in range(1000)]
def texts(kept):
    for i, length in enumerate(LENGTHS):
        kept[i] = b"x" * length
def grows():
    grown, last, changes = [], sys.getsizeof([]), 0
    for i in range(60):
        grown.append(None)
        changes += sys.getsizeof(grown) != last
        last = sys.getsizeof(grown)
    return changes
def all_of_it(old):
    kept = [None] * 1000
    slots(kept)
    texts(kept)
    changes = sum(grows() for _ in range(100))
    for i in range(0, len(old), 2):  # objects from before: freed, and grown
        old[i] = None
        old[i + 1].append(i)
    return changes
old = [[i] for i in range(4000)]
print("ready", flush=True)
while True:
    words = sys.stdin.readline().split()
    if not words:
        break
    for _ in range(200):
        pass
    begin = bytearray(60000)
    for _ in range(int(words[1])):
        changes = all_of_it(old)
        old = [[i] for i in range(4000)]
    end = bytearray(60001)
    print("done", changes, flush=True)
print("well")
"""
BUSY = """
import signal, sys, threading
over = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: over.set())
def work(number):
    n = 0
    while not over.is_set():
        n += 1
        made = [(n, str(i), [i]) for i in range(20)]
        text = ""
        for _, digits, held in made:
            held.append(number)
            text += digits
        assert text == "".join(map(str, range(20))) and all(held[1] == number for *_, held in made)
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
print("ready", flush=True)
while not over.is_set():
    kept = [object() for _ in range(100)]
for thread in threads:
    thread.join()
print("well")
"""
# Interpreters that begin, work, wait and end, in one process: a pending call that one of them has been given ends with it.
INTERPRETERS = """
import signal
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
over = []
signal.signal(signal.SIGTERM, lambda *_: over.append(1))
print("ready", flush=True)
while not over:
    other = interpreters.create()
    interpreters.run_string(other, "import time; kept = [[i] for i in range(3000)]; time.sleep(.002); "
                            "assert [held[0] for held in kept] == list(range(3000))")
    interpreters.destroy(other)
    kept = [[i] for i in range(1000)]
print("well")
"""
CHILDREN = """
import multiprocessing, signal
over = []
signal.signal(signal.SIGTERM, lambda *_: over.append(1))
class Thing:
    __slots__ = ("x",)
def made(n, answers):
    answers.put(len([Thing() for _ in range(n)]))
if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    print("ready", flush=True)
    while not over:
        children = [fork.Process(target=made, args=(5000, answers)) for _ in range(2)]
        for child in children:
            child.start()
        assert [answers.get() for _ in children] == [5000, 5000]
        for child in children:
            child.join()
            assert child.exitcode == 0
    print("well")
"""
SERVER = """
import asyncio, signal
async def answer(reader, writer):
    while line := await reader.readline():
        writer.write(b"".join(sorted(line.split())) + b"\\n")
        await writer.drain()
    writer.close()
async def ask(port, over):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while not over.is_set():
        writer.write(b"c b a\\n")
        assert await reader.readline() == b"abc\\n"
    writer.close()
async def main():
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print("ready", flush=True)
    await asyncio.gather(*(ask(port, over) for _ in range(5)))
    print("well")
asyncio.run(main())
"""
SLEEPS = """
import time
print("ready", flush=True)
time.sleep(2)
kept = [[i] for i in range(20000)]
print("made", flush=True)
time.sleep(60)
"""
# Never comes back from C, where it does not hold the GIL.
BLOCKED = "import ctypes\nprint('ready', flush=True)\nctypes.CDLL(None).pause()\n"
# The addresses of the functions of each domain, whenever a line is read.
ALLOCATORS = """
import ctypes, sys
def functions():
    found = []
    for domain in range(3):
        allocator = (ctypes.c_void_p * 5)()
        ctypes.pythonapi.PyMem_GetAllocator(domain, ctypes.byref(allocator))
        found.append(list(allocator))
    return found
print("ready", flush=True)
while sys.stdin.readline():
    kept = [[i] for i in range(1000)]
    print(functions(), flush=True)
print("well")
"""
TRACED = "import tracemalloc\ntracemalloc.start()\n"
SUB_INTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
other = interpreters.create()
"""
WORKS = """
import time
print("ready", flush=True)
while True:
    kept = [[i] for i in range(1000)]
    time.sleep(.001)
"""


def line_of(text):
    return SCRIPT.splitlines().index(text) + 1


class Attached:
    """The tests of one interpreter."""

    def __init__(self, tap, python, name, folder):
        self.python, self.tap, self.name = python, tap, name
        self.folder = os.path.join(folder, name)
        os.mkdir(self.folder)
        self.version = tuple(map(int, pythons.version_of(python).split(".")))

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, text, *options, extra=None):
        script = self.path("script.py")
        with open(script, "w", encoding="ascii") as file:
            file.write(text)
        process = subprocess.Popen([self.python, *options, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=profiled.environment(extra=extra), text=True)
        profiled.expect(process.stdout.readline() == "ready\n", "not ready")
        return process

    @staticmethod
    def ask(process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()

    def attach(self, process, name, interval):
        """Attaches; what the command says."""
        trace = self.path(name)
        subprocess.run(["rm", "-rf", trace, trace + ".d"], check=True)
        result = command("attach", process.pid, "-o", trace, "--interval", interval)
        expect_done(result)
        return trace, result.stderr.decode()

    @staticmethod
    def wait_until_it_reads(process):
        """Until it sleeps: what it makes meanwhile would be counted or not, as it comes."""
        for _ in range(1000):
            with open("/proc/%d/stat" % process.pid, encoding="ascii") as file:
                if file.read().rpartition(")")[2].split()[0] == "S":
                    return
            time.sleep(.01)
        raise AssertionError("it does not wait")

    @staticmethod
    def end(process, by_signal=True):
        """The program must say that all was well, and nothing else."""
        if by_signal:
            process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=60)
        profiled.expect(process.returncode == 0 and stdout.split() == ["well"] and stderr == "",
                        "status %s: %s %s" % (process.returncode, stdout[-200:], stderr[-400:]))

    def measured(self, times, interval, cycles=0):
        """The script attached to, with `go TIMES`; returns (the trace, list growths)."""
        process = self.start(SCRIPT, "-S", extra={"PYTHONHASHSEED": "0"})
        try:
            for _ in range(cycles):
                self.wait_until_it_reads(process)
                self.attach(process, "cycle", interval)
                self.ask(process, "go 1")
                expect_done(command("detach", process.pid))
            self.wait_until_it_reads(process)
            trace, _ = self.attach(process, "trace", interval)
            self.ask(process, "go 1")  # from here on its allocators are replaced
            state = profiled.report(trace)["processes"][0]["python"]
            profiled.expect(state["objects"] == "recorded", "%s" % state)
            changes = self.ask(process, "go %d" % times).split()
            self.wait_until_it_reads(process)
            expect_done(command("detach", process.pid))
            profiled.expect(changes[:1] == ["done"], "%s" % changes)
            self.end(process, by_signal=False)
        finally:
            process.kill()
            process.wait()
        return trace, int(changes[1])

    def each_object_is_there(self):
        """T = 1: as many objects at each marked line as it makes, of kind and size, with the frames of Python."""
        times = 4
        path, growths = self.measured(times, "1")
        trace = pythons.read(path)
        profiled.expect(not any(trace.lost), "lost: %s" % trace.lost)
        begin, end = ([sample["sequence"] for sample in trace.samples if sample["size"] == size][-1] for size in (BEGIN, END))
        lines, sizes = collections.Counter(), collections.Counter()
        for sample in trace.samples:
            mixed = trace.mixed.get(sample["stack"])
            if mixed is None or not begin < sample["sequence"] < end:
                continue
            functions = [trace.frames[frame] for frame, _ in mixed["frames"]]
            lines[functions[0][2]] += 1
            if functions[0][2] == line_of("        kept[i] = b\"x\" * length"):
                sizes[sample["size"], sample["kind"] == PYTHON_OBJECT] += 1
            profiled.expect(functions[-1][1] == self.path("script.py"), "%s" % functions)
        for text, expected in (("        kept[i] = Thing()", 1000), ("        kept[i] = b\"x\" * length", 1000),
                               ("        grown.append(None)", growths)):
            found = lines[line_of(text)]
            profiled.expect(found == times * expected, "%s: %d objects instead of %d" % (text.strip(), found, times * expected))
        lengths = collections.Counter((i % 440 + 2 + OVERHEAD, True) for i in range(1000))
        profiled.expect(sizes == {key: times * count for key, count in lengths.items()}, "%s" % sizes)
        # All that a time makes has been freed since, but for what is kept.
        live = sum(sample["sequence"] not in trace.frees for sample in trace.samples)
        profiled.expect(live < 30000, "%d are live" % live)

    def totals_are_exact(self):
        """At a T that samples nothing the counters say that each further time makes as many objects as at T = 1, where
        each is a record, also after other attachments."""
        def objects(times, interval, cycles=0):
            found = profiled.report(self.measured(times, interval, cycles)[0])["totals"]["allocated"]["objects"]
            profiled.expect(found["low"] == found["high"], "%s" % found)
            return found["low"]
        truth = objects(3, "1") - objects(2, "1")
        large = [objects(times, "1T") for times in (2, 3, 5)]
        profiled.expect(truth > 6000, "%d objects" % truth)
        profiled.expect([large[1] - large[0], large[2] - large[1]] == [truth, 2 * truth], "%s, where one time makes %d" % (
            large, truth))
        again = [objects(times, "1T", cycles=3) for times in (2, 3)]
        profiled.expect(again[1] - again[0] == truth, "%s after others, where one time makes %d" % (again, truth))

    @staticmethod
    def wait_until_recorded(trace):
        for _ in range(400):
            state = profiled.report(trace)["processes"][0]["python"]["objects"]
            if state != "waiting":
                break
            time.sleep(.05)
        profiled.expect(state == "recorded", state)

    def cycles_of(self, text):
        def test():
            seen, resident = 0, []
            process = self.start(text)
            try:
                for i in range(CYCLES):
                    trace, _ = self.attach(process, "trace", "16K")
                    # Every fourth time it is left at once, whatever has been reached.
                    if i % 4 != 3:
                        self.wait_until_recorded(trace)
                        time.sleep(.05)
                    expect_done(command("detach", process.pid))
                    data = profiled.report(trace, "--metric", "allocated", "--by", "kind")
                    lost = sum(data["losses"].values()) - data["losses"]["free"]
                    profiled.expect(lost == 0, "lost %s" % data["losses"])
                    states = {p["python"]["frames"] + " " + p["python"]["objects"] for p in data["processes"] if "python" in p}
                    profiled.expect(states <= {"recorded recorded", "recorded waiting"}, "%s" % states)
                    seen += any(row["name"] == "Python object" for row in data["rows"])
                    with open("/proc/%d/statm" % process.pid, encoding="ascii") as file:
                        resident.append(int(file.read().split()[1]))
                self.end(process)
            finally:
                process.kill()
                process.wait()
            profiled.Tap.note("%s: small objects were seen in %d of %d cycles, resident pages %d after 5 and %d at the end" % (
                self.name, seen, CYCLES, resident[4], resident[-1]))
            profiled.expect(seen >= CYCLES / 2, "seen in %d of %d cycles" % (seen, CYCLES))
            profiled.expect(resident[-1] < resident[4] + 4096, "grown: %s" % resident)
        return test

    def kills(self):
        """The command is killed at random moments: the program does what it did, and the next attach works."""
        process = self.start(BUSY)
        try:
            for i in range(CYCLES):
                for arguments in (["attach", "-o", self.path("killed.%d" % i)], ["detach"]):
                    killed = subprocess.Popen([profiled.BYTEPOLL, *arguments, str(process.pid)], env=profiled.environment(),
                                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    time.sleep(random.uniform(0, .12))
                    killed.kill()
                    killed.wait()
                    profiled.expect(process.poll() is None, "killed")
            time.sleep(.2)
            command("detach", process.pid)  # attached or not
            trace, _ = self.attach(process, "trace", "16K")
            time.sleep(.5)
            expect_done(command("detach", process.pid))
            self.end(process)
        finally:
            process.kill()
            process.wait()
        data = profiled.report(trace)
        profiled.expect(data["processes"][0]["python"]["objects"] == "recorded", "%s" % data["processes"][0]["python"])
        for name in os.listdir("/tmp"):
            if name.startswith("bytepoll-attach-%d-" % process.pid):
                os.remove(os.path.join("/tmp", name))

    def sleeps(self):
        """While the main thread sleeps small objects wait; they are there once it wakes up, and since when is said."""
        process = self.start(SLEEPS)
        try:
            trace, said = self.attach(process, "trace", "1")
            profiled.expect("its small objects are not recorded" in said, said)
            state = profiled.report(trace)["processes"][0]["python"]
            profiled.expect(state["objects"] == "waiting" and "objects_after_s" not in state, "%s" % state)
            profiled.expect(process.stdout.readline() == "made\n", "it has ended")
            expect_done(command("detach", process.pid))
        finally:
            process.kill()
            process.wait()
        data = profiled.report(trace, "--metric", "allocated", "--by", "kind")
        state, duration = data["processes"][0]["python"], data["processes"][0]["duration_s"]
        profiled.expect(state["objects"] == "recorded" and .5 < state["objects_after_s"] < duration, "%s" % state)
        since = Decoded(trace).state["small_objects_time_ns"]
        profiled.expect(since > 0, "%s" % since)
        text = profiled.run([profiled.BYTEPOLL, "report", trace]).stdout.decode()
        profiled.expect("its small objects are recorded from %.3g s on" % state["objects_after_s"] in " ".join(text.split()), text)
        objects = {row["name"]: row["objects"]["estimate"] for row in data["rows"]}
        # Three for each but the first 257, whose integers are there already. (3.8 has no pending call that could be
        # used: its small objects begin with the first call of malloc, when the outer list has grown a little.)
        profiled.expect(59743 - 400 <= objects.get("Python object", 0) < 59743 + 200, "%s" % objects)

    def blocked(self):
        """A main thread that never comes back to Python: that is said, by the command and by the report."""
        process = self.start(BLOCKED)
        try:
            self.wait_until_it_reads(process)
            time.sleep(.2)
            trace, said = self.attach(process, "trace", "1")
            expect_done(command("detach", process.pid))
        finally:
            process.kill()
            process.wait()
        data = profiled.report(trace)
        state = data["processes"][0]["python"]
        profiled.expect(state["objects"] == "waiting", "%s" % state)
        for text in (said, " ".join(data["warnings"])):
            profiled.expect("its small objects are not recorded: since the process was attached to" in text, text)

    def given_back(self):
        """After a detach CPython's own allocators are in place again; attached, those of pymalloc alone are others."""
        process = self.start(ALLOCATORS)
        try:
            before = self.ask(process, "")
            for _ in range(5):
                self.attach(process, "trace", "16K")
                self.ask(process, "")
                attached = self.ask(process, "")
                profiled.expect(eval(attached)[0] == eval(before)[0] and attached != before, "%s" % attached)
                expect_done(command("detach", process.pid))
                self.ask(process, "")
                after = self.ask(process, "")
                # Without a pending call they may stay until the next thread holds the GIL in there.
                profiled.expect(after == before or self.version < (3, 9), "%s instead of %s" % (after, before))
            self.end(process, by_signal=False)
        finally:
            process.kill()
            process.wait()

    def refused(self):
        """What stands in the way is said, by the command and in the trace."""
        cases = [("traced", TRACED, (), {}, "other allocators"), ("dev", "", ("-X", "dev"), {}, "other allocators"),
                 ("malloc", "", (), {"PYTHONMALLOC": "malloc"}, "all in malloc"),
                 ("debug", "", (), {"PYTHONMALLOC": "debug"}, "other allocators")]
        if self.version >= (3, 12):
            cases.append(("sub", SUB_INTERPRETER, (), {}, "several interpreters"))
        for name, before, options, extra, state in cases:
            process = self.start(before + WORKS, *options, extra=extra)
            try:
                trace, said = self.attach(process, name, "16K")
                time.sleep(.2)
                doctor = profiled.run([profiled.BYTEPOLL, "doctor", str(process.pid)]).stdout.decode()
                expect_done(command("detach", process.pid))
                profiled.expect(process.poll() is None, name)
            finally:
                process.kill()
                process.wait()
            found = profiled.report(trace)["processes"][0]["python"]["objects"]
            profiled.expect(found == state, "%s: %s instead of %s" % (name, found, state))
            for text in (said, " ".join(doctor.split())):
                profiled.expect("its small objects" in text, "%s: %s" % (name, text))

    def all(self, only=()):
        for what, test in (("each object", self.each_object_is_there), ("exact totals", self.totals_are_exact),
                           ("threads that allocate", self.cycles_of(BUSY)),
                           ("children", self.cycles_of(CHILDREN)), ("interpreters that end", self.cycles_of(INTERPRETERS)),
                           ("a server", self.cycles_of(SERVER)),
                           ("kills of the command", self.kills), ("asleep", self.sleeps), ("blocked", self.blocked),
                           ("given back", self.given_back), ("other allocators", self.refused)):
            # (From 3.12 on their small objects are not recorded: see `refused`.)
            if what == "interpreters that end" and self.version >= (3, 12):
                continue
            if not only or what in only:
                self.tap.attempt("%s: %s" % (self.name, what), test)


    def free_threaded_is_said(self):
        """Nothing of a build without the GIL is recorded but what it asks malloc for, and that is said; its threads go on."""
        process = self.start(BUSY)
        try:
            trace, text = self.attach(process, "trace", "1")
            profiled.expect("this Python is free-threaded" in " ".join(text.split()), text)
            time.sleep(.5)
            expect_done(command("detach", process.pid))
            self.end(process)
        finally:
            process.kill()
            process.wait()
        read = pythons.read(trace)
        profiled.expect(not any(read.lost) and not read.mixed and not read.frames, "frames, or lost: %s" % read.lost)
        profiled.expect(all(sample["kind"] != PYTHON_OBJECT for sample in read.samples), "an object of Python's")
        said = " ".join(profiled.run([profiled.BYTEPOLL, "report", trace]).stdout.decode().split())
        profiled.expect("neither its functions nor its small objects are recorded" in said and
                        "statically linked" not in said, said)


def main():
    tap = profiled.Tap()
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:2] == ["free-threaded"]:
            attached = Attached(tap, sys.argv[2], "free-threaded", folder)
            tap.attempt("free-threaded: what is recorded is said", attached.free_threaded_is_said)
            return tap.finish()
        if sys.argv[1:2] != ["others"]:
            Attached(tap, "/usr/bin/python3", pythons.SYSTEMS, folder).all(sys.argv[1:])
            return tap.finish()
        found = pythons.others()
        # The first has no pending calls, 3.11 another frame, and the last has several GILs.
        for version in pythons.VERSIONS if profiled.LONG else ("3.8", "3.11", "3.13"):
            if version in found:
                Attached(tap, found[version], version, folder).all(sys.argv[2:])
            else:
                tap.skip(version, "no Python of this version under ~/.pyenv/versions")
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
