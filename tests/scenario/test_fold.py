#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Folding loses nothing: a folded trace reports what the trace itself does.

The same recording is read as it is and folded, in one go, in steps, with a coarser clock, with the
folder killed at random moments, and in the state between the two halves of its work; every figure
that docs/trace-format.md 5.4 promises must be the same, to the last digits of a double. A program that
is folded while it writes must come out whole. Folded parts that are damaged or hostile cost what is
in them and no more. Nothing here depends on how fast the machine is.
"""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

import profiled

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../unit/trace"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../data/trace"))
import compare_decoders  # noqa: E402  (the second decoder, for traces with a folded part)
import trace_builder as builder  # noqa: E402

SEED = 20261121
KILLS = 50
MUTATIONS = 40
QUERIES = (("--metric", "live"), ("--metric", "peak", "--by", "stack"),
           ("--metric", "allocated", "--by", "function"), ("--metric", "allocated", "--by", "size"),
           ("--metric", "allocated", "--by", "thread"), ("--metric", "peak", "--by", "type"),
           ("--metric", "temporary", "--by", "stack"),
           ("--metric", "allocated", "--bytes", "usable"),
           ("--metric", "allocated", "--estimator", "tcmalloc"),
           ("--metric", "live", "--interval-method", "camp-paulson"))
PYTHON = """import json
for i in range(20):
    text = "[" + ",".join(json.dumps({"a": [k] * 5, "b": "x" * k}) for k in range(2000)) + "]"
    json.loads(text)
"""
DECODE = os.path.join(os.path.dirname(__file__), "../../tools/trace_decode.py")


def bytepoll(*words):
    return profiled.run([profiled.BYTEPOLL, *words])


def fold(trace, *words):
    result = bytepoll("fold", *words, trace)
    profiled.expect(result.status == 0, "fold ends with %s: %s" % (result.status, result.stderr))
    return result.stdout.decode()


def copy(trace, name):
    path = os.path.join(os.path.dirname(trace), name)
    for suffix in ("", ".fold", ".fold.new"):
        if os.path.exists(path + suffix):
            os.unlink(path + suffix)
    subprocess.run(["cp", "--sparse=always", trace, path], check=True)  # as its holes are
    return path


def disk(trace):
    return sum(os.stat(path).st_blocks * 512 for path in (trace, trace + ".fold")
               if os.path.exists(path))


def differences(a, b, where=""):
    """Where two reports differ by more than the order of a summation."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(set(a) | set(b)):
            if where == "" and key in ("warnings", "file", "files"):
                continue
            yield from differences(a.get(key), b.get(key), where + "/" + key)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for number, pair in enumerate(zip(a, b)):
            if "processes" not in where or not isinstance(pair[0], dict):
                yield from differences(*pair, "%s/%d" % (where, number))
    elif isinstance(a, float) and isinstance(b, float):
        if abs(a - b) > 1e-9 * max(abs(a), abs(b)):
            yield "%s: %r instead of %r" % (where, b, a)
    elif a != b:
        yield "%s: %r instead of %r" % (where, b, a)


def reports(trace, queries=QUERIES):
    return [profiled.report(trace, "--rows", "1000", *query) for query in queries]


def expect_same(expected, trace, queries=QUERIES):
    for query, a, b in zip(queries, expected, reports(trace, queries)):
        found = list(differences(a, b))
        if "usable" in query:  # 5.5: of peaks that by requested sizes is kept
            found = [line for line in found if not line.startswith(("/totals/peak/", "/peak_at"))]
        profiled.expect(not found, "%s: %s" % (" ".join(query), "; ".join(found[:4])))


def record(path, name, *words, interval=512):
    trace = os.path.join(path, name)
    result = profiled.run([profiled.program("churn"), *words], trace, interval, SEED)
    profiled.expect(result.status == 0, "churn: %s" % (result,))
    return trace


def warnings_of(trace):
    return profiled.report(trace)["warnings"]


def is_whole(trace):
    return not any("cannot be read" in line for line in warnings_of(trace))


