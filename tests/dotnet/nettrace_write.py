# SPDX-License-Identifier: MIT
"""Writes .nettrace files: for tests that need to know what is in one, and bench/nettrace.py.

`Writer` puts events into blocks in one of three forms (FORMS) and can leave out any of them, as a
runtime does whose buffers are full: the numbers of the rest go on as if they had been written.
Payloads are those of the .NET runtime (`allocation`, `method`, `entry_point`, `module`, `heap_stats`,
`dynamic`, `committed`).
"""
import struct

RUNTIME = "Microsoft-Windows-DotNETRuntime"
RUNDOWN = "Microsoft-Windows-DotNETRuntimeRundown"
FORMS = ("4", "4 plain", "6")  # compressed heads, heads in full, version 6
KINDS_6 = {"Trace": 1, "EventBlock": 2, "MetadataBlock": 3, "SPBlock": 4, "StackBlock": 5,
           "Thread": 6, "RemoveThread": 7}


def variable(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def text16(text):
    return text.encode("utf-16-le", "surrogatepass") + b"\0\0"


def text8(text):
    data = text.encode()
    return variable(len(data)) + data


def allocation(type_id, name, size, offset, heap=0, address=0x7F0000001000, pointer=8):
    pointers = "<Q" if pointer == 8 else "<I"
    return (struct.pack("<IH", heap, 0) + struct.pack(pointers, type_id) + text16(name) +
            struct.pack(pointers, address & ((1 << 8 * pointer) - 1)) +
            struct.pack("<QQ", size, offset))


def method(id_, start, size, type_name, name, module=1):
    return (struct.pack("<QQQIII", id_, module, start, size, 0x6000001, 0) + text16(type_name) +
            text16(name) + text16("void ()") + struct.pack("<HQ", 0, 0))


def entry_point(id_, start, type_name, name):
    return (struct.pack("<Q", id_) + text16(type_name) + text16(name) + text16("void ()") +
            struct.pack("<Q", start) + struct.pack("<H", 0))


def module(id_, path):
    return struct.pack("<QQII", id_, id_ + 1, 0, 0) + text16(path) + text16("") + b"\0\0"


def heap_stats(generations, version=2):
    """`generations`: five sizes, large and pinned objects last; before version 2 there are four."""
    out = b"".join(struct.pack("<QQ", size, size // 2) for size in generations[:4])
    out += struct.pack("<QQIII", 77, 3, 2, 1, 99)
    if version >= 1:
        out += struct.pack("<H", 0)
    if version >= 2:
        out += struct.pack("<QQ", generations[4], generations[4] // 2)
    return out


def dynamic(name, data):
    return text16(name) + struct.pack("<I", len(data)) + data + struct.pack("<H", 0)


def committed(in_use, decommit=0, free=0, global_free=0, bookkeeping=0, version=1):
    return dynamic("CommittedUsage", struct.pack("<HQQQQQ", version, in_use, decommit, free,
                                                 global_free, bookkeeping))


class Writer:
    """`ticks_per_second`: of its clock; times are in ticks. `block_events`: events of one block."""

    def __init__(self, form="4", pointer=8, ticks_per_second=10**9, pid=4242, block_events=100):
        self.form, self.pointer, self.block_events = form, pointer, block_events
        self.six = form == "6"
        self.out = bytearray()
        self.kinds, self.new_kinds, self.stacks, self.new_stacks = {}, [], {}, []
        self.events, self.last, self.written_last, self.known = [], {}, {}, set()
        head = struct.pack("<8h", 2026, 11, 0, 22, 1, 2, 3, 4) + struct.pack(
            "<qqi", 0, ticks_per_second, pointer)
        if self.six:
            self.out += b"Nettrace" + struct.pack("<III", 0, 6, 0)
            self.block("Trace", head + struct.pack("<i", 1) + text8("ProcessId") + text8(str(pid)))
        else:
            self.out += b"Nettrace" + struct.pack("<i", 20) + b"!FastSerialization.1"
            self.object("Trace", 4, head + struct.pack("<iii", pid, 1, 0))

    def object(self, name, version, payload):
        self.out += b"\5\5\1" + struct.pack("<iii", version, version, len(name)) + name.encode()
        self.out += b"\6" + payload + b"\6"

    def block(self, name, payload):
        if self.six:
            self.out += struct.pack("<I", len(payload) | KINDS_6[name] << 24) + payload
            return
        size_at = len(self.out) + 15 + len(name) + 1
        padding = bytes(-(size_at + 4) % 4)
        self.object(name, 2, struct.pack("<i", len(payload)) + padding + payload)

    def event(self, provider, id_, version, payload, thread=100, time=0, ips=(), lost=False,
              capture=None):
        """One event; `lost`: it has its number, and is left out."""
        capture = thread if capture is None else capture
        self.last[capture] = self.last.get(capture, 0) + 1
        if lost:
            return
        self.written_last[capture] = self.last[capture]
        kind = (provider, id_, version)
        if kind not in self.kinds:
            self.kinds[kind] = len(self.kinds) + 1
            self.new_kinds.append(kind)
        ips = tuple(ips)
        if ips not in self.stacks:
            self.stacks[ips] = len(self.stacks) + 1
            self.new_stacks.append(ips)
        self.events.append((self.kinds[kind], self.last[capture], capture, thread,
                            self.stacks[ips], time, payload))
        if len(self.events) == self.block_events:
            self.flush()

    def sample(self, type_id, name, size, offset, heap=0, **event):
        self.event(RUNTIME, 303, 0, allocation(type_id, name, size, offset, heap,
                                               pointer=self.pointer), **event)

    def gc_start(self, number, kind=0, **event):
        self.event(RUNTIME, 1, 2, struct.pack("<IIIIHQ", number, 2, 0, kind, 0, 0), **event)

    def gc_end(self, number, **event):
        self.event(RUNTIME, 2, 1, struct.pack("<IIH", number, 2, 0), **event)

    def gc_dynamic(self, payload, **event):
        self.event(RUNTIME, 39, 0, payload, **event)

    def gc_stats(self, payload, version=2, **event):
        self.event(RUNTIME, 4, version, payload, **event)

    def header(self, events):
        times = [event[5] for event in events] or [0]
        return struct.pack("<HHqq", 20, self.form != "4 plain", min(times), max(times))

    def head(self, kind, sequence, capture, thread, stack, time, payload):
        """A head and its payload, as long as it can be."""
        if self.form == "4 plain":
            body = struct.pack("<IIQQIIQ32sI", kind, sequence, thread, capture, 0xFFFFFFFF, stack,
                               time, b"", len(payload)) + payload
            return struct.pack("<I", len(body)) + body + bytes(-len(body) % 4)
        step = (sequence - self.state[0] - 1) & 0xFFFFFFFF
        out = bytes([1 | 2 | 4 | 8 | 64 | 128]) + variable(kind) + variable(step)
        out += variable(capture) + variable(0xFFFFFFFF) + variable(thread) + variable(stack)
        out += variable((time - self.state[1]) & (1 << 64) - 1) + variable(len(payload)) + payload
        self.state = [sequence, time]
        return out

    def metadata(self):
        rows = bytearray()
        self.state = [0, 0]
        for kind in self.new_kinds:
            provider, id_, version = kind
            if self.six:
                row = variable(self.kinds[kind]) + text8(provider) + variable(id_) + text8("")
                row += struct.pack("<HH", 0, 2) + bytes([9, version])
                rows += struct.pack("<H", len(row)) + row
            else:
                row = struct.pack("<i", self.kinds[kind]) + text16(provider)
                row += struct.pack("<i", id_) + text16("") + struct.pack("<qiii", 0, version, 4, 0)
                rows += self.head(0, 0, 0, 0, 0, 0, row)
        self.block("MetadataBlock",
                   (struct.pack("<H", 0) if self.six else self.header([])) + bytes(rows))
        self.new_kinds = []

    def threads(self):
        rows = bytearray()
        for thread in sorted({t for e in self.events for t in e[2:4]} - self.known):
            row = variable(thread) + b"\3" + variable(thread)
            rows += struct.pack("<H", len(row)) + row
            self.known.add(thread)
        if rows:
            self.block("Thread", bytes(rows))

    def flush(self):
        """What has come since the last time, as blocks."""
        if self.new_kinds:
            self.metadata()
        if self.six:
            self.threads()
        if self.new_stacks:
            code = "Q" if self.pointer == 8 else "I"
            first = len(self.stacks) - len(self.new_stacks) + 1
            rows = b"".join(struct.pack(f"<I{len(ips)}{code}", len(ips) * self.pointer, *ips)
                            for ips in self.new_stacks)
            self.block("StackBlock", struct.pack("<II", first, len(self.new_stacks)) + rows)
            self.new_stacks = []
        if self.events:
            self.state = [0, 0]
            self.block("EventBlock", self.header(self.events) +
                       b"".join(self.head(*event) for event in self.events))
            self.events = []

    def sequence_point(self):
        self.flush()
        out = struct.pack("<q", 0) + (struct.pack("<I", 0) if self.six else b"")
        out += struct.pack("<I", len(self.last))
        for thread, last in self.last.items():
            out += (variable(thread) + variable(last) if self.six
                    else struct.pack("<qI", thread, last))
        self.block("SPBlock", out)
        self.stacks.clear()

    def finish(self, point=True):
        """The whole file; without a last sequence point losses at the end are not told."""
        if point:
            self.sequence_point()
        else:
            self.flush()
        self.out += struct.pack("<I", 0) if self.six else b"\1"
        return bytes(self.out)
