#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SIGKILL at random moments: what was sampled is in the file.

The test build of the recorder writes the sequence number of every sample to a pipe after the
sample's record is committed. A program allocates in three threads until it is killed; afterwards
the file must read, every sequence number that came through the pipe must be in it, and the total
allocated must be an interval, never called exact, that holds what the program itself counted
(which may miss one request a thread). In every fourth run short forks come and go instead of the
pipe (a child numbers on where its parent was, so that its numbers would be ambiguous): there the
whole tree must read.

A process killed before its recorder began may leave no file, or one without a header; then nothing
may have come through the pipe. 40 kills, 1000 with BYTEPOLL_LONG_TESTS=1; the moments are drawn
from a recorded seed.
"""
import array
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time

import profiled

KILLS = 1000 if profiled.LONG else 40
LONGEST_S = 0.12
IN_FLIGHT_BYTES = 3 * 40000 + 65536  # one request a thread, and the main thread's and libc's own


class Killed:
    """One run: `reported` sequence numbers, `counted` objects and bytes, files in `path`."""

    def __init__(self, path, interval, delay_s, forks):
        self.trace = os.path.join(path, "trace.bpt")
        counted = os.path.join(path, "counted")
        read_end, write_end = os.pipe()
        extra = {} if forks else {"BYTEPOLL_TEST_REPORT_FD": str(write_end)}
        process = subprocess.Popen(
            [profiled.program("endless"), counted, "forks" if forks else "alone"],
            env=profiled.environment(self.trace, interval, recorder=profiled.RECORDER_TEST,
                                     extra=extra),
            stdout=subprocess.DEVNULL, pass_fds=(write_end,), start_new_session=True)
        os.close(write_end)
        self.reported = array.array("Q")
        reader = threading.Thread(target=self.read, args=(read_end,))
        reader.start()
        time.sleep(delay_s)
        os.kill(process.pid, signal.SIGKILL)
        self.status = process.wait()
        reader.join()
        os.close(read_end)
        self.counted = self.read_counted(counted)

    def read(self, descriptor):
        rest = b""
        while True:
            block = os.read(descriptor, 1 << 20)
            if not block:
                break
            rest += block
            whole = len(rest) // 8 * 8
            self.reported.frombytes(rest[:whole])
            rest = rest[whole:]

    @staticmethod
    def read_counted(path):
        try:
            with open(path, "rb") as file:
                words = struct.unpack("<6Q", file.read(48))
        except (FileNotFoundError, struct.error):
            return 0, 0
        return sum(words[0::2]), sum(words[1::2])


def judge(killed, forks):
    """Raises AssertionError if anything is missing; True if there was a file to read."""
    profiled.expect(killed.status == -signal.SIGKILL, "ended by itself: %s" % killed.status)
    if not profiled.has_begun(killed.trace):
        profiled.expect(not killed.reported, "%d samples reported, no file" % len(killed.reported))
        return False
    present = {sample.sequence for sample in profiled.samples(killed.trace)}
    missing = [sequence for sequence in killed.reported if sequence not in present]
    profiled.expect(not missing, "%d of %d reported samples are missing, first %s" % (
        len(missing), len(killed.reported), missing[:3]))
    if not forks:
        data = profiled.report(killed.trace)
        for unit, counted in zip(("objects", "bytes"), killed.counted):
            total = data["totals"]["allocated"][unit]
            profiled.expect(not total.get("exact") and total["estimate"] is None,
                            "a killed process's %s are called known: %s" % (unit, total))
            profiled.expect(total["low"] <= counted + IN_FLIGHT_BYTES and counted <= total["high"],
                            "%d %s counted, [%s, %s] reported" % (
                                counted, unit, total["low"], total["high"]))
    else:
        profiled.report(killed.trace)
    return True


def main():
    tap = profiled.Tap()
    moments = random.Random(20240229)
    read = reported = 0
    for number in range(KILLS):
        forks = number % 4 == 3
        interval = (64, 4096, 65536)[number % 3]
        delay_s = moments.uniform(0, LONGEST_S)
        name = "kill %d after %.1f ms at T = %d%s" % (
            number + 1, delay_s * 1000, interval, ", with forks" if forks else "")
        with profiled.directory() as path:
            killed = Killed(path, interval, delay_s, forks)
            try:
                read += judge(killed, forks)
                tap.check(True, name)
            except AssertionError as error:
                tap.check(False, name, str(error))
            reported += len(killed.reported)
    tap.note("%d files read, %d samples reported before the kills" % (read, reported))
    tap.check(read >= KILLS / 2 and reported > 10 * KILLS, "the kills hit running programs")
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
