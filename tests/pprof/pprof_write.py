# SPDX-License-Identifier: MIT
"""Writes heap profiles in pprof form as Go's runtime does: profile.proto, scaled figures, gzip."""
import gzip
import math

TYPES = {"go": (("alloc_objects", "count"), ("alloc_space", "bytes"),
                ("inuse_objects", "count"), ("inuse_space", "bytes")),
         "live": (("objects", "count"), ("space", "bytes")),
         "bytes": (("inuse_space", "bytes"),),
         "cpu": (("samples", "count"), ("cpu", "nanoseconds"))}


def varint(value):
    code = bytearray()
    value &= (1 << 64) - 1
    while value >= 0x80:
        code.append(value & 0x7f | 0x80)
        value >>= 7
    code.append(value)
    return bytes(code)


def number(field, value):
    return varint(field << 3) + varint(value)


def chunk(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def scaled(samples, size, interval):
    """(objects, bytes), as runtime/pprof's scaleHeapSample."""
    if samples == 0 or size == 0 or interval <= 1:
        return samples, samples * size
    scale = 1 / (1 - math.exp(-size / interval))
    return int(samples * scale), int(samples * size * scale)


class Writer:
    """`period` None: the field is left out. `interval`: what figures are scaled by."""

    def __init__(self, types="go", period=524288, period_type="space", interval=None):
        self.types, self.period = types, period
        self.interval = interval if interval is not None else period or 1
        self.strings, self.functions, self.locations = {"": 0}, {}, {}
        self.tail = b""
        self.head = b"".join(chunk(1, number(1, self.string(name)) + number(2, self.string(unit)))
                             for name, unit in TYPES[types])
        if period is not None:
            self.head += chunk(11, number(1, self.string(period_type)) +
                               number(2, self.string("bytes"))) + number(12, period)
        self.head += number(9, 1700000000 * 10**9)
        self.mapping(1, 0x400000, 0x900000, 0, "/bin/program", "abcd")

    def mapping(self, index, start, limit, offset, path, build_id=""):
        self.tail += chunk(3, number(1, index) + number(2, start) + number(3, limit) + number(
            4, offset) + number(5, self.string(path)) + number(6, self.string(build_id)))

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def function(self, name):
        if name not in self.functions:
            index = self.functions[name] = len(self.functions) + 1
            self.tail += chunk(5, number(1, index) + number(2, self.string(name)) + number(
                3, self.string(name)) + number(4, self.string("/src/%s.go" % name)))
        return self.functions[name]

    def location(self, names):
        """`names`: the functions at one place, innermost first; all but the last are inlined."""
        if names not in self.locations:
            index = self.locations[names] = len(self.locations) + 1
            lines = b"".join(chunk(4, number(1, self.function(name)) + number(2, 10 + index))
                             for name in names)  # adds to `tail`
            self.tail += chunk(4, number(1, index) + number(2, 1) + number(
                3, 0x401000 + 16 * index) + lines)
        return self.locations[names]

    def raw(self, locations, values, label=None):
        packed = chunk(1, b"".join(map(varint, locations))) + chunk(2, b"".join(map(varint, values)))
        if label is not None:
            packed += chunk(3, number(1, self.string("bytes")) + number(3, label))
        self.head += chunk(2, packed)

    def bucket(self, stack, size, allocated, live, inlined=False, label=True):
        """A bucket of samples; the stack is one of names, innermost first."""
        places = [tuple(stack)] if inlined else [(name,) for name in stack]
        values = scaled(allocated, size, self.interval) + scaled(live, size, self.interval)
        self.raw([self.location(place) for place in places],
                 values if self.types == "go" else values[2:] if self.types == "live" else
                 values[:len(TYPES[self.types])], size if label else None)

    def finish(self, packed=True):
        strings = b"".join(chunk(6, text.encode()) for text in self.strings)
        data = self.head + self.tail + strings
        return gzip.compress(data, mtime=0) if packed else data
