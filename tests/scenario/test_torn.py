#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces cut anywhere: what is missing is never called small.

Real traces (ended in order, killed, verified, folded, cut down by `run`, its file and a whole tree) are cut
at every boundary of a chunk and of the parts of chunk 0, a byte before and behind, where their last
record ends, and at random places of a recorded seed; FILE.fold is cut too. Of each:

- an error is one line and an exit status of its own; nothing crashes;
- a total that says it is exact is the truth; a limit that is not marked as one that does not hold
  does not exclude the truth;
- `check` is never within a tenth of the truth, never exceeded at ten times it, and decides
  nothing but counted totals that the file knows whole;
- what is lost is said: a number where it is known, in JSON and in the first line;
- a file with all that was written says that nothing is lost.

12 random places and 3 to 5 chunks a trace, 1000 and all with BYTEPOLL_LONG_TESTS=1 (half an hour). Nothing here is left to chance but
the samples themselves, and limits of estimates are taken at an error of 1e-9 a side.
"""
import json
import os
import random
import shutil
import struct
import sys

import profiled

PLACES, BOUNDARIES = (1000, 1 << 32) if profiled.LONG else (12, 3)
CHUNK, STATE, SLOTS = 65536, 4096, 8192
STATE_BYTES = 664
THREADS = 3  # of a killed program
IN_FLIGHT_BYTES = 3 * 40000 + 65536  # of a killed program, see test_kill.py
METRICS = ("live", "peak", "allocated", "temporary")
expect = profiled.expect


class Whole:
    """A trace, what it says, and how much of it must be there: `end`."""

    def __init__(self, path, counted=None):
        self.path = path
        with open(path, "rb") as file:
            self.data = file.read()
        self.report = profiled.report(path, "--confidence", "0.999999998")
        expect(self.report["lost"] == 0 and "lost_more" not in self.report,
               "whole, and lost: %s" % self.report["warnings"])
        allocated = self.report["totals"]["allocated"]["bytes"]
        self.ended = bool(allocated.get("exact"))
        self.least = allocated["low"] if counted is None else counted
        self.most = allocated["high"] if counted is None else counted + IN_FLIGHT_BYTES
        self.bytes = len(self.data)
        self.end = self.end_of_records()
        # A sample is counted behind its record: a kill may find each thread between the two.
        self.counted = struct.unpack_from("<Q", self.data, STATE + 56)[0]
        expect(0 <= self.report["samples"] - self.counted <= THREADS,
               "%d samples, %d counted" % (self.report["samples"], self.counted))

    def end_of_records(self):
        for at in range((self.bytes - 1) // CHUNK * CHUNK, 0, -CHUNK):
            magic, kind, _, committed = struct.unpack_from("<IIQI", self.data, at)
            if magic != 0:
                return at + (64 + committed if kind == 1 else CHUNK)
        return CHUNK

    def lengths(self, draw):
        known = {SLOTS, CHUNK - 1, self.end, self.end + 7 & ~7, self.bytes}
        known |= {0, 1, 8, 64, 191, 192, 512, 3000, STATE, STATE + STATE_BYTES}
        chunks = range(1, self.end // CHUNK + 1)
        some = {*chunks[:1], *chunks[-1:], *draw.sample(chunks, min(len(chunks), BOUNDARIES))}
        known |= {number * CHUNK + more for number in some for more in (0, 12, 64)}
        known |= {length - 1 for length in known} | {length + 1 for length in known}
        known |= {draw.randrange(self.end) for _ in range(PLACES)}
        whole = {self.end, self.end + 7 & ~7, self.bytes}
        return sorted(length for length in known if 0 <= length < self.end or length in whole)


def one_line(result, path):
    text = result.stderr.decode()
    expect(result.status in (1, 2) and text.count("\n") == 1 and not result.stdout and
           text.startswith("bytepoll: ") and os.path.basename(path) in text,
           "status %s: %r" % (result.status, text))


def judge_report(whole, data, missing):
    """Raises AssertionError where a figure says more than the file knows."""
    for metric in METRICS:
        total, all_of_it = data["totals"][metric]["bytes"], whole.report["totals"][metric]["bytes"]
        least, most = all_of_it["low"], all_of_it["high"]
        if metric == "allocated":
            least, most = whole.least, whole.most
        if total.get("exact"):
            expect(total["low"] == total["high"] and least <= total["low"] <= most,
                   "%s is exactly %s" % (metric, total["low"]))
            expect(not missing or metric == "allocated" and whole.ended,
                   "%s is exact in a file that is cut" % metric)
        if not total.get("upper_bound"):
            expect(total["low"] <= most, "%s is at least %s, not %s" % (
                metric, total["low"], most))
        if not total.get("lower_bound") and total["high"] is not None:
            expect(total["high"] >= least, "%s is at most %s, not %s" % (
                metric, total["high"], least))
            expect(not missing or total.get("exact"), "%s has an upper limit: %s" % (
                metric, total))
    lost = data["lost"]
    expect(lost == max(0, whole.counted - data["samples"]), "%s lost" % lost)
    expect(data.get("lost_more", False) == missing, "more was lost: %s" % data.get("lost_more"))


def judge_check(whole, path, data, missing):
    limits = {}
    for metric in METRICS:
        total = whole.report["totals"][metric]["bytes"]
        low, high = total["low"], total["high"]
        if metric == "allocated":
            low, high = whole.least, whole.most
        limits["%s=%d" % (metric, low / 10)] = metric, low >= 10, False
        limits["%s=%d" % (metric, 10 * high + 10)] = metric, False, True
    words = [word for limit in limits for word in ("--limit", limit)]
    result = profiled.run([profiled.BYTEPOLL, "check", "--json", path] + words)
    expect(result.status in (0, 1, 3) and not result.stderr,
           "check: status %s: %r" % (result.status, result.stderr))
    answers = json.loads(result.stdout)["limits"]
    expect(len(answers) == len(limits), "%d answers" % len(answers))
    for (limit, (metric, small, large)), answer in zip(limits.items(), answers):
        verdict = answer["verdict"]
        exact = data["totals"][metric]["bytes"].get("exact", False)
        expect(not (small and verdict == "within"), "%s: within" % limit)
        expect(not (large and verdict == "exceeded"), "%s: exceeded" % limit)
        expect(not missing or verdict != "within" or exact, "%s: within, of a cut file" % limit)
    return result.status


def judge(whole, path, missing):
    """One cut. Gives what became of it: "error", or the status of `check`."""
    words = ["report", "--json", "--rows", "0", "--confidence", "0.999999998", path]
    result = profiled.run([profiled.BYTEPOLL] + words)
    if result.status != 0:
        one_line(result, path)
        check = profiled.run([profiled.BYTEPOLL, "check", path, "--limit", "live=1G"])
        one_line(check, path)
        expect(check.status == 2, "check: status %s" % check.status)
        return "error"
    data = json.loads(result.stdout)
    judge_report(whole, data, missing)
    return judge_check(whole, path, data, missing)


def first_lines(whole, path):
    """What people read: the number of samples that are missing, and never that it is none."""
    cuts = ((SLOTS, "at least {:,} lost".format(whole.counted)), (whole.end - 1, " lost"))
    for length, said in cuts:
        with open(path, "wb") as file:
            file.write(whole.data[:length])
        result = profiled.run([profiled.BYTEPOLL, "report", path])
        head = result.stdout.decode().split("\n\n")[0]
        expect(result.status == 0 and said in head and "· 0 lost" not in head,
               "%d bytes: %s" % (length, head))


def cut(whole, path, draw):
    """Cuts a trace at every length that is worth it."""
    seen = {}
    for length in whole.lengths(draw):
        with open(path, "wb") as file:
            file.write(whole.data[:length])
        try:
            outcome = judge(whole, path, length < whole.end)
        except AssertionError as error:
            raise AssertionError("%d of %d bytes: %s" % (length, whole.bytes, error)) from error
        expect((outcome == "error") == (length < STATE + STATE_BYTES),
               "%d bytes: %s" % (length, outcome))
        seen[outcome] = seen.get(outcome, 0) + 1
    first_lines(whole, path)
    expect(seen["error"] >= 10 and len(seen) >= 2, "cuts: %s" % seen)


def ended(path, *options, interval=2048):
    """A program of two threads, some chunks long, cut down by `run`."""
    trace = os.path.join(path, "ended.bpt")
    result = profiled.run([profiled.BYTEPOLL, "run", "--quiet", "--force", "--no-resident", "-o", trace,
                           "--interval", str(interval), "--seed", "1", *options, "--",
                           profiled.program("churn"), "2", "8000"])
    expect(result.status == 0, "churn: %s" % (result,))
    return trace


def killed(path, trim):
    """As killed_once, until no thread was in the middle of publishing its counters, which is a loss."""
    for attempt in range(10):
        folder = os.path.join(path, "killed%d" % attempt)
        os.mkdir(folder)
        whole = killed_once(folder, trim)
        if whole is not None:
            return whole
    raise AssertionError("ten kills, and something was lost each time")


def killed_once(path, trim):
    """Killed while three threads allocate; what they counted. `trim`: as `run` leaves it."""
    trace, counted = os.path.join(path, "killed.bpt"), os.path.join(path, "counted")
    profiled.run(["timeout", "-s", "KILL", "0.1", profiled.program("endless"), counted, "alone"],
                 trace, 16384, recorder=profiled.RECORDER)
    files = [os.path.join(trace + ".d", name) for name in os.listdir(trace + ".d")]
    largest = max(files, key=lambda name: profiled.report(name)["samples"])
    whole = os.path.join(path, "alone.bpt")
    shutil.copyfile(largest, whole)
    with open(whole, "rb") as file:
        reserved = struct.unpack_from("<Q", file.read(CHUNK), STATE + 8)[0]
    os.truncate(whole, reserved * CHUNK)
    if profiled.report(whole)["lost"] != 0:
        return None
    if trim:
        os.truncate(whole, Whole(whole).end + 7 & ~7)
    with open(counted, "rb") as file:
        words = struct.unpack("<8Q", file.read(64))
    return Whole(whole, sum(words[1::2]))


def folded(path, cut_fold, draw):
    """FILE beside its FILE.fold, of which one is cut. As the other is whole, fewer figures are missing: only
    that none is wrong is asked."""
    trace = ended(path, interval=512)
    result = profiled.run([profiled.BYTEPOLL, "fold", "--quiet", "--keep", "0", trace])
    expect(result.status == 0 and os.path.exists(trace + ".fold"), "fold: %s" % (result,))
    whole = Whole(trace)
    subject = trace + ".fold" if cut_fold else trace
    with open(subject, "rb") as file:
        data = file.read()
    lengths = set(range(CHUNK, len(data), CHUNK)) | {len(data) - 1, SLOTS, SLOTS + 1}
    lengths = set(draw.sample(sorted(lengths), min(len(lengths), 2 * BOUNDARIES)))
    lengths |= {length - 1 for length in lengths} | {draw.randrange(192, len(data))
                                                      for _ in range(PLACES)}
    # What folding left behind the last records of FILE are chunks of zeros, which say nothing.
    for length in sorted(length for length in lengths if cut_fold or length < whole.end):
        with open(subject, "wb") as file:
            file.write(data[:length])
        result = profiled.run([profiled.BYTEPOLL, "report", "--json", trace])
        if result.status != 0:
            expect(length < STATE + STATE_BYTES, "%d bytes: %s" % (length, result.stderr))
            continue
        report = json.loads(result.stdout)
        expect(report.get("lost_more"), "%d bytes: nothing is lost" % length)
        judge_check(whole, trace, report, True)


def tree(path):
    """A child's file that is cut, or not there: the tree is not within."""
    trace = os.path.join(path, "tree.bpt")
    script = "%s 2 4000; exit 0" % profiled.program("churn")
    result = profiled.run([profiled.BYTEPOLL, "run", "--quiet", "--no-resident", "-o", trace, "--interval",
                           "4096", "--", "sh", "-c", script])
    expect(result.status == 0, "run: %s" % (result,))
    whole = profiled.report(trace)["totals"]
    children = [os.path.join(trace + ".d", name) for name in os.listdir(trace + ".d")
                if name.endswith(".bpt")]
    expect(len(children) == 1, "children: %s" % children)
    with open(children[0], "rb") as file:
        data = file.read()
    for length in (0, 100, 4096, 5000, SLOTS, CHUNK, len(data) // 2, len(data) - 100):
        with open(children[0], "wb") as file:
            file.write(data[:length])
        for metric in METRICS:
            result = profiled.run([profiled.BYTEPOLL, "check", trace, "--limit", "%s=%d" % (
                metric, 1000 * (1 + whole[metric]["bytes"]["high"]))])
            sure = metric == "allocated" and length >= STATE + STATE_BYTES
            expect(result.status == (0 if sure else 3), "%s of %d bytes: %s" % (
                metric, length, result))


def main():
    tap = profiled.Tap()
    draw = random.Random(20241122)
    with profiled.directory() as path:
        torn = os.path.join(path, "torn.bpt")
        tap.attempt("ended in order", lambda: cut(Whole(ended(path)), torn, draw))
        tap.attempt("verified", lambda: cut(Whole(ended(path, "--verify")), torn, draw))
        tap.attempt("killed", lambda: cut(killed(path, False), torn, draw))
    with profiled.directory() as path:
        torn = os.path.join(path, "torn.bpt")
        tap.attempt("killed, and cut down", lambda: cut(killed(path, True), torn, draw))
        tap.attempt("folded", lambda: folded(path, False, draw))
    with profiled.directory() as path:
        tap.attempt("its folded part", lambda: folded(path, True, draw))
        tap.attempt("a tree", lambda: tree(path))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
