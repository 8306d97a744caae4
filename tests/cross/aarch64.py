#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The inside half for 64-bit ARM: built with a cross compiler into a tree of its own below the build
tree, held against the contract, and run under an emulator (qemu-user).

  built            without a warning
  contract         undefined symbols, exports, thread-local storage, libraries; notes of the tracepoints; instructions of malloc and
                   free to the real function
  unit tests       of sampler and unwinder; the unwinder against libgcc's, over plain
                   code and over code with signed return addresses and landing pads
  same draws       the sampler's numbers are those of this machine, bit for bit
  exact totals     against the counting allocator of the test build, at two intervals; over a malloc that
                   is not glibc's (whose free is rewritten); over a heap with coloured memory
  sites            at T = 1 every figure of every call site is the program's own

What the emulator cannot do is not tested here: it takes MADV_POPULATE_WRITE and MADV_WIPEONFORK for
hints and does nothing, and starts no programs of another machine by exec.

Usage: aarch64.py SOURCE_ROOT BUILD_ROOT
"""
import concurrent.futures
import json
import os
import re
import shutil
import struct
import subprocess
import sys

SOURCE, BUILD = sys.argv[1], sys.argv[2]
CROSS = os.path.join(BUILD, "aarch64")
os.environ["BYTEPOLL_BUILD"] = BUILD
sys.path.insert(0, os.path.join(SOURCE, "tests", "scenario"))
import profiled  # noqa: E402  (it reads the environment)
import test_probes  # noqa: E402

TOOLS = "aarch64-linux-gnu-"
SYSROOT = "/usr/aarch64-linux-gnu"
RECORDER_TEST = os.path.join(CROSS, "libbytepoll-recorder-test.so")
# Loads, stores and addresses are instructions of their own there. malloc: 4 to the thread's block, 4 to
# charge, 1 branch, 3 to the real function; free: 2 + 4 to test the size word, 4 to the real function.
INSTRUCTIONS = {"malloc": 12, "free": 10}
UNIT_TESTS = ("test_sampler_law", "test_sampler_accounting", "test_unwind_stack_plain",
              "test_unwind_stack_signed", "test_unwind_stack_garbage")
EXACT = ("truth", "truth_cpp", "thread_storm", "contents", "zeroed", "usable_size", "jumps",
         "libc_extras", "new_handler")
METRICS = ("allocated", "live", "temporary")


def program(name):
    return os.path.join(CROSS, "tests", "cross", name)


def command(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def output(*words):
    result = command(*words)
    profiled.expect(result.returncode == 0, "%s: %s" % (words, (result.stdout + result.stderr)[-1500:]))
    return result.stdout + result.stderr


def built():
    if not os.path.exists(os.path.join(CROSS, "build.ninja")):
        output("meson", "setup", "-Drecorder_only=true", "-Dwerror=true", "--cross-file",
               os.path.join(SOURCE, "packaging/aarch64-linux-gnu.ini"), CROSS, SOURCE)
    output("ninja", "-C", CROSS)


def emulated(arguments, variables, time_limit_s=120):
    """Runs a program of the cross build; the variables are the program's, not the emulator's."""
    words = ["qemu-aarch64", "-L", SYSROOT]
    for name, value in variables.items():
        words += ["-E", "%s=%s" % (name, value)]
    return profiled.run(words + arguments, time_limit_s=time_limit_s)


def recorded(path, arguments, interval, behind="", variables=None):
    """(report's arguments aside, the trace and what the run gave)."""
    trace = os.path.join(path, "trace.bpt")
    result = emulated(arguments, {
        "LD_PRELOAD": ":".join(filter(None, [RECORDER_TEST, behind])), "BYTEPOLL_OUTPUT": trace,
        "BYTEPOLL_INTERVAL": interval, **(variables or {})})
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[-500:]))
    return trace, result


def counters(file):
    with open(file, "rb") as opened:
        return struct.unpack("<2Q", opened.read(16))


def check_exact(data, counted):
    total = data["totals"]["allocated"]
    seen = total["objects"]["estimate"], total["bytes"]["estimate"]
    profiled.expect(total["bytes"].get("exact") and total["objects"].get("exact"), "not exact")
    profiled.expect(seen == counted, "%s objects and bytes, not %s" % (seen, counted))
    profiled.expect(profiled.lost(data) == 0, "lost: %s" % data["losses"])


def exact(name, interval, variables=None):
    with profiled.directory() as path:
        count = os.path.join(path, "count")
        with open(count, "wb") as file:
            file.write(bytes(4096))
        trace, _ = recorded(path, [program(name)], interval, "",
                            {"BYTEPOLL_TEST_COUNT": count, **(variables or {})})
        data = profiled.report(trace)
        check_exact(data, counters(count))
        profiled.expect(data["samples"] > 0, "no sample")


