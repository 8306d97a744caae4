#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second reader of FILE.d/packed, written from docs/trace-format.md, section 7, and not from the C reader.

Lists the traces that were packed, one line each: name, length, bytes that are not zero. With --unpack, writes
each into a folder as the file that it was, with its folded part, so that FILE.d without `packed` says the same.
Of several entries with one trace id the first is taken. Exit status 1: what is damaged, on standard error.
"""
import argparse
import os
import struct
import sys
import zlib

from trace_decode import checksum

MAGIC = 0x4B505042
WINDOW = 32768
OF_PART = 1 << 63


class Damaged(Exception):
    """A block, or all that follows, cannot be read."""


class Entry:
    """A trace: its pieces by offset."""

    def __init__(self, name, file_bytes, part_bytes, data):
        self.name = name
        self.lengths = file_bytes, part_bytes
        self.pieces = [], []
        at = 0
        while at < len(data):
            offset, length = struct.unpack_from("<QQ", data, at)
            at += 16
            of_part = offset >= OF_PART
            offset %= OF_PART
            if length > len(data) - at or offset + length > self.lengths[of_part]:
                raise Damaged("a piece of %s" % name)
            self.pieces[of_part].append((offset, data[at:at + length]))
            at += length

    def trace_id(self):
        head = bytearray(64)
        for offset, data in self.pieces[0]:
            if offset < 64:
                head[offset:64] = data[:64 - offset].ljust(64 - offset, b"\0")
        return bytes(head[48:64])

    def raw(self):
        pieces = b"".join(struct.pack("<QQ", offset | flag, len(data)) + data
                          for flag, pieces in ((0, self.pieces[0]), (OF_PART, self.pieces[1]))
                          for offset, data in pieces)
        name = os.fsencode(self.name)
        return struct.pack("<IIQQ", 24 + len(name) + len(pieces), len(name), *self.lengths) + name + pieces

    def write(self, folder):
        for suffix, length, pieces in zip(("", ".fold"), self.lengths, self.pieces):
            if suffix and not length:
                continue
            with open(os.path.join(folder, self.name + suffix), "wb") as file:
                for offset, data in pieces:
                    file.seek(offset)
                    file.write(data)
                file.truncate(length)


def entries_of(raw, count):
    at = 0
    for _ in range(count):
        if len(raw) - at < 24:
            raise Damaged("an entry")
        entry_bytes, name_bytes, file_bytes, part_bytes = struct.unpack_from("<IIQQ", raw, at)
        if entry_bytes < 24 + name_bytes or entry_bytes > len(raw) - at:
            raise Damaged("an entry")
        name = raw[at + 24:at + 24 + name_bytes].decode(errors="surrogateescape")
        yield Entry(name, file_bytes, part_bytes, raw[at + 24 + name_bytes:at + entry_bytes])
        at += entry_bytes


def packed(path):
    """The entries of a packed file. A block that is being written ends it."""
    with open(path, "rb") as file:
        data = file.read()
    at, dictionary = 0, None
    while len(data) - at >= 32:
        magic, count, stored, raw_bytes, check, own = struct.unpack_from("<IIIIQQ", data, at)
        if magic != MAGIC or checksum(data[at:at + 24]) != own:
            raise Damaged("no block at %d" % at)
        end = at + 32 + -(-stored // 8) * 8
        if end > len(data):
            return
        block = data[at + 32:at + 32 + stored]
        if checksum(block) != check:
            raise Damaged("the block at %d" % at)
        inflate = zlib.decompressobj(-15, dictionary) if dictionary else zlib.decompressobj(-15)
        raw = inflate.decompress(block) + inflate.flush()
        if len(raw) != raw_bytes:
            raise Damaged("the block at %d" % at)
        if dictionary is None:
            dictionary = raw[:WINDOW]
        yield from entries_of(raw, count)
        at = end


def pack(path, blocks):
    """Writes a packed file with a block for each list of entries."""
    dictionary = None
    with open(path, "wb") as out:
        for entries in blocks:
            raw = b"".join(entry.raw() for entry in entries)
            deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY,
                                       *((dictionary,) if dictionary else ()))
            stored = deflate.compress(raw) + deflate.flush()
            if dictionary is None:
                dictionary = raw[:WINDOW]
            head = struct.pack("<IIIIQ", MAGIC, len(entries), len(stored), len(raw), checksum(stored))
            out.write(head + struct.pack("<Q", checksum(head)))
            out.write(stored.ljust(-(-len(stored) // 8) * 8, b"\0"))


def main():
    parser = argparse.ArgumentParser(description="list or unpack FILE.d/packed")
    parser.add_argument("--unpack", metavar="FOLDER", help="write each trace into this folder")
    parser.add_argument("packed")
    arguments = parser.parse_args()
    seen = set()
    try:
        for entry in packed(arguments.packed):
            if entry.trace_id() in seen or "/" in entry.name:
                continue
            seen.add(entry.trace_id())
            if arguments.unpack:
                entry.write(arguments.unpack)
            print(entry.name, entry.lengths[0], sum(len(data) for _, data in entry.pieces[0]))
    except (Damaged, zlib.error, struct.error, OSError) as problem:
        sys.exit("trace_packed: %s: %s" % (arguments.packed, problem))


if __name__ == "__main__":
    main()
