# SPDX-License-Identifier: MIT
"""programs/steered.c from outside: the order of its objects, running it, the control word of its trace,
and its trace decoded. For test_control.py and test_control_storm.py.
"""
import ctypes
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import time

import profiled

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import trace_decode  # noqa: E402  (the second decoder)

SEED = 20250117
THREADS = 4
PERIOD = 1000
CONTROL_OFFSET = 4096 + 640
NUMBER_SHIFT = 42
INTERVAL_MASK = (1 << 41) - 1
LIMIT_S = 60
GRANT = 20  # objects a thread may make beyond the others while a change is waited for


def make_pattern():
    """Sizes of the objects of every thread, as in programs/steered.c."""
    state, sizes = 12345, []
    for i in range(PERIOD):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        value = (state >> 33) % 2**32
        if i % 4 == 3:
            sizes.append(8000 + value % 70000)
        elif i % 16 >= 12:
            sizes.append(300 + value % 2700)
        else:
            sizes.append(16 + value % 185)
    return sizes


PATTERN = make_pattern()
class Prefix:
    """Sums of a function of the size over the first k objects of a thread."""

    def __init__(self, function):
        self.sums = [0]
        for size in PATTERN:
            self.sums.append(self.sums[-1] + function(size))

    def upto(self, count):
        return count // PERIOD * self.sums[PERIOD] + self.sums[count % PERIOD]

    def between(self, first, last):
        return self.upto(last) - self.upto(first)


ALL_BYTES = Prefix(lambda size: size)


class Running:
    """A program of this folder under the recorder, with a page of words shared with it. Killed at the
    end if it still runs."""

    def __init__(self, path, interval, program="steered", threads=THREADS, extra=None,
                 called=None):
        self.trace = os.path.join(path, "trace.bpt")
        orders = os.path.join(path, "orders")
        with open(orders, "wb") as file:
            file.truncate(4096)
        with open(orders, "r+b") as file:
            self.words = mmap.mmap(file.fileno(), 4096)
        arguments = [orders, str(threads)] if program == "steered" else [orders, "alone"]
        self.process = subprocess.Popen(
            [called or profiled.program(program), *arguments],
            executable=profiled.program(program),
            env=profiled.environment(self.trace, interval, seed=SEED, extra=extra),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        profiled.expect(self.process.stdout.readline() == b"running\n", "it does not run")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def made(self):
        """Objects of each thread so far."""
        return struct.unpack_from("<%dQ" % THREADS, self.words, 8)

    def grant(self, more):
        """Lets each thread make so many more than the one that is furthest."""
        ctypes.c_uint64.from_buffer(self.words, 8 * 100).value = max(self.made()) + more

    def stop(self):
        """Ends it in order; what each thread made."""
        ctypes.c_uint64.from_buffer(self.words, 0).value = 1
        errors = self.process.communicate(timeout=LIMIT_S)[1]
        profiled.expect(self.process.returncode == 0, "status %s: %s" % (
            self.process.returncode, errors.decode(errors="replace")))
        return self.made()

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()


class Page:
    """The state page and the first slots of a running process's trace."""

    def __init__(self, trace):
        with open(trace, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 65536)
        self.word = ctypes.c_uint64.from_buffer(self.map, CONTROL_OFFSET)
        self.resume = ctypes.c_uint64.from_buffer(self.map, CONTROL_OFFSET + 8)
        self.commands = [ctypes.c_uint16.from_buffer(self.map, 8192 + 64 * i + 2)
                         for i in range(THREADS + 1)]

    @property
    def number(self):
        return self.word.value >> NUMBER_SHIFT

    def set(self, interval):
        self.word.value = (self.number + 1) << NUMBER_SHIFT | interval

    def wait_for_one(self, program):
        """Until one thread follows; the main thread's slot is the first and does not allocate."""
        wanted = self.number % 65536
        limit = time.monotonic() + LIMIT_S
        while all(command.value != wanted for command in self.commands[1:]):
            program.grant(GRANT)
            profiled.expect(time.monotonic() < limit, "no thread follows")
            time.sleep(20e-6)  # leaves the processor to them


def control(*arguments, command=profiled.BYTEPOLL, **settings):
    return profiled.run([command, "control", *map(str, arguments)], **settings)


def controlled(*arguments, **settings):
    """The output of a command that must succeed."""
    result = control(*arguments, **settings)
    profiled.expect(result.status == 0 and not result.stderr, "control %s: status %s: %s" % (
        " ".join(map(str, arguments)), result.status, result.stderr.decode(errors="replace")))
    return result.stdout.decode()


def status_of(*arguments):
    data = json.loads(controlled(*arguments, "status", "--json"))
    profiled.expect(data["schema"] == "bytepoll-control-1" and len(data["processes"]) == 1,
                    "status of another form: %s" % data)
    return data["processes"][0]


def refused(result, text, status=1):
    """One line that says `text`, and nothing else."""
    lines = result.stderr.decode(errors="replace").splitlines()
    profiled.expect(result.status == status and len(lines) == 1 and text in lines[0] and
                    not result.stdout, "status %s: %s" % (result.status, lines))


class Decoded:
    """The records of a trace that the tests look at."""

    def __init__(self, trace):
        self.samples, self.changes, self.ends, self.names, self.slots = [], {}, {}, {}, {}
        with open(trace, "rb") as file:
            reader = trace_decode.Trace(file, verify=False)
            self.header, self.state = reader.header, reader.state
            for kind, record in reader.lines():
                if kind == "sample":
                    self.samples.append(record)
                elif kind == "interval":
                    self.changes.setdefault(record["thread"], []).append(record)
                elif kind == "thread_begin":
                    self.names[record["ordinal"]] = record["name"]
                elif kind == "thread_end":
                    self.ends[record["ordinal"]] = record
                elif kind == "slot" and record["state"] == 1:
                    self.slots[record["ordinal"]] = record
            self.totals, self.counts = reader.totals(), reader.counts
        for changes in self.changes.values():
            changes.sort(key=lambda change: (change["objects"], change["sequence"],
                                             change["time_ns"]))

    def makers(self):
        """Ordinals of the threads whose order is known."""
        return [ordinal for ordinal, name in self.names.items() if name.startswith("maker")]

    def pieces(self, ordinal, made, first):
        """(from, to, T) of a thread's life, by its objects."""
        at, interval = 0, first
        for change in self.changes.get(ordinal, []):
            yield at, change["objects"], interval
            at, interval = change["objects"], change["interval"]
        yield at, made, interval
