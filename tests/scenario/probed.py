# SPDX-License-Identifier: MIT
"""Programs under probe_reader, the stand-in for a tracer: what the probes of an object told, and the same
from the trace, to be set side by side. For test_probes.py and bench/probes.py.

ARGUMENTS is the contract of docs/tracepoints.md: the names of each probe's arguments, in their order.
"""
import array
import collections
import json
import math
import os
import subprocess
import sys

import profiled
import usdt

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
STRING_BYTES = 64  # as in probe_reader.c
STRING_WORDS = STRING_BYTES // 8
ARGUMENTS = {
    "bytepoll:alloc": ("object", "size", "amount", "kind", "type_name", "sequence", "thread", "type_id",
                       "interval", "place", "offset", "time"),
    "bytepoll:free": ("object", "sample", "sequence", "thread", "end", "time"),
    "bytepoll:interval": ("thread", "interval", "trials", "objects", "time"),
    "bytepoll:move": ("from", "to", "sample", "time"),
    "otel_memory:alloc": ("object", "size", "amount"),
    "otel_memory:free": ("object",),
}
STRINGS = {"type_name"}
HOST_TYPES = ("", "table", "cl\u00f4sure", 300 * "n")  # programs/told.c
EVENTS = {name: collections.namedtuple(name.replace(":", "_"), ("tid",) + tuple(
    word + "_" if word == "from" else word for word in words)) for name, words in ARGUMENTS.items()}

Probed = collections.namedtuple("Probed", "status events hits stderr")


def probe_words(probe, raised):
    """What probe_reader is told of a probe."""
    names = ARGUMENTS["%s:%s" % (probe.provider, probe.name)]
    arguments = [("s" if name in STRINGS else "") + argument
                 for name, argument in zip(names, probe.arguments)]
    return ",".join(["%x" % probe.offset, "%x" % (probe.semaphore_offset if raised else 0)] + arguments)


def read_events(path, names):
    """The hits in a file of probe_reader: {probe: [event]}."""
    words = array.array("Q")
    with open(path, "rb") as file:
        words.frombytes(file.read())
    events, at = {name: [] for name in names}, 0
    while at < len(words):
        name = names[words[at]]
        values, at = [words[at + 1]], at + 2
        for word in ARGUMENTS[name]:
            if word in STRINGS:
                values.append(words[at:at + STRING_WORDS].tobytes().rstrip(b"\0").decode(errors="replace"))
                at += STRING_WORDS
            else:
                values.append(words[at])
                at += 1
        events[name].append(EVENTS[name](*values))
    return events


def run(program, folder, wanted, object_file=profiled.RECORDER, raised=True, time_limit_s=120, **settings):
    """Runs `program` (a list of words) with breakpoints on the `wanted` probes of `object_file`;
    `settings` are those of profiled.environment. `raised`: their semaphores are, too."""
    variables = profiled.environment(**{"seed": 1, **settings})
    words = ["%s=%s" % item for item in variables.items()
             if item[0] == "LD_PRELOAD" or item[0].startswith("BYTEPOLL_")]
    object_file = os.path.realpath(object_file)
    found = {"%s:%s" % (p.provider, p.name): p for p in usdt.probes(object_file)}
    output = os.path.join(folder, "hits")
    result = profiled.run(
        [profiled.program("probe_reader"), output, object_file] +
        [probe_words(found[name], raised) for name in wanted] + ["--", *words, *program], time_limit_s=time_limit_s)
    profiled.expect(result.status == 0, "status %s: %s" % (
        result.status, result.stderr.decode(errors="replace")[-500:]))
    hits = [int(line) for line in result.stdout.split()[-len(wanted):]]
    events = read_events(output, list(wanted))
    os.unlink(output)
    profiled.expect(hits == [len(events[name]) for name in wanted], "hits %s" % hits)
    return Probed(result.status, events, dict(zip(wanted, hits)), result.stderr)


def records(trace, kinds):
    """The records of those kinds in a trace and the traces of its tree, by the second decoder."""
    files = [trace] if os.path.exists(trace) else []
    if os.path.isdir(trace + ".d"):
        files += sorted(os.path.join(trace + ".d", name) for name in os.listdir(trace + ".d")
                        if name.endswith(".bpt"))
    found, lost = {kind: [] for kind in kinds}, collections.Counter()
    for path in files:
        decoder = subprocess.Popen([sys.executable, os.path.join(SOURCE, "tools", "trace_decode.py"), path],
                                   stdout=subprocess.PIPE)
        for line in decoder.stdout:
            record = json.loads(line)
            if record["line"] in found:
                found[record["line"]].append(record)
            elif record["line"] == "state":
                lost.update({str(i): n for i, n in enumerate(record["lost"]) if n})
        profiled.expect(decoder.wait() == 0, "%s cannot be decoded" % path)
    return found, lost


def amount(size, interval, exact, charge=1):
    """Bytes that a sample stands for, by libm."""
    if exact or interval <= 1 or size == 0:
        return size
    return size / -math.expm1((size + charge) * math.log1p(-1 / interval))
