#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPython: its functions in stacks, and its small objects, against what Python itself says of them.

Every object of T = 1 is recorded, so that each comparison is exact: the stack at an object is the one that
traceback.walk_stack took there, function, file and line; the small objects that are live are the blocks in use of
each of pymalloc's pools. Programs do under the recorder what they do without.

    test_python.py             the Python of this machine
    test_python.py others      those under ~/.pyenv/versions, one of each version from 3.8 on
"""
import ast
import collections
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import profiled

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))
from trace_records import TAGS, ChunkState, Cursor  # noqa: E402 (the second decoder's)

PROGRAMS = os.path.join(HERE, "programs", "python")
VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
SYSTEMS = "the system's"
PYTHON_OBJECT = 11
CHUNK = 65536
# Small objects of every size, lists that grow in place, strings that move, and what goes to malloc.
HELD = """
import os, signal
kept = [[i, str(i)] for i in range(5000)]
texts = [b'x' * (i % 700) for i in range(3000)]
for i in range(3000):
    texts[i] += b'y' * (i % 9)
grown = []
for i in range(300):
    grown.append(i)
del kept[::3], texts[::2]
os.kill(os.getpid(), signal.SIGSTOP)
os._exit(0)
"""
Trace = collections.namedtuple("Trace", "samples frees frames mixed native interpreters lost end_objects")


def read(path):
    """What this test asks of a trace: records of the second decoder, by kind."""
    with open(path, "rb") as file:
        data = file.read()
    number = lambda at, bytes_=8: int.from_bytes(data[at:at + bytes_], "little")
    trace = Trace([], set(), {}, {}, {}, [], [number(4096 + 128 + 8 * i) for i in range(32)], number(4096 + 40))
    for at in range(CHUNK, len(data), CHUNK):
        if data[at:at + 4] != b"BPCK" or number(at + 4, 4) != 1:
            continue
        state = ChunkState(number(at + 32), number(at + 40), number(at + 48), number(at + 56, 4))
        cursor = Cursor(data[at + 64:at + 64 + number(at + 16, 4)])
        while cursor.left():
            tag, fields = cursor.u8(), Cursor(cursor.take(cursor.varint()))
            kind, record = TAGS[tag], getattr(state, TAGS[tag])(fields)
            if kind == "sample":
                trace.samples.append(record)
            elif kind == "free":
                trace.frees.add(record["sample_sequence"])
            elif kind == "frame":
                trace.frames[record["id"]] = (record["function"], record["file"], record["source_line"])
            elif kind == "mixed_stack":
                trace.mixed[record["id"]] = record
            elif kind == "stack":
                trace.native[record["id"]] = record
            elif kind == "interpreter":
                trace.interpreters.append(record)
    trace.samples.sort(key=lambda sample: sample["sequence"])
    return trace


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

    def stacks_are_the_truth(self):
        written = self.path("marks")
        result, path = self.record("-S", os.path.join(PROGRAMS, "marks.py"), written, "1")
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
        profiled.expect(right > 150, "only %d objects" % right)
        # A loop that the native walk did not see is allowed, where its stack was deep.
        profiled.expect(positions == right, "%d of %d have loops that were not seen" % (right - positions, right))

    def small_objects_are_all_there(self):
        """The process is stopped, and its pools are read: the header of each says how many blocks are in use."""
        path, pool_bytes = self.path("held"), 4096 if self.version < (3, 10) else 16384
        process = subprocess.Popen([self.python, "-S", "-c", HELD], env=profiled.environment(path, 1))
        try:
            os.waitpid(process.pid, os.WUNTRACED)
            trace, live, pools = read(path), collections.Counter(), set()
            for sample in trace.samples:
                if sample["kind"] == PYTHON_OBJECT:
                    pools.add(sample["address"] // pool_bytes)
                    live[sample["address"] // pool_bytes] += sample["sequence"] not in trace.frees
            arenas = self.mapped(process.pid)
            with open("/proc/%d/mem" % process.pid, "rb", buffering=0) as memory:
                for pool in pools:
                    # An arena may have been given back since.
                    used = 0
                    if any(begin <= pool * pool_bytes < end for begin, end in arenas):
                        used = int.from_bytes(os.pread(memory.fileno(), 4, pool * pool_bytes), "little")
                    profiled.expect(used == live[pool], "pool %#x: %d blocks, %d live" % (pool * pool_bytes, used, live[pool]))
        finally:
            process.kill()
            process.wait()
        profiled.expect(len(pools) > 100 and sum(live.values()) > 15000, "%d pools" % len(pools))
        profiled.expect(not any(trace.lost), "lost: %s" % trace.lost)

    @staticmethod
    def mapped(pid):
        with open("/proc/%d/maps" % pid, encoding="utf-8") as lines:
            return [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in lines]

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
            profiled.expect(names & {"deep", "work.<locals>.deep"}, "%s" % sorted(names)[:40])

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
        self.check("small objects are the blocks of pymalloc's pools", self.small_objects_are_all_there)
        self.check("allocators are chosen by the program", self.allocators_are_the_programs)
        self.check("children, threads and interpreters", self.processes_do_what_they_did)
        self.check("settings", self.settings_are_obeyed)
        self.check("hostile names", self.names_are_inert)
        self.check("kill -9", self.killed_traces_can_be_read)
        self.embedded()

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


def version_of(python):
    return subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def others():
    """The Pythons of a version manager: by version."""
    found, folder = {}, os.path.expanduser("~/.pyenv/versions")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        python = os.path.join(folder, name, "bin", "python3")
        if re.match(r"3\.\d+\.\d+$", name) and os.path.exists(python):
            found[version_of(python)] = python
    return found


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
        else:
            Python(tap, "/usr/bin/python3", SYSTEMS, folder).all()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
