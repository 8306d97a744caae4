# SPDX-License-Identifier: MIT
"""The records of a bytepoll trace, one by one (docs/trace-format.md, sections 3 and 5): part of the second
decoder, trace_decode.py, which explains itself. Independent of the C reader.
"""

MASK = (1 << 64) - 1
TAGS = {1: "sample", 2: "free", 3: "stack", 4: "module", 5: "module_gone", 6: "thread_begin",
        7: "thread_end", 8: "exec", 9: "fork", 10: "interval",
        11: "folded", 12: "readings", 13: "ticks", 14: "held",
        15: "type", 16: "frame", 17: "named_stack", 18: "labels", 19: "outage",
        20: "mixed_stack", 21: "interpreter", 22: "mapping", 75: "folded_told"}
OF_PART = ("folded", "readings", "ticks", "held")  # 5: in folded parts only


class Malformed(Exception):
    """A record does not fit: the rest of its chunk has no meaning."""


def unzigzag(code):
    return code >> 1 ^ -(code & 1)


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise Malformed
        self.at += count
        return self.data[self.at - count:self.at]

    def u8(self):
        return self.take(1)[0]

    def varint(self):
        value = 0
        for i in range(10):
            byte = self.u8()
            value |= (byte & 0x7f) << 7 * i
            if byte < 0x80:
                if value > MASK:
                    raise Malformed
                return value
        raise Malformed

    def number32(self):
        value = self.varint()
        if value >> 32:
            raise Malformed
        return value

    def processor(self):
        """The number of a processor and 1."""
        value = self.number32()
        if value == 0xFFFFFFFF:
            raise Malformed
        return value + 1

    def zigzag(self):
        return unzigzag(self.varint())

    def text(self):
        return readable(self.take(self.varint()))

    @staticmethod
    def no_wrap(value, least=0, most=MASK):
        if not least <= value <= most:
            raise Malformed
        return value

    def left(self):
        return len(self.data) - self.at


def readable(data):
    return data.decode("utf-8", "surrogateescape")


