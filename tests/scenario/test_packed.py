#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What processes that ended recorded is packed while `run` lives (docs/trace-format.md, section 7).

A program that forks thousands of short children stays within a stated bound of disk at every moment, with the exact
totals that it counted itself. A packed tree reports what the same tree says unpacked by the second reader
(tools/trace_packed.py), whoever kills `run` and whenever. Commands that follow a running tree go on working on one of
which a part is packed, and damage costs a block and is said.
"""
import os
import random
import shutil
import struct
import subprocess
import sys
import threading
import time

import profiled

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tools"))
import trace_packed  # noqa: E402
from test_fold import differences  # noqa: E402

SEED = 20261125
CHILDREN = 1500
BOUND = 2 << 20
# Beside the bound: traces of children that were made since the last look, 20 ms ago or a little more on a machine
# that is busy; and a block that is written, of 64 of them. (Without packing: 48 MiB.)
OVER = 4 << 20
KILLS = 3
QUERIES = (("--metric", "live"), ("--metric", "peak", "--by", "stack"),
           ("--metric", "temporary", "--by", "size"), ("--metric", "allocated", "--by", "process"))


def disk(trace):
    """Of FILE and FILE.d, in bytes, and how many files there are."""
    total = files = 0
    paths = [trace, trace + ".fold", trace + ".fold.new"]
    try:
        paths += [entry.path for entry in os.scandir(trace + ".d")]
    except FileNotFoundError:
        pass
    for path in paths:
        try:
            total += os.lstat(path).st_blocks * 512
            files += 1
        except FileNotFoundError:
            pass
    return total, files


class Watch(threading.Thread):
    """Looks at the disk that a run takes until it is told to stop."""

    def __init__(self, trace):
        super().__init__()
        self.trace, self.most_bytes, self.most_files, self.looks = trace, 0, 0, 0
        self.going = True
        self.start()

    def run(self):
        while self.going:
            found, files = disk(self.trace)
            self.most_bytes = max(self.most_bytes, found)
            self.most_files = max(self.most_files, files)
            self.looks += 1
            time.sleep(0.005)

    def stop(self):
        self.going = False
        self.join()


def command(trace, *words, options=()):
    return [profiled.BYTEPOLL, "run", "-i", "8K", *options, "-o", trace, "--", profiled.program("short_children"),
            *map(str, words)]


def record(trace, *words, options=("--max-size", "2M")):
    watch = Watch(trace)
    result = profiled.run(command(trace, *words, options=options))
    watch.stop()
    profiled.expect(result.status == 0, "%s" % (result,))
    return result, watch


def expect_truth(trace, said):
    """Every process once, and the totals that the program counted, exactly."""
    # What libc makes for the program itself is no part of its own count: see a run without children.
    data = profiled.report(trace, "--metric", "allocated")
    size, objects, processes = map(int, said.split())
    total = data["totals"]["allocated"]
    profiled.expect(len(data["processes"]) == processes, "%d processes of %d" % (len(data["processes"]), processes))
    found = int(total["bytes"]["estimate"]), int(total["objects"]["estimate"])
    profiled.expect(found == (size, objects), "%s instead of %s" % (found, (size, objects)))
    profiled.expect(total["bytes"]["exact"] and total["objects"]["exact"], "totals are not exact")
    profiled.expect(not profiled.lost(data), "%s" % data["losses"])
    profiled.expect(not any("read" in line for line in data["warnings"]), "%s" % data["warnings"])


def ordered(data):
    """Rows in an order of their own: equal ones may come in any."""
    data["rows"].sort(key=lambda row: sorted((key, repr(value)) for key, value in row.items()))
    data["processes"].sort(key=lambda process: process["trace_id"] if "trace_id" in process else process["pid"])
    return data


def reports(trace):
    return [ordered(profiled.report(trace, "--rows", "100000", *query)) for query in QUERIES]


def expect_same(expected, trace):
    for query, a, b in zip(QUERIES, expected, reports(trace)):
        found = list(differences(a, b))
        profiled.expect(not found, "%s: %s" % (" ".join(query), "; ".join(found[:4])))
        for metric in a["totals"]:
            exact = [data["totals"][metric]["bytes"] for data in (a, b)]
            profiled.expect(not exact[0].get("exact") or exact[0] == exact[1], "%s: %s" % (metric, exact))


def unpacked(trace, name):
    """A copy of the recording with a file for each process."""
    to = os.path.join(os.path.dirname(trace), name)
    subprocess.run(["cp", "--sparse=always", trace, to], check=True)
    for suffix in (".fold", ".resident"):
        if os.path.exists(trace + suffix):
            shutil.copy(trace + suffix, to + suffix)
    subprocess.run(["cp", "-r", "--sparse=always", trace + ".d", to + ".d"], check=True)
    files = set(os.listdir(to + ".d"))
    for entry in trace_packed.packed(to + ".d/packed"):
        if entry.name not in files:  # of a process that stands in both the file is read
            entry.write(to + ".d")
    os.unlink(to + ".d/packed")
    return to


def without_padding(data):
    """Where the bytes of a packed file stand that say something: the blocks without what fills them up to 8."""
    at = 0
    while at < len(data):
        stored = struct.unpack_from("<I", data, at + 8)[0]
        yield from range(at, at + 32 + stored)
        at += 32 + -(-stored // 8) * 8


class Case:
    def __init__(self, path):
        self.path = path

    def trace(self, name):
        return os.path.join(self.path, name + ".bpt")

    def bounded(self):
        """Thousands of children under a bound that 100 of their files would fill."""
        trace = self.trace("bounded")
        result, watch = record(trace, CHILDREN, 120, 4)
        left = sorted(os.listdir(trace + ".d"))
        profiled.expect(left == ["index", "packed"], "left: %s" % left[:9])
        profiled.expect(watch.looks > 50, "%d looks" % watch.looks)
        print("# at most %d KiB, %d files; %d KiB left; %d looks" % (
            watch.most_bytes >> 10, watch.most_files, disk(trace)[0] >> 10, watch.looks))
        profiled.expect(watch.most_bytes <= BOUND + OVER, "%d bytes of disk" % watch.most_bytes)
        profiled.expect(disk(trace)[0] <= BOUND, "%d bytes are left" % disk(trace)[0])
        profiled.expect(b"--max-size" not in result.stderr, "%s" % result.stderr)
        profiled.expect(b" in %d recordings, one for each process and exec)" % (CHILDREN + 1) in result.stderr, "%s" % result.stderr)
        expect_truth(trace, result.stdout)

    def same(self):
        """Unpacked by the second reader it says the same; so does what that one packs."""
        trace = self.trace("same")
        record(trace, 80, 200, 3)
        expected = reports(unpacked(trace, "other.bpt"))
        expect_same(expected, trace)
        other = self.trace("other")
        folder = other + ".d"
        names = sorted(name for name in os.listdir(folder) if name.endswith(".bpt"))
        entries = list(trace_packed.packed(trace + ".d/packed"))
        random.Random(SEED).shuffle(entries)
        trace_packed.pack(folder + "/packed", [entries[:30], entries[30:]])
        expect_same(expected, other)  # each process stands in both
        for name in names:
            os.unlink(os.path.join(folder, name))
        expect_same(expected, other)

    def large_children(self):
        """Children that are folded first, and packed with their folded parts."""
        trace = self.trace("large")
        result, _ = record(trace, 6, 500000, 3)
        parts = [entry.lengths[1] for entry in trace_packed.packed(trace + ".d/packed")]
        profiled.expect(len(parts) == 6 and any(parts), "folded parts: %s" % parts)
        expect_truth(trace, result.stdout)
        expect_same(reports(unpacked(trace, "unfolded.bpt")), trace)

    def killed(self):
        """`run` is killed at any moment, and the program goes on: nothing is lost, none is counted twice."""
        draw, both = random.Random(SEED), 0
        for number in range(KILLS):
            trace = self.trace("killed%d" % number)
            process = subprocess.Popen(
                command(trace, 150, 60, 2, options=("--max-size", "1M")), env=profiled.environment(),
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
            while not os.path.exists(trace + ".d/packed") and process.poll() is None:
                time.sleep(0.001)
            time.sleep(draw.random() * 0.15)
            process.kill()
            said = process.stdout.read()  # of the program, which goes on
            process.wait()
            time.sleep(0.1)
            files = {name for name in os.listdir(trace + ".d") if name.endswith(".bpt")}
            names = [entry.name for entry in trace_packed.packed(trace + ".d/packed")]
            both += len(files & set(names))
            expect_truth(trace, said)
            expect_same(reports(unpacked(trace, "apart%d.bpt" % number)), trace)
        print("# %d processes stood in both places" % both)

    def followed(self):
        """live, report, status, snapshot and fold while it is packed."""
        trace = self.trace("followed")
        process = subprocess.Popen(
            command(trace, 2 * CHILDREN, 60, 2, 100, options=("--max-size", "1M")), env=profiled.environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not os.path.exists(trace + ".d/packed") and process.poll() is None:
            time.sleep(0.001)
        copies = 0
        while process.poll() is None and copies < 3:
            copy = self.trace("copy%d" % copies)
            result = profiled.run([profiled.BYTEPOLL, "control", trace, "snapshot", "--tree", "-o", copy])
            if result.status != 0:
                profiled.expect(process.poll() is not None or b"has ended" in result.stderr, "%s" % (result,))
                break
            data = profiled.report(copy)
            profiled.expect(os.path.exists(copy + ".d/packed") and not profiled.lost(data) and
                            not any("packed:" in line for line in data["warnings"]), "%s" % data["warnings"])
            copies += 1
            for words in (("report", "--json", trace), ("live", "--once", trace), ("control", trace, "status", "--tree"),
                          ("fold", trace)):
                result = profiled.run([profiled.BYTEPOLL, *words])
                # (The program may end before `run` does, which has files to pack then.)
                running = process.poll() is None and b"has ended" not in result.stderr
                profiled.expect(result.status == 0 or not running, "%s: %s" % (words, result))
                # (A child that has only just made its file may be said to be torn.)
                profiled.expect(b"packed:" not in result.stdout, "%s: %s" % (words, result.stdout))
        said, text = process.communicate()
        profiled.expect(process.returncode == 0 and copies > 0, "%s: %s" % (process.returncode, text))
        expect_truth(trace, said)

    def damaged(self):
        """A bit that is turned over costs its block, and is said; a block that ends too early is none yet."""
        trace = self.trace("damaged")
        record(trace, 200, 60, 2, options=("--max-size", "1M"))
        path, draw = trace + ".d/packed", random.Random(SEED)
        with open(path, "rb") as file:
            good = file.read()
        read = list(without_padding(good))
        for number in range(24):
            bad = bytearray(good)
            if number % 4 == 0:
                bad = bad[:draw.randrange(len(bad))]
            else:
                bad[draw.choice(read)] ^= 1 << draw.randrange(8)
            with open(path, "wb") as file:
                file.write(bad)
            data = profiled.report(trace)
            count = len(data["processes"])
            told = any("damaged" in line or "read" in line for line in data["warnings"])
            profiled.expect(count < 201 or told, "%d: nothing is missing" % number)
            profiled.expect(number % 4 == 0 or count == 201 or told, "%d: %s" % (number, data["warnings"]))
            for words in (("live", "--once", trace), ("fold", trace)):
                result = profiled.run([profiled.BYTEPOLL, *words])
                profiled.expect(result.status in (0, 1), "%s: %s" % (words, result))
        with open(path, "wb") as file:
            file.write(b"BPPK" + b"\xff" * 4096)
        profiled.expect(any("packed" in line for line in profiled.report(trace)["warnings"]), "nothing is said")

    def without_samples(self):
        """Without a bound: children that sampled nothing leave no file each, those that did stay as they are."""
        trace = self.trace("empty")
        process = subprocess.Popen(
            [profiled.BYTEPOLL, "run", "-i", "64K", "-o", trace, "--", "/bin/sh", "-c",
             "%s 300 3; %s 3 1000; echo ended; read line" % ((profiled.program("short_children"),) * 2)],
            env=profiled.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = [process.stdout.readline() for _ in range(3)]
        for _ in range(600):  # it looks every 2 s
            if os.path.exists(trace + ".d/packed") and disk(trace)[1] < 100:
                break
            time.sleep(0.1)
        left = disk(trace)[1]
        _, text = process.communicate(b"\n")
        profiled.expect(process.returncode == 0 and said[2] == b"ended\n", "%s %s" % (said, text))
        profiled.expect(left < 100, "%d files of 305 are left" % left)
        data = profiled.report(trace, "--metric", "allocated")
        apart = profiled.report(unpacked(trace, "empty-apart.bpt"), "--metric", "allocated")
        profiled.expect(len(data["processes"]) == len(apart["processes"]) >= 306, "%d processes of %d" % (
            len(data["processes"]), len(apart["processes"])))
        profiled.expect(sum(name.endswith(".bpt") for name in os.listdir(trace + ".d")) >= 3, "samples were packed")
        empty = [int(line.split()[1]) for line in said[:2]]
        profiled.expect(data["totals"]["allocated"]["objects"]["estimate"] >= sum(empty), "%s" % data["totals"])


FIRST = ("bounded", "same")


def is_asked(name):
    """Is this part among the arguments? None: all are; `others`: all but those of FIRST."""
    return sys.argv[1:] == [] or name in sys.argv[1:] or sys.argv[1:] == ["others"] and name not in FIRST


def main():
    tap = profiled.Tap()
    with profiled.directory() as path:
        case = Case(path)
        for name, action in (
                ("%d children within 2 MiB" % CHILDREN, case.bounded),
                ("packed and unpacked say the same", case.same),
                ("children with folded parts", case.large_children),
                ("run is killed %d times" % KILLS, case.killed),
                ("followed while it is packed", case.followed),
                ("damage", case.damaged),
                ("children without samples", case.without_samples)):
            if is_asked(action.__name__):
                tap.attempt(name, action)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
