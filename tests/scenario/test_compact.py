#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll compact`: figures of whole runs are the same before and after, and every run is counted once at any moment.

The recordings of test_fleet are summed up. Every number of the answers of `fleet top`, `tree` and `check` must be the same
to 1e-9; questions about times are refused by name. Commands that are killed at random moments (seeded;
BYTEPOLL_COMPACT_KILLS, 8) leave a store with the same figures each time. Needs DuckDB's program on PATH.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import time

import profiled
from profiled import expect
from test_fleet import Recordings, ask, differences

KILLS = int(os.environ.get("BYTEPOLL_COMPACT_KILLS", "8"))
LATER = "2100-01-01"
QUESTIONS = [["top"], ["top", "--metric", "allocated", "--by", "stack"], ["top", "--by", "thread", "--bytes", "usable"],
             ["top", "--by", "process", "--confidence", ".99"], ["top", "--by", "size", "--filter", "function=*a*"],
             ["top", "--metric", "temporary", "--by", "type", "--service", "odd"], ["tree"], ["top", "--by", "label"],
             ["check", "--limit", "live=1M", "--limit", "allocated:*=10G"]]


def compact(store, *words, status=0):
    return ask("compact", store, "--older-than", LATER, *words, status=status)


def answers(store, questions=None):
    found = []
    for words in questions or QUESTIONS:
        done = subprocess.run([profiled.BYTEPOLL, "fleet", words[0], store, "--json", *words[1:]], capture_output=True,
                              check=False)
        expect(done.returncode in (0, 1, 3) and done.stdout, "%s: %s" % (words, done.stderr))
        found.append(json.loads(done.stdout))
    return found


def expect_same(store, before, questions=None):
    for i, (now, then) in enumerate(zip(answers(store, questions), before)):
        found = list(differences(now, then))
        expect(not found, "question %d: %d differences: %s" % (i, len(found), "; ".join(found[:4])))


def copy_of(recordings, name):
    store = os.path.join(recordings.folder, name)
    shutil.copytree(recordings.store, store)
    return store


def check_figures(recordings, before):
    store = copy_of(recordings, "figures")
    os.makedirs(os.path.join(store, "other"))
    with open(os.path.join(store, "other", "notes.txt"), "w", encoding="utf-8") as file:
        file.write("mine")
    shutil.copy(os.path.join(store, "other", "notes.txt"), os.path.join(store, "h0"))  # h0 is no plain folder any more
    expect(b"would be summed" in compact(store, "--dry-run").stdout, "a dry run")
    expect(not [name for name in os.listdir(store) if name.startswith("sum-")], "a dry run wrote")
    compact(store)
    names = sorted(os.listdir(store))
    sums = [name for name in names if name.startswith("sum-")]
    expect(1 <= len(sums) <= 3 and "h0" in names and "h2" not in names, names)
    expect(not [name for name in names if name.startswith(".")], "left: %s" % names)
    expect(os.listdir(os.path.join(store, "other")) == ["notes.txt"], "what is not the store's was touched")
    expect_same(store, before)
    # Again there is nothing to do; a run more joins the sum of its month.
    expect(b"0 runs in 0 folders" in compact(store).stdout, "again")
    os.unlink(os.path.join(store, "h0", "notes.txt"))
    compact(store)
    expect("h0" not in os.listdir(store), "a run more")
    expect_same(store, before)
    for words in (["top", "--at", "0.1"], ["top", "--from", "0.1"], ["top", "--filter", "time=0.1s..0.2s"],
                  ["growth", "--from", "0.001", "--until", "0.002"]):
        said = ask("fleet", words[0], store, *words[1:], status=1).stderr
        expect(b"sums" in said and b"bytepoll compact" in said, said)
    words = ["push", recordings.traces[1], "--to", store]
    expect(b"0 pushed, 1 there already" in ask(*words).stdout, "a run of a sum was pushed again")
    compact(store, "--remove")
    expect(sorted(os.listdir(store)) in (["deep", "other"], ["other"]), os.listdir(store))


def check_beside_times(recordings):
    """Younger runs of a store with sums can be asked about times."""
    store = copy_of(recordings, "beside")
    aside = os.path.join(recordings.folder, "aside")
    os.rename(os.path.join(store, "h0"), aside)
    compact(store)
    os.rename(aside, os.path.join(store, "h0"))
    words = ["fleet", "top", store, "--json", "--host", "h0", "--from", "0.0001"]
    wanted = json.loads(ask(*words[:2], recordings.store, *words[3:]).stdout)
    found = list(differences(json.loads(ask(*words).stdout), wanted))
    expect(not found, found[:4])


