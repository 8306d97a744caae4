#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples as LTTng events (docs/tracepoints.md), in a real session read by babeltrace2.

  every event   what a listener of the program's own heard, by its numbers, is all in LTTng's trace; every event
                there is in bytepoll's, with the same figures
  discarded     buffers far too small: what is missing is what LTTng says that it discarded
  levels        INFO is alloc alone; DEBUG_MODULE has free, DEBUG_FUNCTION stacks; these are the trace's
  host          types, heaps, runtimes of a program that samples by itself
  alone         without a session daemon, and without the recorder, the program runs as ever

Uses the session daemon that is running, or one of its own for as long as this takes. Nothing is drawn.
BYTEPOLL_LONG_TESTS=1: a million events.
"""
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import probed
import profiled

LIBRARY = os.path.join(profiled.BUILD, "bindings", "lttng", "libbytepoll-lttng.so")
OBJECTS = 400000 if profiled.LONG else 20000
FIELD = re.compile(r"(\w+) = (?:\( \"[^\"]*\" : container = (\d+) \)|\"((?:[^\"\\]|\\.)*)\"|(0x[0-9A-F]+|\d+))")
FRAME = re.compile(r"\[\d+\] = (0x[0-9A-F]+)")

# LTTng 2.13.5 sets it in the count of a channel that discarded, whatever the program that it traces.
TOP_BIT = 1 << 63

Seen = collections.namedtuple("Seen", "events discarded heard untold")


def command(*words):
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False, timeout=120)
    profiled.expect(result.returncode == 0, "%s: %s" % (" ".join(words), result.stdout[-600:]))
    return result.stdout


class Daemon:
    """A session daemon; our own only if there is none."""

    def __init__(self, folder):
        self.process = None
        os.environ["LTTNG_HOME"] = folder
        if self.answers():
            return
        with open(os.path.join(folder, "daemon"), "wb") as log:
            self.process = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + 30
        while not self.answers():
            profiled.expect(time.monotonic() < until and self.process.poll() is None,
                            "lttng-sessiond does not start")
            time.sleep(0.1)

    @staticmethod
    def answers():
        return subprocess.run(["lttng", "list"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0

    def close(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)


def parse(line):
    """(name, fields) of a line of babeltrace2."""
    name = re.search(r" bytepoll:(\w+): ", line)[1]
    text = line[line.rindex("}, { ") + 5:]
    fields = {}
    for word, number, string, plain in FIELD.findall(text):
        fields[word] = int(number) if number else int(plain, 0) if plain else string
    if name == "stack":
        fields["frames"] = [int(frame, 16) for frame in FRAME.findall(text)]
    return name, fields


def session(folder, program, variables, events=(("bytepoll:*", None),), blocking=True):
    """What LTTng recorded of a run of `told`: {name: [fields]}, and how many it says it discarded.
    `blocking`: the program waits where a buffer is full, so that none is, however slow the machine."""
    name = "bytepoll-%d-%d" % (os.getpid(), time.monotonic_ns())
    output = os.path.join(folder, "lttng")
    command("lttng", "create", name, "--output=" + output)
    try:
        command("lttng", "enable-channel", "-s", name, "-u", "all",
                *(["--subbuf-size=512k", "--num-subbuf=4", "--blocking-timeout=inf"] if blocking else
                  ["--subbuf-size=4k", "--num-subbuf=2"]))
        for event, level in events:
            command("lttng", "enable-event", "-s", name, "-u", event, "-c", "all",
                    *(["--loglevel=" + level] if level else []))
        command("lttng", "start", name)
        result = profiled.run(program, extra=variables, time_limit_s=600)
        profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[-500:]))
        command("lttng", "stop", name)
        counts = re.findall(r"Discarded events: (\d+)", command("lttng", "list", name))
        discarded = sum(map(int, counts)) % TOP_BIT
    finally:
        command("lttng", "destroy", name)
    found = {"alloc": [], "free": [], "stack": []}
    if os.path.isdir(output):
        reader = subprocess.Popen(["babeltrace2", output], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True, errors="replace")
        for line in reader.stdout:
            kind, fields = parse(line)
            found[kind].append(fields)
        profiled.expect(reader.wait() == 0, "babeltrace2 fails")
    heard, untold = map(int, result.stdout.split())
    with open(os.path.join(folder, "heard"), "rb") as file:
        numbers = memoryview(file.read()).cast("Q").tolist()
    profiled.expect(len(numbers) == heard, "heard %d, noted %d" % (heard, len(numbers)))
    return Seen(found, discarded, numbers, untold)


def told(folder, objects):
    return [profiled.program("told"), str(objects), os.path.join(folder, "host.bpt"),
            os.path.join(folder, "heard")]


def variables_of(folder, interval):
    return {"LD_PRELOAD": profiled.RECORDER + ":" + LIBRARY, "BYTEPOLL_INTERVAL": str(interval),
            "BYTEPOLL_OUTPUT": os.path.join(folder, "trace.bpt"), "LTTNG_UST_REGISTER_TIMEOUT": "30000",
            "LTTNG_UST_ALLOW_BLOCKING": "1"}


def of_malloc(events):
    """Those of the recorder; a host's have a runtime (told.c), and their frees no numbers."""
    return ([e for e in events["alloc"] if e["runtime"] == 0], [e for e in events["free"] if e["sample"] != 0])