class Case:
    def __init__(self, path):
        self.path = path
        self.trace = record(path, "whole.bpt", "4", "60000")
        self.expected = reports(self.trace)
        self.small = record(path, "small.bpt", "2", "12000")
        self.small_expected = reports(self.small, QUERIES[:3])

    def once(self):
        trace = copy(self.trace, "once.bpt")
        said = fold(trace)
        profiled.expect(" are " in said, "nothing was folded: %s" % said)
        profiled.expect(disk(trace) * 3 < disk(self.trace), "%d bytes of %d are left" % (
            disk(trace), disk(self.trace)))
        expect_same(self.expected, trace)
        profiled.expect(any("folded" in line for line in warnings_of(trace)), "no word of it")

    def python(self):
        """Stacks with functions of Python, small objects of Python, and what is known of the interpreter."""
        trace = os.path.join(self.path, "python.bpt")
        result = profiled.run(["/usr/bin/python3", "-S", "-c", PYTHON], trace, 4096, SEED)
        profiled.expect(result.status == 0, "python3: %s" % (result,))
        queries = [(*query, "--frames", frames) for query in QUERIES[:3] for frames in ("both", "python", "native")]
        queries.append(("--metric", "allocated", "--by", "kind"))
        expected = reports(trace, queries)
        said = fold(trace)
        profiled.expect(" are " in said, "nothing was folded: %s" % said)
        expect_same(expected, trace, queries)
        process = profiled.report(trace)["processes"][0]
        profiled.expect(process["python"]["frames"] == "recorded", str(process))
        folded = json.dumps(profiled.report(trace, "--metric", "allocated"))
        profiled.expect("JSONEncoder" in folded, "no function of Python: " + folded[:2000])

    def tree(self):
        """The files of FILE.d are folded by the same rule, and one that fails stops no other."""
        trace = copy(self.small, "tree.bpt")
        os.mkdir(trace + ".d")
        for name in ("a", "b"):
            copy(self.small, "tree.bpt.d/%s.bpt" % name)
        others = [trace + ".d/%s.bpt" % name for name in ("a", "b")]
        with open(others[0] + ".fold", "wb") as file:
            file.write(b"no folded part" * 8192)
        result = bytepoll("fold", trace)
        profiled.expect(result.status == 1 and b"a.bpt" in result.stderr, "%s" % (result,))
        profiled.expect(b"tree.bpt.d, 1 of 1 files: " in result.stdout, "%s" % (result,))
        os.unlink(others[0] + ".fold")
        said = fold(trace)
        profiled.expect("tree.bpt.d, 1 of 2 files: " in said, said)
        for other in others:
            profiled.expect(os.path.exists(other + ".fold") and disk(other) < disk(self.small),
                            "%s is as it was" % other)
            expect_same(self.small_expected, other, QUERIES[:3])

    def in_steps(self):
        trace = copy(self.trace, "steps.bpt")
        megabytes = os.stat(trace).st_size // 6
        for part in range(5, -1, -1):
            fold(trace, "--keep", str(part * megabytes))
        expect_same(self.expected, trace)

    def coarser(self):
        """Ticks of 10 ms become fewer; the peak is still one of them."""
        trace = copy(self.trace, "coarser.bpt")
        fold(trace, "--keep", str(os.stat(trace).st_size // 2))
        said = fold(trace, "--max-size", "64K")
        profiled.expect("cannot be folded to less" in said, "no word of the size: %s" % said)
        expect_same(self.expected, trace)

    def live_at(self):
        """Live at any time is what it was up to the stated time before."""
        trace = copy(self.trace, "at.bpt")
        fold(trace)
        end = self.expected[0]["duration_s"]
        for part in (0.2, 0.5, 0.8):
            got = profiled.report(trace, "--at", "%.6fs" % (part * end))
            at, low, high = part * end, float("inf"), 0
            for step in range(25):
                when = max(0.0, at - step * 0.0005)
                value = profiled.report(self.trace, "--at", "%.6fs" % when)
                value = value["totals"]["live"]["bytes"]["estimate"]
                low, high = min(low, value), max(high, value)
            value = got["totals"]["live"]["bytes"]["estimate"]
            profiled.expect(low * 0.9 <= value <= high * 1.1,
                            "%.0f at %.3f s, near it [%.0f, %.0f]" % (value, at, low, high))

    def decoders(self):
        trace = copy(self.small, "decoded.bpt")
        fold(trace, "--keep", "100K")
        dump = os.path.join(profiled.BUILD, "tests", "unit", "trace", "dump_trace")
        for path in (trace, trace + ".fold"):
            found = compare_decoders.compare(dump, DECODE, path)
            profiled.expect(found is None, "%s: %s" % (path, found))

    def cut_short(self):
        """FILE.fold in place, nothing given back yet: counted once, and the next folding goes on."""
        trace = copy(self.small, "short.bpt")
        fold(trace)
        shutil.copyfile(trace + ".fold", trace + ".part")
        copy(self.small, "short.bpt")
        os.rename(trace + ".part", trace + ".fold")
        expect_same(self.small_expected, trace, QUERIES[:3])
        fold(trace)
        profiled.expect(disk(trace) < disk(self.small), "nothing was given back")
        expect_same(self.small_expected, trace, QUERIES[:3])

    def killed(self):
        moments = random.Random(SEED)
        started = time.monotonic()
        fold(copy(self.small, "killed.bpt"))
        usual_s = time.monotonic() - started
        trace, size, dead = copy(self.small, "killed.bpt"), os.stat(self.small).st_size, 0
        for number in range(KILLS):
            if number % 10 == 0:
                trace = copy(self.small, "killed.bpt")
            keep = size * (9 - number % 10) // 10
            folder = subprocess.Popen([profiled.BYTEPOLL, "fold", "-q", "--keep", str(keep), trace],
                                      stderr=subprocess.DEVNULL)
            try:
                folder.wait(moments.uniform(0, 1.2 * usual_s))
            except subprocess.TimeoutExpired:
                folder.send_signal(signal.SIGKILL)
                dead += folder.wait() == -signal.SIGKILL
            expect_same(self.small_expected[:1], trace, QUERIES[:1])
        expect_same(self.small_expected, trace, QUERIES[:3])
        profiled.expect(dead > 0, "no folder was caught at work")

    def running(self):
        """Folded in the middle of its life, twice; it goes on writing and loses nothing."""
        trace = os.path.join(self.path, "running.bpt")
        program = subprocess.Popen(
            [profiled.program("churn"), "4", "30000", "pause"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=profiled.environment(trace, 512, SEED))
        profiled.expect(program.stdout.readline() == b"half\n", "it did not come half way")
        before = profiled.report(trace)
        profiled.expect(" are " in fold(trace, "--keep", "300K"), "nothing was folded")
        fold(trace)
        after = profiled.report(trace)
        for metric in ("allocated", "temporary", "live", "peak"):
            found = list(differences(before["totals"][metric], after["totals"][metric], metric))
            profiled.expect(not found, "while it waits: %s" % found[:3])
        program.communicate(b"\n", timeout=profiled.TIME_LIMIT_S)
        profiled.expect(program.returncode == 0, "status %s" % program.returncode)
        data = profiled.report(trace, "--metric", "allocated")
        fold(trace)
        again = profiled.report(trace, "--metric", "allocated")
        found = list(differences(data["totals"], again["totals"]))
        profiled.expect(not found, "after its end: %s" % found[:3])
        profiled.expect(is_whole(trace) and not profiled.lost(data), "%s" % data["warnings"])
        profiled.expect(data["totals"]["allocated"]["bytes"]["exact"], "totals are not exact")

    def bounded_run(self):
        trace = os.path.join(self.path, "bounded.bpt")
        result = bytepoll("run", "-i", "512", "--max-size", "1M", "-o", trace, "--",
                          profiled.program("churn"), "4", "60000")
        profiled.expect(result.status == 0, "%s" % (result,))
        profiled.expect(os.path.exists(trace + ".fold"), "it was not folded")
        profiled.expect(os.stat(trace).st_size > 4 << 20, "it wrote too little to tell")
        profiled.expect(disk(trace) < 2 << 20, "%d bytes of disk" % disk(trace))
        profiled.expect(is_whole(trace), "%s" % warnings_of(trace))
        # (The last two are of looks, which may not have come.)
        left = sorted(name for name in os.listdir(self.path) if name.startswith("bounded") and
                      not name.endswith((".mappings", ".pages")))
        profiled.expect(left == ["bounded.bpt", "bounded.bpt.fold", "bounded.bpt.resident"], "left: %s" % left)
        text = result.stderr.decode()
        profiled.expect("--max-size" not in text, text)
        again = bytepoll("run", "-o", trace, "--", "/bin/true")
        profiled.expect(again.status == 125, "an old trace was overwritten")
        os.unlink(trace)
        again = bytepoll("run", "-o", trace, "--", "/bin/true")
        profiled.expect(again.status == 125 and b".fold" in again.stderr,
                        "an old folded part was not seen: %s" % (again,))
        again = bytepoll("run", "-q", "--force", "-o", trace, "--", "/bin/true")
        profiled.expect(again.status == 0 and not os.path.exists(trace + ".fold"),
                        "--force left the folded part")

    def refused(self):
        trace = copy(self.small, "refused.bpt")
        fold(trace)
        for words in (("report", trace + ".fold"), ("fold", trace + ".fold"), ("fold", "/bin/true"),
                      ("fold", self.path)):
            result = bytepoll(*words)
            profiled.expect(result.status == 1 and result.stderr.startswith(b"bytepoll: ") and
                            result.stderr.count(b"\n") == 1, "%s: %s" % (words, result))
        other = copy(self.trace, "other.bpt")
        shutil.copyfile(trace + ".fold", other + ".fold")
        expect_same(self.expected[:1], other, QUERIES[:1])
        profiled.expect(bytepoll("fold", other).status == 1, "a stranger's part was replaced")
        os.unlink(trace + ".fold")
        profiled.expect(not is_whole(trace), "a missing folded part is not noticed")
        result = bytepoll("run", "--max-size", "4K", "--", "/bin/true")
        profiled.expect(result.status == 125 and b"max-size" in result.stderr, "%s" % (result,))

    def hostile(self):
        """Bits turned over, checksums put right or not; cut; zeros."""
        trace, draw = copy(self.small, "hostile.bpt"), random.Random(SEED)
        fold(trace)
        with open(trace + ".fold", "rb") as file:
            good = file.read()
        chunks = len(good) // 65536
        for number in range(MUTATIONS):
            bad = bytearray(good)
            if number % 10 == 0:
                bad = bad[:draw.randrange(len(bad))]
            for _ in range(draw.choice((1, 3, 30))):
                at = draw.randrange(len(bad)) if bad else 0
                if bad and (number % 3 or bad[at]):
                    bad[at] ^= 1 << draw.randrange(8)
            for chunk in range(1, chunks if number % 2 else 0):
                fix_checksum(bad, chunk * 65536)
            with open(trace + ".fold", "wb") as file:
                file.write(bad)
            result = profiled.run([profiled.BYTEPOLL, "report", "--json", trace], time_limit_s=20)
            profiled.expect(result.status in (0, 1), "report %d: %s" % (number, result.status))
            if result.status == 0:
                json.loads(result.stdout)
            result = bytepoll("fold", "-q", trace)
            profiled.expect(result.status in (0, 1), "fold %d: %s" % (number, result.status))

    def written(self, name, trace, part=None):
        path = os.path.join(self.path, name)
        for suffix, data in (("", trace), (".fold", part)):
            if data is not None:
                with open(path + suffix, "wb") as file:
                    file.write(data)
        return path

    def refused_whole(self):
        """A part that says what none may is not built upon: nothing of the trace is given back."""
        good = [held((1, 1)), ticks(10**7, (3000, 5)), GROUP]
        for name, records, status in (
                ("good", good, 0), ("empty range", [held((1, 1), (1, 0))] + good[1:], 1),
                ("ranges in no order", [held((2, 1)), held((1, 1))] + good[1:], 1),
                ("resolution", [held((1, 1)), ticks(1 << 63, (3000, 5)), GROUP], 1),
                ("no such tick", [held((1, 1)), GROUP], 1)):
            path = self.written(name.replace(" ", "-") + ".bpt", by_hand(10), part(records))
            before = [read(path), read(path + ".fold")]
            result = bytepoll("fold", "--max-size", "2", path)
            profiled.expect(result.status == status, "%s: %s" % (name, result))
            same = before == [read(path), read(path + ".fold")]
            profiled.expect(same == (status == 1), "%s: the files are%s as they were" %
                            (name, "" if same else " not"))

    def interval_of_zero(self):
        """T = 0, which no recorder writes, is read as 1 by the folder as by the reports."""
        for name, parts in (("chunks", None), ("part", part(
                [held((11, 1)), ticks(10**7, (1500, 5)), folded(interval=0)]))):
            path = self.written("zero-%s.bpt" % name, by_hand(10, interval=0), parts)
            expected = reports(path, QUERIES[:3])
            profiled.expect("are" in fold(path), "%s: it was not folded" % name)
            expect_same(expected, path, QUERIES[:3])

    def many_intervals(self):
        """300 000 different T in one trace: as many steps for each would take minutes."""
        chunks, chunk = [], builder.Chunk(base_time=1000)
        chunk.thread_begin(1, 100, 1000, "main")
        for i in range(300000):
            if len(chunk.payload) > 65300:
                chunks.append(chunk.bytes(len(chunks) + 1))
                chunk = builder.Chunk(base_time=1000)
            chunk.switch(1, 2000 + i, i + 1, 10 * (i + 1), i + 1, 4096 + i, i + 1)
        chunk.thread_end(1, 100, 400000, 4000000, 400000)
        chunks.append(chunk.bytes(len(chunks) + 1))
        state = builder.state(ended=1, reason=1, end_time=10**9, trials=4000000, objects=400000,
                              reserved=len(chunks) + 1)
        path = self.written("many.bpt", builder.trace(HEAD, state, chunks=chunks))
        result = profiled.run([profiled.BYTEPOLL, "report", "--json", path], time_limit_s=20)
        profiled.expect(result.status == 0, "%s" % (result.status,))


HEAD = builder.header(minor=2, interval=4096)


def pairs(pairs_, *codes):
    return b"".join(code(value) for pair in pairs_ for code, value in zip(codes, pair))


def held(*ranges):
    return builder.record(14, pairs(ranges, builder.varint, builder.varint))


def ticks(resolution, *list_):
    return builder.record(13, builder.varint(resolution) +
                          pairs(list_, builder.varint, builder.zigzag))


def folded(interval=4096):
    """One object of 100 bytes, in half 0, born and freed at tick 0."""
    key = bytes([0, 1]) + b"".join(map(builder.varint, (1, 0, interval, 0)))
    return builder.record(11, key + bytes([100, 0, 0, 1, 7]))


GROUP = folded()


def part(records):
    chunk = builder.Chunk(base_time=1000)
    for record_ in records:
        chunk.raw(record_)
    return builder.trace(builder.header(minor=2, interval=4096, skippable=8),
                         builder.state(reserved=2), chunks=[chunk.bytes(1)])


def by_hand(count, interval=4096):
    """A trace of so many chunks, each with one object, freed at once."""
    chunks = []
    for i in range(count):
        chunk = builder.Chunk(base_time=1000 + i * 10**6, base_sequence=i * 10, interval=interval)
        if i == 0:
            chunk.thread_begin(1, 100, 1001, "main")
        chunk.sample(i * 10 + 1, 2000 + i * 10**6, 100, trials=5000 * (i + 1), objects=40 * (i + 1),
                     offset=7)
        chunk.free(i * 10 + 2, 2500 + i * 10**6, i * 10 + 1, trials=5100 * (i + 1),
                   objects=41 * (i + 1))
        chunks.append(chunk.bytes(i + 1))
    state = builder.state(ended=1, reason=1, end_time=10**9, trials=5100 * count + 1000,
                          objects=41 * count + 10, last_sequence=10 * count, samples=count,
                          reserved=count + 1)
    return builder.trace(HEAD, state, chunks=chunks)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def fix_checksum(data, at):
    if at + 64 > len(data):
        return
    committed, = struct.unpack_from("<I", data, at + 16)
    payload = bytes(data[at + 64:at + 64 + committed])
    struct.pack_into("<Q", data, at + 24, compare_checksum(payload))


def compare_checksum(data):
    value = 0x9E3779B97F4A7C15
    data = data.ljust((len(data) + 7) // 8 * 8, b"\0")
    for word, in struct.iter_unpack("<Q", data):
        value = ((value ^ word) * 0xFF51AFD7ED558CCD) & (1 << 64) - 1
        value ^= value >> 32
    return value


FIRST = ("once", "tree", "decoders", "bounded_run")


def is_asked(name):
    """Is this part among the arguments? None: all are; `others`: all but those of FIRST."""
    return sys.argv[1:] in ([], [name]) or name in sys.argv[1:] or sys.argv[1:] == ["others"] and name not in FIRST


def main():
    tap = profiled.Tap()
    with profiled.directory() as path:
        case = Case(path)
        for name, action in (
                ("folded at once, reports are the same", case.once),
                ("stacks and objects of Python", case.python),
                ("the files of FILE.d are folded too", case.tree),
                ("folded in steps, reports are the same", case.in_steps),
                ("with a coarser clock, too", case.coarser),
                ("live at a time is that of the tick before", case.live_at),
                ("the two decoders agree", case.decoders),
                ("cut short between the two halves of the work", case.cut_short),
                ("%d folders killed" % KILLS, case.killed),
                ("a running program", case.running),
                ("run --max-size", case.bounded_run),
                ("what cannot be folded, and orphans", case.refused),
                ("damaged and hostile folded parts", case.hostile),
                ("parts that say what none may", case.refused_whole),
                ("an interval of 0", case.interval_of_zero),
                ("very many intervals", case.many_intervals)):
            if is_asked(action.__name__):
                tap.attempt(name, action)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
