#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of fuzz_go_text: go_text_seeds.py WRITER_FOLDER SEEDS [STAMP].

Small heap profiles in Go's text form (tests/pprof/go_text_write.py), with and without what may be missing.
"""
import pathlib
import sys


def main():
    folder, seeds = sys.argv[1], pathlib.Path(sys.argv[2])
    sys.path.insert(0, folder)
    import go_text_write
    seeds.mkdir(parents=True, exist_ok=True)
    for name, changes in (("whole", {}), ("old", {"OtherSys": None, "MaxRSS": None}),
                          ("contradiction", {"HeapInuse": 5}), ("cut", False)):
        for twice in (2, 1048576):
            writer = go_text_write.Writer(twice, changes)
            for size in (16, 100000):
                writer.bucket(("f%d" % size, "runtime.main"), size, 5, 2)
                writer.bucket(("g", "f%d" % size), size, 3, 3, inlined=True)
            writer.raw((1, 8, 1, 8), [0x401000], [])
            (seeds / ("%s-%d" % (name, twice))).write_bytes(writer.finish())
    for stamp in sys.argv[3:]:
        pathlib.Path(stamp).touch()


main()
