#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of fuzz_demangle: demangle_seeds.py RUST_NAMES SEEDS [STAMP].

Every eighth of the real names that the unit test compares (tests/unit/symbols/rust_names.txt).
"""
import pathlib
import sys


def main():
    names, seeds = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    seeds.mkdir(parents=True, exist_ok=True)
    lines = [line for line in names.read_text().splitlines() if not line.startswith("#")]
    for number, line in enumerate(lines[::8]):
        (seeds / f"name-{number}").write_text(line.split("\t")[0])
    for stamp in sys.argv[3:]:
        pathlib.Path(stamp).touch()


main()
