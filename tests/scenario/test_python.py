#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPython: its functions in stacks, and its small objects, against what Python itself says of them.

Every object of T = 1 is recorded, so that each comparison is exact: the stack at an object is the one that
traceback.walk_stack took there, function, file and line; the small objects that are live are the blocks in use of
each of pymalloc's pools. Programs do under the recorder what they do without.

    test_python.py             the Python of this machine
    BYTEPOLL_LONG_TESTS=1      stacks at 15,000 objects of each version, instead of 200
    test_python.py others      those under ~/.pyenv/versions, one of each version from 3.8 on
    test_python.py free-threaded PYTHON   a build without the GIL: nothing of it is recorded but malloc's, and that is said
"""
import ast
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import profiled
import test_foreign
from pythons import SYSTEMS, VERSIONS, others, read, version_of

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "python")
TABLES_MOST = 100  # objects that pymalloc allocates for its own tables, in all of the starts of one program
ROUNDS = 230 if profiled.LONG else 1  # some 15,000 objects of each version
PYTHON_OBJECT = 11
# Small objects of every size, lists that grow in place, strings that move, and what goes to malloc.
BEGIN, END = 60001, 60002  # bytes
# Integers that were freed before are used up first: how many CPython 3.14 keeps for itself differs by the start.
HELD = """
import os, signal, sys
pid, stop = os.getpid(), signal.SIGSTOP
drained = [i + 1000 for i in range(1000)]
begin = bytearray(60000)
sys._debugmallocstats()
kept = [[i, str(i)] for i in range(5000)]
texts = [b'x' * (i % 700) for i in range(3000)]
for i in range(3000):
    texts[i] += b'y' * (i % 9)
grown = []
for i in range(300):
    grown.append(i)
del kept[::3], texts[::2]
end = bytearray(60001)
sys._debugmallocstats()
os.kill(pid, stop)
"""
# What is made while a function begins is of the line that calls it, as tracemalloc has it.
LINES = """
import collections, os, sys, tracemalloc
traced = sys.argv[1] == 'traced'
async def work(x):
    return x
def numbers(x):
    yield x
def cells(a, b):
    return lambda: (a, b)
class Thing:
    def __init__(self, x):
        self.x = [x]
def make(kept):
    for i in range(40):
        kept.append(work(i))
    for i in range(40):
        kept.append(numbers(i))
    for i in range(40):
        kept.append(cells(i,
                          [i]))
    for i in range(40):
        kept.append(Thing(i))
    kept.append([work(i) for i in range(40)])
    kept.extend(numbers(i) for i in range(40))
make([])
kept = []
if traced:
    tracemalloc.start()
begin = bytearray(60000)
make(kept)
end = bytearray(60001)
if traced:
    lines = collections.Counter()
    for trace in tracemalloc.take_snapshot().traces:
        if trace.traceback[0].filename == __file__ and trace.size < 60000:
            lines[trace.traceback[0].lineno] += 1
    print(dict(lines), flush=True)
os._exit(0)
"""
# Four threads that make and free objects and call functions at the same time, and a child.
FREE_THREADED_PROGRAM = """
import os, sys, threading
def work(depth):
    return [[i] for i in range(50)] if depth == 0 else work(depth - 1)
def run(number, results):
    for i in range(200):
        kept = work(i % 20)
    results[number] = len(kept)
