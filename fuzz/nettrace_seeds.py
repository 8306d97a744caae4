#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of fuzz_nettrace: nettrace_seeds.py WRITER_FOLDER SEEDS [STAMP].

Small files in every form (tests/dotnet/nettrace_write.py), with all the events that the importer
knows, lost ones, two sequence points and code that comes and goes.
"""
import pathlib
import sys


def seed(nettrace, form, pointer):
    writer = nettrace.Writer(form, pointer, 3124099 if pointer == 4 else 10**9, block_events=6)
    writer.event("Microsoft-DotNETCore-EventPipe", 1, 1, nettrace.text16("/p /p.dll") * 3, time=1)
    names = ("N.T`2[System.Int32,N.U[]]", "N.T", "NULL")
    for i in range(14):
        code = nettrace.method(i % 3, 0x5000 + i % 2 * 16, 32, "N.T", f"m{i}")
        writer.event(nettrace.RUNTIME, 144 if i % 4 == 3 else 143, 2, code, time=2 * i)
        writer.sample(16 + i % 4, names[i % 3], 24 + 8 * i, i, i % 3, thread=7 + i % 2,
                      time=2 * i + 1, ips=(0x5004, 0x5011, 0x9000)[:i % 4], lost=i in (5, 13))
        if i == 7:
            writer.sequence_point()
    writer.event(nettrace.RUNTIME, 159, 0, nettrace.entry_point(9, 0x8ff0, "N.V", "e"), time=50)
    writer.event(nettrace.RUNDOWN, 144, 2, nettrace.method(1, 0x5000, 64, "N.T", "r"), time=60)
    writer.event(nettrace.RUNDOWN, 154, 2, nettrace.module(1, "/n.dll"), time=60)
    return writer.finish(point=form != "4 plain")


def main():
    folder, seeds = sys.argv[1], pathlib.Path(sys.argv[2])
    sys.path.insert(0, folder)
    import nettrace_write
    seeds.mkdir(parents=True, exist_ok=True)
    for form in nettrace_write.FORMS:
        for pointer in (4, 8):
            name = f"{form.replace(' ', '-')}-{8 * pointer}"
            (seeds / name).write_bytes(seed(nettrace_write, form, pointer))
    for stamp in sys.argv[3:]:
        pathlib.Path(stamp).touch()


if __name__ == "__main__":
    main()