def check_within_trace(allocs, frees, stacks, folder):
    """Every event is a record, figure for figure."""
    found, _ = probed.records(os.path.join(folder, "trace.bpt"), ("sample", "free", "stack"))
    samples = {r["sequence"]: r for r in found["sample"]}
    freed = {r["sequence"]: r for r in found["free"]}
    frames = {r["id"]: [pc for pc, _ in r["frames"]] for r in found["stack"]}
    for event in allocs:
        r = samples[event["sequence"]]
        expected = probed.amount(r["size"], r["interval"], r["exact"])
        same = {"object": r["address"], "size": r["size"], "kind": r["kind"], "thread": r["thread"],
                "interval": r["interval"], "offset": r["offset"], "time": r["time_ns"], "type_name": "-",
                "type_id": 0, "heap": 0, "runtime": 0, "sequence": r["sequence"]}
        profiled.expect({k: event[k] for k in same} == same, "%s is not %s" % (event, same))
        profiled.expect(abs(event["amount"] - expected) <= 0.5 + 1e-12 * expected, "amount of %s" % event)
    for event in frees:
        r = freed[event["sequence"]]
        same = {"object": samples[r["sample_sequence"]]["address"], "sample": r["sample_sequence"],
                "thread": r["thread"], "end": int(bool(r["flags"] & 4)), "time": r["time_ns"]}
        profiled.expect({k: event[k] for k in same} == same, "%s is not %s" % (event, same))
    for event in stacks:
        wanted = frames.get(samples[event["sequence"]]["stack"], [])
        profiled.expect(event["frames"] == wanted, "%s is not %s" % (event, wanted))
    return found


def numbers_of(allocs, frees):
    return {e["sequence"] for e in allocs} | {e["sequence"] for e in frees}


def check_every():
    with profiled.directory() as folder:
        seen = session(folder, told(folder, OBJECTS), variables_of(folder, 1))
        allocs, frees = of_malloc(seen.events)
        check_within_trace(allocs, frees, seen.events["stack"], folder)
        profiled.expect(seen.discarded == 0, "%d discarded" % seen.discarded)
        missing = set(seen.heard) - numbers_of(allocs, frees)
        profiled.expect(not missing, "%d of %d are not there: %s" % (
            len(missing), len(seen.heard), sorted(missing)[:5]))
        profiled.expect(len(seen.heard) >= 2 * OBJECTS, "only %d" % len(seen.heard))
        # (Events are switched on one after the other, while threads of LTTng's own allocate.)
        stacks = {e["sequence"] for e in seen.events["stack"]}
        profiled.expect(set(seen.heard) & {e["sequence"] for e in allocs} <= stacks,
                        "%d stacks of %d" % (len(stacks), len(allocs)))


