# SPDX-License-Identifier: MIT
"""The Pythons that tests run, and what the tests ask of the recordings of them. For test_python.py and others."""
import collections
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))
from trace_records import TAGS, ChunkState, Cursor  # noqa: E402 (the second decoder's)

VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
SYSTEMS = "the system's"
CHUNK = 65536
Trace = collections.namedtuple("Trace", "samples frees frames mixed native interpreters lost end_objects")


def read(path):
    """Records of the second decoder, by kind."""
    with open(path, "rb") as file:
        data = file.read()
    number = lambda at, bytes_=8: int.from_bytes(data[at:at + bytes_], "little")
    trace = Trace([], {}, {}, {}, {}, [], [number(4096 + 128 + 8 * i) for i in range(32)], number(4096 + 40))
    for at in range(CHUNK, len(data), CHUNK):
        if data[at:at + 4] != b"BPCK" or number(at + 4, 4) != 1:
            continue
        state = ChunkState(number(at + 32), number(at + 40), number(at + 48), number(at + 56, 4))
        cursor = Cursor(data[at + 64:at + 64 + number(at + 16, 4)])
        while cursor.left():
            tag, fields = cursor.u8(), Cursor(cursor.take(cursor.varint()))
            kind, record = TAGS[tag], getattr(state, TAGS[tag])(fields)
            if kind == "sample":
                trace.samples.append(record)
            elif kind == "free":
                trace.frees[record["sample_sequence"]] = record["sequence"]
            elif kind == "frame":
                trace.frames[record["id"]] = (record["function"], record["file"], record["source_line"])
            elif kind == "mixed_stack":
                trace.mixed[record["id"]] = record
            elif kind == "stack":
                trace.native[record["id"]] = record
            elif kind == "interpreter":
                trace.interpreters.append(record)
    trace.samples.sort(key=lambda sample: sample["sequence"])
    return trace


def version_of(python):
    return subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def others():
    """The Pythons of a version manager: by version."""
    found, folder = {}, os.path.expanduser("~/.pyenv/versions")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        python = os.path.join(folder, name, "bin", "python3")
        if re.match(r"3\.\d+\.\d+$", name) and os.path.exists(python):
            found[version_of(python)] = python
    return found