results = {}
threads = [threading.Thread(target=run, args=(n, results)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(results.items()), sys._is_gil_enabled(), flush=True)
child = os.fork()
if child == 0:
    print(len(work(10)), flush=True)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
# Objects of a size that nothing else has, made by malloc and by calloc, of which every second is freed, and some that grow.
COUNTED, SMALL_BYTES, LARGE_BYTES = 1000, 333, 2001
COUNTED_PROGRAM = """
import os, sys
n, fill = int(sys.argv[1]), b'x'
begin = bytearray(60000)
made = [fill * 300 for i in range(n)]
made += [bytes(300) for i in range(n)]
made += [bytearray(2000) for i in range(n)]
for i in range(n):
    made[2 * n + i] += fill * 900
del made[::2]
end = bytearray(61000)
print(len(made), sys.flags.dev_mode, flush=True)
os._exit(0)
"""
ALLOCATORS = ("default", "malloc", "pymalloc", "debug", "malloc_debug", "pymalloc_debug", "mimalloc", "mimalloc_debug")


class Python:
    """The tests of one interpreter."""

    def __init__(self, tap, python, name, folder):
        self.tap, self.python, self.name = tap, python, name
        self.folder = os.path.join(folder, name)
        os.mkdir(self.folder)
        self.version = tuple(map(int, version_of(python).split(".")))

    def check(self, what, action):
        self.tap.attempt("%s: %s" % (self.name, what), action)

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, *arguments, interval=1, extra=None, trace="trace"):
        path = self.path(trace)
        subprocess.run(["rm", "-rf", path, path + ".d"], check=True)
        result = profiled.run([self.python, *arguments], trace=path, interval=interval, extra=extra)
        return result, path

    def stacks_are_the_truth(self, words=("-S", os.path.join(PROGRAMS, "marks.py")), least=150):
        written = self.path("marks")
        result, path = self.record(*words, written, str(ROUNDS))
        profiled.expect(result.status == 0, result.stderr.decode(errors="replace")[-500:])
        trace = read(path)
        profiled.expect(not any(trace.lost), "lost: %s" % trace.lost)
        at, right, positions = {}, 0, 0
        for sample in trace.samples:
            if sample["sequence"] not in trace.frees:
                at[sample["address"]] = sample
        with open(written, encoding="utf-8") as lines:
            for line in lines:
                address, expected = ast.literal_eval(line)
                profiled.expect(address in at, "an object was not recorded")
                mixed = trace.mixed.get(at[address]["stack"])
                profiled.expect(mixed is not None, "no frames of Python at %s" % (expected[:2],))
                got = [trace.frames[frame] for frame, _ in mixed["frames"]]
                profiled.expect(got == expected, "%s instead of %s" % (got[:4], expected[:4]))
                depth = len(trace.native[mixed["native"]]["frames"])
                positions += all(position < depth for _, position in mixed["frames"]) or depth == 256
                right += 1
        profiled.expect(right > least, "only %d objects" % right)
        # A loop that the native walk did not see is allowed, where its stack was deep.
        profiled.expect(positions == right, "%d of %d have loops that were not seen" % (right - positions, right))

    def small_objects_are_all_there(self):
        """What the live small objects of a program's middle become more, by size class, is what the blocks become that
        pymalloc has in use in a twin that is not recorded. (Starts differ by where the kernel puts things.)"""
        path = self.path("held")
        environment = profiled.environment(path, 1, extra={"PYTHONHASHSEED": "0"})
        # (The loader says that it is not there, and goes on.)
        twin = dict(environment, LD_PRELOAD="/".ljust(len(environment["LD_PRELOAD"]), "x"))
        expected = self.blocks_in_use(self.held(twin))
        self.held(environment)
        trace, more = read(path), collections.Counter()
        begin, end = (next(sample["sequence"] for sample in trace.samples if sample["size"] == size) for size in (BEGIN, END))
        for sample in trace.samples:
            if sample["kind"] == PYTHON_OBJECT:
                size, freed = (sample["size"] + 15) // 16 * 16, trace.frees.get(sample["sequence"], end)
                more[size] += begin < sample["sequence"] < end <= freed
                more[size] -= sample["sequence"] < begin < freed < end
        profiled.expect(all(more[size] == expected[size] for size in set(more) | set(expected)), "more than blocks: %s" % {
            size: more[size] - expected[size] for size in sorted(set(more) | set(expected)) if more[size] != expected[size]})
        profiled.expect(len(more) > 25 and sum(more.values()) > 14000, "%s" % more)
        profiled.expect(not any(trace.lost), "lost: %s" % trace.lost)

    def held(self, environment):
        """Runs HELD until it stops, and ends it; what it wrote to standard error."""
        process = subprocess.Popen([self.python, "-S", "-c", HELD], stderr=subprocess.PIPE, env=environment, text=True)
        os.waitpid(process.pid, os.WUNTRACED)
        process.kill()
        return process.communicate()[1]

    @staticmethod
    def blocks_in_use(text):
        """What sys._debugmallocstats() prints of pymalloc's size classes (class, size, pools, blocks, free ones): the second
        table less the first one."""
        rows = [line.split() for line in text.splitlines() if re.fullmatch(r"\s*\d+(\s+\d+){4}", line)]
        second = [i for i, row in enumerate(rows) if i > 0 and int(row[0]) < int(rows[i - 1][0])][0]
        blocks = collections.Counter()
        for i, row in enumerate(rows):
            blocks[int(row[1])] += int(row[3]) * (1 if i >= second else -1)
        return blocks

    def lines_are_those_of_tracemalloc(self):
        script = self.path("lines.py")
        with open(script, "w", encoding="ascii") as file:
            file.write(LINES)
        plain = profiled.run([self.python, "-S", script, "traced"])
        expected = ast.literal_eval(plain.stdout.decode())
        result, path = self.record("-S", script, "recorded")
        profiled.expect(result.status == 0, result.stderr.decode())
        trace, lines = read(path), collections.Counter()
        begin, end = (next(sample["sequence"] for sample in trace.samples if sample["size"] == size) for size in (BEGIN, END))
        for sample in trace.samples:
            mixed = trace.mixed.get(sample["stack"])
            if mixed is not None and begin < sample["sequence"] < end <= trace.frees.get(sample["sequence"], end):
                _, file, line = trace.frames[mixed["frames"][0][0]]
                lines[line] += file == script
        within = range(1, LINES.split("\nmake([])")[0].count("\n") + 2)  # of functions: not where it begins and ends
        differ = {line: (lines[line], expected.get(line, 0)) for line in within if lines[line] != expected.get(line, 0)}
        profiled.expect(not differ, "objects by line, recorded and traced: %s" % differ)
        profiled.expect(sum(lines.values()) > 400 and len(lines) > 6, "%s" % lines)

    def allocators_are_the_programs(self):
        """PYTHONMALLOC, -X dev and tracemalloc choose allocators; ours follow them."""
        program = "import sys; kept = [[i] for i in range(3000)]; print(len(kept), sys.flags.dev_mode)"
        for words, extra, in_arenas in (
                ((), {}, True), ((), {"PYTHONMALLOC": "malloc"}, False),
                ((), {"PYTHONMALLOC": "debug"}, True), ((), {"PYTHONMALLOC": "malloc_debug"}, False),
                ((), {"PYTHONMALLOC": "pymalloc"}, True), (("-X", "dev"), {}, True),
                (("-X", "tracemalloc"), {}, True), (("-E",), {"PYTHONMALLOC": "malloc"}, True)):
            plain = profiled.run([self.python, "-S", *words, "-c", program], extra=extra)
            result, path = self.record("-S", *words, "-c", program, extra=extra)
            profiled.expect_same(plain, result)
            data = profiled.report(path, "--metric", "allocated", "--by", "type", "--rows", "100")
            objects = {row["name"]: row["objects"]["estimate"] for row in data["rows"]}
            total = data["totals"]["allocated"]["objects"]["estimate"]
            small = objects.get("Python object", 0)
            profiled.expect((small if in_arenas else total) > 6000 and (small > 6000) == in_arenas,
                            "%s %s: %s" % (words, extra, objects))
            profiled.expect(data["samples"] == total == sum(objects.values()) and profiled.lost(data) == 0,
                            "%s %s: an object twice, or not at all: %s of %s" % (words, extra, objects, total))

    def allocators_count_exactly(self):
        """With each of Python's allocators: the objects that a program makes and frees are those that are recorded, of the
        kind that they are; and the totals are exact whether or not anything is sampled before the interpreter starts."""
        script = self.path("counted.py")
        with open(script, "w", encoding="ascii") as file:
            file.write(COUNTED_PROGRAM)
        # With PYTHONMALLOC=malloc the hooks of malloc count all there is. At each T by itself, since where samples lie
        # moves the program: classes are known by their addresses, as integers, and 3.14 keeps small ones for reuse.
        # With 1 GiB the interpreter has started long before the first sample.
        for words in ((), ("-X", "dev")):
            command = ("-S", *words, script, str(COUNTED))
            malloc = [self.counted(command, "malloc", interval) for interval in ("01", "1G")]
            for name in ALLOCATORS if not words else ("default",):
                if "mimalloc" in name and self.version < (3, 13):
                    continue
                totals = [self.counted(command, name, interval) for interval in ("01", "1G")]
                what = "%s %s, T = 1 byte and 1 GiB: %s, and by malloc %s" % (name, words, totals, malloc)
                # The rest is of the allocator itself: pymalloc's tables of arenas, which grow with their number, and that
                # depends on where they lie; blocks that Python's checks move; and with mimalloc all addresses are large.
                # (12,000 were missing where the allocators that Python chooses late were met late.)
                objects, bytes_ = ([total[unit]["estimate"] - other[unit]["estimate"] for total, other in zip(totals, malloc)]
                                   for unit in ("objects", "bytes"))
                profiled.expect(max(map(abs, objects)) <= 16, what)
                profiled.expect(abs(bytes_[0] - bytes_[1]) <= 4096, what)

    def counted(self, command, name, interval):
        result, path = self.record(*command, interval=interval, extra={"PYTHONMALLOC": name, "PYTHONHASHSEED": "0"})
        profiled.expect(result.status == 0, "%s: %s" % (name, result.stderr.decode(errors="replace")[-500:]))
        if interval == "01":
            self.expect_counted(path, name)
        return profiled.report(path, "--metric", "allocated")["totals"]["allocated"]

    @staticmethod
    def expect_counted(path, name):
        """By size and kind, as of COUNTED_PROGRAM. Python's checks add some bytes to what malloc is asked for."""
        samples = sorted(profiled.samples(path), key=lambda sample: sample.sequence)

        def of_size(size, among):
            sizes = collections.Counter(sample.size for sample in among if 0 <= sample.size - size <= 64)
            return [sample for sample in among if sizes and sample.size == sizes.most_common(1)[0][0]]
        begin, end = (of_size(size, samples)[0].sequence for size in (BEGIN, BEGIN + 1000))
        during = [sample for sample in samples if begin < sample.sequence < end]
        for size, made, freed in ((SMALL_BYTES, 2 * COUNTED, COUNTED), (LARGE_BYTES, COUNTED, COUNTED)):
            found = of_size(size, during)
            ended = sum(0 < sample.free_sequence < end for sample in found)
            profiled.expect((len(found), ended) == (made, freed), "%s: %d objects of %d bytes, %d freed" % (
                name, len(found), size, ended))
            is_own = "mimalloc" in name or (name != "malloc" and name != "malloc_debug" and size <= 512)
            data = profiled.report(path, "--metric", "allocated", "--by", "type", "--filter", "size=%d..%d" % (
                found[0].size, found[0].size))
            types = {row["name"]: row["objects"]["estimate"] for row in data["rows"]}
            own = types.pop("Python object", 0)
            profiled.expect(own >= made if is_own else own < made <= sum(types.values()), "%s: %d bytes: %s and %d" % (
                name, size, types, own))
        profiled.expect(profiled.lost(data) == 0, "lost: %s" % data["losses"])

    def free_threaded_is_said(self):
        """Stacks of C and the objects of malloc alone, one line that says so, and no advice that does not help."""
        for gil in ("0", "1"):
            words, extra = ("-S", "-c", FREE_THREADED_PROGRAM), {"PYTHON_GIL": gil}
            plain = profiled.run([self.python, *words], extra=extra)
            profiled.expect(plain.status == 0 and (gil == "1") == (b"True" in plain.stdout), "%s" % (plain,))
            totals = []
            for interval in ("01", "64", "1G"):
                result, path = self.record(*words, interval=interval, extra=extra)
                profiled.expect_same(plain, result)
                trace = read(path)
                profiled.expect(not any(trace.lost) and not trace.mixed and not trace.frames, "frames, or lost: %s" % trace.lost)
                profiled.expect(all(sample["kind"] != PYTHON_OBJECT for sample in trace.samples), "an object of Python's")
                states = {(record["frames"], record["objects"]) for record in trace.interpreters}
                profiled.expect(states == {(3, 3)}, "%s" % states)
                totals.append(profiled.report(path, "--metric", "allocated", "--pid", str(
                    profiled.report(path)["processes"][0]["pid"]))["totals"]["allocated"]["objects"]["estimate"])
            profiled.expect(min(totals) > 0 and max(totals) - min(totals) < max(totals) / 50, "objects: %s" % totals)
        path = self.path("said")
        result = profiled.run([profiled.BYTEPOLL, "run", "-f", "-o", path, "--", self.python, "-S", "-c",
                               "kept = [[i] for i in range(300000)]\nimport time; time.sleep(.5)"])
        said = result.stderr.decode() + profiled.run([profiled.BYTEPOLL, "report", path]).stdout.decode()
        line = "neither its functions nor its small objects are recorded"
        profiled.expect(result.status == 0 and " ".join(said.split()).count(line) == 1, said)
        profiled.expect("malloc explains less than" in said and "free-threaded" in said and "PYTHONMALLOC" not in said and
                        "linked in" not in said, said)

    def processes_do_what_they_did(self):
        program = os.path.join(PROGRAMS, "processes.py")
        plain = profiled.run([self.python, program])
        for interval in (4096,) if self.name == SYSTEMS else (1, 4096):
            result, path = self.record(program, interval=interval)
            profiled.expect_same(plain, result)
            data = profiled.report(path, "--metric", "allocated", "--rows", "1000")
            profiled.expect(profiled.lost(data) == 0, "lost: %s" % data["losses"])
            names = {row["name"] for row in data["rows"]}
            # (Before 3.11 a function has no qualified name.)
            profiled.expect(names & {"processes.deep", "processes.work.<locals>.deep"}, "%s" % sorted(names)[:40])

    def a_filling_raw_domain_harms_nothing(self):
        """Memory that the recorder gives for a small object is written to by whoever passes it on."""
        program = "import sys\nkept = [[i, str(i), {i: i}] for i in range(20000)]\ndel kept[::2]\nprint(len(kept), kept[99])"
        plain = profiled.run([self.python, "-S", "-c", program])
        for interval in (1, 256):
            result, path = self.record("-S", "-c", program, interval=interval, extra={
                "LD_PRELOAD": profiled.RECORDER + ":" + profiled.program("libfilling_raw.so")})
            profiled.expect_same(plain, result)
            data = profiled.report(path, "--metric", "allocated", "--by", "type", "--rows", "100")
            names = [row["name"] for row in data["rows"]]
            profiled.expect("Python object" in names and profiled.lost(data) == 0, "%s, lost %s" % (names, data["losses"]))

    def frees_are_seen_over_another_malloc(self):
        """The filter of pages is one, for small objects and for the allocator's own."""
        library, program = test_foreign.path_of(test_foreign.LIBRARIES["jemalloc"]), "kept = [[i, str(i)] for i in range(20000)]; del kept"
        result, path = self.record("-S", "-c", program, interval=64, extra={"LD_PRELOAD": profiled.RECORDER + ":" + library})
        profiled.expect(result.status == 0, result.stderr.decode())
        data = profiled.report(path)
        profiled.expect(data["samples"] > 5000 and profiled.lost(data) == 0, "%d samples, lost: %s" % (data["samples"], data["losses"]))

    def settings_are_obeyed(self):
        program = "kept = [[i] for i in range(20000)]"
        for wanted, frames, objects in (("all", True, True), ("frames", True, False), ("off", False, False)):
            result, path = self.record("-S", "-c", program, interval=256, extra={"BYTEPOLL_PYTHON": wanted})
            profiled.expect(result.status == 0, result.stderr.decode())
            trace = read(path)
            profiled.expect(bool(trace.mixed) == frames, "%s: frames %s" % (wanted, bool(trace.mixed)))
            small = any(sample["kind"] == PYTHON_OBJECT for sample in trace.samples)
            profiled.expect(small == objects, "%s: small objects %s" % (wanted, small))

    def names_are_inert(self):
        """A function and a file whose names are commands to a terminal, and bytes that are no text."""
        program = ("c = compile('def f():\\n return [[] for _ in range(5000)]\\n', '\\x1b]0;title\\x07<b>.py', 'exec')\n"
                   "import types\nd = {}\nexec(c, d)\nf = d['f']\n"
                   "f.__code__ = f.__code__.replace(co_name='\\x1b[31m\\udc80</script>')\n"
                   "kept = f()\n")
        result, path = self.record("-S", "-c", program, interval=64)
        profiled.expect(result.status == 0, result.stderr.decode(errors="replace"))
        for words in (["report"], ["report", "--tree"], ["report", "--by", "file"], ["report", "--json"],
                      ["export", "--to", "collapsed", "-o", "-"], ["export", "--to", "speedscope", "-o", "-"]):
            shown = profiled.run([profiled.BYTEPOLL, *words, path])
            profiled.expect(shown.status == 0, shown.stderr.decode(errors="replace"))
            profiled.expect(b"\x1b" not in shown.stdout and b"\x07" not in shown.stdout, "%s" % words)

    def modules_keep_functions_apart(self):
        for name, size in (("first", 1000), ("second", 2000)):
            with open(self.path(name + ".py"), "w", encoding="ascii") as file:
                file.write("def work():\n result = []\n for _ in range(100):\n  result.append(bytes(%d))\n"
                           " return result\nmade = work()\n" % size)
        # (Objects of T bytes and more are all recorded.)
        result, path = self.record("-c", "import sys; sys.path.insert(0, %r); import first, second" % self.folder,
                                   interval=512)
        profiled.expect(result.status == 0, result.stderr.decode())
        data = profiled.report(path, "--metric", "allocated", "--rows", "10000", "--filter", "size=1000..2100")
        objects = {row["name"]: row["objects"]["estimate"] for row in data["rows"]}
        profiled.expect(objects.get("first.work", 0) >= 100 and objects.get("second.work", 0) >= 100, objects)
        tree = profiled.run([profiled.BYTEPOLL, "export", "--to", "collapsed", "-o", "-", "--metric", "allocated", path])
        profiled.expect(b"first (module);first.work" in tree.stdout, tree.stdout[-500:])

    def include(self):
        """The folder of Python.h; None: this Python came without it."""
        folder = subprocess.run([self.python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"],
                                stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        return folder if shutil.which("cc") and os.path.exists(os.path.join(folder, "Python.h")) else None

    def an_extension_that_cannot_be_unwound_is_seen(self):
        """Native stacks end in an extension without unwind tables: what it made stands below its name, in stacks of
        both kinds as in native ones, and below the function of Python that called it."""
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables",
                        "-fno-unwind-tables", "-I", self.include(), "-o", self.path("bare.so"), os.path.join(PROGRAMS, "bare.c")],
                       check=True)
        script = self.path("calls.py")
        with open(script, "w", encoding="ascii") as file:
            file.write("import bare\ndef caller():\n    return bare.rows(300)\nkept = caller()\n")
        result, path = self.record("-S", script, interval=4096, extra={"PYTHONPATH": os.path.dirname(script)})
        profiled.expect(result.status == 0, result.stderr.decode())
        for frames in ("both", "native"):
            data = profiled.report(path, "--metric", "allocated", "--frames", frames, "--filter", "stack=row*",
                                   "--filter", "size=20000..20100")
            profiled.expect(data["totals"]["allocated"]["samples"] == 900, "%s: %s" % (frames, data["totals"]["allocated"]))
        folded = profiled.run([profiled.BYTEPOLL, "export", "--to", "collapsed", "-o", "-", "--metric", "allocated",
                               "--filter", "size=20000..20100", path]).stdout.decode()
        for line in folded.splitlines():
            profiled.expect("calls (module);calls.caller;" in line and "row" in line.split("calls.caller;")[1], line)

    def killed_traces_can_be_read(self):
        path = self.path("killed")
        process = subprocess.Popen(
            [self.python, "-S", "-c", "kept = []\nwhile True: kept.append([str(len(kept))]); del kept[:len(kept) // 100000 * 100000]"],
            env=profiled.environment(path, 4096), start_new_session=True)
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        profiled.expect(len(read(path).samples) > 100, "few samples")
        profiled.report(path)

    def all(self):
        self.check("stacks are those that Python sees", self.stacks_are_the_truth)
        self.check("small objects are the blocks that pymalloc has in use", self.small_objects_are_all_there)
        self.check("lines are those of tracemalloc", self.lines_are_those_of_tracemalloc)
        self.check("allocators are chosen by the program", self.allocators_are_the_programs)
        self.check("every allocator of Python's counts exactly", self.allocators_count_exactly)
        self.check("children, threads and interpreters", self.processes_do_what_they_did)
        self.check("a raw domain that fills memory", self.a_filling_raw_domain_harms_nothing)
        self.check("frees over another malloc", self.frees_are_seen_over_another_malloc)
        self.check("settings", self.settings_are_obeyed)
        self.check("hostile names", self.names_are_inert)
        if self.include():
            self.check("an extension that cannot be unwound", self.an_extension_that_cannot_be_unwound_is_seen)
        else:
            self.tap.skip("%s: an extension that cannot be unwound" % self.name, "no Python.h or no compiler")
        self.check("kill -9", self.killed_traces_can_be_read)
        self.check("functions of one name in two modules", self.modules_keep_functions_apart)
        self.embedded()

    def greenlets(self):
        if self.version in ((3, 11), (3, 13)):  # of Debian 12 and 13, with its gevent
            self.check("greenlets", lambda: self.stacks_are_the_truth((os.path.join(PROGRAMS, "greenlets.py"),), 899))
        else:
            self.tap.skip("%s: greenlets" % self.name, "not the Python of Debian 12 or 13")

    def embedded(self):
        """A libpython that the program opens, ends and closes, twice."""
        found = subprocess.run(
            [self.python, "-c", "import sysconfig as s, os\nfor f in (s.get_config_var('INSTSONAME'), s.get_config_var('LDLIBRARY')):\n"
             " for d in (s.get_config_var('LIBDIR'), '/usr/lib/x86_64-linux-gnu'):\n"
             "  p = os.path.join(d or '', f or '')\n  if '.so' in p and os.path.exists(p): print(p); raise SystemExit"],
            stdout=subprocess.PIPE, text=True).stdout.strip()
        what = "%s: embedded" % self.name
        if not found:
            self.tap.skip(what, "this Python has no shared library")
            return
        home = subprocess.run([self.python, "-c", "import sys; print(sys.base_prefix)"], stdout=subprocess.PIPE,
                              text=True).stdout.strip()

        def action():
            words, extra = [profiled.program("embedded_python"), found], {"PYTHONHOME": home}
            plain = profiled.run(words, extra=extra)
            for interval in ("64K", "1M"):
                path = self.path("embedded" + interval)
                result = profiled.run(words, trace=path, interval=interval, extra=extra)
                profiled.expect_same(plain, result)
                trace = read(path)
                profiled.expect(trace.interpreters and not any(trace.lost), "not noticed")
                profiled.expect(all(record["frames"] == 0 for record in trace.interpreters), "given up")
                functions = {function for function, _, _ in trace.frames.values()}
                profiled.expect("embedded_function" in functions, "%s" % functions)
        self.tap.attempt(what, action)
        self.tap.attempt("%s: embedded, started again" % self.name, lambda: self.started_again(found, {"PYTHONHOME": home}))

    def started_again(self, library, extra):
        """A libpython that is ended and started again, whose allocators are its own then (3.12), or those that PYTHONMALLOC
        names: every object is counted, from the library's opening on, and whether there is a sample or not.
        PYTHONMALLOC=malloc says how many there are, but for pymalloc's own tables."""
        totals = {}
        for name, interval in (("malloc", "64K"), ("pymalloc", "64K"), ("default", "64K"), ("default", "1G")):
            path = self.path("again.%s.%s" % (name, interval))
            result = profiled.run([profiled.program("embedded_python"), library, "3"], trace=path, interval=interval,
                                  extra={**extra, "PYTHONMALLOC": name, "PYTHONHASHSEED": "0"})
            profiled.expect(result.status == 0 and result.stdout == 6 * b"20\n", "%s: status %s: %s" % (
                name, result.status, result.stderr[-500:]))
            data = profiled.report(path, "--metric", "allocated")
            profiled.expect(profiled.lost(data) == 0, "%s: lost %s" % (name, data["losses"]))
            totals[name + " " + interval] = data["totals"]["allocated"]["objects"]["estimate"]
        more = [total - totals["malloc 64K"] for total in totals.values()]
        profiled.expect(all(0 <= some <= TABLES_MOST for some in more), "objects: %s" % totals)

    def lock_of_an_interpreter_that_ends(self):
        """CPython 3.12 frees the lock of its allocators as it ends; that object is a sample here, and nobody takes it."""
        path = self.path("lock.bpt")
        result = profiled.run([profiled.program("ending_interpreter"), "10"], trace=path, interval=1)
        profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[-500:]))
        data = profiled.report(path, "--metric", "allocated", "--filter", "size=16..16")
        objects = data["totals"]["allocated"]["objects"]
        profiled.expect(objects["low"] == objects["high"] == 10000 and profiled.lost(data) == 0, objects)


def main():
    tap = profiled.Tap()
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:] == ["others"]:
            pythons = others()
            for version in VERSIONS:
                if version in pythons:
                    Python(tap, pythons[version], version, folder).all()
                else:
                    tap.skip(version, "no Python of this version under ~/.pyenv/versions")
        elif sys.argv[1:2] == ["free-threaded"]:
            python = Python(tap, sys.argv[2], "free-threaded", folder)
            python.check("nothing is recorded but what can be, and that is said", python.free_threaded_is_said)
        else:
            system = Python(tap, "/usr/bin/python3", SYSTEMS, folder)
            if sys.argv[1:] == ["greenlets"]:
                system.greenlets()
            else:
                system.all()
                tap.attempt("the lock of an interpreter that ends", system.lock_of_an_interpreter_that_ends)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
