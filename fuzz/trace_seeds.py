#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of fuzz_trace: trace_seeds.py TRACES SEEDS [STAMP].

Each trace of the tests (tests/data/trace) that fits becomes one input in the form that fuzz_trace.c
describes: its places that are not zero, cut into pieces.
"""
import pathlib
import struct
import sys

CHUNK, CHUNKS = 65536, 9
PLACES = (0, 4096, 8192, *(i * CHUNK for i in range(1, CHUNKS)))
GAP = 32  # zeros that end a piece
KEEP_MAX = 3000  # bytes of one chunk: seeds of more slow the fuzzer down


def pieces(data):
    """(offset, bytes) of the stretches that hold something."""
    at = 0
    while at < len(data):
        if data[at] == 0:
            at += 1
            continue
        end = data.find(bytes(GAP), at)
        end = len(data) if end < 0 else end
        yield at, data[at:end]
        at = end


def seed(trace):
    parts = []
    for where, start in enumerate(PLACES):
        end = PLACES[where + 1] if where + 1 < len(PLACES) else CHUNK * CHUNKS
        for offset, data in pieces(trace[start:end][:KEEP_MAX]):
            parts.append(struct.pack("<BHH", where, offset, len(data)) + data)
    if len(trace) < CHUNK * CHUNKS:
        parts.append(struct.pack("<BHH", 15, -(-len(trace) // 16), 0))
    return b"".join(parts)


def main():
    traces, seeds = map(pathlib.Path, sys.argv[1:3])
    seeds.mkdir(parents=True, exist_ok=True)
    for path in sorted(traces.rglob("*.bpt")):
        (seeds / path.stem).write_bytes(seed(path.read_bytes()))
    for stamp in sys.argv[3:]:
        pathlib.Path(stamp).touch()


if __name__ == "__main__":
    main()
