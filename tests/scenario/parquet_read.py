# SPDX-License-Identifier: MIT
"""Reads the subset of Parquet that bytepoll writes, from the words of its specification: flat schemas of INT64,
BOOLEAN and UTF-8, data pages of version 1, plain and dictionary encodings, zstd (through libzstd) and gzip.
Everything else is an error."""
import ctypes
import ctypes.util
import gzip
import struct

BOOLEAN, INT64, BYTE_ARRAY = 0, 2, 6
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
GZIP, ZSTD = 2, 6


class Thrift:
    """The compact protocol: structs as dictionaries by field number."""
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (5, 6):
            return self.signed()
        if kind == 8:
            length = self.varint()
            self.at += length
            return bytes(self.data[self.at - length:self.at])
        if kind == 9:
            head = self.byte()
            count = head >> 4 if head >> 4 != 15 else self.varint()
            return [self.value(head & 15) for _ in range(count)]
        if kind == 12:
            return self.struct()
        raise ValueError("type %d of Thrift is not of the subset" % kind)

    def struct(self):
        fields, last = {}, 0
        while True:
            head = self.byte()
            if head == 0:
                return fields
            if head >> 4 == 0:
                raise ValueError("a field number in its long form")
            last += head >> 4
            fields[last] = self.value(head & 15)


def unzstd(packed, length):
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(length or 1)
    got = library.ZSTD_decompress(out, ctypes.c_size_t(length), packed, ctypes.c_size_t(len(packed)))
    if got != length:
        raise ValueError("zstd: %d bytes instead of %d" % (got, length))
    return out.raw[:length]


def hybrid(data, at, end, width, count):
    numbers, reader = [], Thrift(data, at)
    while len(numbers) < count:
        if reader.at >= end:
            raise ValueError("levels end early")
        head = reader.varint()
        if head & 1:
            size = (head >> 1) * width
            bits = int.from_bytes(data[reader.at:reader.at + size], "little")
            reader.at += size
            numbers += [bits >> i * width & (1 << width) - 1 for i in range((head >> 1) * 8)]
        else:
            size = (width + 7) // 8
            numbers += [int.from_bytes(data[reader.at:reader.at + size], "little")] * (head >> 1)
            reader.at += size
    return numbers[:count]


def plain(data, at, kind, count):
    if kind == INT64:
        return list(struct.unpack_from("<%dq" % count, data, at))
    if kind == BOOLEAN:
        return [bool(data[at + i // 8] >> i % 8 & 1) for i in range(count)]
    values = []
    for _ in range(count):
        length, = struct.unpack_from("<I", data, at)
        values.append(data[at + 4:at + 4 + length].decode("utf-8"))
        at += 4 + length
    return values


def page_at(data, at, codec):
    reader = Thrift(data, at)
    header = reader.struct()
    packed = data[reader.at:reader.at + header[3]]
    body = unzstd(packed, header[2]) if codec == ZSTD else gzip.decompress(packed)
    if len(body) != header[2]:
        raise ValueError("a page of %d bytes instead of %d" % (len(body), header[2]))
    return header, body, reader.at + header[3]


def chunk_values(data, chunk, kind, optional):
    about = chunk[3]
    if about[4] not in (GZIP, ZSTD) or about[1] != kind:
        raise ValueError("codec %d, type %d" % (about[4], about[1]))
    dictionary, first = None, about.get(11, about[9])
    if 11 in about:
        header, body, after = page_at(data, about[11], about[4])
        if header[1] != 2 or header[7][2] != PLAIN or after != about[9]:
            raise ValueError("no dictionary page where one should be")
        dictionary = plain(body, 0, kind, header[7][1])
    header, body, after = page_at(data, about[9], about[4])
    rows, at = header[5][1], 0
    if header[1] != 0 or rows != about[5] or after - first != about[7]:
        raise ValueError("the data page is not what the footer says")
    present = [1] * rows
    if optional:
        length, = struct.unpack_from("<I", body, 0)
        present, at = hybrid(body, 4, 4 + length, 1, rows), 4 + length
    count = sum(present)
    if rows - count != about[12][3]:
        raise ValueError("%d values are missing, not %d" % (rows - count, about[12][3]))
    if header[5][2] == RLE_DICTIONARY:
        values = [dictionary[i] for i in hybrid(body, at + 1, len(body), body[at], count)] if count else []
    else:
        values = plain(body, at, kind, count)
    if 5 in about[12] and [struct.unpack("<q", about[12][i])[0] for i in (6, 5)] != [min(values), max(values)]:
        raise ValueError("the least and largest value are others")
    values = iter(values)
    return [next(values) if here else None for here in present]


def read(path):
    """(rows as dictionaries, the note under the key `bytepoll`)"""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b"PAR1" or data[-4:] != b"PAR1":
        raise ValueError("no file of Parquet")
    length, = struct.unpack("<I", data[-8:-4])
    footer = Thrift(data, len(data) - 8 - length)
    about = footer.struct()
    if footer.at != len(data) - 8:
        raise ValueError("the footer has another length")
    columns = about[2][1:]
    if about[2][0][5] != len(columns):
        raise ValueError("the schema is not flat")
    names = [column[4].decode() for column in columns]
    rows = []
    for group in about[4]:
        values = [chunk_values(data, chunk, column[1], column[3] == 1)
                  for chunk, column in zip(group[1], columns)]
        if [chunk[3][3] for chunk in group[1]] != [[name.encode()] for name in names]:
            raise ValueError("columns in another order")
        if {len(column) for column in values} != {group[3]}:
            raise ValueError("columns of other lengths")
        rows += [dict(zip(names, row)) for row in zip(*values)]
    if len(rows) != about[3]:
        raise ValueError("%d rows, not %d" % (len(rows), about[3]))
    notes = {note[1]: note[2] for note in about.get(5, [])}
    return rows, notes[b"bytepoll"].decode()