def check_killed(recordings, before):
    draw, store = random.Random(11), copy_of(recordings, "timed")
    began = time.monotonic()
    compact(store)
    whole_s, states = time.monotonic() - began, set()
    questions, then = QUESTIONS[1:2], before[1:2]
    for i in range(KILLS):
        store = copy_of(recordings, "killed%d" % i)
        process = subprocess.Popen([profiled.BYTEPOLL, "compact", store, "--older-than", LATER, "-q"])
        # (Half of the kills come when the sum is valid and its folders are being removed.)
        if i % 2:
            while process.poll() is None and not any(name.startswith("sum-") for name in os.listdir(store)):
                time.sleep(.0005)
            time.sleep(draw.uniform(0, .003))
        else:
            time.sleep(draw.uniform(0, whole_s))
        process.kill()
        process.wait()
        names = os.listdir(store)
        states.add((any(name.startswith("sum-") for name in names), any(name.startswith("h") for name in names)))
        expect_same(store, then, questions)
        compact(store)
        expect(not [name for name in os.listdir(store) if name.startswith("h")], "the next command did not go on")
        expect_same(store, then, questions)
        shutil.rmtree(store)
    print("# %d kills, states (a sum, folders): %s" % (KILLS, sorted(states)))


def check_void(recordings, before):
    """A valid sum beside all that it stands for, as a kill right after the rename leaves it."""
    store = copy_of(recordings, "void")
    compact(store)
    names = [name for name in os.listdir(store) if name.startswith("sum-")]
    for folder, _, files in list(os.walk(recordings.store)):
        if files:
            there = os.path.relpath(folder, recordings.store)
            shutil.copytree(folder, os.path.join(store, there), dirs_exist_ok=True)
    twice = subprocess.run([profiled.BYTEPOLL, "fleet", "top", store], capture_output=True, check=False)
    expect(b"twice" in twice.stderr, "runs that are there twice are not seen")
    lists = []
    for folder, _, files in os.walk(recordings.store):
        lists += [os.path.relpath(folder, recordings.store)] if files else []
    with open(os.path.join(store, names[0], "sum.replaces"), "w", encoding="utf-8") as file:
        file.write("".join("%s\n" % name for name in lists) + "../elsewhere\n/etc\n\n")
    expect_same(store, before)
    compact(store)
    expect(not os.path.exists(os.path.join(store, names[0], "sum.replaces")), "its list stays")
    expect(not os.path.exists(os.path.join(store, "h0")), "a void folder stays")
    expect_same(store, before)


def check_forks(recordings):
    """A run with a child that recorded nothing, of which it is not known when it began, is summed up with the others."""
    store, trace = os.path.join(recordings.folder, "forks"), os.path.join(recordings.folder, "forks.bpt")
    ask("run", "-q", "-o", trace, "--", "/bin/sh", "-c", "x=$(echo hi); true")
    ask("push", "-q", trace, "--to", store)
    questions = [["top", "--metric", "allocated"]]
    before = answers(store, questions)
    expect(b"1 run in 1 folder summed up in 1" in compact(store).stdout, "the run stayed")
    expect_same(store, before, questions)


def check_foreign(recordings):
    """A folder with a table that is none: one line that says what to do, and nothing of our own SQL."""
    store = os.path.join(recordings.folder, "foreign")
    ask("push", "-q", recordings.traces[0], "--to", store)
    os.mkdir(os.path.join(store, "junk"))
    with open(os.path.join(store, "junk", "processes.parquet"), "wb") as file:
        file.write(b"junk\n")
    said = ask("fleet", "top", store, status=1).stderr
    expect(b"junk/processes.parquet" in said and b"move it away" in said and b"CREATE" not in said and
           said.count(b"\n") == 1, said)
    said = ask("push", recordings.traces[0], "--to", store, "--service", os.fsdecode(b"a\xff"), status=2).stderr
    expect(b"UTF-8" in said, said)


def check_usage(recordings):
    for words in ([], [recordings.store], [recordings.store, "--older-than", "soon"],
                  [recordings.store, "--older-than", "3x"], [recordings.store, recordings.store, "--older-than", "1d"],
                  [recordings.store, "--older-than", "1d", "--dry-run", "-q"]):
        ask("compact", *words, status=2)
    ask("compact", recordings.folder + "/none", "--older-than", "1d", status=1)
    if shutil.which("duckdb"):
        said = ask("compact", recordings.store, "--older-than", "2000-01-01", "--dry-run").stdout
        expect(b"0 runs in 0 folders" in said, "young runs: %s" % said)


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        recordings = Recordings(folder)
        tap.attempt("usage", lambda: check_usage(recordings))
        before = answers(recordings.store) if shutil.which("duckdb") else []
        for name, check in (("figures", lambda: check_figures(recordings, before)),
                            ("beside runs with times", lambda: check_beside_times(recordings)),
                            ("children without a beginning", lambda: check_forks(recordings)),
                            ("foreign tables", lambda: check_foreign(recordings)),
                            ("void folders", lambda: check_void(recordings, before)),
                            ("killed commands", lambda: check_killed(recordings, before))):
            if shutil.which("duckdb") is None:
                tap.skip(name, "duckdb is not on PATH (pip install duckdb-cli)")
            else:
                tap.attempt(name, check)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
