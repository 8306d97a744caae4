#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs that go on, in a store of folders: which of their versions `bytepoll fleet` asks, and what `compact` does with them.
(test_push.py has how they come there.)"""
import json
import os
import shutil
import subprocess
import sys
import time

import profiled
import test_push
from profiled import expect
from test_fleet import MACROS, ask


def check_versions(folder):
    """Of a run that goes on the newest version counts, until the run has ended or is in a sum. To tell them apart, folders
    here hold the tables of one of two recordings, A or B, whatever their names say."""
    store, pushed, samples, traces = os.path.join(folder, "versions"), [], {}, test_push.record(folder, 2)
    for number, name in enumerate(sorted(os.listdir(traces))):
        trace, kept = os.path.join(traces, name), os.path.join(folder, "kept%d" % number)
        ask("push", "-q", trace, "--to", kept)
        pushed.append(os.path.join(kept, *os.listdir(kept)))
        samples[pushed[-1]] = profiled.report(trace)["samples"]
    a, b = pushed
    expect(samples[a] != samples[b], "two recordings alike")
    run = os.path.basename(a)
    with open(MACROS, encoding="utf-8") as file:
        macros = file.read()

    def counts(path, macro=True):
        got = json.loads(ask("fleet", "top", store, "--json").stdout)["samples"]
        expect(got == samples[path], "%d samples instead of %d" % (got, samples[path]))
        if not macro:
            return  # (SQL of one's own knows nothing of the lists of sums)
        done = subprocess.run(["duckdb", "-init", "/dev/null", "-batch", "-bail", "-csv", "-noheader"], capture_output=True, check=True,
                              input=(macros + "SELECT sum(samples) FROM bytepoll_samples('%s');" % store).encode())
        expect(int(done.stdout) == samples[path], "SQL: %s samples instead of %d" % (done.stdout, samples[path]))

    os.mkdir(store)
    for name, path in ((run + ".1700000000", b), (run + ".1700000009", a), (run + ".1700000010", b), (run, a)):
        shutil.copytree(path, os.path.join(store, name))
        counts(path)
    later = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 2 * 86400))
    expect(b"1 run in 1 folder summed up in 1" in ask("compact", store, "--older-than", later).stdout, "compact")
    expect(len(os.listdir(store)) == 4, "versions are not the command's to remove: %s" % os.listdir(store))
    counts(a, macro=False)
    shutil.rmtree(store)
    shutil.copytree(b, os.path.join(store, os.path.basename(b) + ".1700000000"))
    expect(b"0 runs in 0 folders" in ask("compact", store, "--older-than", later).stdout, "what goes on was summed up")
    counts(b)
    expect(b"1 run in 1 folder removed" in ask("compact", store, "--older-than", later, "--remove").stdout, "remove")


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        if shutil.which("duckdb") is None:
            tap.skip("versions of a run", "duckdb is not on PATH (pip install duckdb-cli)")
        else:
            tap.attempt("versions of a run", lambda: check_versions(folder))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