def foreign(times):
    """What the report and what the other malloc counted of a program that does its work so often."""
    with profiled.directory() as path:
        count = os.path.join(path, "count")
        with open(count, "wb") as file:
            file.write(bytes(4096))
        trace, _ = recorded(path, [program("truth"), str(times), "portable"], 2048,
                            program("libcounting.so") + ":libstdc++.so.6",
                            {"BYTEPOLL_COUNTING": count})
        data = profiled.report(trace)
        profiled.expect(data["samples"] > 1000, "%d samples" % data["samples"])
        profiled.expect(profiled.lost(data) == 0, "lost: %s" % data["losses"])
        total = data["totals"]["allocated"]
        return (total["objects"]["estimate"], total["bytes"]["estimate"]), counters(count)


def exact_foreign():
    """The two begin to count at different moments: what is compared is what twice the work adds."""
    (once, counted_once), (twice, counted_twice) = foreign(1), foreign(2)
    for unit in range(2):
        seen, counted = twice[unit] - once[unit], counted_twice[unit] - counted_once[unit]
        profiled.expect(seen == counted > 100000, "%d more, not %d" % (seen, counted))


def sites():
    with profiled.directory() as path:
        trace, result = recorded(path, [program("truth")], 1)
        truth = json.loads(result.stdout)
        for metric in METRICS:
            data = profiled.report(trace, "--by", "function", "--metric", metric,
                                   "--rows", "100000")
            rows = {row["name"]: row for row in data["rows"]}
            for site, figures in truth.items():
                for unit in ("bytes", "objects"):
                    seen = rows[site][unit]["estimate"] if site in rows else 0
                    profiled.expect(seen == figures[metric][unit], "%s %s %s: %s, not %s" % (
                        site, metric, unit, seen, figures[metric][unit]))
        # From the site to the start of the process, or of the thread.
        data = profiled.report(trace, "--by", "stack", "--rows", "100000")
        ends = {row["stack"][-1]["function"] for row in data["rows"]}
        profiled.expect("_start" in ends and len(data["rows"]) > 30, "stacks end in %s" % ends)


def same_draws():
    here = output(os.path.join(BUILD, "tests", "cross", "draws"))
    there = emulated([program("draws")], {}).stdout.decode()
    profiled.expect(here == there and len(here.splitlines()) > 1000, "they differ")


def contract(check):
    output(sys.executable, os.path.join(SOURCE, "tests/contract/recorder.py"), check, SOURCE, CROSS)


def instructions(name):
    """To the jump into the real function; the branches to the cold functions are not taken."""
    text = output(TOOLS + "objdump", "-d", "--no-show-raw-insn", "--disassemble=" + name,
                  os.path.join(CROSS, "libbytepoll-recorder.so"))
    rows = re.findall(r"^\s+[0-9a-f]+:\s+(\S+)", text, re.MULTILINE)
    profiled.expect("br" in rows, "no indirect jump: " + " ".join(rows))
    road = rows[:rows.index("br") + 1]
    profiled.expect(not {"bl", "blr"} & set(road), "a call: " + " ".join(road))
    profiled.expect(len(road) <= INSTRUCTIONS[name], "%d: %s" % (len(road), " ".join(road)))


def unit_test(name):
    result = emulated([program(name)], {"BYTEPOLL_FUZZ_CASES": 25000})
    text = result.stdout.decode(errors="replace")
    profiled.expect(result.status == 0 and "not ok" not in text and re.search(r"^ok 1 ", text, re.M),
                    "status %s: %s" % (result.status, text[-500:] + result.stderr.decode()[-500:]))


def tests():
    """(name, action), the longest first."""
    for name in UNIT_TESTS:
        yield name, lambda name=name: unit_test(name)
    for name in EXACT:
        for interval in (1, 2048):
            yield ("exact totals: %s at T = %d" % (name, interval),
                   lambda name=name, interval=interval: exact(name, interval))
    yield "exact totals over another malloc", exact_foreign
    yield ("exact totals over coloured memory", lambda: exact(
        "truth", 2048, {"GLIBC_TUNABLES": "glibc.mem.tagging=3"}))
    yield "every figure of every site at T = 1", sites
    yield "the same draws as on this machine", same_draws
    for name in INSTRUCTIONS:
        yield ("instructions of " + name, lambda name=name: instructions(name))
    yield ("notes of the probes",
           lambda: test_probes.check_notes(os.path.join(CROSS, "libbytepoll-recorder.so")))
    for check in ("undefined", "exports", "tls", "needed"):
        yield ("contract: " + check, lambda check=check: contract(check))


def main():
    tap = profiled.Tap()
    for tool in (TOOLS + "gcc", TOOLS + "g++", "qemu-aarch64"):
        if shutil.which(tool) is None:
            tap.check(False, tool + " is not installed: run scripts/install-deps")
            return tap.finish()
    tap.attempt("built", built)
    if tap.failures == 0:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            jobs = [(name, pool.submit(action)) for name, action in tests()]
            for name, job in jobs:
                tap.attempt(name, job.result)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
