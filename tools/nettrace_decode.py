#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second decoder of .nettrace files, written from the format's documents and not from the C.

src/tool/import reads the same files; the tests hold the two against each other sample by sample, and
this one against what Microsoft's TraceEvent library found in the same files (tests/data/dotnet).
Formats 4 and 5 (objects with tags, aligned blocks) and 6 (blocks with a kind byte), pointers of 4
and 8 bytes. Python 3.11 and its standard library only, everything in memory.

Prints one JSON object: what the file says of itself, blocks by kind, events per
provider/id/version, events lost per capture thread, samples (event 303 of
Microsoft-Windows-DotNETRuntime), sums, types by name, threads, the share of frames with a name and
the methods innermost on the stacks. --samples adds every sample with its stack.

What is counted how:
  lost     per capture thread the gaps in its sequence numbers, which start at 1, and what the
           sequence points say beyond the last number seen. Number 1 again is a new thread under an
           old id, and no gap.
  cut      a file that ends inside a block: its whole events count, and `events_in_cut_block` says
           how many those are.
  heap     after each garbage collection, what the runtime says of its heap; times are in ticks.
  frames   resolved after the whole file is read, the innermost at its address, callers at the byte
           before theirs. Methods (143 and the rundown's 144) hold their addresses from the event
           that announces them to the one that unloads them, but a rundown's hold for ever; then
           come entry points (159), the nearest below. --no-entry-points leaves those out.

Exit status 1: no .nettrace file, with one line on standard error.
"""
import argparse
import bisect
import json
import lzma
import struct
import sys
from collections import Counter, defaultdict

RUNTIME = "Microsoft-Windows-DotNETRuntime"
RUNDOWN = "Microsoft-Windows-DotNETRuntimeRundown"
ALLOCATION_SAMPLED, R2R_ENTRY_POINT = 303, 159
GC_START, GC_END, GC_HEAP_STATS, GC_DYNAMIC = 1, 2, 4, 39
COMMITTED = ("in_use", "decommit", "free", "global_free", "bookkeeping")
KINDS_6 = {0: "End", 1: "Trace", 2: "EventBlock", 3: "MetadataBlock", 4: "SPBlock",
           5: "StackBlock", 6: "Thread", 7: "RemoveThread", 8: "LabelList"}


class Cut(Exception):
    """The bytes end here."""


class Bytes:
    """Reads fields one after the other; Cut at the end."""

    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def take(self, count):
        if count < 0 or count > self.end - self.at:
            raise Cut
        self.at += count
        return self.data[self.at - count:self.at]

    def one(self, code):
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def variable(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def text16(self):
        """UTF-16 up to a zero unit."""
        at = self.at
        while self.one("H"):
            pass
        return bytes(self.data[at:self.at - 2]).decode("utf-16-le", "replace")

    def text8(self):
        return bytes(self.take(self.variable())).decode("utf-8", "replace")

    def pointer(self, size):
        return self.one("Q" if size == 8 else "I")


class Decoder:
    def __init__(self, data, entry_points=True):
        self.data, self.use_entry_points = data, entry_points
        self.about, self.blocks, self.events = {}, Counter(), Counter()
        self.kinds, self.stacks, self.threads = {}, {}, {}  # metadata, stack id, v6 thread index
        self.last, self.lost = {}, Counter()  # per capture thread
        self.samples, self.invalid_offsets, self.short_events = [], 0, 0
        self.methods, self.entries = [], []
        self.collector = []  # (time, kind, what it says)
        self.cut, self.in_cut_block = False, 0

    # -- framing

    def decode(self):
        if self.data[:8] != b"Nettrace":
            raise ValueError("does not begin with \"Nettrace\"")
        bytes_ = Bytes(self.data, 8)
        try:
            first = bytes_.one("I")
            if first == 20:
                if bytes_.take(20) != b"!FastSerialization.1":
                    raise ValueError("no \"!FastSerialization.1\" after \"Nettrace\"")
                self.format_4(bytes_)
            elif first == 0:
                self.about["format_major"] = bytes_.one("I")
                bytes_.one("I")
                self.format_6(bytes_)
            else:
                raise ValueError(f"unknown framing {first}")
        except Cut:
            self.cut = True

    def format_4(self, bytes_):
        while True:
            tag = bytes_.take(1)[0]
            if tag == 1:
                return
            if bytes(bytes_.take(2)) != b"\x05\x01" or tag != 5:
                raise ValueError(f"no object at byte {bytes_.at - 3}")
            version = bytes_.one("i")
            bytes_.one("i")
            name = bytes(bytes_.take(bytes_.one("i"))).decode("ascii", "replace")
            bytes_.take(1)
            if name == "Trace":
                self.about["format_major"] = version
                self.trace(bytes_, 4)
                self.blocks[name] += 1
            else:
                size = bytes_.one("i")
                bytes_.take(-bytes_.at % 4)
                self.block(bytes_, name, size, 4)
            bytes_.take(1)

    def format_6(self, bytes_):
        while True:
            word = bytes_.one("I")
            kind, size = word >> 24, word & 0xFFFFFF
            if kind == 0:
                self.blocks["0"] += 1
                return
            self.block(bytes_, KINDS_6.get(kind), size, 6, str(kind))

    def block(self, bytes_, name, size, major, counted_as=None):
        """One block; of one that the file's end cuts, the whole events are kept."""
        end = min(bytes_.at + size, len(self.data))
        cut = bytes_.at + size > len(self.data)
        if not cut or name == "EventBlock":
            self.blocks[counted_as or name] += 1
        inside = Bytes(self.data, bytes_.at, end)
        before = sum(self.events.values())
        read = {"Trace": self.trace, "EventBlock": self.event_block, "Thread": self.thread_block,
                "MetadataBlock": self.metadata_block, "StackBlock": self.stack_block,
                "SPBlock": self.sequence_point, "RemoveThread": self.remove_threads}.get(name)
        try:
            if read:
                read(inside, major)
        except Cut:
            if not cut:
                raise ValueError(f"a {name} of {size} bytes is too short for what it holds")
        if cut:
            self.in_cut_block = sum(self.events.values()) - before
            raise Cut
        bytes_.at = end

    def trace(self, bytes_, major):
        about = self.about
        about["sync_time_utc"] = [bytes_.one("H") for _ in range(8)]
        about["sync_time_ticks"] = bytes_.one("q")
        about["qpc_frequency"] = bytes_.one("q")
        about["pointer_size"] = bytes_.one("i")
        about["pid"] = about["processors"] = None
        if major == 4:
            about["pid"], about["processors"] = bytes_.one("i"), bytes_.one("i")
            bytes_.one("i")
        else:
            about["keys"] = [[bytes_.text8(), bytes_.text8()] for _ in range(bytes_.one("i"))]

    # -- blocks

    def stack_block(self, bytes_, _):
        first, count = bytes_.one("I"), bytes_.one("I")
        size = self.about["pointer_size"]
        for i in range(count):
            ips = bytes_.take(bytes_.one("I"))
            count_ips = len(ips) // size
            self.stacks[first + i] = struct.unpack(
                f"<{count_ips}{'Q' if size == 8 else 'I'}", ips[:count_ips * size])

    def reached(self, thread, last):
        """A sequence point or the end of a thread: its last number."""
        missing = (last - self.last.get(thread, 0)) & 0xFFFFFFFF
        if 0 < missing < 1 << 31:
            self.lost[thread] += missing
            self.last[thread] = last

    def sequence_point(self, bytes_, major):
        bytes_.one("q")
        flags = bytes_.one("I") if major == 6 else 0
        for _ in range(bytes_.one("I")):
            if major == 6:
                self.reached(bytes_.variable(), bytes_.variable())
            else:
                self.reached(bytes_.one("q"), bytes_.one("i") & 0xFFFFFFFF)
        self.stacks.clear()
        if flags & 1:
            self.threads.clear()
            self.last.clear()
        if flags & 2:
            self.kinds.clear()

    def thread_block(self, bytes_, _):
        while bytes_.at < bytes_.end:
            row = Bytes(self.data, 0, 0)
            size = bytes_.one("H")
            row.at, row.end = bytes_.at, bytes_.at + size
            bytes_.take(size)
            index, known = row.variable(), {}
            while row.at < row.end:
                kind = row.take(1)[0]
                if kind == 1:
                    known["name"] = row.text8()
                elif kind in (2, 3):
                    known["pid" if kind == 2 else "tid"] = row.variable()
                elif kind == 4:
                    row.text8(), row.text8()
                else:
                    break
            self.threads[index] = known

    def remove_threads(self, bytes_, _):
        while bytes_.at < bytes_.end:
            index = bytes_.variable()
            self.reached(index, bytes_.variable())
            self.last.pop(index, None)

    def metadata_block(self, bytes_, major):
        if major == 4:
            for event in self.headers(bytes_, major):
                row = Bytes(event["payload"])
                number, provider, id_ = row.one("I"), row.text16(), row.one("I")
                row.text16()
                row.one("Q")
                self.kinds[number] = (provider, id_, row.one("I"))
            return
        bytes_.take(bytes_.one("H"))
        while bytes_.at < bytes_.end:
            row = Bytes(bytes(bytes_.take(bytes_.one("H"))))
            number, provider, id_ = row.variable(), row.text8(), row.variable()
            row.text8()
            for _ in range(row.one("H")):
                row.take(row.one("H"))
            options, version = Bytes(bytes(row.take(row.one("H")))), 0
            skipped = {1: 1, 3: 8, 7: 16, 8: 1}
            while options.at < options.end:
                option = options.take(1)[0]
                if option == 9:
                    version = options.take(1)[0]
                elif option in (4, 5):
                    options.text8()
                elif option == 6:
                    options.text8(), options.text8()
                elif option in skipped:
                    options.take(skipped[option])
                else:
                    break
            self.kinds[number] = (provider.split(":")[0], id_, version)

    def headers(self, bytes_, major):
        """The events of a block, header and payload."""
        start = bytes_.at
        header_size, flags = bytes_.one("H"), bytes_.one("H")
        bytes_.at = start
        bytes_.take(header_size)
        if not flags & 1:
            yield from self.long_headers(bytes_)
            return
        event = dict.fromkeys(("kind", "sequence", "capture", "thread", "stack", "time", "size"), 0)
        while bytes_.at < bytes_.end:
            flags = bytes_.take(1)[0]
            if flags & 1:
                event["kind"] = bytes_.variable()
            if flags & 2:
                event["sequence"] = (event["sequence"] + bytes_.variable() + 1) & 0xFFFFFFFF
                event["capture"] = bytes_.variable()
                bytes_.variable()
            elif event["kind"]:
                event["sequence"] = (event["sequence"] + 1) & 0xFFFFFFFF
            if flags & 4:
                event["thread"] = bytes_.variable()
            if flags & 8:
                event["stack"] = bytes_.variable()
            # A step back to another thread's events comes as a step forward past 2^64.
            event["time"] = (event["time"] + bytes_.variable()) & 0xFFFFFFFFFFFFFFFF
            if flags & 16:
                bytes_.variable() if major == 6 else bytes_.take(16)
            if flags & 32:
                bytes_.take(16)
            if flags & 128:
                event["size"] = bytes_.variable()
            yield event | {"payload": bytes(bytes_.take(event["size"]))}

    def long_headers(self, bytes_):
        start = bytes_.at
        while bytes_.at < bytes_.end:
            bytes_.one("I")
            event = {"kind": bytes_.one("I") & 0x7FFFFFFF, "sequence": bytes_.one("I"),
                     "thread": bytes_.one("Q"), "capture": bytes_.one("Q")}
            bytes_.one("I")
            event |= {"stack": bytes_.one("I"), "time": bytes_.one("Q")}
            bytes_.take(32)
            yield event | {"payload": bytes(bytes_.take(bytes_.one("I")))}
            bytes_.take((start - bytes_.at) % 4)

    def event_block(self, bytes_, major):
        for event in self.headers(bytes_, major):
            thread, sequence = event["capture"], event["sequence"]
            missing = (sequence - self.last.get(thread, 0) - 1) & 0xFFFFFFFF
            if sequence != 1 and missing < 1 << 31:
                self.lost[thread] += missing
            self.last[thread] = sequence
            kind = self.kinds.get(event["kind"], ("unknown", event["kind"], 0))
            self.events["%s/%d/v%d" % kind] += 1
            if major == 6:
                event["thread"] = self.threads.get(event["thread"], {}).get("tid", event["thread"])
            payload = Bytes(event["payload"])
            try:
                self.interpret(kind, event, payload)
            except Cut:
                self.short_events += 1

    # -- events

    def interpret(self, kind, event, payload):
        provider, id_, version = kind
        if provider == RUNTIME and id_ in (GC_START, GC_END, GC_HEAP_STATS, GC_DYNAMIC):
            self.collect(id_, version, event, payload)
        elif provider == RUNTIME and id_ == ALLOCATION_SAMPLED:
            self.sample(event, payload)
        elif provider == RUNTIME and id_ in (143, 144):
            self.method(event, payload, unload=id_ == 144)
        elif provider == RUNDOWN and id_ in (143, 144):
            self.method(event, payload, rundown=True)
        elif provider == RUNTIME and id_ == R2R_ENTRY_POINT:
            payload.one("Q")
            names = [payload.text16() for _ in range(3)]
            start = payload.one("Q")
            if start:  # 0: the runtime looked for precompiled code, and there is none
                self.entries.append((start, ".".join(names[:2])))

    def sample(self, event, payload):
        size = self.about["pointer_size"]
        allocation = {"kind": payload.one("I"), "instance": payload.one("H")}
        type_id = payload.pointer(size)
        allocation |= {"type": payload.text16(), "type_id": type_id,
                       "address": payload.pointer(size), "size": payload.one("Q"),
                       "offset": payload.one("Q")}
        self.invalid_offsets += allocation["offset"] >= allocation["size"]
        self.samples.append(allocation | {
            "thread": event["thread"], "timestamp": event["time"], "sequence": event["sequence"],
            "ips": self.stacks.get(event["stack"], ())})

    def collect(self, id_, version, event, payload):
        says = None
        if id_ == GC_DYNAMIC:
            if payload.text16() != "CommittedUsage":
                return
            data = Bytes(payload.take(payload.one("I")))
            if data.one("H") != 1:
                return
            says = {name: data.one("Q") for name in COMMITTED}
        elif id_ == GC_HEAP_STATS:
            if version > 2:
                return
            says = [(payload.one("Q"), payload.one("Q"))[0] for _ in range(4)]
            payload.take(8 + 8 + 3 * 4 + (2 if version else 0))
            if version == 2:
                says.append(payload.one("Q"))
                payload.one("Q")
        self.collector.append((event["time"], len(self.collector), id_, says))

    def heap(self):
        """After each collection: sizes of generations (large and pinned objects last), and what is
        committed if the collection tells that at its end. By time over all threads: the first
        CommittedUsage after a GCStart is of the collection's start."""
        moments, at_start, committed = [], False, None
        for time, _, id_, says in sorted(self.collector, key=lambda event: event[:2]):
            if id_ == GC_START:
                at_start, committed = True, None
            elif id_ == GC_DYNAMIC:
                at_start, committed = False, None if at_start else says
            elif id_ == GC_HEAP_STATS:
                moments.append({"time": time, "generations": says, "committed": committed})
                committed = None
        return moments

    def method(self, event, payload, unload=False, rundown=False):
        id_, _, start, size = (payload.one("Q"), payload.one("Q"), payload.one("Q"),
                               payload.one("I"))
        payload.one("Q")
        name = ".".join((payload.text16(), payload.text16()))
        if unload:
            for method in reversed(self.methods):
                if method["id"] == id_ and method["start"] == start and not method["rundown"]:
                    method["to"] = event["time"]
                    return
        self.methods.append({
            "id": id_, "start": start, "end": start + size, "name": name, "rundown": rundown,
            "from": event["time"] if not (rundown or unload) else 0,
            "to": event["time"] if unload else 1 << 64})

    # -- names

    def prepare_names(self):
        self.methods.sort(key=lambda method: method["start"])
        self.starts = [method["start"] for method in self.methods]
        self.longest = max((m["end"] - m["start"] for m in self.methods), default=0)
        self.entries.sort()
        self.entry_starts = [start for start, _ in self.entries]

    def name(self, address, time):
        """(name, by a method event)"""
        held = None
        i = bisect.bisect_right(self.starts, address) - 1
        while i >= 0 and self.starts[i] + self.longest > address:
            method = self.methods[i]
            if address < method["end"]:
                if method["from"] <= time < method["to"]:
                    return method["name"], True
                held = held or method["name"]
            i -= 1
        if held:
            return held, True
        i = bisect.bisect_right(self.entry_starts, address) - 1
        if i >= 0 and self.use_entry_points:
            return self.entries[i][1], False
        return None, False

    def resolve(self):
        self.prepare_names()
        named = by_methods = 0
        for sample in self.samples:
            sample["stack"] = []
            for depth, ip in enumerate(sample["ips"]):
                name, by_method = self.name(ip - (depth > 0), sample["timestamp"])
                named += name is not None
                by_methods += by_method
                sample["stack"].append(name or hex(ip))
            sample["innermost"] = sample["stack"][0] if sample["stack"] else "no stack"
        return named, by_methods

    def result(self, with_samples):
        named, by_methods = self.resolve()
        samples = self.samples
        types = defaultdict(list)
        for sample in samples:
            types[sample["type"]].append(sample)
        types = sorted(types.items(), key=lambda item: (-len(item[1]), item[0]))
        out = dict(self.about) | {
            "bytes": len(self.data), "truncated": self.cut,
            "events_in_cut_block": self.in_cut_block,
            "lost_events": sum(self.lost.values()),
            "lost_by_thread": {str(k): v for k, v in sorted(self.lost.items()) if v},
            "blocks": dict(self.blocks), "events_total": sum(self.events.values()),
            "events": dict(sorted(self.events.items())), "samples": len(samples),
            "invalid_offsets": self.invalid_offsets, "short_events": self.short_events,
            "sum_size": sum(s["size"] for s in samples),
            "sum_offset": sum(s["offset"] for s in samples),
            "sum_u": sum(s["size"] - s["offset"] for s in samples),
            "frames": sum(len(s["ips"]) for s in samples), "frames_named": named,
            "frames_named_by_method_events": by_methods,
            "entry_points": len(set(self.entry_starts)),
            "methods": len(self.methods), "heap": self.heap(),
            "max_depth": max((len(s["ips"]) for s in samples), default=0),
            "types": [{
                "name": name, "type_ids": sorted({hex(s["type_id"]) for s in group}),
                "samples": len(group), "sum_size": sum(s["size"] for s in group),
                "sum_offset": sum(s["offset"] for s in group),
                "samples_by_kind": dict(Counter(str(s["kind"]) for s in group)),
                "samples_by_size": dict(Counter(str(s["size"]) for s in group)),
            } for name, group in types],
            "threads": dict(Counter(str(s["thread"]) for s in samples)),
            "samples_by_innermost_method": dict(Counter(s["innermost"] for s in samples)
                                                if named else {})}
        if with_samples:
            out["all_samples"] = [dict(s, type_id=hex(s["type_id"]), address=hex(s["address"]),
                                       ips=[hex(ip) for ip in s["ips"]]) for s in samples]
        return out


def load(path):
    """The bytes of a file, unpacked if it is an .xz."""
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
        return file.read()


def decode(data, with_samples=False, entry_points=True):
    decoder = Decoder(data, entry_points)
    decoder.decode()
    return decoder.result(with_samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", help="a .nettrace file, or one packed with xz")
    parser.add_argument("--samples", action="store_true", help="print every sample as well")
    parser.add_argument("--no-entry-points", action="store_true")
    options = parser.parse_args()
    try:
        out = decode(load(options.file), options.samples, not options.no_entry_points)
    except (ValueError, OSError) as error:
        print(f"{options.file}: {error}", file=sys.stderr)
        return 1
    json.dump(out, sys.stdout, indent=1, ensure_ascii=False)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
