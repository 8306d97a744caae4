#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll push`: every run comes into the store once and whole, whatever happens.

Pushed twice, by four at a time, and by pushers that are killed at random moments (BYTEPOLL_PUSH_KILLS, 20; seeded),
the store ends with each run exactly once, byte by byte as a quiet push writes it. A run that goes on is left for
later; --watch finds it when it has ended. With --running it is there as it is, and void versions go after a minute.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import parquet_read
import profiled
from profiled import expect

KILLS = int(os.environ.get("BYTEPOLL_PUSH_KILLS", "20"))
RUNS = 4
TAGS = ["--service", "shop", "--release", "1", "--host", "here"]


def push(*words, status=0):
    result = profiled.run([profiled.BYTEPOLL, "push", *words])
    expect(result.status == status, "%s: status %s: %s" % (words, result.status, result.stderr))
    return (result.stdout + result.stderr).decode()


def content(store):
    """Every file in the store, by its place."""
    found = {}
    for folder, _, names in os.walk(store):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, store)] = file.read()
    return found


def record(folder, count):
    traces = os.path.join(folder, "traces")
    os.mkdir(traces)
    for i in range(count):
        result = profiled.run([profiled.program("churn"), "2", "8000"], os.path.join(traces, "t%d.bpt" % i), 512, i + 1)
        expect(result.status == 0, result.stderr)
    return traces


def check_once(folder, traces):
    store = os.path.join(folder, "store")
    expect("%d pushed, 0 there already" % RUNS in push(traces, "--to", store, *TAGS), "first")
    before = content(store)
    expect(len(os.listdir(store)) == RUNS and len(before) == 9 * RUNS, sorted(before))
    for name in sorted(before):
        if name.endswith("processes.parquet"):
            rows, _ = parquet_read.read(os.path.join(store, name))
            expect(rows[0]["process"] == os.path.dirname(name) and rows[0]["service"] == "shop", rows[0])
    for operand in (traces, os.path.join(traces, "t1.bpt")):
        expect("0 pushed" in push(operand, "--to", store, "--service", "another"), "again")
    expect(content(store) == before, "changed by pushing again")


def check_together(folder, traces):
    store = os.path.join(folder, "together")
    pushers = [subprocess.Popen([profiled.BYTEPOLL, "push", traces, "--to", store, *TAGS], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE) for _ in range(4)]
    said = [pusher.communicate()[0].decode() for pusher in pushers]
    expect(all(pusher.returncode == 0 for pusher in pushers), "a pusher failed")
    expect(sum(text.count("pushed %s" % traces) for text in said) == RUNS, "not once each: %s" % said)
    expect(content(store) == content(os.path.join(folder, "store")), "another store")


def check_killed(folder, traces):
    store, draw = os.path.join(folder, "killed"), random.Random(7)
    began = time.monotonic()
    push(traces, "--to", os.path.join(folder, "timed"), *TAGS)
    whole_s, left = time.monotonic() - began, set()
    for _ in range(KILLS):
        pusher = subprocess.Popen([profiled.BYTEPOLL, "push", traces, "--to", store, *TAGS], stdout=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, whole_s))
        pusher.kill()
        pusher.wait()
        if os.path.isdir(store):
            left.update(name for name in os.listdir(store) if name.startswith("."))
            for name in os.listdir(store):
                if not name.startswith("."):
                    expect(len(os.listdir(os.path.join(store, name))) == 9, "a part under its name: %s" % name)
        for name in sorted(os.listdir(store)) if os.path.isdir(store) else []:
            if not name.startswith(".") and draw.random() < .7:  # so that there is something to do for the next ones
                os.rename(os.path.join(store, name), os.path.join(folder, "away-%s-%d" % (name, time.monotonic_ns())))
    for name in os.listdir(store):
        if name.startswith("."):
            os.utime(os.path.join(store, name), (1, 1))
    push(traces, "--to", store, *TAGS)
    expect(content(store) == content(os.path.join(folder, "store")), "another store, or something was left")
    print("# %d kills, %d folders left by them and swept" % (KILLS, len(left)))


