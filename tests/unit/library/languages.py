#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples, a C++ program and ctypes on one recording: all of them name the same rows, and the check
decides as it must. The structs of the Python binding are held against the header.

Usage: languages.py BYTEPOLL LIBRARY TRACES SCENARIO_FOLDER TOP CHECK FROM_CPP HEADER
"""
import os
import re
import subprocess
import sys
from ctypes import byref

import bytepoll_analysis as binding
import header

BYTEPOLL, LIBRARY, TRACES, SCENARIO, TOP, CHECK, FROM_CPP, HEADER = sys.argv[1:9]
sys.path.insert(0, SCENARIO)
os.environ["BYTEPOLL_BUILD"] = os.path.dirname(os.path.abspath(BYTEPOLL))
import profiled  # noqa: E402 (which reads BYTEPOLL_BUILD)

WORDS = "my @a; push @a, 'x' x ($_ % 900) for 1 .. 20000;"
library = binding.Library(LIBRARY)


def output(*words, status=0):
    result = subprocess.run(words, capture_output=True, timeout=60, env=profiled.environment())
    profiled.expect(result.returncode == status,
                    f"{words[0]}: status {result.returncode}: {result.stderr[-300:]}")
    return result.stdout.decode("utf-8", "surrogateescape")


def python_rows(trace):
    profile = library.open_files(trace)
    table = library.aggregate(profile, byref(binding.query(metric="allocated")))
    library.close(profile)
    rows = [(row.name.decode(), row.bytes.estimate) for row in library.rows(table)]
    library.table_close(table)
    return rows


def check_cpp(trace):
    rows = [line.split("\t") for line in output(FROM_CPP, trace).splitlines()]
    profiled.expect([(name, float(value)) for name, value in rows] == python_rows(trace),
                    "C++ and Python disagree")
    profiled.expect(len(rows) > 3, "hardly any rows")


def check_locale(trace, folder):
    """In a program whose numbers have commas: the same rows, from a filter whose numbers have points."""
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(folder, "de_DE.UTF-8")],
                   capture_output=True, timeout=60, check=True)
    environment = profiled.environment(extra={"LOCPATH": folder, "LC_ALL": "de_DE.UTF-8"})
    result = subprocess.run([FROM_CPP, trace, "size=0.1K..0.5K"], capture_output=True, timeout=60,
                            env=environment)
    profiled.expect(result.returncode == 0, result.stderr)
    expected = output(FROM_CPP, trace, "size=0.1K..0.5K")
    profiled.expect("." in expected, "no fraction to write with a comma")
    profiled.expect(result.stdout.decode() == re.sub(r"(\d)\.(\d+)$", r"\1,\2", expected,
                                                    flags=re.MULTILINE), "other rows")
    refused = subprocess.run([FROM_CPP, trace, "size=0,5K"], capture_output=True, timeout=60,
                             env=environment)
    profiled.expect(refused.returncode == 1, "0,5K was taken for a size")


def check_top(trace):
    names = [name for name, _ in python_rows(trace)]
    lines = output(TOP, trace, "allocated").splitlines()
    for name, line in zip(names[:10], lines):
        profiled.expect(line.endswith("  " + name), f"{name} is not in {line!r}")
    profiled.expect(any(line.endswith("in total") and "exactly" in line for line in lines), "no total")
    profiled.expect(" < " in output(TOP, trace, "allocated", "stack"), "no stacks")
    output(TOP, trace, "colour", status=1)
    output(TOP, "/no/such/file", status=1)
    output(TOP, status=2)


def check_example(trace):
    total = sum(value for _, value in python_rows(trace))
    for most, status, word in ((2 * total, 0, "within"), (total / 2, 1, "exceeded")):
        for words in ([], ["stack=*"]):
            text = output(CHECK, trace, "allocated", str(most), *words, status=status)
            profiled.expect(text.startswith(word), text)
    live = library.open_files(trace)
    table = library.aggregate(live, None)
    info = binding.Total()
    library.table_total(table, b"live", byref(info))
    library.table_close(table)
    library.close(live)
    text = output(CHECK, trace, "live", str(1.2 * info.bytes.estimate), status=3)
    profiled.expect(text.startswith("undecided") and "--interval" in text, text)
    output(CHECK, trace, "live", "many", status=2)
    output(CHECK, trace, "weight", "5", status=2)
    output(CHECK, "/dev/null", "live", "5", status=2)


def check_hostile_names():
    """No byte of a name that a terminal obeys comes out of the examples."""
    for name in sorted(os.listdir(TRACES)):
        path = os.path.join(TRACES, name)
        for key in ("function", "thread", "file"):
            result = subprocess.run([TOP, path, "allocated", key], capture_output=True, timeout=60)
            profiled.expect(result.returncode in (0, 1), f"{name}: status {result.returncode}")
            bad = set(result.stdout + result.stderr) & set(range(32)) - {10}
            profiled.expect(not bad, f"{name}: control characters {bad}")


def check_structs():
    findings = header.check_header(HEADER, "cc", os.path.dirname(HEADER))
    profiled.expect(not findings, "\n".join(findings))


def main():
    tap = profiled.Tap()
    tap.attempt("the binding is the header's", check_structs)
    with profiled.directory() as folder:
        trace = os.path.join(folder, "perl.bpt")
        output(BYTEPOLL, "run", "--quiet", "-o", trace, "--interval", "16K", "--seed", "1", "--",
               "perl", "-e", WORDS)
        tap.attempt("C++", lambda: check_cpp(trace))
        tap.attempt("a locale with commas", lambda: check_locale(trace, folder))
        tap.attempt("the example top", lambda: check_top(trace))
        tap.attempt("the example check", lambda: check_example(trace))
    tap.attempt("hostile names", check_hostile_names)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
