#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Resident memory beside the estimate: programs that hold memory of known kinds, what FILE.resident and
`report --json` say of them, a file that is torn, damaged or of another run, and what looking on costs.

The sizes are known, the sampling is seeded: nothing here fails by chance.

Usage: test_resident.py     (BYTEPOLL_BUILD; prints TAP)
"""

import json
import os
import signal
import re
import shutil
import subprocess
import sys
import time

import profiled

MIB = 1 << 20
FILE_MIB = 16


def bytepoll(*words, status=0, environment=None):
    result = subprocess.run([profiled.BYTEPOLL, *words], stdin=subprocess.DEVNULL, capture_output=True,
                            timeout=60, env=profiled.environment(extra=environment))
    profiled.expect(result.returncode == status, "%s: status %s: %s" % (
        words, result.returncode, result.stderr.decode(errors="replace")))
    return result


class Runs:
    def __init__(self, path):
        self.path = path
        self.file = os.path.join(path, "mapped")
        with open(self.file, "wb") as out:
            out.write(b"x" * (FILE_MIB * MIB))

    def record(self, name, *amounts, options=(), milliseconds=1500):
        trace = os.path.join(self.path, name + ".bpt")
        bytepoll("run", "-q", "-f", "--seed", "11", "-i", "256K", "-o", trace, *options, "--",
                 profiled.program("resident"), *map(str, amounts), self.file, str(milliseconds))
        return trace

    def resident(self, trace, *options):
        data = json.loads(bytepoll("report", "--json", *options, trace).stdout)
        profiled.expect("resident" in data, "no field: resident")
        return data, data["resident"]

    def rest_is(self, trace, truth, resident):
        rest = resident["last"]["rest"]
        profiled.expect(rest["low"] <= truth <= rest["high"], "%s: the rest is %.1f MiB, not in [%.1f, %.1f]" % (
            trace, truth / MIB, rest["low"] / MIB, rest["high"] / MIB))
        profiled.expect(rest["high"] - rest["low"] < 40 * MIB, "an interval of anything")

    def known_sizes(self):
        trace = self.record("touched", 64, 0, 0, 4)
        data, resident = self.resident(trace)
        last, highest = resident["last"], resident["highest"]
        live = last["live"]
        profiled.expect(live["low"] <= 64 * MIB <= live["high"], "live: %s" % live)
        profiled.expect(68 * MIB <= last["anonymous"] <= 76 * MIB, "anonymous: %s" % last)
        profiled.expect(FILE_MIB * MIB <= last["file"] <= (FILE_MIB + 8) * MIB, "files: %s" % last)
        profiled.expect(4 * MIB <= last["stack_most"] <= 8 * MIB, "stack: %s" % last)
        profiled.expect(last["resident"] == last["anonymous"] + last["file"] + last["shared"], "sum: %s" % last)
        profiled.expect(highest["resident"] >= last["resident"], "highest: %s" % highest)
        peak = resident["peak"]
        profiled.expect(peak["low"] == peak["high"] >= last["resident"] - resident["uncertain_bytes"] * 3,
                        "peak: %s" % peak)
        self.rest_is(trace, 1 * MIB, resident)
        profiled.expect(data["totals"]["live"]["bytes"]["estimate"] > 0, "no totals")

    def mapped_without_malloc(self):
        trace = self.record("mapped", 64, 0, 24, 0)
        self.rest_is(trace, 24.5 * MIB, self.resident(trace)[1])

    def never_touched(self):
        trace = self.record("untouched", 32, 48, 0, 0)
        resident = self.resident(trace)[1]
        self.rest_is(trace, -47.5 * MIB, resident)
        profiled.expect(resident["last"]["rest"]["high"] < 0, "not told: %s" % resident["last"])

    def points(self):
        trace = os.path.join(self.path, "touched.bpt")
        points = self.resident(trace, "--timeline")[1]["points"]
        times = [point["time_s"] for point in points]
        profiled.expect(len(points) >= 8 and times == sorted(times), "times: %s" % times)
        profiled.expect("points" not in self.resident(trace)[1], "points without --timeline")
        profiled.expect(os.stat(trace + ".resident").st_mode & 0o777 == 0o600, "mode")

    def texts(self):
        trace = os.path.join(self.path, "untouched.bpt")
        summary = bytepoll("report", "--summary", trace, environment={"COLUMNS": "100"}).stdout.decode()
        for words in ("resident memory", "the rest", "never written", "highest seen", "next"):
            profiled.expect(words in summary, "%s is not in the summary:\n%s" % (words, summary))
        table = bytepoll("report", trace, environment={"COLUMNS": "100"}).stdout.decode()
        flat = " ".join(table.split())
        profiled.expect("resident at" in table and "high-water mark" in table, table)
        told = re.search(r"the recorder and the main stack (?:≤|<=) \S+ \w+, of the live objects at least \S+ MiB not "
                         r"resident;", flat)
        profiled.expect(told is not None, "the recorder is not named, or what is not resident: " + flat)
        profiled.expect(self.resident(trace)[1]["last"]["rest"]["estimate"] is None, "limits are no estimate")

    def images(self):
        """An exec keeps the pid, and the looking on."""
        trace = os.path.join(self.path, "images.bpt")
        bytepoll("run", "-q", "-f", "-i", "4K", "-o", trace, "--", "python3", "-c",
                 "import os, sys; x = [bytearray(9000) for _ in range(300)]; os.execv(sys.argv[1], sys.argv[1:])",
                 profiled.program("resident"), "16", "0", "0", "0", self.file)
        last = self.resident(trace)[1]["last"]
        profiled.expect(last["live"]["low"] <= 16 * MIB <= last["live"]["high"], "live: %s" % last)
        profiled.expect(last["anonymous"] >= 16 * MIB, "anonymous: %s" % last)

    def refused(self):
        trace = os.path.join(self.path, "touched.bpt")
        path = trace + ".resident"
        shutil.copy(path, path + ".good")
        with open(path, "rb") as source:
            good = source.read()
        lines = good.split(b"\n")
        other = os.path.join(self.path, "mapped.bpt.resident")
        with open(other, "rb") as source:
            another = source.read()
        cases = {
            "empty": b"", "torn": good[:len(good) // 2], "without its end": b"\n".join(lines[:-2]) + b"\n",
            "of another run": another, "of a later version": good.replace(b"resident 1", b"resident 2"),
            "with too much": good + b"end 3\n", "binary": os.urandom(5000), "zeros": bytes(4096),
            "times that go back": b"\n".join(lines[:3] + lines[4:3:-1] + lines[5:]),
            "negative": good.replace(b"\t0\t", b"\t-1\t"), "huge": good.replace(b"\t0\t", b"\t99999999999999999999\t"),
            "a long line": b"bytepoll resident 1\n" + b"t" * MIB,
            "escapes": good.replace(b"trace_id=", b"trace_id=\x1b[31m<script>"),
            "no pid": re.sub(rb"pid=\d+", b"pid=0", good),
            "too many points": b"\n".join(lines[:3] + [
                b"%d\t1\t1\t1\t1\t1\t1" % i for i in range(1, 6000)]) + b"\nend 5999\n",
        }
        for name, content in cases.items():
            with open(path, "wb") as out:
                out.write(content)
            result = bytepoll("report", "--json", trace)
            profiled.expect("resident" not in json.loads(result.stdout), "%s: believed" % name)
            error = result.stderr.decode()
            profiled.expect(error.count("\n") == 1 and "resident memory is not shown" in error and
                            "\x1b" not in error, "%s: %r" % (name, error))
        os.unlink(path)
        os.mkfifo(path)
        profiled.expect(b"not shown" in bytepoll("report", "--json", trace).stderr, "a FIFO")
        os.unlink(path)
        profiled.expect(bytepoll("report", "--json", trace).stderr == b"", "a warning of nothing")
        os.rename(path + ".good", path)

    def not_kept(self):
        trace = self.record("none", 8, 0, 0, 0, options=("--no-resident",), milliseconds=10)
        profiled.expect(not os.path.exists(trace + ".resident"), "--no-resident kept one")
        trace = os.path.join(self.path, "theirs.bpt")
        with open(trace + ".resident", "w", encoding="utf-8") as out:
            out.write("notes of somebody\n")
        result = bytepoll("run", "-i", "4K", "-o", trace, "--", profiled.program("resident"), "8", "0", "0",
                          "0", self.file, "10")
        profiled.expect(b"is not kept" in result.stderr, "%s" % (result,))
        with open(trace + ".resident", encoding="utf-8") as text:
            profiled.expect(text.read() == "notes of somebody\n", "somebody's file was replaced")
        # --force takes the old one away. (A program of some milliseconds has no look on a busy machine.)
        trace = self.record("touched", 8, 0, 0, 0, milliseconds=300)
        profiled.expect(self.resident(trace)[1]["last"]["live"]["high"] < 16 * MIB, "an old file was left")

    def cost(self):
        """CPU time of `run` itself while a program sleeps. (What begins late on a busy machine is over after some seconds.)"""
        trace = os.path.join(self.path, "cost.bpt")
        with subprocess.Popen([profiled.BYTEPOLL, "run", "-q", "-o", trace, "--", "sleep", "60"],
                              stdin=subprocess.DEVNULL) as process:
            def cpu_ns():
                with open("/proc/%d/schedstat" % process.pid, encoding="ascii") as stat:
                    return int(stat.read().split()[0])
            part, tries = 1, 0
            while part >= 0.005 and tries < 3:
                time.sleep(0.8)
                before, began = cpu_ns(), time.monotonic()
                time.sleep(2.5)
                part, tries = (cpu_ns() - before) / 1e9 / (time.monotonic() - began), tries + 1
            process.send_signal(signal.SIGTERM)
            process.wait()
        print("# looking on takes %.4f %% of a processor" % (100 * part))
        profiled.expect(part < 0.005, "looking on takes %.3f %% of a processor" % (100 * part))


def main():
    tap = profiled.Tap()
    with profiled.directory() as path:
        runs = Runs(path)
        tap.attempt("touched objects, a file, a stack", runs.known_sizes)
        tap.attempt("memory mapped without malloc is in the rest", runs.mapped_without_malloc)
        tap.attempt("objects that were never touched are told", runs.never_touched)
        tap.attempt("points over time", runs.points)
        tap.attempt("the summary and the header", runs.texts)
        tap.attempt("over an exec", runs.images)
        tap.attempt("torn, damaged and foreign files are not believed", runs.refused)
        tap.attempt("where it is not kept", runs.not_kept)
        tap.attempt("what it costs", runs.cost)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
