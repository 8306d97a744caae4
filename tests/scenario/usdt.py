# SPDX-License-Identifier: MIT
"""Reads the probe notes (.note.stapsdt) of an ELF file: where a tracer would put its breakpoints.

Written from the description of the note that SystemTap publishes, for 64-bit little-endian files.
Besides the addresses as they stand in the note a probe has the offsets in the file, which is what a
mapping of the file is looked up by.
"""
import collections
import re
import struct

Probe = collections.namedtuple(
    "Probe", "provider name address base semaphore arguments offset semaphore_offset")
Section = collections.namedtuple("Section", "name kind flags address offset size")
Segment = collections.namedtuple("Segment", "flags offset address file_size")
LOAD, NOTE, ALLOCATED = 1, 7, 2
EXECUTABLE, WRITABLE = 1, 2


class Elf:
    """Sections and loaded segments of a file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("%s: no 64-bit little-endian ELF file" % path)
        (self.machine,) = struct.unpack_from("<H", self.data, 18)
        (segments_at, sections_at, _, _, segment_bytes, segment_count, section_bytes, section_count,
         names) = struct.unpack_from("<QQIHHHHHH", self.data, 32)
        rows = [struct.unpack_from("<IIQQQQ", self.data, sections_at + i * section_bytes)
                for i in range(section_count)]
        names_at = rows[names][4]
        self.sections = [Section(self.string(names_at + name), kind, flags, address, offset, size)
                         for name, kind, flags, address, offset, size in rows]
        self.segments = []
        for i in range(segment_count):
            kind, flags, offset, address, _, size = struct.unpack_from(
                "<IIQQQQ", self.data, segments_at + i * segment_bytes)
            if kind == LOAD:
                self.segments.append(Segment(flags, offset, address, size))

    def string(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def section(self, name):
        return next((section for section in self.sections if section.name == name), None)

    def offset(self, address, flag):
        """Where in the file an address is that a segment with `flag` loads; None: in none."""
        for segment in self.segments:
            if segment.flags & flag and 0 <= address - segment.address < segment.file_size:
                return address - segment.address + segment.offset
        return None


def notes(elf, section):
    """(owner, type, description) of each note of a section."""
    at, end = section.offset, section.offset + section.size
    while at < end:
        owner_bytes, bytes_, kind = struct.unpack_from("<III", elf.data, at)
        at += 12
        owner = elf.data[at:at + owner_bytes].rstrip(b"\0").decode()
        at += (owner_bytes + 3) // 4 * 4
        yield owner, kind, elf.data[at:at + bytes_]
        at += (bytes_ + 3) // 4 * 4


def split_arguments(text):
    """["8@%rdi", "8@[sp, 8]"]: blanks in brackets do not part arguments."""
    return re.findall(r"-?\d+@(?:[^\s\[]*\[[^\]]*\]|\S+)", text)


def probes(path):
    """All probes of a file, in the order of their notes."""
    elf = Elf(path)
    section = elf.section(".note.stapsdt")
    found = []
    if section is None:
        return found
    base_section = elf.section(".stapsdt.base")
    for owner, kind, text in notes(elf, section):
        if (owner, kind) != ("stapsdt", 3):
            raise ValueError("%s: a note of %s, type %d" % (path, owner, kind))
        address, base, semaphore = struct.unpack_from("<QQQ", text)
        moved = base_section.address - base if base_section is not None and base else 0
        address += moved
        semaphore += moved if semaphore else 0
        strings = text[24:].split(b"\0")
        if len(strings) != 4 or strings[3]:
            raise ValueError("%s: a note of %d strings" % (path, len(strings) - 1))
        provider, name, arguments = (string.decode() for string in strings[:3])
        found.append(Probe(provider, name, address, base, semaphore, split_arguments(arguments),
                           elf.offset(address, EXECUTABLE), elf.offset(semaphore, WRITABLE)))
    return found