def check_running(folder, _):
    traces, store = os.path.join(folder, "service"), os.path.join(folder, "watched")
    os.mkdir(traces)
    process = subprocess.Popen([profiled.program("churn"), "1", "5000", "pause"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=profiled.environment(os.path.join(traces, "s.bpt"), 512, 3))
    process.stdout.readline()
    expect("1 still running" in push(traces, "--to", store), "running")
    expect(os.listdir(store) == [], "a run that goes on was pushed")
    watcher = subprocess.Popen([profiled.BYTEPOLL, "push", traces, "--to", store, "--watch", "--every", "0.1"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    time.sleep(.5)
    watcher.send_signal(signal.SIGINT)  # ignored by whoever started it: it goes on
    process.communicate(b"\n")
    for _ in range(200):
        if os.listdir(store):
            break
        time.sleep(.1)
    watcher.send_signal(signal.SIGTERM)
    said = watcher.communicate(timeout=30)[0].decode()
    expect(watcher.returncode == 0 and said.count("pushed") == 1, "status %s: %s" % (watcher.returncode, said))
    expect(len(os.listdir(store)) == 1, os.listdir(store))


def check_versions(folder, _):
    """As a run is while it goes on: the tables are those of an export at the same moment."""
    trace, store = os.path.join(folder, "v.bpt"), os.path.join(folder, "versions")
    process = subprocess.Popen([profiled.program("churn"), "1", "5000", "pause"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=profiled.environment(trace, 512, 5))
    process.stdout.readline()
    before = int(time.time())
    expect("as it is now" in push(trace, "--to", store, "--running", "1h", *TAGS), "it was not pushed")
    (first,) = os.listdir(store)
    expect(re.fullmatch(r"[0-9a-f]{32}\.[0-9]{10}", first) and before <= int(first[33:]) <= time.time(), first)
    exported = os.path.join(folder, "exported")
    profiled.run([profiled.BYTEPOLL, "export", trace, "--to", "parquet", "-o", exported])
    tables = {name: data for name, data in content(os.path.join(store, first)).items() if name != "processes.parquet"}
    expect(len(tables) == 8 and tables.items() <= content(exported).items(), "other tables than those of an export")
    expect("0 pushed, 0 there already, 1 still running" in push(trace, "--to", store, "--running", "1h"), "before it is due")
    time.sleep(max(0, int(first[33:]) + 1.1 - time.time()))  # (the coarse clock of seconds is some milliseconds behind)
    expect("1 pushed" in push(trace, "--to", store, "--running", "1"), "when it is due")
    process.communicate(b"\n")
    expect("1 pushed" in push(trace, "--to", store, "--running", "1", *TAGS), "at its end")
    names = sorted(os.listdir(store))
    expect(len(names) == 3 and names[1] == first and names[0] == first[:32] and names[2][:33] == first[:33], names)
    profiled.run([profiled.BYTEPOLL, "export", trace, "--to", "parquet", "-f", "-o", exported])
    expect(content(exported)["samples.parquet"] == content(store)[names[0] + "/samples.parquet"], "another end")
    expect("1 there already" in push(trace, "--to", store, "--running", "1"), "again")
    expect(len(os.listdir(store)) == 3, "versions went at once")
    with open(os.path.join(store, names[2], "mine"), "wb"):
        pass  # a folder that holds something else is nobody's to remove
    os.utime(os.path.join(store, names[0]), (time.time() - 100,) * 2)
    push(trace, "--to", store)
    expect(sorted(os.listdir(store)) == [names[0], names[2]], "after a minute: %s" % os.listdir(store))


def check_copied(folder, traces):
    """A file that ends too early may be one that is still copied: it waits, and does not keep the whole one out."""
    store, whole, part = (os.path.join(folder, name) for name in ("copied", "whole.bpt", "part.bpt"))
    shutil.copy(os.path.join(traces, "t0.bpt"), whole)
    with open(whole, "rb") as file:
        head = file.read(20000)
    for again in range(2):
        with open(part, "wb") as file:
            file.write(head)
        if again:
            os.utime(part, (time.time() - 100,) * 2)
        os.mkdir(store + str(again))
        push(part, "--to", store + str(again), status=0 if again else 1)
        expect(len(os.listdir(store + str(again))) == again, "pushed %d" % again)
    expect("1 pushed" in push(whole, "--to", store + "0"), "the whole one is kept out")


def check_usage(folder, traces):
    torn = os.path.join(folder, "torn.bpt")
    with open(torn, "wb") as file:
        file.write(b"BYTEPOLL nothing")
    store = os.path.join(folder, "odd")
    push(torn, "--to", store, status=1)
    push(torn, os.path.join(traces, "t0.bpt"), "--to", store, status=1)
    expect(len(os.listdir(store)) == 1, "one bad file keeps a good one out")
    push(traces, "--to", torn, status=1)
    for words in ([], [traces], [traces, "--to", store, "--every", "3"], [traces, "--to", store, "--tag", "x"],
                  [traces, "--to", store, "--watch", "--every", "0.01"], [traces, "--to", store, "--running", "0.5"],
                  [traces, "--to", "otlp+http://127.0.0.1:1", "--running", "1h"]):
        push(*words, status=2)


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        traces = record(folder, RUNS)
        for name, check in (("once", check_once), ("four pushers", check_together), ("killed pushers", check_killed),
                            ("a run that goes on", check_running), ("versions of it", check_versions), ("copied", check_copied),
                            ("usage", check_usage)):
            # (The first one makes the store that the others compare theirs with.)
            if name == "once" or (name == "killed pushers") == (sys.argv[1:] == ["killed"]):
                tap.attempt(name, lambda check=check: check(folder, traces))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
