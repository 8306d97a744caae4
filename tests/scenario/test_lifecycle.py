#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small programs that check themselves, at T = 1, 64, 4096 and the default.

Each must do under the recorder what it does without: same status, same output, nothing on standard
error. Afterwards its trace and those of its tree must read, be marked as ended in order where it
ended in order, and lie alone in their directory. Losses are printed; at the default interval none
may occur.
"""
import os
import re
import shutil
import signal
import sys

import profiled

PLUGIN = "libplugin.so"
DEEP_PLUGIN = "libdeep_plugin.so"
LIBRARIES = (PLUGIN, DEEP_PLUGIN)
PROGRAMS = (
    ("contents",), ("zeroed",), ("usable_size",), ("errno_kept",), ("libc_extras",),
    ("new_handler",), ("foreign_free",), ("thread_storm",), ("thread_exit",), ("fork_storm",),
    ("fork_with_threads",), ("exec_chain",), ("vfork_exec",), ("spawn",), ("signals",), ("jumps",),
    ("odd_stacks",), ("raw_clone",), ("dynamic_loading", PLUGIN),
    ("deepbind", DEEP_PLUGIN), ("vfork_allocates",), ("throwing",),
)
EXITS = ("return", "exit", "_exit", "_Exit", "quick_exit", "abort", "exec", "pthread_exit", "term",
         "kill", "fault")
UNORDERED = ("term", "kill", "fault", "raw_clone")  # the last: children no handler saw
INTERVALS = (1, 64, 4096, None)
UNPROFILED = {}


def unprofiled(arguments):
    if arguments not in UNPROFILED:
        UNPROFILED[arguments] = profiled.run(list(arguments))
    return UNPROFILED[arguments]


def path_of(words):
    return tuple([profiled.program(words[0])] +
                 [profiled.program(word) if word in LIBRARIES else word for word in words[1:]])


def compare(words, interval, ordered):
    arguments = path_of(words)
    plain = unprofiled(arguments)
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = profiled.run(list(arguments), trace, interval)
        profiled.expect_same(plain, result)
        profiled.expect(os.path.exists(trace), "no trace")
        left = profiled.litter(path, trace)
        profiled.expect(not left, "litter: %s" % left)
        data = profiled.report(trace)
        exact = bool(data["totals"]["allocated"]["bytes"].get("exact"))
        # Both have a thread that may allocate while the process ends.
        open_end = any(process["open_threads"] for process in data["processes"])
        profiled.expect(exact == (ordered and not open_end) and (
            not open_end or words[0] in ("thread_exit", "exit_ways")),
                        "allocated bytes are %sexact" % ("" if exact else "not "))
        profiled.expect(interval is None or data["samples"] > 0, "no samples")
        if profiled.lost(data):
            # Only the program made for it interrupts the recorder; that is counted, not hidden.
            # And the end of the process may come while a thread that goes on publishes its
            # counters, of which there is then no reading: one slot of each such process. (Of one
            # that was killed it is not known which threads were open.)
            torn = sum(process["open_threads"] > 0 or not process["ended"] for process in data["processes"])
            others = {k: v for k, v in data["losses"].items()
                      if v and not (k == "interrupted" and words[0] == "signals") and
                      not (k == "thread_slot" and words[0] == "exit_ways" and v <= torn)}
            profiled.expect(interval is not None or not others, "lost: %s" % data["losses"])
            profiled.Tap.note("%s: lost %s" % (" ".join(words), data["losses"]))


def traced(prefix):
    """A debugger or a tracer runs the program, which runs under the recorder."""
    program = profiled.program("thread_storm")
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        variables = profiled.environment(trace, 64)
        settings = ["%s=%s" % (key, variables[key]) for key in
                    ("LD_PRELOAD", "BYTEPOLL_OUTPUT", "BYTEPOLL_INTERVAL")]
        result = profiled.run([*prefix, "env", *settings, program])
        profiled.expect(result.status == 0 and b"done\n" in result.stdout,
                        "status %s: %s" % (result.status, result.stdout[-300:]))
        data = profiled.report(trace)
        profiled.expect(data["samples"] > 0 and not profiled.lost(data), "samples %s, lost %s" % (
            data["samples"], data["losses"]))


def static_tls():
    """As many libraries with static thread-local storage find room as without us."""
    with profiled.directory() as path:
        for number in range(64):
            shutil.copy(profiled.program("libtls_plugin.so"), "%s/%d.so" % (path, number))
        arguments = [profiled.program("static_tls"), path]
        plain = profiled.run(arguments)
        profiled.expect(2 <= int(plain.stdout) < 64, "%s libraries fit" % plain.stdout)
        profiled.expect_same(plain, profiled.run(arguments, os.path.join(path, "trace.bpt"), 64))


def expect_named(trace, program):
    """The program and its functions have their names, and nothing of it went unseen."""
    data = profiled.report(trace, "--by", "function", "--metric", "allocated")
    names = [row["name"] for row in data["rows"]]
    profiled.expect("site_leak" in names, "functions: %s" % names)
    last = data["processes"][-1]
    profiled.expect(last["program"] == os.path.realpath(program) and last["name"] == "leak", last)
    profiled.expect(not data["warnings"] and not any(p["unseen_execs"] for p in data["processes"]),
                    "%s, %s" % (data["warnings"], data["processes"]))


def started_by_loader():
    """/lib64/ld-linux-x86-64.so.2 ./program, by itself and below a shell: /proc/self/exe is the loader then."""
    program = profiled.program("leak")
    with open(program, "rb") as file:
        loader = re.search(rb"/[^\0]*/ld-linux[^\0]*", file.read()).group().decode()
    with profiled.directory() as path:
        for number, words in enumerate((
                [program], [loader, program], ["sh", "-c", '"$@"; true', "sh", loader, program],
                [loader, "--argv0", "elsewhere/leak", program])):
            trace = os.path.join(path, "%d.bpt" % number)
            result = profiled.run([*words, "10"], trace, 1)
            profiled.expect(result.status == 0 and not result.stderr, result)
            expect_named(trace, program)


def main():
    tap = profiled.Tap()
    intervals = [interval for interval in INTERVALS if str(interval) in sys.argv[1:]] or INTERVALS
    chosen = [word for word in sys.argv[1:] if word not in map(str, INTERVALS)]
    for words in PROGRAMS + tuple(("exit_ways", way) for way in EXITS):
        if chosen and words[0] not in chosen:
            continue
        ordered = words[-1] not in UNORDERED
        plain = unprofiled(path_of(words))
        expected = {"exit_ways": plain.status}.get(words[0], 0)
        if not tap.check(plain.status == expected, "%s unprofiled" % " ".join(words),
                         plain.stderr.decode(errors="replace")):
            continue
        for interval in intervals:
            tap.attempt("%s at T = %s" % (" ".join(words), interval or "default"),
                        lambda: compare(words, interval, ordered))
    if not chosen and None in intervals:
        for prefix in (["strace", "-f", "-qq", "-o", "/dev/null"],
                       ["gdb", "-batch", "-nx", "-ex", "set startup-with-shell off", "-ex",
                        "set follow-exec-mode same", "-ex", "run", "--args"]):
            if shutil.which(prefix[0]):
                tap.attempt("under " + prefix[0], lambda: traced(prefix))
        tap.attempt("static thread-local storage", static_tls)
        tap.attempt("a program that its loader was told to start", started_by_loader)
        killed = unprofiled(path_of(("exit_ways", "kill"))).status
        tap.check(killed == -signal.SIGKILL, "the ways out differ", str(killed))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
