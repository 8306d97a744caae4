#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second decoder of bytepoll traces, written from docs/trace-format.md and not from the C reader.

The tests hold the two against each other record by record; people read a trace with it. Python 3.11
and its standard library only; single records are decoded by trace_records.py. Prints one JSON object a
line: header, state, slots, chunks, records in file order, then the census, what is known of the threads,
the totals and the counts. --summary prints the header, the totals and the counts alone. Slow by design (about 100,000 records a second).

Section numbers in comments are those of docs/trace-format.md. Text is UTF-8, other bytes as
surrogate escapes. Exit status 1: no trace, with one line on standard error.
"""
import argparse
import json
import struct
import sys

from trace_records import MASK, OF_PART, TAGS, ChunkState, Cursor, Malformed, readable

CHUNK = 65536
PAYLOAD = CHUNK - 64
HEADER_FIELDS = (  # 1.1, in file order: name, struct code
    ("magic", "8s"), ("version_major", "H"), ("version_minor", "H"), ("header_bytes", "I"),
    ("flags_fatal", "Q"), ("flags_skippable", "Q"), ("checksum", "Q"), ("chunk_bytes", "I"),
    ("page_bytes", "I"), ("trace_id", "16s"), ("parent_trace_id", "16s"), ("parent_sequence", "Q"),
    ("exec_number", "I"), ("pid", "I"), ("parent_pid", "I"), ("machine", "I"),
    ("pid_namespace", "Q"), ("start_monotonic_ns", "Q"), ("start_real_ns", "Q"),
    ("interval_bytes", "Q"), ("law", "I"), ("charge_bytes", "I"), ("seed", "Q"),
    ("seed_given", "I"), ("recognition", "I"), ("unprofiled_reason", "I"),
    ("program_length", "H"), ("command_line_length", "H"), ("allocator_length", "H"),
    ("recorder_version_length", "H"), ("reserved", "4s"), ("clock_offset_ns", "q"))
HEADER_STRINGS = ("program", "command_line", "allocator", "recorder_version")
STATE_FIELDS = (  # 1.3
    "state", "chunks_reserved", "end_reason", "end_time_ns", "end_trials", "end_objects",
    "last_sequence", "samples", "unoffered_trials", "unoffered_objects", "own_bytes",
    "unmarked_fork", "unmarked_children", "open_threads", "open_trials",
    "end_signal")
CENSUS_TOTALS_FIELDS = (  # 1.7, in the state page
    "allocated_bytes", "allocated_objects", "freed_bytes", "freed_objects", "peak_bytes",
    "peak_objects", "peak_time_ns", "smallest_size", "nested_bytes", "nested_objects",
    "uncounted_bytes", "uncounted_objects", "unknown_frees", "missed_frees",
    "failed_bytes", "failed_objects")
CENSUS_FIELDS = (  # 1.7
    "state", "stack", "allocated_bytes", "allocated_objects", "freed_bytes", "freed_objects",
    "temporary_bytes", "temporary_objects")
COVERAGE_FIELDS = ("covered_objects", "objects", "small_objects_time_ns")  # 1.9
CONTROL_FIELDS = ("control", "control_resume", "budget_ppm")  # 1.8
SLOT_FIELDS = (  # 1.6
    "generation", "command", "state", "ordinal", "tid", "trials", "objects", "armed", "hot_address",
    "unoffered_trials", "unoffered_objects")


class NotATrace(Exception):
    """The file as a whole cannot be read."""


def checksum(data):
    """1.5"""
    data += bytes(-len(data) % 8)
    hash_value = 0x9E3779B97F4A7C15
    for (word,) in struct.iter_unpack("<Q", data):
        hash_value = (hash_value ^ word) * 0xFF51AFD7ED558CCD & MASK
        hash_value ^= hash_value >> 32
    return hash_value


class Trace:
    def __init__(self, file, verify=True):
        self.in_part, self.clock, self.ranges, self.part_is_cut = False, [], [], False
        self.file, self.verify = file, verify
        self.counts = dict.fromkeys(
            ("samples", "frees", "damaged_chunks", "skipped_records"), 0)
        self.slots, self.ends, self.seen, self.met, self.census = {}, {}, {}, {}, []
        self.switches, self.intervals, self.outages = {}, set(), []
        self.header = self.read_header()
        self.began_off = bool(self.header["flags_skippable"] & 2)
        if not self.began_off and self.header["interval_bytes"]:
            self.intervals.add(self.header["interval_bytes"])
        self.state = self.read_state()

    def at(self, offset, count):
        """Bytes of the file; those that are missing read as zeros (1)."""
        self.file.seek(offset)
        return self.file.read(count).ljust(count, b"\0")

    def read_header(self):
        self.file.seek(0)
        head = self.file.read(4096)
        if not head:
            raise NotATrace("is empty")
        if not any(head) or len(head) < 40 and b"BYTEPOLL".startswith(head[:8]):
            raise NotATrace("is torn before the end of its header")
        if head[:8] != b"BYTEPOLL":
            raise NotATrace("is not a bytepoll trace")
        layout = "<" + "".join(code for _, code in HEADER_FIELDS)
        values = struct.unpack_from(layout, head.ljust(192, b"\0"))
        header = dict(zip((name for name, _ in HEADER_FIELDS), values))
        if header["version_major"] != 1:
            raise NotATrace(f"has trace version {header['version_major']}")
        if header["flags_fatal"]:
            raise NotATrace("has fatal flags that are not known here")
        end = header["header_bytes"]
        if 192 <= end <= 4096 and len(head) < end:
            raise NotATrace("is torn before the end of its header")
        if not 192 <= end <= 4096 or checksum(head[40:end]) != header["checksum"]:
            raise NotATrace("has a damaged header")
        at = 192
        for name in HEADER_STRINGS:
            length = header.pop(name + "_length")
            if at + length > end:
                raise NotATrace("has a header that contradicts itself")
            header[name] = readable(head[at:at + length])
            at += length
        if header["chunk_bytes"] != CHUNK or header["law"] > 1:
            raise NotATrace("has a header that contradicts itself")
        header["magic"] = readable(header["magic"])
        del header["reserved"]
        for name in ("trace_id", "parent_trace_id"):
            header[name] = header[name].hex()
        return header

    def read_state(self):
        if self.chunk_size() < 4096 + 664 or not any(self.at(4104, 8)):
            raise NotATrace("is torn behind its header")
        values = struct.unpack("<83Q", self.at(4096, 664))
        self.outage_since, _, *stops = struct.unpack("<386Q", self.at(4096 + 664, 3088))  # 3.9
        self.stops = [stop for stop in zip(stops[::3], stops[1::3], stops[2::3]) if 0 < stop[0] < 1 << 32]
        return dict(zip(STATE_FIELDS, values)) | {
            "lost": list(values[16:48]), "census": dict(zip(CENSUS_TOTALS_FIELDS, values[64:80]))
        } | dict(zip(COVERAGE_FIELDS, values[48:51])) | dict(zip(CONTROL_FIELDS, values[80:])) | {
            "outage_since_ns": self.outage_since}

    def read_census(self, offset):
        for values in struct.iter_unpack("<2I7Q", self.at(offset, 64 * 1023)):
            if values[0] == 1:
                self.census.append(dict(zip(CENSUS_FIELDS, values)))

    def read_slots(self, offset, count):
        for values in struct.iter_unpack("<2H3I6Q", self.at(offset, 64 * count)):
            slot = dict(zip(SLOT_FIELDS, values))
            if any(values):
                yield "slot", slot
            if slot["state"] == 1 and slot["ordinal"]:
                self.met.setdefault(slot["ordinal"])
                self.slots[slot["ordinal"]] = slot

    def chunk_size(self):
        self.file.seek(0, 2)
        return self.file.tell()

    def lines(self):
        """Everything in the file, in order, as pairs of kind and fields."""
        yield "header", self.header
        yield "state", self.state
        yield from self.read_slots(8192, 896)
        part = self.open_part()
        if part:
            with part:
                trace, self.file, self.in_part = self.file, part, True
                yield from self.chunks()
                self.file, self.in_part = trace, False
        yield from self.chunks(self.ranges if part else ())
        yield from (("census", sums) for sums in self.census)
        self.add_stops()
        yield from (("thread", thread) for thread in self.threads())
        yield "totals", self.totals()
        yield "counts", self.counts

    def open_part(self):
        """5: the folded part beside the trace, if there is one."""
        try:
            part = open(self.file.name + ".fold", "rb")
        except OSError:
            return None
        header = part.read(192).ljust(192, b"\0")
        if (self.header["flags_skippable"] & 8 or header[:8] != b"BYTEPOLL" or
                not header[24] & 8 or header[48:64].hex() != self.header["trace_id"]):
            part.close()
            return None
        part.seek(4104)
        reserved = int.from_bytes(part.read(8).ljust(8, b"\0"), "little")
        self.part_is_cut = part.seek(0, 2) // CHUNK < reserved
        return part

    def chunks(self, held=()):
        size = self.chunk_size()
        for number in range(1, -(-size // CHUNK)):
            if not any(first <= number < first + count for first, count in held):
                yield from self.chunk(number, size)

    def take_part(self, kind, record):
        """5: what such a record says of the folded part. False: elsewhere it says nothing."""
        if not self.in_part and not self.header["flags_skippable"] & 8:
            return False
        if kind == "ticks":
            for tick in record["ticks"]:
                if self.clock and tick[0] <= self.clock[-1][0]:
                    raise Malformed
                self.clock.append(tick)
        elif kind == "held":
            for first, count in record["ranges"]:
                if self.ranges and first < sum(self.ranges[-1]):
                    raise Malformed
                self.ranges.append([first, count])
        elif kind == "folded" and any(entry[3] >= len(self.clock) for entry in record["entries"]):
            raise Malformed
        return True

    def is_cut(self):
        """1: does the file end before what was written to it?"""
        size, reserved = self.chunk_size(), self.state["chunks_reserved"]
        count = -(-size // CHUNK)
        if size < CHUNK or self.part_is_cut:
            return True
        if count > reserved or count == reserved and size % CHUNK == 0:
            return False
        offset = (count - 1) * CHUNK
        if any(first <= count - 1 < first + length for first, length in self.ranges):
            return count < reserved
        if count == 1 or size - offset < 64:
            return True
        magic, kind, _, committed = struct.unpack("<IIQI", self.at(offset, 20))
        if magic != 0x4B435042 or kind != 1 or committed > PAYLOAD:
            return True
        end = offset + 64 + committed
        return size < end or count < reserved and size > -(-end // 8) * 8

    def is_whole(self):
        return (not self.is_cut() and not self.counts["damaged_chunks"] and
                self.counts["samples"] >= self.state["samples"])

    def chunk(self, number, size):
        offset = number * CHUNK
        (magic, kind, own_number, committed, sealed, check, time, sequence, interval, law,
         lane) = struct.unpack("<IIQIIQQQQII", self.at(offset, 64))
        if magic == 0:
            return
        chunk = {"number": number, "kind": kind, "committed": committed, "sealed": sealed,
                 "base_time_ns": time, "base_sequence": sequence, "interval_bytes": interval,
                 "law": law, "lane": lane, "damaged": False}
        payload = b""
        if magic != 0x4B435042 or own_number != number:
            chunk["damaged"] = True
        elif kind == 2:
            yield from self.read_slots(offset + 64, 1023)
        elif kind == 3:
            self.read_census(offset + 64)
        elif kind == 1 and (committed > PAYLOAD or law > 1):
            chunk["damaged"] = True
        elif kind == 1:
            payload = self.at(offset + 64, committed)
            if sealed:
                chunk["damaged"] = self.verify and checksum(payload) != check
                payload = b"" if chunk["damaged"] else payload
            elif offset + 64 + committed > size:
                chunk["damaged"] = True
                payload = payload[:max(0, size - offset - 64)]
        records = list(self.records(payload, ChunkState(time, sequence, interval, law), chunk))
        self.counts["damaged_chunks"] += chunk["damaged"]
        yield "chunk", chunk
        yield from records

    def records(self, payload, state, chunk):
        cursor = Cursor(payload)
        while cursor.left():
            try:
                tag, fields = cursor.u8(), Cursor(cursor.take(cursor.varint()))
                if tag not in TAGS:
                    if tag & 0x40:
                        raise NotATrace(f"has records of kind {tag}, which is not known here")
                    self.counts["skipped_records"] += 1
                    continue
                record = getattr(state, TAGS[tag])(fields)
                kind = TAGS[tag].removesuffix("_told")
                if kind in OF_PART and not self.take_part(kind, record):
                    self.counts["skipped_records"] += 1
                    continue
            except Malformed:
                chunk["damaged"] = True
                return
            self.note(kind, record)
            yield kind, record

    def note(self, kind, record):
        """What 1.6 takes from the records: counters of samples and frees, thread ends."""
        if kind in ("sample", "free"):
            self.counts[kind + "s"] += 1
        if kind == "folded":
            objects = sum(entry[4] for entry in record["entries"])
            self.counts["samples"] += objects
            self.counts["frees"] += objects
        if kind in ("sample", "interval", "folded") and record["interval"]:
            self.intervals.add(record["interval"])
        if kind == "outage":
            self.outages.append(record)
        ordinal = record.get("thread", record.get("ordinal", 0))
        if ordinal == 0 or kind == "mapping":  # that has no counters
            return
        self.met.setdefault(ordinal)
        if kind == "thread_end":
            known = self.ends.get(ordinal)
            if known is None or record["trials"] > known["trials"]:
                self.ends[ordinal] = record
        if kind in ("thread_begin", "thread_end"):
            self.met[ordinal] = record["tid"]
        if kind == "interval":
            self.switches.setdefault(ordinal, []).append(record)
        if kind in ("sample", "free", "interval"):
            pair = (record["trials"], record["objects"])
            self.see(ordinal, pair)
        for _, *pair in record.get("readings", ()):
            self.see(ordinal, pair)

    def see(self, ordinal, pair):
        low = self.seen.setdefault(ordinal, [0, 0, 0])
        low[:] = map(max, low, (*pair, self.bytes_of(*pair)))

    def bytes_of(self, trials, objects):
        return max(0, trials - self.header["charge_bytes"] * objects)

    def threads(self):
        """1.6, thread by thread, in the order in which they are met in the file."""
        for ordinal, tid in self.met.items():
            end, slot = self.ends.get(ordinal), self.slots.get(ordinal)
            if end and slot and (slot["trials"] > end["trials"] or slot["objects"] > end["objects"]):
                self.see(ordinal, (end["trials"], end["objects"]))
                end = None  # it went on
            source = end or slot or dict.fromkeys(SLOT_FIELDS, 0)
            low = [source["trials"], source["objects"],
                   self.bytes_of(source["trials"], source["objects"])]
            high = list(low)
            if not end:
                high = [min(MASK, value + source["armed"]) for value in high]
                low = list(map(max, low, self.seen.get(ordinal, (0, 0, 0))))
                high = list(map(max, low, high))
            if tid is None or (slot and not end):
                tid = source["tid"]
            thread = {"ordinal": ordinal, "tid": tid, "ended": bool(end),
                      "published": bool(end or slot)}
            for name, a, b in zip(("trials", "objects", "bytes"), low, high):
                thread |= {name + "_low": a, name + "_high": b}
            stopped = self.outage_is_open() and not end and self.is_on(ordinal)
            for i, name in ((2, "bytes"), (1, "objects")):
                most, recorded = thread[name + "_high"], self.seen.get(ordinal, (0, 0, 0))[i]
                for limit in ("_low", "_high"):
                    off = self.off(ordinal, name, thread[name + limit])
                    thread["off_" + name + limit] = off
                    thread["on_" + name + limit] = thread[name + limit] - off
                if stopped:
                    thread["on_" + name + "_low"] = recorded - self.off(ordinal, name, recorded)
                    thread["off_" + name + "_high"] += most - min(recorded, most)
            yield thread | {name: source[name]
                            for name in ("unoffered_trials", "unoffered_objects")}

    def outage_is_open(self):
        """3.9: did an outage go on at the end?"""
        return self.outage_since and all(outage["from_ns"] < self.outage_since for outage in self.outages)

    def add_stops(self):
        """3.9: what threads had made when they stopped in such an outage."""
        for ordinal, trials, objects in self.stops if self.outage_is_open() else ():
            self.switches.setdefault(ordinal, []).append({
                "thread": ordinal, "time_ns": self.outage_since, "sequence": MASK, "trials": trials,
                "objects": objects, "interval": 0, "command": 0})

    def is_on(self, ordinal):
        """Was the thread sampled after its last change?"""
        order = ("trials", "objects", "sequence", "time_ns", "command", "interval")
        changes = sorted(self.switches.get(ordinal, []), key=lambda change: [change[field] for field in order])
        return changes[-1]["interval"] != 0 if changes else not self.began_off

    def off(self, ordinal, name, value):
        """3.7: how many of a thread's first `value` bytes (or objects) it made while sampling was
        off: piece by piece, from one change to the next."""
        order = ("trials", "objects", "sequence", "time_ns", "command", "interval")
        off, at, sampling = 0, 0, not self.began_off
        for change in sorted(self.switches.get(ordinal, []),
                             key=lambda change: [change[field] for field in order]):
            reached = change["objects"]
            if name == "bytes":
                reached = self.bytes_of(change["trials"], change["objects"])
            reached = max(at, reached)
            if not sampling:
                off += max(0, min(reached, value) - at)
            if reached > value:
                return off
            at, sampling = reached, change["interval"] != 0
        return off if sampling else off + value - at

    def parts(self, name, threads, totals):
        """1.6: limits of what was allocated while sampling was on, and off."""
        total = totals[name + "_low"], totals[name + "_high"]
        kinds = {bool(change["interval"]) for thread in self.switches.values() for change in thread}
        kinds.add(not self.began_off)
        if self.outages or self.outage_is_open():
            kinds.add(False)
        if len(kinds) == 1:
            return (total, (0, 0)) if True in kinds else ((0, 0), total)
        slack = 0 if totals["exact"] else 1 << 20 if self.state["unmarked_fork"] else 1
        complete = (all(thread["published"] for thread in threads) and
                    not self.state["lost"][6] and self.state["open_trials"] < 1 << 56 and self.is_whole())
        ends = [(thread["off_" + name + end], thread["on_" + name + end])
                for end in ("_low", "_high") for thread in threads]
        low, high = ends[:len(threads)], ends[len(threads):]
        found = []
        for mine, other in ((1, 0), (0, 1)):
            part = [min(MASK, sum(pair[mine] for pair in low)),
                    max(0, total[1] - min(MASK, sum(pair[other] for pair in low)))]
            if complete:
                most = [min(MASK, sum(pair[i] for pair in high) + slack) for i in (mine, other)]
                part = [max(part[0], total[0] - most[1]), min(part[1], most[0])]
            part[0] = min(part[0], total[1])
            found.append((part[0], max(part)))
        return found

    def totals(self):
        unmarked, totals = self.state["unmarked_fork"], {}
        threads = list(self.threads())
        for name in ("trials", "objects", "bytes"):
            for end in ("_low", "_high"):
                totals[name + end] = min(MASK, sum(thread[name + end] for thread in threads))
        final = (self.state["end_trials"], self.state["end_objects"])
        final = dict(zip(("trials", "objects", "bytes"), (*final, self.bytes_of(*final))))
        ended = (self.state["state"] == 1 and
                 all(totals[name + "_low"] <= value for name, value in final.items()))
        exact = ended and not unmarked and not self.state["open_trials"]
        for name, value in final.items() if ended else ():
            totals[name + "_low"] = value
            totals[name + "_high"] = min(MASK, value + self.state["open_trials"])
        published = self.state["lost"][6] or all(thread["published"] for thread in threads)
        if not ended and not (published and self.is_whole()):
            for name in ("trials", "objects", "bytes"):
                totals[name + "_high"] = MASK
        elif not exact:
            for name in ("trials", "objects", "bytes"):
                totals[name + "_high"] = min(MASK, totals[name + "_high"] +
                                             (1 << 20 if unmarked else 1))
        for name in ("unoffered_trials", "unoffered_objects"):
            totals[name] = max(min(MASK, sum(thread[name] for thread in threads)),
                               self.state[name])
        totals = {"exact": exact} | totals
        for name in ("bytes", "objects"):
            on, off = self.parts(name, threads, totals)
            for key, (low, high) in (("on_", on), ("off_", off)):
                totals |= {key + name + "_low": low, key + name + "_high": high}
        return totals | {"interval_min": min(self.intervals, default=0),
                         "interval_max": max(self.intervals, default=0)}


def main():
    parser = argparse.ArgumentParser(description="print a bytepoll trace as JSON lines")
    parser.add_argument("--summary", action="store_true",
                        help="print the header, the totals and the counts only")
    parser.add_argument("--no-verify", action="store_true", help="do not check chunk checksums")
    parser.add_argument("trace")
    arguments = parser.parse_args()
    wanted = ("header", "totals", "counts") if arguments.summary else None
    try:
        with open(arguments.trace, "rb") as file:
            for kind, fields in Trace(file, not arguments.no_verify).lines():
                if wanted is None or kind in wanted:
                    print(json.dumps({"line": kind} | fields))
    except (NotATrace, OSError) as problem:
        sys.exit(f"trace_decode: {arguments.trace}: {problem}")
    except BrokenPipeError:
        sys.exit(0)


if __name__ == "__main__":
    main()
