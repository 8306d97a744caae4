#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tracepoints (docs/tracepoints.md), as a tracer sees them.

  notes     the ELF notes of the recorder: names, semaphores, places, arguments; the same as documented
  off       without a raised semaphore nothing is hit, and all that is asked is one comparison
  events    every argument of every event, read from where its note says, against the trace, record for
            record: threads, forks, another malloc, every form of realloc, intervals that change; T = 1
            and T = 4096, where amounts are those of libm
  otel      OpenTelemetry's probes: silent unless asked for, and the same events when they are
  host      the same of a program that samples by itself: notes, every event with types and heaps, moves

The sampler's seed is fixed, and a difference is a fault, whatever the seed. BYTEPOLL_LONG_TESTS=1: one
million objects instead of 20,000.
"""
import os
import re
import subprocess
import sys

import probed
import profiled
import usdt

ALLOC, FREE, INTERVAL, MOVE = "bytepoll:alloc", "bytepoll:free", "bytepoll:interval", "bytepoll:move"
OTEL_ALLOC, OTEL_FREE = "otel_memory:alloc", "otel_memory:free"
OBJECTS = 1000000 if profiled.LONG else 20000
RECORDERS = ("libbytepoll-recorder.so", "libbytepoll-recorder-verify.so", "libbytepoll-recorder-test.so")
PLACES = {  # by the calling convention
    62: ["%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9", "8(%rsp)", "16(%rsp)", "24(%rsp)", "32(%rsp)",
         "40(%rsp)", "48(%rsp)"],
    183: ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "[sp, 0]", "[sp, 8]", "[sp, 16]", "[sp, 24]"],
}
DOCUMENT = os.path.join(probed.SOURCE, "docs", "tracepoints.md")


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


# ---- notes ----

def check_notes(path):
    elf, found = usdt.Elf(path), usdt.probes(path)
    names = ["%s:%s" % (p.provider, p.name) for p in found]
    profiled.expect(sorted(names) == sorted(probed.ARGUMENTS), "probes %s" % names)
    semaphores = elf.section(".probes")
    for name, probe in zip(names, found):
        places = PLACES[elf.machine][:len(probed.ARGUMENTS[name])]
        profiled.expect(probe.arguments == ["8@" + place for place in places],
                        "%s: arguments %s" % (name, probe.arguments))
        profiled.expect(probe.offset is not None and probe.semaphore_offset is not None,
                        "%s is not in a segment of its kind" % name)
        profiled.expect(0 <= probe.semaphore - semaphores.address <= semaphores.size - 2,
                        "%s: semaphore not in .probes" % name)
        profiled.expect(elf.machine != 62 or elf.data[probe.offset] == 0x90,
                        "%s: no no-operation" % name)
        profiled.expect(elf.data[probe.semaphore_offset:probe.semaphore_offset + 2] == b"\0\0",
                        "%s: its semaphore is not 0 in the file" % name)
    for what in ("semaphore", "address"):
        profiled.expect(len({getattr(p, what) for p in found}) == len(found), "%ses are shared" % what)


def check_readelf(path):
    """Another reader of notes sees the same."""
    text = output("readelf", "-nW", path)
    seen = re.findall(r"Provider: (\S+)\s+Name: (\S+)\s+Location: 0x([0-9a-f]+), Base: 0x([0-9a-f]+), "
                      r"Semaphore: 0x([0-9a-f]+)\s+Arguments: ([^\n]*)", text)
    seen = [(p, n, int(a, 16), int(b, 16), int(s, 16), arguments.strip())
            for p, n, a, b, s, arguments in seen]
    ours = [(p.provider, p.name, p.address, p.base, p.semaphore, " ".join(p.arguments))
            for p in usdt.probes(path)]
    profiled.expect(seen == ours, "readelf: %s, here: %s" % (seen, ours))


def check_stripped(path):
    """Packages strip; the notes stay."""
    with profiled.directory() as folder:
        stripped = os.path.join(folder, "stripped.so")
        output("strip", "-o", stripped, path)
        profiled.expect([p[:6] for p in usdt.probes(stripped)] == [p[:6] for p in usdt.probes(path)],
                        "strip changes them")


def check_document():
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    for name, arguments in probed.ARGUMENTS.items():
        rows = re.findall(r"^### `%s`\n.*?((?:^\|[^\n]*\n)+)" % name, text, re.MULTILINE | re.DOTALL)
        profiled.expect(len(rows) == 1, "%s is not in the document" % name)
        listed = tuple(re.findall(r"^\| (\d+) \| `(\w+)`", rows[0], re.MULTILINE))
        profiled.expect(listed == tuple((str(i), word) for i, word in enumerate(arguments)),
                        "%s: documented %s" % (name, listed))


# ---- off ----

def check_questions(path):
    """Who looks at a semaphore outside of the functions that tell: by one comparison and a branch."""
    first = min(probe.semaphore for probe in usdt.probes(path))
    last = first + 12
    function, questions, rows = "", 0, []
    for line in output("objdump", "-d", "--no-show-raw-insn", "-w", path).splitlines():
        head = re.match(r"^[0-9a-f]+ <(.*)>:$", line)
        function = head.group(1) if head else function
        if re.match(r"^\s+[0-9a-f]+:\t", line):
            rows.append((function, line.split("\t", 1)[1]))
    for (function, text), (_, following), (_, third) in zip(rows, rows[1:], rows[2:]):
        target = re.search(r"# ([0-9a-f]+)\b", text)
        if target is None or not first <= int(target.group(1), 16) < last:
            continue
        if "_tell_" in function or function.endswith("register_tm_clones"):  # (the compiler's)
            continue
        questions += 1
        word = re.match(r"mov(?:zwl)? .*,%e(\w+)\b", text)  # or by way of a register
        if word and re.match(r"test\s+%%e?%s,%%e?%s$" % (word[1], word[1]), following.strip()):
            text, following = "cmpl   $0x0,", third
        profiled.expect(re.match(r"cmp[wl]\s+\$0x0,", text) and following.startswith("j"),
                        "%s: %s; %s" % (function, text, following))
        profiled.expect("malloc" not in function and function != "free", "in the hot path: " + function)
    profiled.expect(3 <= questions <= 12, "%d questions" % questions)


def check_off(host):
    with profiled.directory() as folder:
        if host:
            seen = probed.run(told(folder, 4000), folder, list(probed.ARGUMENTS), profiled.program("told"),
                              raised=False)
        else:
            seen = probed.run([profiled.program("churn"), "1", "1000"], folder, list(probed.ARGUMENTS),
                              raised=False, trace=os.path.join(folder, "trace.bpt"), interval=1)
        profiled.expect(sum(seen.hits.values()) == 0, "hit: %s" % seen.hits)


# ---- events ----

def compare(name, told, written):
    """Two lists of tuples that must hold the same, in any order."""
    told, written = sorted(told), sorted(written)
    if told != written:
        extra = sorted(set(told) - set(written))[:3]
        missing = sorted(set(written) - set(told))[:3]
        raise AssertionError("%s: told %d, written %d; told alone: %s; written alone: %s" % (
            name, len(told), len(written), extra, missing))


def compare_with_trace(seen, trace, lost_allowed=False):
    """All of alloc and free, every argument. Gives the records back."""
    found, lost = probed.records(trace, ("sample", "free", "interval"))
    profiled.expect(lost_allowed or not lost, "lost: %s" % lost)
    samples = {}
    for record in found["sample"]:
        samples[record["sequence"]] = record["address"]
    allocs, frees = seen.events[ALLOC], seen.events[FREE]
    compare("alloc",
            [(e.sequence, e.object, e.size, e.kind, e.thread, e.interval, e.offset, e.time) for e in allocs],
            [(r["sequence"], r["address"], r["size"], r["kind"], r["thread"], r["interval"], r["offset"],
              r["time_ns"]) for r in found["sample"]])
    exact = {r["sequence"]: r["exact"] for r in found["sample"]}
    for event in allocs:
        expected = probed.amount(event.size, event.interval, exact[event.sequence])
        profiled.expect(abs(event.amount - expected) <= 0.5 + 1e-12 * expected,
                        "amount %d, not %r, of %s" % (event.amount, expected, event))
        profiled.expect((event.type_name, event.type_id, event.place) == ("", 0, 0), str(event))
    compare("free", [(e.sequence, e.sample, e.thread, e.end == 1, e.time) for e in frees],
            [(r["sequence"], r["sample_sequence"], r["thread"], bool(r["flags"] & 4), r["time_ns"])
             for r in found["free"]])
    for event in frees:
        profiled.expect(event.object == samples[event.sample], "freed elsewhere: %s" % (event,))
    return found, lost


def check_churn(interval, threads, recorder=profiled.RECORDER, before="", objects=OBJECTS):
    """`before`: libraries behind the recorder."""
    with profiled.directory() as folder:
        trace = os.path.join(folder, "trace.bpt")
        extra = {"LD_PRELOAD": ":".join(filter(None, [recorder, before]))}
        program = [profiled.program("churn"), str(threads), str(objects // (2 * threads))]
        seen = probed.run(program, folder, (ALLOC, FREE), recorder, trace=trace, interval=interval,
                          extra=extra, time_limit_s=1200)
        compare_with_trace(seen, trace, lost_allowed=before != "")
        count = seen.hits[ALLOC]
        if interval == 1:
            profiled.expect(count >= objects, "%d events of %d objects" % (count, objects))
        profiled.expect(count > 50 and seen.hits[FREE] > 50, "only %s" % seen.hits)
        tids = {event.tid for event in seen.events[ALLOC]}
        profiled.expect(len(tids) >= 2 * threads, "told by %s" % tids)


def check_forms():
    """Every form of allocation and realloc: `truth`, whose sites are all there are."""
    with profiled.directory() as folder:
        trace = os.path.join(folder, "trace.bpt")
        seen = probed.run([profiled.program("truth")], folder, (ALLOC, FREE), trace=trace, interval=256)
        compare_with_trace(seen, trace)
        kinds = {event.kind for event in seen.events[ALLOC]}
        profiled.expect(kinds == {1, 2, 3, 4}, "kinds %s" % kinds)
        ends = {event.end for event in seen.events[FREE]}
        profiled.expect(ends == {0, 1}, "ends %s" % ends)


def check_forks():
    with profiled.directory() as folder:
        trace = os.path.join(folder, "trace.bpt")
        seen = probed.run([profiled.program("fork_with_threads")], folder, (ALLOC, FREE), trace=trace,
                          interval=4096)
        found, _ = probed.records(trace, ("sample", "free"))
        # Numbers go on in children where the parent was: the address and the time tell them apart.
        compare("alloc", [(e.sequence, e.object, e.size, e.time) for e in seen.events[ALLOC]],
                [(r["sequence"], r["address"], r["size"], r["time_ns"]) for r in found["sample"]])
        compare("free", [(e.sequence, e.sample, e.time) for e in seen.events[FREE]],
                [(r["sequence"], r["sample_sequence"], r["time_ns"]) for r in found["free"]])
        profiled.expect(os.path.isdir(trace + ".d") and len(os.listdir(trace + ".d")) > 2, "no children")


def check_intervals():
    """Dormant until 20 ms after the start: every thread that follows tells so."""
    with profiled.directory() as folder:
        trace = os.path.join(folder, "trace.bpt")
        seen = probed.run([profiled.program("churn"), "2", "400000"], folder, (INTERVAL,), trace=trace,
                          interval=65536, extra={"BYTEPOLL_START_TIME": "+20000000"})
        found, _ = probed.records(trace, ("interval",))
        compare("interval",
                [(e.thread, e.interval, e.trials, e.objects, e.time) for e in seen.events[INTERVAL]],
                [(r["thread"], r["interval"], r["trials"], r["objects"], r["time_ns"])
                 for r in found["interval"]])
        profiled.expect({e.interval for e in seen.events[INTERVAL]} == {65536},
                        "%s" % seen.events[INTERVAL][:5])


# ---- otel ----

def otel_run(folder, value):
    trace = os.path.join(folder, "trace.bpt")
    extra = {} if value is None else {"BYTEPOLL_TRACEPOINTS": value}
    seen = probed.run([profiled.program("truth")], folder, (ALLOC, FREE, OTEL_ALLOC, OTEL_FREE), trace=trace,
                      interval=4096, extra=extra)
    return seen, trace


def check_otel_off(value):
    with profiled.directory() as folder:
        seen, trace = otel_run(folder, value)
        profiled.expect(seen.hits[OTEL_ALLOC] == seen.hits[OTEL_FREE] == 0, "told: %s" % seen.hits)
        profiled.expect(seen.hits[ALLOC] > 100 and seen.hits[FREE] > 100, "only %s" % seen.hits)
        warned = "BYTEPOLL_TRACEPOINTS" in "\n".join(map(str, profiled.report(trace)["warnings"]))
        profiled.expect(warned == (value == "telepathy"), "warned: %s" % warned)


def check_otel_on():
    """The same events, in the same order in each thread."""
    with profiled.directory() as folder:
        seen, trace = otel_run(folder, "otel")
        compare_with_trace(seen, trace)
        events = seen.events
        compare("otel alloc", [(e.tid, e.object, e.size, e.amount) for e in events[OTEL_ALLOC]],
                [(e.tid, e.object, e.size, e.amount) for e in events[ALLOC]])
        compare("otel free", [(e.tid, e.object) for e in events[OTEL_FREE]],
                [(e.tid, e.object) for e in events[FREE]])


# ---- host ----

def told(folder, objects):
    return [profiled.program("told"), str(objects), host_trace(folder), os.path.join(folder, "heard")]


def host_trace(folder):
    return os.path.join(folder, "host.bpt")


def check_told_event(event, names):
    """What programs/told.c says of an object by its size."""
    number = event.size % 4
    profiled.expect((event.type_name, event.type_id) == (probed.HOST_TYPES[number][:probed.STRING_BYTES], 0xabc000 + number),
                    "type of %s" % (event,))
    profiled.expect(event.kind == 8 + event.size % 3, "kind of %s" % (event,))
    profiled.expect(event.place == 7 << 32 | event.size % 7, "place of %s" % (event,))
    profiled.expect(names.get(event.sequence, "") == probed.HOST_TYPES[number], "in the trace: %s" % (event,))


def compare_with_host(seen, trace):
    found, lost = probed.records(trace, ("sample", "free", "interval", "type"))
    # A sampled object that is told of at the address of another, or moved there, ends that one.
    profiled.expect(set(lost) <= {"8"}, "lost: %s" % lost)
    types = {record["id"]: record["name"] for record in found["type"]}
    exact = {r["sequence"]: r["exact"] for r in found["sample"]}
    names = {r["sequence"]: types.get(r["type"], "") for r in found["sample"]}
    compare("alloc",
            [(e.sequence, e.object, e.size, e.kind, e.thread, e.interval, e.offset, e.time,
              e.place & 0xffffffff) for e in seen.events[ALLOC]],
            [(r["sequence"], r["address"], r["size"], r["kind"], r["thread"], r["interval"], r["offset"],
              r["time_ns"], r["heap"]) for r in found["sample"]])
    for event in seen.events[ALLOC]:
        check_told_event(event, names)
        expected = probed.amount(event.size, event.interval, exact[event.sequence])
        profiled.expect(abs(event.amount - expected) <= 0.5 + 1e-12 * expected, "amount of %s" % (event,))
    compare("free", [(e.sequence, e.sample, e.thread, e.time) for e in seen.events[FREE]],
            [(r["sequence"], r["sample_sequence"], r["thread"], r["time_ns"]) for r in found["free"]])
    compare("interval", [(e.thread, e.interval, e.trials, e.objects, e.time) for e in seen.events[INTERVAL]],
            [(r["thread"], r["interval"], r["trials"], r["objects"], r["time_ns"])
             for r in found["interval"]])


def check_host():
    with profiled.directory() as folder:
        seen = probed.run(told(folder, 4 * OBJECTS), folder, (ALLOC, FREE, INTERVAL, MOVE),
                          profiled.program("told"), time_limit_s=1200)
        compare_with_host(seen, host_trace(folder))
        events = seen.events
        for event in events[FREE]:
            profiled.expect((event.thread == 0) == (event.end == 2), "end of %s" % (event,))
        where = {e.sequence: e.object for e in events[ALLOC]}
        for event in events[MOVE]:
            profiled.expect(where[event.sample] == event.from_, "moved from elsewhere: %s" % (event,))
        profiled.expect(len(events[MOVE]) > 20 and {e.end for e in events[FREE]} == {0, 2},
                        "hits %s" % seen.hits)


def check_host_otel(value):
    with profiled.directory() as folder:
        extra = {} if value is None else {"BYTEPOLL_TRACEPOINTS": value}
        seen = probed.run(told(folder, 20000), folder, (ALLOC, FREE, OTEL_ALLOC, OTEL_FREE),
                          profiled.program("told"), extra=extra)
        events = seen.events
        profiled.expect(seen.hits[ALLOC] > 100, "only %s" % seen.hits)
        if value is None:
            profiled.expect(seen.hits[OTEL_ALLOC] == seen.hits[OTEL_FREE] == 0, "told: %s" % seen.hits)
            return
        compare("otel alloc", [(e.object, e.size, e.amount) for e in events[OTEL_ALLOC]],
                [(e.object, e.size, e.amount) for e in events[ALLOC]])
        compare("otel free", [e.object for e in events[OTEL_FREE]], [e.object for e in events[FREE]])


def library(*names):
    for name in names:
        path = os.path.join("/usr/lib/x86_64-linux-gnu", name)
        if os.path.exists(path):
            return path
    raise AssertionError("none of %s is installed: run scripts/install-deps" % (names,))


def main():
    tap = profiled.Tap()
    for name in RECORDERS:
        path = os.path.join(profiled.BUILD, name)
        tap.attempt("notes: " + name, lambda path=path: check_notes(path))
        tap.attempt("notes: readelf: " + name, lambda path=path: check_readelf(path))
    tap.attempt("notes: stripped", lambda: check_stripped(profiled.RECORDER))
    tap.attempt("notes: as documented", check_document)
    if not os.path.exists(profiled.program("probe_reader")):
        tap.note("probe_reader is for x86-64: on this machine the notes alone are checked")
        return tap.finish()
    tap.attempt("off: one comparison each", lambda: check_questions(profiled.RECORDER))
    tap.attempt("off: nothing is hit", lambda: check_off(False))
    tap.attempt("events: T = 1, two threads", lambda: check_churn(1, 2))
    tap.attempt("events: T = 4096, one thread", lambda: check_churn(4096, 1))
    tap.attempt("events: another malloc", lambda: check_churn(
        512, 2, before=library("libjemalloc.so.2")))
    tap.attempt("events: the recorder that verifies", lambda: check_churn(
        512, 1, recorder=os.path.join(profiled.BUILD, "libbytepoll-recorder-verify.so")))
    tap.attempt("events: every form", check_forms)
    tap.attempt("events: forks", check_forks)
    tap.attempt("events: intervals", check_intervals)
    for value in (None, "none", "telepathy"):
        tap.attempt("otel: off, %s" % value, lambda value=value: check_otel_off(value))
    tap.attempt("otel: on", check_otel_on)
    tap.attempt("host: notes", lambda: check_notes(profiled.program("told")))
    tap.attempt("host: readelf", lambda: check_readelf(profiled.program("told")))
    tap.attempt("host: one comparison each", lambda: check_questions(profiled.program("told")))
    tap.attempt("host: nothing is hit", lambda: check_off(True))
    tap.attempt("host: events", check_host)
    tap.attempt("host: otel off", lambda: check_host_otel(None))
    tap.attempt("host: otel on", lambda: check_host_otel("otel"))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