def check_discarded():
    """Of the others (before the listener, after it, the host's) we know how many there were, not how many
    of them LTTng dropped: the count may be that much larger."""
    with profiled.directory() as folder:
        seen = session(folder, told(folder, 4 * OBJECTS), variables_of(folder, 1),
                       events=(("bytepoll:alloc", None), ("bytepoll:free", None)), blocking=False)
        allocs, frees = of_malloc(seen.events)
        found = check_within_trace(allocs, frees, [], folder)
        heard = set(seen.heard)
        missing = len(heard - numbers_of(allocs, frees))
        others = len(found["sample"]) + len(found["free"]) - len(heard)
        host, _ = probed.records(os.path.join(folder, "host.bpt"), ("sample", "free"))
        others += len(host["sample"]) + len(host["free"])
        profiled.expect(missing > 100, "only %d are missing" % missing)
        profiled.expect(missing <= seen.discarded <= missing + others,
                        "%d missing, %d discarded, %d others" % (missing, seen.discarded, others))


def check_levels():
    for level, kinds in (("INFO", {"alloc"}), ("DEBUG_MODULE", {"alloc", "free"}),
                         ("DEBUG_FUNCTION", {"alloc", "free", "stack"})):
        with profiled.directory() as folder:
            seen = session(folder, told(folder, 2000), variables_of(folder, 4096),
                           events=(("bytepoll:*", level),))
            profiled.expect({kind for kind in seen.events if seen.events[kind]} == kinds, level)


def check_host():
    with profiled.directory() as folder:
        seen = session(folder, told(folder, 2 * OBJECTS), variables_of(folder, 1 << 20))
        events = [e for e in seen.events["alloc"] if e["runtime"] == 7]
        found, _ = probed.records(os.path.join(folder, "host.bpt"), ("sample", "free"))
        samples = {r["sequence"]: r for r in found["sample"]}
        profiled.expect(len(events) == len(samples) > 100, "%d of %d" % (len(events), len(samples)))
        for event in events:
            r = samples[event["sequence"]]
            number = r["size"] % 4
            expected = probed.amount(r["size"], r["interval"], r["exact"])
            same = {"object": r["address"], "size": r["size"], "kind": r["kind"], "thread": r["thread"],
                    "interval": r["interval"], "offset": r["offset"], "time": r["time_ns"],
                    "type_name": probed.HOST_TYPES[number] or "-", "type_id": 0xabc000 + number,
                    "heap": r["size"] % 7}
            profiled.expect({k: event[k] for k in same} == same, "%s is not %s" % (event, same))
            profiled.expect(abs(event["amount"] - expected) <= 0.5 + 1e-12 * expected, "%s" % event)
        ends = [e["object"] for e in seen.events["free"] if e["sample"] == 0]
        profiled.expect(len(ends) == len(found["free"]), "%d ends of %d" % (len(ends), len(found["free"])))


def check_alone():
    """LTTng's library without the recorder, and both without a session."""
    for preload in (LIBRARY, profiled.RECORDER + ":" + LIBRARY):
        with profiled.directory() as folder:
            extra = variables_of(folder, 4096) | {"LD_PRELOAD": preload, "LTTNG_UST_REGISTER_TIMEOUT": "0"}
            result = profiled.run(told(folder, 2000), extra=extra)
            profiled.expect(result.status == 0 and result.stderr == b"", "%s" % (result,))
            heard = int(result.stdout.split()[0])
            profiled.expect((heard > 0) == (preload != LIBRARY), "heard %d" % heard)


def check_needed():
    """LTTng is linked by its own library alone."""
    for path in (profiled.RECORDER, profiled.program("told"), profiled.BYTEPOLL):
        needed = subprocess.run(["readelf", "-dW", path], check=True, capture_output=True, text=True).stdout
        profiled.expect("lttng" not in needed, path)


def main():
    tap = profiled.Tap()
    missing = [name for name in ("lttng", "lttng-sessiond", "babeltrace2") if shutil.which(name) is None]
    missing += [] if os.path.exists(LIBRARY) else [LIBRARY]
    if missing:
        tap.check(False, "LTTng", "%s: not there: run scripts/install-deps" % missing)
        return tap.finish()
    with profiled.directory() as folder:
        daemon = Daemon(folder)
        try:
            tap.attempt("every event", check_every)
            tap.attempt("discarded", check_discarded)
            tap.attempt("levels", check_levels)
            tap.attempt("host", check_host)
            tap.attempt("alone", check_alone)
            tap.attempt("linked by nothing else", check_needed)
        finally:
            daemon.close()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
