# SPDX-License-Identifier: MIT
"""Counts the records of a trace and their bytes, by kind, and what distinct stacks take in the target
(docs/trace-format.md sections 2 and 3). No decoding beyond lengths, so that it is quick."""
import os
import struct

CHUNK = 65536
HEADER = 64
KINDS = {1: "sample", 2: "free", 3: "stack", 4: "module"}


def varint(data, at):
    """(value, position behind it)"""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def stack_depth(data, at):
    """Depth of the stack record whose payload begins at `at`."""
    for _ in range(3):
        _, at = varint(data, at)
    return varint(data, at)[0]


def sizes(path):
    """{'sample': [count, bytes], 'free': ..., 'stack': ..., 'other': ..., 'frames': n}"""
    totals = {name: [0, 0] for name in (*KINDS.values(), "other")}
    frames = 0
    with open(path, "rb") as file:
        file.seek(CHUNK)
        while True:
            data = file.read(CHUNK)
            if len(data) < HEADER or data[:4] not in (b"BPCK", b"\0\0\0\0"):
                break
            kind, committed = struct.unpack_from("<4xI8xI", data)
            if data[:4] != b"BPCK" or kind != 1:
                continue
            at, end = HEADER, HEADER + committed
            while at < end:
                tag = data[at]
                length, payload = varint(data, at + 1)
                if tag == 3:
                    frames += stack_depth(data, payload)
                total = totals[KINDS.get(tag, "other")]
                total[0] += 1
                total[1] += payload + length - at
                at = payload + length
    return {**totals, "frames": frames}


def tree_samples(path):
    """Samples in the state pages (1.3) of a trace and of its FILE.d."""
    files = [path]
    if os.path.isdir(path + ".d"):
        files += [os.path.join(path + ".d", name) for name in os.listdir(path + ".d")
                  if name.endswith(".bpt")]
    samples = 0
    for name in files:
        with open(name, "rb") as file:
            file.seek(4096 + 56)
            samples += struct.unpack("<Q", file.read(8))[0]
    return samples
