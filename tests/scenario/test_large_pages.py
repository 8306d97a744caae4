#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pages of 64 KiB: a library behind the recorder answers its system calls as such a kernel would
(programs/large_pages.c). Totals must be exact to the byte, against the counting allocator of the test
build, nothing may be lost, and a sampled object that is to begin a page must (the real allocator, which makes the
others and those of 64 KiB and more, has the machine's own pages).
"""
import os
import struct
import sys

import profiled

LARGE_PAGES = os.path.join(profiled.PROGRAMS, "liblarge_pages.so")
PROGRAMS = ("truth", "thread_storm", "contents", "fork_with_threads")
PYTHON = ["/usr/bin/python3", "-I", "-c"]
VALLOC = """
import ctypes
libc = ctypes.CDLL(None)
libc.valloc.restype = ctypes.c_void_p
libc.valloc.argtypes = [ctypes.c_size_t]
print(all(libc.valloc(size) % 65536 == 0 for size in (1, 100, 5000, 60000)))
"""
# A child that finds no room for a trace tells its parent's, in a page that both have.
NO_CHILD_TRACE = """
import os, resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
child = os.fork()
if child == 0:
    os._exit(len([bytes(1000) for i in range(1000)]) % 256)
print(os.waitpid(child, 0)[1])
"""


def run(path, arguments, interval):
    trace, count = os.path.join(path, "trace.bpt"), os.path.join(path, "count")
    with open(count, "wb") as file:
        file.write(bytes(4096))
    result = profiled.run(arguments, trace, interval,
                          recorder=profiled.RECORDER_TEST + ":" + LARGE_PAGES,
                          extra={"BYTEPOLL_TEST_COUNT": count})
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:300]))
    with open(count, "rb") as file:
        counted = struct.unpack("<2Q", file.read(16))
    return profiled.report(trace), counted, result


def exact(name, interval):
    with profiled.directory() as path:
        data, counted, _ = run(path, [profiled.program(name)], interval)
        total = data["totals"]["allocated"]
        seen = total["objects"]["estimate"], total["bytes"]["estimate"]
        profiled.expect(seen == counted, "%s, not %s" % (seen, counted))
        profiled.expect(total["bytes"].get("exact"), "not exact: %s" % total)
        profiled.expect(data["samples"] > 10, "%d samples" % data["samples"])
        profiled.expect(profiled.lost(data) == 0, "lost: %s" % data["losses"])


def aligned():
    with profiled.directory() as path:
        _, _, result = run(path, PYTHON + [VALLOC], 1)
        profiled.expect(result.stdout == b"True\n", result.stdout)


def child_without_trace():
    with profiled.directory() as path:
        data, _, result = run(path, PYTHON + [NO_CHILD_TRACE], 2048)
        profiled.expect(result.stdout == b"%d\n" % (1000 % 256 << 8), result.stdout)
        profiled.expect(profiled.lost(data) == 1, "losses: %s" % data["losses"])


def main():
    tap = profiled.Tap()
    for name in PROGRAMS:
        for interval in (1, 2048):
            tap.attempt("%s at T = %d" % (name, interval), lambda: exact(name, interval))
    tap.attempt("objects that begin a page", aligned)
    tap.attempt("a child without a trace", child_without_trace)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
