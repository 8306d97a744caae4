# SPDX-License-Identifier: MIT
"""A .nettrace file of 1 GB, nearly all of it rundown (the names of methods, written by the runtime
when a session ends): the time to the first table, and the memory.

Made, not recorded: nearly four million methods of 277 bytes each, what those of .NET 10 have on
average in tests/data/dotnet/workload-rundown, and before them 200,000 samples with 20,000 stacks in
50,000 of the methods.
Run by itself it writes the file: bench/dotnet.py FILE [BYTES].
"""
import os
import random
import struct
import sys
import time

import harness

sys.path.insert(0, os.path.join(os.path.dirname(harness.HERE), "tests", "dotnet"))
import nettrace_write  # noqa: E402

BYTES = 10 ** 9
SAMPLES, STACKS, DEPTH, USED = 200_000, 20_000, 30, 50_000
CODE, CODE_BYTES = 0x7F0000000000, 96
BLOCK_EVENTS = 380  # about 100 KB, as the runtime writes them
LIMIT_S, LIMIT_KIB = 10, 300 << 10


def template():
    """A method event, head and payload, and where its ids, its address and its number stand."""
    payload = nettrace_write.method(
        1, CODE, CODE_BYTES, "Company.Product.Component.Subsystem.SomeClass", "Method_00000000")
    payload += bytes(277 - len(payload))
    # Flags: thread and payload size stay as they were, the number steps by one: one byte of flags,
    # one of time.
    number = payload.index("00000000".encode("utf-16-le"))
    return b"\0\1" + payload, 2, 2 + 16, 2 + number


def blocks(writer, methods):
    """The rundown's event blocks; the kind of the events is known to the file already."""
    event, id_at, start_at, number_at = template()
    first = writer.kinds[(nettrace_write.RUNDOWN, 144, 2)]
    head = bytes([1 | 2 | 4 | 8 | 128]) + nettrace_write.variable(first)
    digits = [b"%c\0%c\0%c\0%c\0" % tuple(b"%04d" % i) for i in range(10000)]
    sequence = writer.last[100]
    for base in range(0, methods, BLOCK_EVENTS):
        count = min(BLOCK_EVENTS, methods - base)
        body = bytearray(event * count)
        for i in range(count):
            at, method = i * len(event), base + i
            struct.pack_into("<Q", body, at + id_at, method + 1)
            struct.pack_into("<Q", body, at + start_at, CODE + method * CODE_BYTES)
            body[at + number_at:at + number_at + 16] = digits[method // 10000] + digits[
                method % 10000]
        lead = head + nettrace_write.variable(sequence) + nettrace_write.variable(100)
        lead += nettrace_write.variable(0xFFFFFFFF) + nettrace_write.variable(100)
        lead += nettrace_write.variable(1) + nettrace_write.variable(10 ** 9)
        lead += nettrace_write.variable(277)
        writer.block("EventBlock", struct.pack("<HHqq", 20, 1, 0, 0) + lead + bytes(body[2:]))
        sequence += count
        yield
    writer.last[100] = sequence


def make(path, size=BYTES):
    """Writes the file; the number of its methods."""
    choice = random.Random(1)
    writer = nettrace_write.Writer(block_events=1000)
    methods = (size - SAMPLES * 90 - STACKS * DEPTH * 8) // 279
    used = [CODE + choice.randrange(methods) * CODE_BYTES + 40 for _ in range(USED)]
    stacks = [tuple(choice.choice(used) for _ in range(DEPTH)) for _ in range(STACKS)]
    for i in range(SAMPLES):
        kind = i % 500
        writer.sample(0x1000 + 16 * kind, "Company.Product.Type%d" % kind, 24 + 8 * kind, kind,
                      time=i, ips=stacks[choice.randrange(STACKS)])
    writer.event(nettrace_write.RUNDOWN, 144, 2, nettrace_write.method(1, 0x1000, 96, "A", "b"),
                 time=10 ** 9)
    writer.flush()
    with open(path, "wb") as file:
        for _ in blocks(writer, methods):
            if len(writer.out) >= 1 << 24:
                file.write(writer.out[:1 << 24])  # a multiple of what blocks are aligned to
                del writer.out[:1 << 24]
        file.write(writer.finish())
    return methods


def report(bench):
    size = BYTES // 10 if bench.quick else BYTES
    path = os.path.join(bench.scratch, "large.nettrace")
    methods = make(path, size)
    command = [bench.bytepoll, "report", "--by", "type", path]
    results = [bench.run(command, "unprofiled") for _ in range(1 if bench.quick else 3)]
    best = min(results, key=lambda result: result.wall_s)
    print("\n### A .nettrace file of %d MB, %d methods and %d samples\n" % (
        os.path.getsize(path) // 10 ** 6, methods, SAMPLES))
    print("| | to the first table | budget | |\n|:--|--:|--:|:--|")
    print("| time | %.1f s (CPU %.1f s) | %d s | %s |" % (
        best.wall_s, best.cpu_s, LIMIT_S, "held" if best.wall_s <= LIMIT_S else "EXCEEDED"))
    print("| memory | %d MiB | %d MiB | %s |" % (
        best.peak_kib >> 10, LIMIT_KIB >> 10,
        "held" if best.peak_kib <= LIMIT_KIB else "EXCEEDED"))
    os.unlink(path)


if __name__ == "__main__":
    begin = time.monotonic()
    print("%d methods" % make(sys.argv[1], int(float(sys.argv[2])) if sys.argv[2:] else BYTES))
    print("%.1f s" % (time.monotonic() - begin))
