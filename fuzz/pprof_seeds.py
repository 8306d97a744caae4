#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of fuzz_pprof: pprof_seeds.py WRITER_FOLDER SEEDS [STAMP].

Small profiles, not packed, in the forms that writers use (tests/pprof/pprof_write.py).
"""
import pathlib
import sys


def main():
    folder, seeds = sys.argv[1], pathlib.Path(sys.argv[2])
    sys.path.insert(0, folder)
    import pprof_write
    seeds.mkdir(parents=True, exist_ok=True)
    for types in ("go", "live"):
        for period in (1, 4096, None):
            writer = pprof_write.Writer(types, period)
            for size in (16, 4096, 100000):
                stack = ("f%d" % size, "runtime.main")
                writer.bucket(stack, size, 5, 2)
                writer.bucket(stack[1:], size, 3, 3, inlined=True)
            (seeds / ("%s-%s" % (types, period))).write_bytes(writer.finish(packed=False))
    for stamp in sys.argv[3:]:
        pathlib.Path(stamp).touch()


main()
