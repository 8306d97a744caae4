# SPDX-License-Identifier: MIT
"""Builds traces for the tests, byte by byte as docs/trace-format.md says. Python standard library.

Nothing here knows the reader, the writer or the decoder: a test that reads what this wrote compares
two readings of the specification. All values are given, nothing is drawn, so that the files are the
same on every machine.
"""
import struct

CHUNK = 65536
MASK = (1 << 64) - 1
THREAD, EXACT, ALIGNMENT, USABLE, INTERVAL, LABELS, TOLD = 1, 2, 4, 8, 16, 32, 64  # of a sample
FREE_STACK, FREE_REALLOC = 2, 4  # flags of a free


def checksum(data):
    hash_value = 0x9E3779B97F4A7C15
    for at in range(0, len(data), 8):
        word = int.from_bytes(data[at:at + 8], "little")
        hash_value = ((hash_value ^ word) * 0xFF51AFD7ED558CCD) & MASK
        hash_value ^= hash_value >> 32
    return hash_value


def varint(value):
    code = bytearray()
    value &= MASK
    while value >= 0x80:
        code.append(value & 0x7F | 0x80)
        value >>= 7
    code.append(value)
    return bytes(code)


def zigzag_code(value):
    """Of a difference modulo 2^64, taken as a signed number."""
    value &= MASK
    signed = value - (1 << 64) if value >> 63 else value
    return (signed << 1 ^ signed >> 63) & MASK


def zigzag(value):
    return varint(zigzag_code(value))


def text(data):
    data = data.encode() if isinstance(data, str) else data
    return varint(len(data)) + data


def record(tag, payload):
    return bytes([tag]) + varint(len(payload)) + payload


class Chunk:
    """One record chunk; the methods append records and keep the deltas."""

    def __init__(self, base_time=0, base_sequence=0, interval=524288, law=0, lane=0):
        self.base = (base_time, base_sequence, interval, law, lane)
        self.time, self.sequence, self.interval = base_time, base_sequence, interval
        self.address = self.thread = self.trials = self.objects = 0
        self.payload = bytearray()

    def raw(self, data):
        self.payload += data
        return self

    def record(self, tag, *parts):
        return self.raw(record(tag, b"".join(parts)))

    def _context(self, thread, sequence, time):
        parts = b""
        if thread != self.thread:
            parts = varint(thread)
            self.thread, self.trials, self.objects = thread, 0, 0
        parts += zigzag(sequence - self.sequence) + zigzag(time - self.time)
        self.sequence, self.time = sequence, time
        return parts

    def _counters(self, trials, objects):
        parts = varint(trials - self.trials) + varint(objects - self.objects)
        self.trials, self.objects = trials, objects
        return parts

    def sample(self, sequence, time, size, *, thread=1, address=0x1000, kind=1, stack=0, trials=0,
               objects=0, offset=0, exact=False, alignment=None, usable=None, interval=None,
               law=0, labels=None, told=None, extra=b""):
        """`told`: type and heap."""
        flags = (THREAD * (thread != self.thread) | EXACT * exact |
                 ALIGNMENT * (alignment is not None) | USABLE * (usable is not None) |
                 INTERVAL * (interval is not None) | LABELS * (labels is not None) |
                 TOLD * (told is not None))
        parts = [bytes([flags, kind]), self._context(thread, sequence, time)]
        parts += [zigzag(address - self.address), varint(size)]
        self.address = address
        parts += [varint(alignment)] if alignment is not None else []
        parts += [varint(usable - size)] if usable is not None else []
        parts += [varint(offset)] if not exact else []
        parts += [varint(stack), self._counters(trials, objects)]
        parts += [varint(interval), varint(law)] if interval is not None else []
        parts += [varint(labels)] if labels is not None else []
        parts += [varint(number) for number in told or ()]
        return self.record(1, *parts, extra)

    def free(self, sequence, time, sample, *, thread=1, trials=0, objects=0, stack=None,
             by_realloc=False):
        flags = (THREAD * (thread != self.thread) | FREE_STACK * (stack is not None) |
                 FREE_REALLOC * by_realloc)
        parts = [bytes([flags]), self._context(thread, sequence, time), varint(sequence - sample)]
        parts += [self._counters(trials, objects)]
        parts += [varint(stack)] if stack is not None else []
        return self.record(2, *parts)

    def stack(self, number, pcs, *, flags=0, epoch=0, exact=()):
        parts, previous = [varint(number), varint(flags), varint(epoch), varint(len(pcs))], 0
        for i, pc in enumerate(pcs):
            parts.append(varint(zigzag_code(pc - previous) << 1 | (i in exact)))
            previous = pc
        return self.record(3, *parts)

    def type(self, number, name):
        """3.8"""
        return self.record(15, varint(number), text(name))

    def frame(self, number, function, file="", line=0):
        return self.record(16, varint(number), varint(line), text(function), text(file))

    def named_stack(self, number, frames, *, flags=0):
        parts = [varint(number), varint(flags), varint(len(frames))]
        parts += [zigzag(frame - before) for frame, before in zip(frames, [0, *frames])]
        return self.record(17, *parts)

    def mixed_stack(self, number, native, frames, *, flags=0):
        """`frames`: pairs of a frame's number and a position, innermost first."""
        parts = [varint(number), varint(native), varint(flags), varint(len(frames))]
        for (frame, position), (before, position_before) in zip(frames, [(0, 0), *frames]):
            parts += [zigzag(frame - before), varint(position - position_before)]
        return self.record(20, *parts)

    def interpreter(self, version, address, name, *, frames=0, objects=0, small_bytes=512):
        return self.record(21, *map(varint, (version, address, frames, objects, small_bytes)), text(name))

    def labels(self, number, pairs):
        return self.record(18, varint(number), text(pairs))

    def module(self, number, start, end, bias, path, *, epoch=0, build_id=b"", file_bytes=0,
               mtime=0):
        numbers = (number, epoch, start, end, bias, file_bytes, mtime)
        return self.record(4, *map(varint, numbers), text(build_id), text(path))

    def module_gone(self, number, epoch):
        return self.record(5, varint(number), varint(epoch))

    def thread_begin(self, ordinal, tid, time, name=""):
        return self.record(6, varint(ordinal), varint(tid), varint(time), text(name))

    def thread_end(self, ordinal, tid, time, trials, objects, unoffered=(0, 0), name=""):
        return self.record(7, *map(varint, (ordinal, tid, time, trials, objects, *unoffered)),
                           text(name))

    def exec(self, time, sequence, pid, unseen, path):
        return self.record(8, *map(varint, (time, sequence, pid, unseen)), text(path))

    def fork(self, time, sequence, child):
        return self.record(9, *map(varint, (time, sequence, child)))

    def switch(self, thread, time, sequence, trials, objects, interval, command):
        """3.7: `interval` 0 switches sampling off."""
        return self.record(10, *map(varint, (thread, time, sequence, trials, objects, interval,
                                             command)))

    def outage(self, begin, end):
        return self.record(19, varint(begin), varint(end))

    def mapping(self, what, sequence, address, bytes_=0, *, before=None, old=(0, 0), protection=3, flags=0x22,
                thread=1, time=None, stack=0):
        """3.11: `what` from 1 (map) to 7 (detach)."""
        return self.record(22, *map(varint, (thread, 1000 + sequence if time is None else time,
                                             sequence if before is None else before, sequence, what,
                                             address, bytes_, *old, protection, flags, stack)))

    def bytes(self, number, sealed=True, committed=None, magic=0x4B435042, kind=1, check=None):
        payload = bytes(self.payload)
        if check is None:
            check = checksum(payload) if sealed else 0
        time, sequence, interval, law, lane = self.base
        head = struct.pack("<IIQIIQQQQII", magic, kind, number,
                           len(payload) if committed is None else committed, sealed, check, time,
                           sequence, interval, law, lane)
        return (head + payload).ljust(CHUNK, b"\0")


