#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every system call of the recorder fails once, and all from each on.

The test build of the recorder counts the system calls it makes that can fail (mmap, madvise,
openat, ftruncate ...) and refuses the k-th, or every one from the k-th on, with ENOMEM. For k = 1,
2, ... until there is no k-th call: the program must do what it does unprofiled; the trace, if there
is one, must read; what is not recorded must be counted; and at the end no slot may be taken but by
objects that live. The short form tries one of the two ways for each k, by turns, and leaves out most
of the later k, whose calls are of the same kinds again; BYTEPOLL_LONG_TESTS=1 leaves out none, over more
programs and intervals.
"""
import os
import struct
import sys

import profiled

PLUGIN = profiled.program("libplugin.so")
#           program, T, k all tried up to, then every n-th (short form)
SHORT = ((("crossfree", "4", "100"), 64, 36, 19), (("fork_with_threads",), 4096, 0, 97),
         (("dynamic_loading", PLUGIN), 512, 0, 97), (("exec_chain",), 4096, 0, 23))
LONG = ((("crossfree", "4", "3000"), 1), (("crossfree", "8", "2000"), 64),
        (("fork_with_threads",), 64), (("fork_storm",), 4096), (("dynamic_loading", PLUGIN), 16),
        (("exec_chain",), 64), (("thread_storm",), 16), (("contents",), 64), (("odd_stacks",), 4096))
SLOT_LARGEST = 65512  # bytes; larger samples stay in the program's heap
RUNS_MAX = 4000


def slots_in_use(path):
    try:
        with open(path, "rb") as file:
            objects, _, slots = struct.unpack("<3q", file.read(24))
            return slots if objects > 0 else None  # None: making this file failed
    except (FileNotFoundError, struct.error):
        return None


def live_in_slots(trace):
    """Samples that were never freed and are small enough for a slot."""
    return sum(1 for sample in profiled.samples(trace)
               if sample.free_sequence == 0 and sample.size <= SLOT_LARGEST)


def judge_slots(trace, data, counted):
    """`counted` slots of the first process against its samples."""
    if counted is None or len(data["processes"]) != 1:
        return
    live, lost = live_in_slots(trace), profiled.lost(data)
    if lost == 0:
        profiled.expect(counted == live, "%d slots taken, %d live samples" % (counted, live))
    else:  # a sample whose record was lost may lie in a slot; a free that was lost is live for ever
        profiled.expect(abs(counted - live) <= lost, "%d slots taken, %d live samples, lost %s" % (
            counted, live, data["losses"]))


UNPROFILED = {}


def run_once(words, interval, failure):
    """False: there was no such call."""
    arguments = [profiled.program(words[0]), *words[1:]]
    if words not in UNPROFILED:
        UNPROFILED[words] = profiled.run(arguments)
    plain = UNPROFILED[words]
    with profiled.directory() as path:
        trace, failed, count = (os.path.join(path, name) for name in ("t.bpt", "failed", "count"))
        result = profiled.run(
            arguments, trace, interval, seed=5, recorder=profiled.RECORDER_TEST, extra={
                "BYTEPOLL_TEST_FAIL": failure, "BYTEPOLL_TEST_FAILED": failed,
                "BYTEPOLL_TEST_COUNT": count}, time_limit_s=20)
        profiled.expect_same(plain, result)
        if os.path.exists(trace):
            judge_slots(trace, profiled.report(trace), slots_in_use(count))
        elif failure != "0":
            profiled.expect(os.path.exists(failed), "no trace, though nothing failed")
        return os.path.exists(failed)


def inject(words, interval, all_up_to, then_every):
    """Gives (runs, last k that was reached)."""
    runs = last = 0
    for k in range(1, RUNS_MAX):
        if k > all_up_to and k % then_every != 0:
            continue
        for sign in ("", "+") if profiled.LONG else ("", "+")[k % 2:][:1]:
            failure = "%d%s" % (k, sign)
            try:
                reached = run_once(words, interval, failure)
            except AssertionError as error:
                raise AssertionError("failing %s: %s" % (failure, error)) from error
            runs += 1
        if not reached:
            return runs, last
        last = k
    raise AssertionError("no end after %d calls" % RUNS_MAX)


def main():
    tap = profiled.Tap()
    plan = [(words, interval, RUNS_MAX, 1) for words, interval in LONG] if profiled.LONG else SHORT
    for words, interval, all_up_to, then_every in plan:
        name = "%s at T = %d" % (" ".join(os.path.basename(word) for word in words), interval)
        tap.attempt(name + ", nothing fails", lambda: run_once(words, interval, "0"))
        done = []
        tap.attempt(name + ", each call fails",
                    lambda: done.append(inject(words, interval, all_up_to, then_every)))
        for runs, last in done:
            tap.note("%d runs, failing calls up to number %d" % (runs, last))
            tap.check(last >= 15, name + ": there were calls to fail", "last %d" % last)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