class ChunkState:
    """3: the decoding state, and one method a record kind. State moves on after whole records."""

    def __init__(self, base_time_ns, base_sequence, interval, law):
        self.time, self.sequence, self.chunk_interval, self.law = (
            base_time_ns, base_sequence, interval, law)
        self.address = self.thread = self.trials = self.objects = 0

    def sample(self, fields):
        flags, kind = fields.u8(), fields.u8()
        thread, trials, objects = self.thread, self.trials, self.objects
        if flags & 1:
            thread, trials, objects = fields.number32(), 0, 0
        sequence = self.sequence + fields.zigzag() & MASK
        time = self.time + fields.zigzag() & MASK
        address = self.address + fields.zigzag() & MASK
        size = fields.varint()
        alignment = fields.varint() if flags & 4 else 0
        usable = size + fields.varint() if flags & 8 else 0
        offset = 0 if flags & 2 else fields.varint()
        stack = fields.number32()
        trials = trials + fields.varint() & MASK
        objects = objects + fields.varint() & MASK
        interval, law = self.chunk_interval, self.law
        if flags & 16:
            interval, law = fields.varint(), fields.number32()
        labels = fields.number32() if flags & 32 else 0
        type_, heap = (fields.number32(), fields.number32()) if flags & 64 else (0, 0)
        processor = fields.processor() if flags & 128 else 0
        if alignment > 63 or usable > MASK or law > 1:
            raise Malformed
        self.sequence, self.time, self.address = sequence, time, address
        self.thread, self.trials, self.objects = thread, trials, objects
        return {"flags": flags, "kind": kind, "thread": thread, "sequence": sequence,
                "time_ns": time, "address": address, "size": size, "alignment_log2": alignment,
                "usable": usable, "exact": bool(flags & 2), "offset": offset, "stack": stack,
                "trials": trials, "objects": objects, "interval": interval, "law": law,
                "labels": labels, "type": type_, "heap": heap, "processor": processor}

    def free(self, fields):
        flags = fields.u8()
        thread, trials, objects = self.thread, self.trials, self.objects
        if flags & 1:
            thread, trials, objects = fields.number32(), 0, 0
        sequence = self.sequence + fields.zigzag() & MASK
        time = self.time + fields.zigzag() & MASK
        sample = sequence - fields.varint() & MASK
        trials = trials + fields.varint() & MASK
        objects = objects + fields.varint() & MASK
        stack = fields.number32() if flags & 2 else 0
        processor = fields.processor() if flags & 8 else 0
        self.sequence, self.time = sequence, time
        self.thread, self.trials, self.objects = thread, trials, objects
        return {"flags": flags, "thread": thread, "sequence": sequence, "time_ns": time,
                "sample_sequence": sample, "trials": trials, "objects": objects, "stack": stack,
                "processor": processor}

    def stack(self, fields):
        record = {"id": fields.number32(), "flags": fields.varint(), "epoch": fields.number32()}
        depth, frames, pc = fields.number32(), [], 0
        if depth > fields.left():
            raise Malformed
        for _ in range(depth):
            code = fields.varint()
            pc = pc + unzigzag(code >> 1) & MASK
            frames.append([pc, code & 1])
        return record | {"frames": frames}

    def named_stack(self, fields):
        record = {"id": fields.number32(), "flags": fields.varint()}
        depth, frames, frame = fields.number32(), [], 0
        if depth > fields.left():
            raise Malformed
        for _ in range(depth):
            frame = fields.no_wrap(frame + fields.zigzag() & MASK, most=0xffffffff)
            frames.append(frame)
        return record | {"frames": frames}

    def mixed_stack(self, fields):
        record = {"id": fields.number32(), "native": fields.number32(), "flags": fields.varint()}
        depth, frames, frame, position = fields.number32(), [], 0, 0
        if not 1 <= depth <= min(512, fields.left()) or record["native"] == 0:
            raise Malformed
        for _ in range(depth):
            frame = fields.no_wrap(frame + fields.zigzag() & MASK, most=0xffffffff)
            position = fields.no_wrap(position + fields.varint(), most=0xffffffff)
            frames.append([frame, position])
        return record | {"frames": frames}

    def interpreter(self, fields):
        return {"version": fields.number32(), "address": fields.varint(), "frames": fields.number32(),
                "objects": fields.number32(), "small_bytes": fields.varint(), "name": fields.text()}

    def outage(self, fields):
        begin = fields.varint()
        return {"from_ns": begin, "to_ns": fields.no_wrap(fields.varint(), least=begin, most=MASK - 1)}

    def mapping(self, fields):
        record = {"thread": fields.number32()}
        record |= {name: fields.varint() for name in ("time_ns", "before", "sequence")}
        record["what"] = fields.number32()
        record |= {name: fields.varint() for name in ("address", "bytes", "old_address", "old_bytes")}
        record |= {name: fields.number32() for name in ("protection", "flags", "stack")}
        if record["before"] > record["sequence"] or not 1 <= record["what"] <= 7:
            raise Malformed
        return record

    def type(self, fields):
        return {"id": fields.number32(), "name": fields.text()}

    def frame(self, fields):
        return {"id": fields.number32(), "source_line": fields.number32(), "function": fields.text(),
                "file": fields.text()}

    def labels(self, fields):
        return {"id": fields.number32(), "text": fields.text()}

    def module(self, fields):
        names = ("start", "end", "bias", "file_bytes", "file_mtime_ns")
        record = {"id": fields.number32(), "epoch": fields.number32()}
        record |= {name: fields.varint() for name in names}
        record["build_id"] = fields.take(fields.varint()).hex()
        return record | {"path": fields.text()}

    def module_gone(self, fields):
        return {"id": fields.number32(), "epoch": fields.number32()}

    def thread_begin(self, fields):
        return {"ordinal": fields.number32(), "tid": fields.number32(), "time_ns": fields.varint(),
                "name": fields.text()}

    def thread_end(self, fields):
        names = ("time_ns", "trials", "objects", "unoffered_trials", "unoffered_objects")
        record = {"ordinal": fields.number32(), "tid": fields.number32()}
        record |= {name: fields.varint() for name in names}
        return record | {"name": fields.text()}

    def exec(self, fields):
        return {"time_ns": fields.varint(), "sequence": fields.varint(), "pid": fields.number32(),
                "unseen": fields.number32(), "path": fields.text()}

    def fork(self, fields):
        return {"time_ns": fields.varint(), "sequence": fields.varint(),
                "child_pid": fields.number32()}

    def interval(self, fields):
        names = ("time_ns", "sequence", "trials", "objects", "interval", "command")
        record = {"thread": fields.number32()} | {name: fields.varint() for name in names}
        record["bound"] = 0 if fields.at == len(fields.data) else fields.varint()
        if record["bound"] > 2:
            raise Malformed
        return record

    def folded_told(self, fields):
        return self.folded(fields, True)

    def folded(self, fields, told=False):
        flags, kind = fields.u8(), fields.u8()
        record = {"flags": flags, "kind": kind, "thread": fields.number32(),
                  "stack": fields.number32(), "interval": fields.varint(),
                  "law": fields.number32(), "alignment_log2": fields.varint() if flags & 4 else 0}
        if record["alignment_log2"] > 63 or record["law"] > 1:
            raise Malformed
        for name in ("labels", "type", "heap"):
            record[name] = fields.number32() if told else 0
        entries, size, birth = [], 0, 0
        while fields.left():
            growth = fields.varint()
            size = fields.no_wrap(size + growth)
            birth = 0 if growth else birth
            usable = fields.no_wrap(size + fields.varint()) if flags & 8 else 0
            birth = fields.no_wrap(birth + fields.varint())
            death = fields.no_wrap(birth + fields.varint())
            count, halves = (number := fields.varint()) >> 2, number & 3
            offsets = 0 if flags & 2 else fields.varint()
            if death >= 0xffffffff or halves == 0 or count >= 1 << 22:
                raise Malformed
            entries.append([size, usable, birth, death, count + 1, halves, offsets])
        return record | {"entries": entries}

    def readings(self, fields):
        thread, now, list_ = fields.number32(), [0, 0, 0], []
        while fields.left():
            now = [fields.no_wrap(number + fields.varint()) for number in now]
            list_.append(now)
        return {"thread": thread, "readings": list_}

    def ticks(self, fields):
        resolution = fields.no_wrap(fields.varint(), most=1 << 62)
        list_, time, sequence = [], 0, 0
        while fields.left():
            time = fields.no_wrap(time + fields.varint())
            sequence = sequence + fields.zigzag() & MASK
            list_.append([time, sequence])
        return {"resolution_ns": resolution, "ticks": list_}

    def held(self, fields):
        end, list_ = 0, []
        while fields.left():
            first = fields.no_wrap(end + fields.varint())
            count = fields.no_wrap(fields.varint(), least=1)
            end = fields.no_wrap(first + count)
            list_.append([first, count])
        return {"ranges": list_}
