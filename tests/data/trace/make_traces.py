#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the traces of the tests to a directory: make_traces.py DIRECTORY [STAMP].

STAMP is a file that is written last, for the build to see that all of them are there.

Each is named for what it shows; the values that the tests expect stand in
tests/unit/trace/test_reader.c and tests/unit/import/test_trace.c. README.md tells how to add one.
"""
import pathlib
import random
import sys

from trace_builder import (MASK, Chunk, census_chunk, header, record, slot, slot_chunk, state, text,
                           trace, varint, zigzag)


def simple():
    """One thread, ended in order: a leak, a free, a temporary, a realloc; two modules."""
    chunk = Chunk(base_time=1000, base_sequence=0, interval=4096)
    chunk.thread_begin(1, 100, 1001, "main")
    chunk.module(1, 0x400000, 0x480000, 0x400000, "/usr/bin/program", build_id=b"\xab\xcd" * 10,
                 file_bytes=5000, mtime=77)
    chunk.module(2, 0x7F0000000000, 0x7F0000100000, 0x7F0000000000, "[vdso]")
    chunk.stack(1, [0x401000, 0x402000, 0x403000])
    chunk.stack(2, [0x7F0000000500, 0x402000, 0x10], flags=1, exact=(0,))
    chunk.sample(1, 2000, 100, stack=1, trials=5000, objects=40, offset=7, usable=104)
    chunk.sample(2, 2100, 8192, kind=2, stack=2, trials=13193, objects=41, exact=True)
    chunk.free(3, 2200, 2, trials=13193, objects=41)  # temporary: the same object counter
    chunk.sample(4, 2300, 50, kind=3, stack=1, trials=20000, objects=60, offset=0)
    chunk.free(5, 2400, 4, trials=20100, objects=61, by_realloc=True)
    chunk.sample(6, 2400, 60, kind=3, stack=2, trials=20161, objects=62, offset=60)
    chunk.thread_end(1, 100, 3000, 30000, 100, name="main")
    return trace(header(interval=4096, seed=42),
                 state(ended=1, reason=1, end_time=3100, trials=30000, objects=100,
                       last_sequence=6, samples=4, own_bytes=123456),
                 chunks=[chunk.bytes(1)])


def killed():
    """Killed: slots, an ended thread whose slot is still there, one without a slot, a torn slot."""
    first = Chunk(base_time=1000)
    first.sample(10, 2000, 64, thread=1, trials=1000, objects=10)
    first.sample(12, 2050, 64, thread=2, trials=900, objects=9)
    first.thread_end(2, 102, 2100, 1000, 10, (5, 1), "worker")
    second = Chunk(base_time=5000, base_sequence=20)
    second.sample(21, 5100, 600000, thread=3, trials=700001, objects=3, exact=True)
    second.sample(22, 5200, 64, thread=1, trials=2500, objects=20)
    slots = [slot(1, 101, 2000, 15, 300), slot(2, 102, 950, 9, 500), slot(9, 0, 1, 1, 1, state=0),
             slot(4, 104, 100, 1, 50, generation=3, unoffered=(7, 2))]
    return trace(header(), state(reserved=3, samples=4, lost=(3, 0, 0, 0, 0, 0, 1)), slots,
                 [first.bytes(1), second.bytes(2, sealed=False)])


def chunks():
    """Several lanes: a free before its sample, stacks and modules after their use, epochs, threads
    switching, other intervals and laws, chunks that are no record chunks."""
    one = Chunk(base_time=1000, base_sequence=100, interval=1000, lane=1)
    one.free(160, 9000, 101, thread=2, trials=50, objects=5)
    one.sample(150, 8000, 10, thread=1, stack=3, trials=100, objects=10, interval=64, law=1)
    one.sample(152, 8100, 20, thread=2, stack=1, trials=200, objects=7, alignment=12)
    one.sample(154, 8200, 30, thread=1, stack=2, trials=300, objects=12, extra=b"later minor")
    one.record(30, b"a record of a later minor version")
    two = Chunk(base_time=1000, base_sequence=100, interval=2000, law=1, lane=2)
    two.sample(101, 1500, 40, thread=1, stack=1, trials=50, objects=5, kind=4)
    two.stack(1, [0x1100, 0x5100], epoch=0)
    two.stack(2, [0x1100, 0x5100], epoch=1)
    two.stack(3, [0x2000, 0x1000, 0x9000], epoch=2, exact=(1,))
    two.stack(1, [0x1100, 0x5100], epoch=0)
    two.module(2, 0x1000, 0x2000, 0x0, "/lib/second.so", epoch=1, file_bytes=2)
    two.module(1, 0x1000, 0x2000, 0x1000, "/lib/first.so", epoch=0, file_bytes=1)
    two.module(3, 0x5000, 0x6000, 0x5000, "/bin/main", epoch=0, file_bytes=3)
    two.module_gone(1, 1)
    two.module_gone(2, 2)
    two.module(2, 0x1000, 0x2000, 0x0, "/lib/second.so", epoch=1, file_bytes=2)
    two.exec(8500, 155, 777, 2, "/bin/static")
    two.fork(8600, 156, 778)
    other = Chunk().raw(b"what a later version writes")
    return trace(header(interval=1000), state(reserved=7, samples=4),
                 [slot(1, 201, 400, 13, 10)],
                 [one.bytes(1), bytes(65536), slot_chunk(3, [slot(2, 202, 210, 8, 5)]),
                  other.bytes(4, kind=77), two.bytes(5), bytes(65536)])


def damaged():
    """A wrong checksum, a wrong magic, a wrong place, too many bytes, a record that does not fit,
    a varint without end, zeros; the records around them stand."""
    good = Chunk(base_time=1000).sample(1, 1100, 11, trials=12, objects=1)
    cut = Chunk(base_time=1000, base_sequence=1).sample(2, 1200, 22, trials=40, objects=2)
    cut.raw(b"\x01\x20short")
    endless = Chunk(base_sequence=2).sample(3, 1300, 33, trials=80, objects=3)
    endless.record(6, b"\xff" * 11)
    wide = Chunk(base_sequence=3).sample(4, 1400, 44, trials=90, objects=4)
    wide.record(6, varint(1 << 32), varint(1), varint(1), varint(0))
    zeros = Chunk(base_sequence=4).raw(bytes(40)).sample(5, 1500, 55, trials=100, objects=5)
    return trace(header(), state(reserved=9, samples=10), [],
                 [good.bytes(1), good.bytes(2, check=1), good.bytes(3, magic=0x12345678),
                  good.bytes(9), good.bytes(5, committed=65473, sealed=False), cut.bytes(6),
                  endless.bytes(7), wide.bytes(8), zeros.bytes(9, sealed=False)])


def torn():
    """Cut in the middle of the second record of an unsealed chunk."""
    chunk = Chunk(base_time=1000).sample(1, 1100, 11, trials=12, objects=1)
    keep = 65536 + 64 + len(chunk.payload) + 5
    chunk.sample(2, 1200, 22, trials=40, objects=2)
    return trace(header(), state(samples=2), [], [chunk.bytes(1, sealed=False)])[:keep]


def extremes():
    """The largest and smallest values of every field, deltas that wrap around."""
    chunk = Chunk(base_time=MASK, base_sequence=MASK, interval=MASK)
    chunk.sample(0, 0, MASK, thread=0xFFFFFFFF, address=MASK, trials=MASK, objects=MASK,
                 stack=0xFFFFFFFF, exact=True, kind=255, interval=MASK, law=1)
    chunk.sample(MASK, MASK, 0, thread=0, address=0, offset=MASK, alignment=63, usable=MASK)
    chunk.free(5, MASK, MASK, thread=0xFFFFFFFE, trials=MASK, objects=MASK, stack=0xFFFFFFFF)
    chunk.stack(0xFFFFFFFF, [MASK, 0, 1 << 62, 1 << 63, 0x7FFFFFFFFFFF, 0xFFFFFFFFFF600000],
                flags=MASK, epoch=0xFFFFFFFF, exact=(0, 2, 5))
    chunk.stack(0, [])
    chunk.module(0xFFFFFFFF, MASK, 0, MASK, b"\xff\xfe\0\n\"\\", epoch=0xFFFFFFFF,
                 build_id=bytes(range(64)), file_bytes=MASK, mtime=MASK)
    chunk.module_gone(0, 0)
    chunk.thread_begin(0, 0, 0, "")
    chunk.thread_end(0xFFFFFFFF, 0xFFFFFFFF, MASK, MASK, 0, (MASK, MASK), "n\u00e4me")
    chunk.thread_end(3, 3, MASK, MASK, MASK, (MASK, MASK), "x" * 300)
    chunk.exec(MASK, MASK, 0xFFFFFFFF, 0xFFFFFFFF, "")
    chunk.fork(MASK, MASK, 0xFFFFFFFF)
    return trace(header(charge=0xFFFFFFFF, interval=MASK, start=0), state(reserved=MASK),
                 [slot(4, 4, MASK, 1, MASK), slot(5, 5, 10, MASK, 9)], [chunk.bytes(1)])


def sparse():
    """Sequence numbers far apart, freed in the opposite order; a module mapped over another one
    whose unloading nobody saw."""
    chunk = Chunk(base_time=1000)
    for i in range(1, 501):
        chunk.sample(i << 40, 1000 + i, i, trials=100 * i, objects=i, stack=1 + (i > 250))
    for i in range(500, 0, -1):
        chunk.free((1 << 60) - i, 5000 - i, i << 40, trials=50001, objects=501)
    chunk.module(1, 0x1000, 0x3000, 0x1000, "/lib/old.so", epoch=0)
    chunk.module(2, 0x2000, 0x4000, 0x2000, "/lib/new.so", epoch=1)
    chunk.stack(1, [0x2800], epoch=0)
    chunk.stack(2, [0x2800], epoch=1)
    return trace(header(), state(samples=500), [], [chunk.bytes(1)])


def census(kind=3, skippable=1, minor=1):
    """A verified run: two chunks of sums, unused and unknown ones between them, the same stack twice,
    a stack that is not known, and numbers that contradict each other."""
    chunk = Chunk(base_time=1000, interval=4096)
    chunk.thread_begin(1, 100, 1001, "main")
    chunk.module(1, 0x400000, 0x480000, 0x400000, "/usr/bin/program")
    chunk.stack(1, [0x401000, 0x402000])
    chunk.stack(2, [0x403000, 0x402000])
    chunk.sample(1, 2000, 100, stack=1, trials=900, objects=20, offset=7)
    first = [(1, 1, 1000, 10, 400, 4, 300, 3), (0, 9, 1, 1, 1, 1, 1, 1), (1, 2, 50, 5, 60, 6, 70, 7)]
    second = [(2, 3, 1, 1, 0, 0, 0, 0), (1, 0, 7, 1, 0, 0, 0, 0), (1, 1, 20, 2, 20, 2, 20, 2)]
    totals = (1077, 18, 480, 12, 900, 9, 2500, 1, 11, 1, 0, 0, 3, 0, 100, 2)
    return trace(header(interval=4096, minor=minor, skippable=skippable),
                 state(ended=1, reason=1, end_time=3100, reserved=4, trials=1209, objects=21, samples=1,
                       census=totals),
                 chunks=[census_chunk(1, first, kind), chunk.bytes(2), census_chunk(3, second, kind)])


def switched():
    """Ended; sampling changes and pauses. Thread 1: T, off for 600 bytes in 6 objects, another T,
    off with nothing allocated, on at once, T again. Thread 2 began while it was off and has ended;
    thread 3 still ran at the end and never paused. Records of a thread in two chunks, unordered."""
    one = Chunk(base_time=1000, interval=4096)
    one.thread_begin(1, 100, 1001, "main")
    one.sample(1, 2000, 100, trials=5000, objects=40)
    one.switch(1, 2500, 2, 6006, 46, 0, 1)
    one.switch(1, 4500, 8, 8000, 60, 0, 3)
    one.switch(1, 4501, 9, 8000, 60, 1024, 4)
    one.sample(10, 4600, 1000, trials=9001, objects=61, interval=1024)
    two = Chunk(base_time=1000, interval=4096, lane=1)
    two.thread_begin(2, 102, 2600)
    two.switch(2, 2600, 3, 0, 0, 0, 1)
    two.sample(7, 3500, 10, thread=1, trials=7000, objects=55, interval=16384)
    two.switch(1, 3000, 4, 6612, 52, 16384, 2)
    two.switch(2, 3900, 6, 5050, 50, 16384, 2)
    two.thread_end(2, 102, 4000, 6100, 100)
    two.switch(1, 5000, 11, 9500, 70, 4096, 5)
    return trace(header(interval=4096, minor=2, skippable=4),
                 state(ended=1, reason=1, end_time=9000, trials=26100, objects=270,
                       last_sequence=11, samples=3, control=(5 << 42 | 1 << 41 | 4096, 1 << 41 | 4096, 5000)),
                 [slot(1, 101, 9500, 70, 4000, command=5), slot(3, 103, 9000, 90, 3000)],
                 [one.bytes(1), two.bytes(2)])


def switched_killed():
    """The same kinds of thread, killed; thread 4 has no slot."""
    chunk = Chunk(base_time=1000)
    chunk.switch(1, 1500, 1, 2000, 10, 0, 1)
    chunk.switch(2, 1600, 2, 1100, 100, 0, 1)
    chunk.switch(2, 2600, 4, 2200, 200, 65536, 2)
    chunk.switch(4, 2700, 6, 300, 3, 65536, 2)
    chunk.sample(5, 2650, 70000, thread=2, trials=72201, objects=201, exact=True, interval=65536)
    return trace(header(minor=2), state(samples=1, lost=(0, 0, 0, 0, 0, 0, 1)),
                 [slot(1, 101, 3000, 20, 500, command=1), slot(2, 102, 2200, 200, 900, command=2),
                  slot(3, 103, 400, 4, 100)],
                 [chunk.bytes(1, sealed=False)])


def dormant(ended=1):
    """Sampling was off from start to end."""
    chunk = Chunk(base_time=1000).thread_begin(1, 100, 1001, "main")
    return trace(header(minor=2, skippable=2),
                 state(ended=ended, reason=ended, end_time=9000, trials=5000 * ended,
                       objects=100 * ended, control=(0, 524288, 0)),
                 [slot(1, 101, 4000, 90, 1000 - 7)], [chunk.bytes(1)])


def outages(ended):
    """One that ended, and one that goes on: thread 1 stopped as the state page says, thread 2 nobody knows
    where, thread 3 had ended before, thread 4 stopped by its own record, thread 5 began in it."""
    chunk = Chunk(base_time=1000, interval=4096)
    chunk.thread_begin(1, 101, 1001, "main")
    chunk.sample(1, 2000, 100, trials=5000, objects=40)
    chunk.switch(1, 2500, 2, 6006, 46, 0, 0)
    chunk.switch(1, 3500, 3, 9000, 60, 4096, 0)
    chunk.outage(2400, 3400)
    chunk.sample(4, 3600, 10, thread=2, trials=7000, objects=55)
    chunk.thread_end(3, 103, 4000, 6100, 100)
    chunk.switch(4, 4100, 5, 300, 3, 0, 0)
    return trace(header(interval=4096, minor=4),
                 state(ended=ended, reason=ended, end_time=9000 * ended, trials=40000 * ended, objects=400 * ended,
                       samples=2, lost=(1,), outage_since=4050,
                       stops=((1, 9500, 66), (0, 7, 7), (1 << 32, 5, 5))),
                 [slot(1, 101, 12000, 90, 4000), slot(2, 102, 9000, 90, 3000), slot(4, 104, 700, 6, 10),
                  slot(5, 105, 800, 5, 200)],
                 [chunk.bytes(1)])


def mapped():
    """3.11: every kind of call, by two threads, and calls that no kernel would have answered so."""
    page = 4096
    one = Chunk(base_time=1000).thread_begin(1, 101, 1001, "main")
    one.mapping(1, 1, 0x10000000, 16 * page, stack=1).mapping(2, 3, 0x10004000, 4 * page, before=2, protection=0, flags=0)
    one.mapping(1, 4, 0x20000000, 64 * page, protection=0).mapping(4, 5, 0x20008000, 8 * page, flags=0)
    one.mapping(1, 6, 0x30000000, page + 1, thread=2, flags=2)
    one.mapping(3, 8, 0x40000000, 32 * page, before=7, old=(0x30000000, 2 * page), protection=0, flags=1)
    one.mapping(5, 10, 0x50003000, before=9, old=(0x50000000, 0), flags=0)
    one.mapping(6, 11, 0x60000000, 5 * page, thread=2, flags=1).mapping(7, 13, 0x60000000, before=12, flags=0)
    two = Chunk(base_time=1000).mapping(1, 20, MASK, MASK).mapping(2, 22, MASK - 7, 9, before=21)
    two.mapping(3, 24, 0, 0, before=23, old=(MASK, MASK)).mapping(8, 25, 0, 0).mapping(1, 26, 0x1000, page)
    three = Chunk(base_time=1000).mapping(2, 30, 0x1000, page, before=31)
    return trace(header(minor=10, skippable=1024),
                 state(ended=1, reason=1, end_time=9000, trials=10, objects=1, reserved=4, lost=(0,) * 13 + (2,)),
                 [slot(1, 101, 10, 1, 7)], [one.bytes(1), two.bytes(2), three.bytes(3)])


def outage_badly():
    """An end before the beginning, and one that is known already."""
    one = Chunk(base_time=1000).outage(10, 9).sample(1, 2000, 100)
    two = Chunk(base_time=1000).outage(5000, MASK)
    return trace(header(minor=4), state(reserved=3, outage_since=5000, stops=((1, 10, 1),)),
                 [slot(1, 101, 300, 20, 7)], [one.bytes(1), two.bytes(2)])


def switched_badly():
    """What no recorder writes: counters that fall and wrap, objects beyond the trials, no thread,
    the end before the change, T beyond every limit, too short a record, one of a later minor, a bound that there is
    not."""
    chunk = Chunk(base_time=1000)
    chunk.switch(1, 1500, 1, 100, 1, 0, 1)
    chunk.switch(1, 1600, 2, 200, 150, MASK, MASK)
    chunk.switch(1, 1700, 3, 250, 5, 0, 1)
    chunk.switch(1, 1800, 4, MASK, MASK, 0, 9)
    chunk.switch(1, 1800, 4, MASK, 0, 7, 9)
    chunk.switch(0, 1900, 5, 9, 9, 0, 1)
    chunk.switch(0xFFFFFFFF, MASK, MASK, 0, 0, 0, 0)
    chunk.switch(2, 2000, 6, 900, 9, 0, 2)
    chunk.thread_end(2, 2, 2100, 500, 5)
    chunk.record(10, *map(varint, (2, 2000, 6, 400, 4, 64, 3, 1)), b"later minor")
    short = Chunk().record(10, *map(varint, (2, 2000, 6, 400, 4, 64)))
    short.sample(9, 9, 9)
    wide = Chunk().record(10, *map(varint, (1 << 32, 2000, 6, 400, 4, 64, 1)))
    unbound = Chunk().record(10, *map(varint, (1, 2000, 6, 400, 4, 64, 1, 3)))
    return trace(header(minor=2), state(ended=1, reserved=4, end_time=9000, trials=300, objects=3),
                 [slot(1, 101, 300, 20, MASK)],
                 [chunk.bytes(1), short.bytes(2), wide.bytes(3), unbound.bytes(4)])


def random_records():
    """Many records of all kinds with plausible values, from a fixed seed."""
    draw = random.Random(20240229).randrange
    of_mappings = random.Random(20261127).randrange
    chunks, sequence, samples = [], 0, []
    for number in range(1, 4):
        chunk = Chunk(base_time=1000 * number, base_sequence=sequence, interval=4096, lane=number)
        time, thread, counters = 1000 * number, 1, {}
        while len(chunk.payload) < 30000:
            sequence, time = sequence + draw(1, 4), time + draw(-20, 2000)
            thread = thread if draw(4) else draw(1, 20)
            trials, objects = counters.get(thread, (0, 0))
            trials, objects = trials + draw(1, 9000), objects + draw(1, 30)
            counters[thread] = (trials, objects)
            kind = draw(10)
            if draw(30) == 0:
                chunk.switch(thread, time, sequence, trials, objects, draw(3) * draw(1 << 20),
                             draw(9))
            if kind < 5:
                size = draw(1 << draw(1, 20))
                chunk.sample(sequence, time, size, thread=thread, kind=draw(1, 7),
                             address=draw(1 << 47), stack=draw(200), trials=trials,
                             objects=objects, exact=size >= 4095, offset=draw(size + 1),
                             alignment=draw(4, 13) if draw(9) == 0 else None,
                             usable=size + draw(24) if draw(2) else None,
                             interval=draw(1, 1 << 30) if draw(20) == 0 else None, law=draw(2))
                samples.append(sequence)
            elif kind < 8 and samples:
                chunk.free(sequence, time, samples.pop(draw(len(samples))), thread=thread,
                           trials=trials, objects=objects, by_realloc=draw(5) == 0,
                           stack=draw(200) if draw(9) == 0 else None)
            elif kind == 8:
                pcs = [draw(0x400000, 0x7FFFFFFFFFFF) for _ in range(draw(1, 60))]
                chunk.stack(draw(1, 200), pcs, flags=draw(4), epoch=draw(5),
                            exact=(draw(60), draw(60)))
            else:
                number_of_module, start = draw(1, 40), draw(1 << 46)
                chunk.module(number_of_module, start, start + draw(1 << 20), start,
                             f"/lib/lib{number_of_module}.so", epoch=draw(5),
                             build_id=bytes(draw(256) for _ in range(20)))
        for at in range(20):
            chunk.mapping(of_mappings(1, 8), sequence + at, of_mappings(1 << 47), of_mappings(1 << 30),
                          before=sequence - of_mappings(9), old=(of_mappings(1 << 47), of_mappings(1 << 30)),
                          protection=of_mappings(8), flags=of_mappings(64), thread=of_mappings(20), time=time,
                          stack=of_mappings(200))
        chunks.append(chunk.bytes(number, sealed=number != 3))
    return trace(header(interval=4096), state(reserved=4),
                 [slot(i, 1000 + i, draw(1 << 30), draw(1 << 20), draw(1 << 16))
                  for i in range(1, 12)], chunks)


def tree(directory):
    """A process, a child that inherits two objects, one file that cannot be read, an index."""
    parent = Chunk(base_time=1000, interval=4096)
    parent.sample(1, 1100, 10, trials=11, objects=1)
    parent.sample(2, 1200, 20, trials=32, objects=2)
    parent.fork(1300, 2, 201)
    parent.free(3, 1400, 1, trials=40, objects=3)
    child = Chunk(base_time=1310, base_sequence=2, interval=8192)
    child.free(3, 1350, 2, trials=0, objects=0)  # the parent's object: nothing here
    child.sample(4, 1360, 30, trials=31, objects=1)
    child.exec(1370, 4, 201, 1, "/usr/bin/sudo")
    (directory / "tree.bpt").write_bytes(trace(
        header(trace_id=b"ROOT", pid=200, interval=4096),
        state(ended=1, reason=1, end_time=2000, trials=50, objects=4, samples=2),
        chunks=[parent.bytes(1)]))
    folder = directory / "tree.bpt.d"
    folder.mkdir(exist_ok=True)
    (folder / "201.0.bpt").write_bytes(trace(
        header(trace_id=b"CHILD", parent_id=b"ROOT", parent_sequence=2, pid=201, parent_pid=200,
               start=1305, interval=4096, program="/usr/bin/child"),
        state(samples=1), [slot(1, 201, 35, 2, 100)], [child.bytes(1, sealed=False)]))
    (folder / "202.0.bpt").write_bytes(b"BYTEPOLL")
    (folder / "203.0.txt").write_bytes(b"no trace by its name")
    lines = ["bytepoll index 1",
             index_line("201.0.bpt", b"CHILD", 201, 1305, 999, 999),
             index_line("-", b"GONE", 204, 1500, 1000, 1200, program="/tmp/a\\tb\\\\c\\nd"),
             index_line("205.0.bpt", b"LOST", 205, 1600, 300, 300),
             "a line without any field",
             index_line("-", b"EARLY", 206, 1700, 5, 5, "later_key=\tpid=bad\t"),
             index_line("-", b"PAUSED", 207, 1800, 1000, 1000, "interval_bytes=65536\t"
                        "off_bytes_low=600\toff_bytes_high=600\toff_objects_low=6\t"
                        "off_objects_high=6\t"),
             index_line("-", b"ASLEEP", 208, 1900, 1000, 1200, "off_bytes_low=990\t"
                        "off_bytes_high=1190\toff_objects_low=10\toff_objects_high=210\t")]
    (folder / "index").write_text("\n".join(lines) + "\n")


def index_line(file, trace_id, pid, start, low, high, more="", program="/bin/true"):
    return (f"file={file}\ttrace_id={trace_id.ljust(16, bytes(1)).hex()}\t"
            f"parent_trace_id={b'ROOT'.ljust(16, bytes(1)).hex()}\tparent_sequence=2\tpid={pid}\t"
            f"{more}exec_number=0\tstart_monotonic_ns={start}\tend_time_ns={start + 50}\t"
            f"end_reason=1\tsamples=0\ttrials_low={low}\ttrials_high={high}\tobjects_low=10\t"
            f"objects_high={10 + high - low}\tprogram={program}")


def folded(minor=2):
    """A folded part by itself (5): as a trace it is read like any other, and no more."""
    entries = [varint(number) for number in (
        100, 0, 1, 4 << 2 | 1, 77,  # five objects of 100 bytes
        0, 1, 1, 0 << 2 | 3, 3,  # one more, and one of 164
        64, 0, 2, 0 << 2 | 2, 5)]
    first = (Chunk(1000, 1, 4096)
             .record(14, varint(1), varint(3), varint(2), varint(1))
             .record(13, varint(500), varint(1500), zigzag(9), varint(500), zigzag(-4),
                     varint(700), zigzag(1 << 20))
             .stack(1, [0x1111, 0x2222])
             .record(12, varint(1), *map(varint, (1200, 5000, 10, 300, 6000, 12)))
             .record(11, bytes([1, 1]), *map(varint, (1, 1, 4096, 0)), *entries)
             .record(11, bytes([2 | 4 | 8, 4]), *map(varint, (0, 0, 512, 1, 6)),
                     *map(varint, (600, 8, 2, 0, 1 << 2 | 3)))
             .sample(7, 1900, 60, trials=20000, objects=30))
    beyond = (Chunk(2000, 9, 4096).sample(9, 2100, 61, trials=20100, objects=31)
              .record(11, bytes([2, 1]), *map(varint, (1, 1, 512, 0, 600, 2, 1, 3)))
              .sample(10, 2200, 62, trials=20200, objects=32))
    backwards = Chunk(2000, 11, 4096).record(13, varint(500), varint(100), zigzag(1))
    return trace(header(interval=4096, minor=minor, skippable=8), state(),
                 chunks=[first.bytes(1), beyond.bytes(2), backwards.bytes(3)])


def host():
    """Names (3.8), told before and after they are defined, twice, never and badly: of a host."""
    first = (Chunk(2000, 0, 4096).thread_begin(1, 50, 2000, "main")
             .type(1, "node").frame(1, "main", "a.lua", 1).frame(2, "parse\x1b[31m", "a.lua", 7)
             .named_stack(1, [2, 1]).labels(1, "phase=load\ntenant=42")
             .sample(1, 2100, 100, kind=8, stack=1, trials=1000, objects=3, offset=5, told=(1, 2))
             .sample(2, 2200, 5000, kind=9, stack=2, trials=9000, objects=4, exact=True,
                     labels=1, told=(2, 0))
             .free(3, 2300, 1, trials=9000, objects=4)
             .sample(4, 2400, 64, kind=10, stack=3, trials=9100, objects=5, labels=2)
             .sample(5, 2500, 65, kind=7, stack=9, trials=9200, objects=6, told=(7, MASK >> 32))
             .type(1, "another").frame(3, "", "").named_stack(2, [3, 77], flags=1))
    second = (Chunk(2600, 5, 4096).stack(3, [0x401000, 0x402000]).named_stack(3, [1])
              .type(2, b"\xff\xfe\0bytes").labels(2, b"alone\n\n=empty key\nlong=" + bytes([200]) * 70)
              .type(0, "no number").frame(4, "never used", "b.lua", 4294967295)
              .named_stack(4, []).type(3, ""))
    wide = Chunk(2700, 6, 4096).sample(7, 2700, 80, trials=9300, objects=7).named_stack(
        5, [1, 1 << 32]).sample(8, 2800, 81, trials=9400, objects=8)
    deep = Chunk(2700, 7, 4096).record(17, varint(6), varint(0), varint(300), zigzag(1))
    long_line = Chunk(2700, 7, 4096).record(16, varint(9), varint(1 << 32), text("f"), text("g"))
    cut = Chunk(2700, 7, 4096).record(15, varint(9), varint(30), b"short")
    no_heap = Chunk(2700, 7, 4096).record(1, bytes([64 | 2, 8]), *[varint(0)] * 7, varint(1))
    return trace(header(minor=3, recognition=4, interval=4096, allocator="lua 5.4"),
                 state(ended=1, reason=1, end_time=3000, trials=9400, objects=8, samples=6),
                 [slot(1, 50, 9400, 8, 0)],
                 [chunk.bytes(number) for number, chunk in enumerate(
                     (first, second, wide, deep, long_line, cut, no_heap), 1)])


def free_stacks():
    """Stacks of frees (3.2): three places that allocate, two that free, one of them in another thread; the free of every
    eleventh object has no stack, every seventh object still lives, and one free comes before its sample."""
    chunk = (Chunk(1000, 0, 4096).thread_begin(1, 50, 1000, "main").thread_begin(2, 51, 1000, "sweeper"))
    for number, name in enumerate(("main", "load_page", "parse_page", "add_to_index", "drop_page", "sweep"), 1):
        chunk.frame(number, name, "pages.lua", 10 * number)
    for number, frames in enumerate(([2, 1], [3, 2, 1], [4, 1], [5, 1], [6]), 1):
        chunk.named_stack(number, frames)
    chunk.free(2, 2500, 1, trials=1, objects=1, stack=4)
    sizes, sequence, trials, objects = (100, 700, 9000), 2, 0, 0
    for i in range(180):
        size, place = sizes[i % 3], i % 3 + 1
        trials, objects, born = trials + 5900, objects + 17, 2000 + 40_000 * i
        chunk.sample(1 if i == 0 else sequence + 1, born, size, kind=8 if size < 4096 else 9, stack=place, trials=trials,
                     objects=objects, offset=0 if size >= 4096 else i % 60, exact=size >= 4096)
        sequence += i > 0
        if i == 0 or i % 7 == 3:
            continue
        swept = i % 2 == 0
        chunk.free(sequence + 1, born + (1000 if not swept else 30_000_000), sequence, thread=1 + swept,
                   trials=0 if swept else trials, objects=0 if swept else objects,
                   stack=None if i % 11 == 5 else 5 if swept else 4)
        sequence += 1
    return trace(header(minor=12, recognition=4, interval=4096, allocator="pages", skippable=2048),
                 state(ended=1, reason=1, end_time=50_000_000, trials=trials, objects=objects, samples=180),
                 [slot(1, 50, trials, objects, 0), slot(2, 51, 0, 0, 0)], [chunk.bytes(1)])


def python():
    """Frames of Python in native stacks (3.10): replaced loops, two frames in one loop, an extension's frame within, a
    loop that was not seen, unknown ids, records before and after what they name; and badly."""
    decoder, index, top = 1, 2, 3
    first = (Chunk(2000, 0, 4096).thread_begin(1, 50, 2000, "main")
             .interpreter(0x030B07F0, 0x401000, "CPython 3.11.7")
             .module(1, 0x400000, 0x410000, 0x400000, "/usr/bin/python3.11")
             .module(2, 0x700000, 0x710000, 0x700000, "/usr/lib/libthing.so.1")
             .module(3, 0x7f0000, 0x7fff00, 0x7f0000, "/lib/x86_64-linux-gnu/libc.so.6")
             .mixed_stack(10, 1, [(decoder, 1), (index, 1), (top, 3)])
             .frame(decoder, "Decoder.raw", "/usr/lib/python3.11/json/decoder.py", 353)
             .frame(index, "Index.add.<locals>.<lambda>", "/srv/shop/index.py", 12)
             .frame(top, "<module>", "/srv/shop/main.py", 3)
             .stack(1, [0x400100, 0x400200, 0x400300, 0x400400, 0x400500, 0x7f0100])
             .sample(1, 2100, 100, kind=11, stack=10, trials=1000, objects=3, offset=5)
             .sample(2, 2200, 5000, kind=1, stack=11, trials=9000, objects=4, exact=True)
             .sample(3, 2300, 60, kind=11, stack=12, trials=9100, objects=5, offset=1)
             .sample(4, 2400, 61, kind=1, stack=1, trials=9200, objects=6, offset=1)
             .sample(5, 2500, 62, kind=11, stack=13, trials=9300, objects=7, offset=1)
             .sample(6, 2550, 63, kind=11, stack=14, trials=9310, objects=8, offset=1)
             .sample(7, 2560, 64, kind=11, stack=15, trials=9320, objects=9, offset=1))
    second = (Chunk(2600, 6, 4096)
              # An extension calls back into Python, and is called by it; its program is not the interpreter.
              .stack(2, [0x700100, 0x400200, 0x700200, 0x400300, 0x400400, 0x700300])
              .mixed_stack(11, 2, [(decoder, 1), (top, 3)])
              .mixed_stack(12, 1, [(decoder, 1), (index, 6), (top, 6)], flags=1)
              .mixed_stack(13, 77, [(decoder, 1), (99, 2)])
              .frame(5, "_find_and_load", "<frozen importlib._bootstrap>", 1176)
              .mixed_stack(14, 1, [(decoder, 1), (5, 2), (top, 3)])
              # A walk that ended in an extension without unwind tables, where the loop that called it was taken to be.
              .stack(3, [0x400100, 0x700100, 0x700200], flags=2).mixed_stack(15, 3, [(decoder, 2), (top, 2)])
              .interpreter(0x030B07F0, 0x401000, "CPython 3.11.7", objects=5, small_bytes=0))
    nothing = Chunk(2700, 7, 4096).mixed_stack(20, 1, [])
    no_native = Chunk(2700, 7, 4096).mixed_stack(21, 0, [(1, 1)])
    wide = Chunk(2700, 7, 4096).mixed_stack(22, 1, [(1 << 32, 0)])
    far = Chunk(2700, 7, 4096).mixed_stack(23, 1, [(1, 1), (2, 1 << 32)])
    deep = Chunk(2700, 7, 4096).mixed_stack(24, 1, [(1, 0)] * 513)
    cut = Chunk(2700, 7, 4096).record(21, varint(1), varint(2))
    return trace(header(minor=7, interval=4096),
                 state(ended=1, reason=1, end_time=3000, trials=9320, objects=9, samples=7),
                 [slot(1, 50, 9320, 9, 0)],
                 [chunk.bytes(number) for number, chunk in enumerate(
                     (first, second, nothing, no_native, wide, far, deep, cut), 1)])


def open_ends():
    """Ended in order, and yet the counters at the end are not all: by name of the trace."""
    without_limit = 1 << 56
    host_head = header(minor=3, recognition=4, interval=4096, allocator="lua 5.4")

    def made(head, records, slots, trials, objects, **more):
        return trace(head, state(ended=1, reason=1, end_time=9000, trials=trials, objects=objects, **more),
                     slots, [records.bytes(1)])

    def chunk():
        return Chunk(1000, 0, 4096).thread_begin(1, 50, 1000, "main")

    # Thread 1 has ended; 2 has not; 3 has, and went on.
    waits = (chunk().sample(1, 2000, 100, thread=1, trials=1000, objects=10)
             .sample(2, 2100, 100, thread=3, trials=300, objects=3)
             .thread_end(1, 50, 3000, 2000, 20).thread_end(3, 52, 3000, 400, 4)
             .sample(3, 3100, 100, thread=3, trials=700, objects=7))
    # Of no thread, and of one that is not known; 1 has ended.
    unknown = (chunk().sample(1, 2000, 100, thread=1, trials=1000, objects=10)
               .thread_end(1, 50, 3000, 2000, 20)
               .sample(2, 3100, 5000, thread=0, trials=0, objects=0)
               .sample(3, 3200, 60, thread=7, trials=4000, objects=40))
    # Fewer bytes, and fewer objects, than were sampled of thread 1; 2 is right.
    less = (chunk().sample(1, 2000, 700, thread=1, trials=0, objects=0)
            .sample(2, 2100, 700, thread=1, trials=0, objects=0).thread_end(1, 50, 3000, 1000, 1)
            .sample(3, 2200, 100, thread=2, trials=101, objects=1).thread_end(2, 51, 3000, 500, 5))
    # A recorder: a thread is gone without a word; and one went on behind the end.
    gone = chunk().sample(1, 2000, 100, thread=1, trials=1000, objects=10)
    return {
        "host_waits": made(host_head, waits, [slot(2, 51, 500, 5, without_limit),
                                              slot(3, 52, 700, 7, without_limit)],
                           3200, 32, open_end=(2, without_limit)),
        "host_unknown": made(host_head, unknown, [], 2000, 20, open_end=(0, without_limit)),
        "host_less": made(host_head, less, [], 1500, 6),
        "thread_gone": made(header(interval=4096), gone, [slot(1, 50, 2000, 20, 300)], 2000, 20,
                            open_end=(1, 300)),
        "went_on": made(header(interval=4096), gone, [slot(1, 50, 2500, 25, 300)], 2000, 20)}


def host_uncounted():
    """A host with allocation contexts: charge 0, no counter of objects, no frees; killed."""
    records = (Chunk(2000, 0, 4096).thread_begin(1, 50, 2000, "main").type(1, "node")
               .sample(1, 2100, 100, kind=8, trials=1000, told=(1, 0))
               .sample(2, 2200, 8000, kind=9, trials=9000, exact=True, told=(1, 0)))
    return trace(header(minor=3, recognition=4, interval=4096, charge=0, skippable=32 | 64,
                        allocator="collector 1"),
                 state(samples=2), [slot(1, 50, 9000, 0, 1 << 56)], [records.bytes(1, sealed=False)])


def folded_told():
    """FOLDED TOLD (5.3), and where it means nothing."""
    ticks = (varint(500), varint(1000), zigzag(1), varint(500), zigzag(1))
    first = (Chunk(2000, 0, 4096).record(13, *ticks).type(1, "node").labels(1, "tenant=42")
             .record(75, bytes([2, 8]), *map(varint, (1, 0, 512, 0, 1, 1, 2)),
                     *map(varint, (600, 0, 1, 4 << 2 | 3, 10, 0, 1, 0 << 2 | 1)))
             .record(75, bytes([2, 8]), *map(varint, (1, 0, 512, 0, 1, 1))))
    return trace(header(interval=4096, minor=3, skippable=8, recognition=4), state(),
                 chunks=[first.bytes(1)])


def told_pair(directory):
    """A trace and its folded part (5), whose entries have labels and types."""
    held = Chunk(2000, 0, 4096).sample(99, 2000, 99, trials=1, objects=1)
    rest = Chunk(3000, 9, 4096).sample(9, 3000, 300, trials=9000, objects=9, labels=1, told=(1, 3))
    (directory / "told_pair.bpt").write_bytes(trace(
        header(trace_id=b"PAIR", interval=4096, minor=3, recognition=4, allocator="lua 5.4"),
        state(ended=1, reason=1, end_time=3100, trials=9000, objects=9, samples=7, reserved=3),
        [slot(1, 50, 9000, 9, 0)], [held.bytes(1), rest.bytes(2)]))
    told = ((1, 1, 2, 100, 4 << 2 | 3), (0, 1, 0, 200, 0 << 2 | 3))  # labels, type, heap ...
    part = (Chunk(2000, 0, 4096).record(14, varint(1), varint(1))
            .record(13, varint(500), varint(2100), zigzag(4), varint(400), zigzag(4))
            .type(1, "node").labels(1, "phase=load\ntenant=42").frame(1, "main", "a.lua", 1)
            .named_stack(1, [1]))
    for labels, type_, heap, size, count in told:
        part.record(75, bytes([2, 8]), *map(varint, (1, 1, 4096, 0, labels, type_, heap)),
                    *map(varint, (size, 0, 1, count)))
    (directory / "told_pair.bpt.fold").write_bytes(trace(
        header(trace_id=b"PAIR", interval=4096, minor=3, skippable=8, recognition=4), state(),
        chunks=[part.bytes(1)]))


def jit(directory):
    """Code made at run time, named by FILE.jit (8): an address that is other code later, one whose names have no times,
    one without a name, and a trampoline of CPython beside the frame of Python."""
    native = [0x400100, 0x10010, 0x20010, 0x30010, 0x400200]
    chunk = (Chunk(2000, 0, 4096).thread_begin(1, 50, 2000, "main")
             .module(1, 0x400000, 0x410000, 0x400000, "/usr/bin/node")
             .stack(1, native)
             .sample(1, 2100, 100, stack=1, trials=1000, objects=1)
             .sample(2, 2500, 101, stack=1, trials=2000, objects=2)
             .sample(3, 2600, 102, stack=1, trials=3000, objects=3))
    (directory / "jit.bpt").write_bytes(trace(
        header(trace_id=b"JIT", minor=7, interval=4096),
        state(ended=1, reason=1, end_time=3000, trials=3000, objects=3, samples=3),
        [slot(1, 50, 3000, 3, 0)], [chunk.bytes(1)]))
    names = ((0x10000, 0x20, 2050, "JS:~early /app/a.js:3:4"), (0x10000, 0x20, 2400, "JS:*late /app/a.js:9:1"),
             (0x20000, 0x20, 0, "void A.one()"), (0x20008, 0x10, 0, "void A.two()"))
    (directory / "jit.bpt.jit").write_text("".join(
        ["bytepoll jit 1\n", f"trace_id={b'JIT'.ljust(16, bytes(1)).hex()}\tpid=100\tnames={len(names)}\n"]
        + [f"{start:x}\t{size:x}\t{time}\t{name}\n" for start, size, time, name in names] + ["end 1\n"]),
        encoding="ascii")


def unreadable():
    """Files that are an error as a whole."""
    good = simple()
    broken = bytearray(good)
    broken[130] ^= 1
    fatal_record = Chunk().sample(1, 1, 1).raw(record(0x45, b"must be known"))
    return {
        "bad_empty": b"", "bad_zeros": bytes(70000), "bad_magic_only": b"BYTE",
        "bad_header_torn": good[:150], "bad_strings_torn": good[:200],
        "bad_header_alone": good[:4096], "bad_state_torn": good[:4096 + 663],
        "bad_state_zeros": trace(header(), state(reserved=0)),
        "bad_foreign": b"\x7fELF" + bytes(5000), "bad_header_checksum": bytes(broken),
        "bad_version": trace(header(major=2, minor=7)),
        "bad_flags_fatal": trace(header(fatal=0x10)),
        "bad_chunk_bytes": trace(header(chunk_bytes=4096)), "bad_law": trace(header(law=2)),
        "bad_record_fatal": trace(header(), chunks=[fatal_record.bytes(1)]),
    }


def main():
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    files = {maker.__name__: maker() for maker in (
        simple, killed, chunks, damaged, torn, extremes, sparse, census, switched, switched_killed,
        dormant, switched_badly, outage_badly, mapped, folded, host, host_uncounted, folded_told, free_stacks, python,
        random_records)}
    files["dormant_killed"] = dormant(0)
    files["outages"] = outages(1)
    files["outages_killed"] = outages(0)
    files["census_of_later"] = census(kind=79, skippable=4, minor=9)
    files["no_chunks"] = trace(header(minor=3, skippable=128, extra=b"later"))[:4096 + 664]
    files["cut_slots"] = killed()[:8192 + 64]
    files["cut_between"] = simple()[:65536]
    files["unprofiled"] = trace(header(recognition=0, reason=1, interval=0),
                                state(ended=1, reason=1, end_time=5, reserved=1))
    for name, data in (files | open_ends() | unreadable()).items():
        (directory / f"{name}.bpt").write_bytes(data)
    tree(directory)
    told_pair(directory)
    jit(directory)
    for stamp in sys.argv[2:]:
        pathlib.Path(stamp).touch()


if __name__ == "__main__":
    main()