def slot(ordinal, tid, trials, objects, armed, *, generation=2, command=0, state=1,
         unoffered=(0, 0)):
    return struct.pack("<2H3I6Q", generation, command, state, ordinal, tid, trials, objects, armed,
                       0x7F0000000000 + 64 * ordinal, *unoffered)


def slot_chunk(number, slots):
    head = struct.pack("<IIQIIQQQQII", 0x4B435042, 2, number, 0, 0, 0, 0, 0, 0, 0, 0)
    return (head + b"".join(slots)).ljust(CHUNK, b"\0")


def census_chunk(number, sums, kind=3):
    """`sums`: tuples of state, stack and six numbers, as section 1.7 orders them."""
    head = struct.pack("<IIQIIQQQQII", 0x4B435042, kind, number, 0, 0, 0, 0, 0, 0, 0, 0)
    return (head + b"".join(struct.pack("<2I7Q", *one, 0) for one in sums)).ljust(CHUNK, b"\0")


def header(*, trace_id=b"T", parent_id=b"", parent_sequence=0, exec_number=0, pid=100,
           parent_pid=1, start=1000, interval=524288, law=0, charge=1, seed=None, recognition=1,
           reason=0, program="/usr/bin/program", command_line="program\0argument",
           allocator="/lib/x86_64-linux-gnu/libc.so.6", version="0.1.0", major=1, minor=0,
           fatal=0, skippable=0, chunk_bytes=CHUNK, extra=b""):
    strings = [s.encode() if isinstance(s, str) else s
               for s in (program, command_line, allocator, version)]
    checked = struct.pack("<II16s16sQIIIIQQQQIIQIII4H20x", chunk_bytes, 4096, trace_id, parent_id,
                          parent_sequence, exec_number, pid, parent_pid, 62, 4026531836, start,
                          start + 1_700_000_000_000_000_000, interval, law, charge, seed or 0,
                          seed is not None, recognition, reason, *map(len, strings))
    checked += b"".join(strings) + extra
    return struct.pack("<8sHHIQQQ", b"BYTEPOLL", major, minor, 40 + len(checked), fatal, skippable,
                       checksum(checked)) + checked


def state(*, ended=0, reserved=2, reason=0, end_time=0, trials=0, objects=0, last_sequence=0,
          samples=0, unoffered=(0, 0), own_bytes=0, unmarked_fork=0, lost=(), census=(),
          control=(), outage_since=0, stops=(), open_end=(0, 0)):
    """`stops`: ordinal, trials and objects of threads that stopped in an outage (3.9). `open_end`: threads whose last
    counters were not known at the end, and trials that they may have made beyond."""
    values = (ended, reserved, reason, end_time, trials, objects, last_sequence, samples,
              *unoffered, own_bytes, unmarked_fork, 0, *open_end, 0)
    page = struct.pack("<48Q", *values, *lost, *[0] * (32 - len(lost)))
    page = page.ljust(512, b"\0") + struct.pack(f"<{len(census)}Q", *census)
    page = page.ljust(640, b"\0") + struct.pack(f"<{len(control)}Q", *control)
    page = page.ljust(664, b"\0") + struct.pack("<2Q", outage_since, len(stops))
    return page + b"".join(struct.pack("<3Q", *stop) for stop in stops)


def trace(head, state_page=None, slots=(), chunks=()):
    first = head.ljust(4096, b"\0") + (state_page or state()).ljust(4096, b"\0") + b"".join(slots)
    return first.ljust(CHUNK, b"\0") + b"".join(chunks)
