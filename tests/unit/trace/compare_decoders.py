#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the reader (dump_trace) against tools/trace_decode.py, record by record, on every trace of
a directory: compare_decoders.py DUMP_TRACE TRACE_DECODE DIRECTORY. TAP output. The reader must say
the same whether it is asked for records one by one, or for samples and frees by the handful.

Both print JSON lines; slots and chunks, which the reader does not hand out, are left out. Both must
also agree on which files are no trace.
"""
import itertools
import json
import pathlib
import subprocess
import sys

MIN_TRACES = 20  # fewer: the generator or the path is broken, and nothing would be compared


def lines(command, map_text):
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode not in (0, 1) or (done.returncode == 1) != bool(done.stderr):
        raise RuntimeError(f"{command[-2]} ended with {done.returncode}: {done.stderr!r}")
    parsed = (json.loads(line, object_hook=map_text) for line in done.stdout.splitlines())
    return done.returncode, [line for line in parsed if line["line"] not in ("slot", "chunk")]


def bytes_as_latin1(fields):
    """Text of the decoder (UTF-8, surrogate escapes) in the form of dump_trace (a byte each)."""
    return {name: value.encode("utf-8", "surrogateescape").decode("latin-1")
            if isinstance(value, str) else value for name, value in fields.items()}


def compare(dump, decode, trace):
    """The first difference as text, or None."""
    status, got = lines([dump, trace], dict)
    if (status, got) != lines([dump, "--at-once", trace], dict):
        return "the reader reads many records at once otherwise than one by one"
    other_status, expected = lines([sys.executable, decode, trace], bytes_as_latin1)
    if status != other_status:
        return f"the reader ends with {status}, the decoder with {other_status}"
    if status == 1:  # a fatal record: what was printed before it depends on buffering alone
        got, expected = got[:2], expected[:2]
    for number, (a, b) in enumerate(itertools.zip_longest(got, expected), 1):
        if a != b:
            return f"line {number}: reader {a}, decoder {b}"
    return None


def main():
    dump, decode, directory = sys.argv[1:]
    traces = sorted(pathlib.Path(directory).rglob("*.bpt"))
    print(f"1..{len(traces) + 1}")
    enough = len(traces) >= MIN_TRACES
    print(f"{'ok' if enough else 'not ok'} 1 - {len(traces)} traces to compare")
    failed = not enough
    for number, trace in enumerate(traces, 2):
        difference = compare(dump, decode, str(trace))
        print(f"{'not ok' if difference else 'ok'} {number} - {trace.name}")
        if difference:
            print(f"# {difference}")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
