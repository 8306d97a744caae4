#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of fuzz_jit: jit_seeds.py SEEDS [STAMP]. A map as Node.js, Java and CPython write them, and dumps of
process 77 in which code is loaded, moved and overwritten, with and without the clock's times."""
import pathlib
import struct
import sys

MAP = b"""18c4000 300 Builtin:DeoptimizationEntry_Eager
7f5f1c003400 378 JS:~ node:internal/main/run_main_module:1:1
7f5f1c003400 378 JS:*outer /srv/app.js:2:15
0x00007fb36cec7ca0 0x00000000000001e8 long java.util.zip.Deflater.init(int, int, boolean)
7f9fc66967c7 b py::leaf:/tmp/pm.py
not a line
"""


def load(time, address, size, index, name):
    body = struct.pack("<IIQQQQ", 77, 77, address, address, size, index) + name + b"\0" + b"\xcc" * size
    return struct.pack("<IIQ", 0, 16 + len(body), time) + body


def move(time, old, new, size, index):
    return struct.pack("<IIQIIQQQQQ", 1, 64, time, 77, 77, new, old, new, size, index)


def dump(flags):
    head = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 77, 1000, flags)
    lines = struct.pack("<IIQQ", 2, 24, 1005, 0)
    return (head + load(1010, 0x4000, 32, 1, b"Foo::bar") + lines + move(1020, 0x4000, 0x6000, 32, 1)
            + load(1030, 0x4000, 32, 2, b"Foo::baz") + move(1040, 0, 0x7000, 8, 99) + load(1050, 0x4010, 8, 3, b"x"))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in (("map", MAP), ("dump", dump(0)), ("dump_without_clock", dump(1)), ("torn", dump(0)[:150])):
        (folder / name).write_bytes(data)
    for stamp in sys.argv[2:]:
        pathlib.Path(stamp).touch()


if __name__ == "__main__":
    main()
