#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of fuzz_debug_file: debug_file_seeds.py SEEDS [STAMP].

Small ELF files: a section packed by zlib and one by zstd, and packages of split units in both versions of the
index. (What compilers make is in corpus/debug_file.)
"""
import pathlib
import struct
import sys
import zlib

COMPRESSED = 0x800
ZLIB, ZSTD = 1, 2


def zstd(data):
    """A frame of one block that is not packed (RFC 8878)."""
    return (struct.pack("<IBB", 0xFD2FB528, 0x20, len(data)) +
            struct.pack("<I", 1 | len(data) << 3)[:3] + data)


def packed(kind, data):
    body = zlib.compress(data) if kind == ZLIB else zstd(data)
    return struct.pack("<IIQQ", kind, 0, len(data), 1) + body


def elf(sections):
    """`sections`: (name, flags, data)."""
    names, contents, headers = b"\0", b"", b"\0" * 64
    sections = sections + [(".shstrtab", 0, None)]
    for name, flags, data in sections:
        offset, at = 64 + len(contents), len(names)
        names += name.encode() + b"\0"
        if data is None:
            data = names
        contents += data
        headers += struct.pack("<IIQQQQIIQQ", at, 3 if data is names else 1, flags, 0, offset,
                               len(data), 0, 0, 1, 0)
    contents += b"\0" * (-len(contents) % 8)
    return (b"\x7fELF" + bytes((2, 1, 1)) + b"\0" * 9 + struct.pack(
        "<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, 64 + len(contents), 0, 64, 0, 0, 64, len(sections) + 1,
        len(sections)) + contents + headers)


def package(version):
    """Two units of two parts each, and strings."""
    ids, slots = (0x1122334455667700, 0x0123456789ABCD03), 4
    table = struct.pack("<III", 0, 6, 12)
    if version == 5:
        table = struct.pack("<IHH", len(table) + 4, 5, 0) + table
    index = struct.pack("<HHIII", version, 0, 3, len(ids), slots)
    index += struct.pack("<4Q", ids[0], 0, 0, ids[1]) + struct.pack("<4I", 1, 0, 0, 2)
    index += struct.pack("<3I", 1, 3, 6)
    index += struct.pack("<6I", 0, 0, 0, 16, 8, len(table))
    index += struct.pack("<6I", 16, 8, len(table), 16, 8, len(table))
    return elf([(".debug_info.dwo", 0, bytes(range(32))), (".debug_abbrev.dwo", 0, bytes(16)),
                (".debug_str_offsets.dwo", 0, 2 * table),
                (".debug_str.dwo", 0, b"first\0other\0third\0"),
                (".debug_cu_index", 0, index)])


def main():
    seeds = pathlib.Path(sys.argv[1])
    seeds.mkdir(parents=True, exist_ok=True)
    for name, kind in (("zlib", ZLIB), ("zstd", ZSTD)):
        (seeds / name).write_bytes(elf([(".debug_info", COMPRESSED, packed(kind, b"x" * 100)),
                                        (".debug_str", COMPRESSED, packed(kind, b"abc\0" * 9))]))
    for version in (2, 5):
        (seeds / f"package-{version}").write_bytes(package(version))
    for stamp in sys.argv[2:]:
        pathlib.Path(stamp).touch()


main()
