#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs and libraries that themselves stand before functions of the malloc family: the recorder must
behave as if it were not there, at any interval.

  own functions   a program with a free, or a whole malloc, linked in
  before          jemalloc, TCMalloc, mimalloc preloaded before the recorder, or behind it, or linked, under
                  programs of this machine
  wrappers        a library that wraps one function by RTLD_NEXT or by a name `__libc_...` of glibc's, behind
                  the recorder and before it: it is called as often as without the recorder, and the recorder
                  behind which it stands counts what it counts without it
  debugging       libc_malloc_debug.so.0: mcheck and MALLOC_CHECK_ find the damage that they find without the
                  recorder, and no other
"""
import os
import subprocess
import sys

import profiled
from test_foreign import LIBRARIES, path_of

INTERVALS = (None, 4096, 1)
PROGRAMS = (["sort", "-r", "/etc/services", "/usr/bin/ldd"], ["ls", "-laR", "/etc/apt"],
            ["/usr/bin/python3", "-c", "import json; print(len(json.dumps(list(range(30000)))))"])
WRAPPED = ("malloc", "free", "realloc", "calloc", "reallocarray", "memalign", "aligned_alloc",
           "posix_memalign", "valloc", "malloc_usable_size", "libc_malloc", "libc_calloc",
           "libc_memalign")
DEBUGGING = ("libc_malloc_debug.so.0",)


def check_same(arguments, libraries, others=None, status=0):
    """`libraries`: the LD_PRELOAD with the recorder; what goes with the program without it is the rest."""
    without = [library for library in libraries if library != profiled.RECORDER]
    others = others or {}
    plain = profiled.run(arguments, extra={"LD_PRELOAD": ":".join(without), **others})
    profiled.expect(plain.status == status, "unprofiled: %s" % (plain,))
    for interval in INTERVALS:
        with profiled.directory() as path:
            result = profiled.run(arguments, os.path.join(path, "trace.bpt"), interval,
                                  extra={"LD_PRELOAD": ":".join(libraries), **others},
                                  time_limit_s=30)
            profiled.expect_same(plain, result)
            profiled.expect(profiled.has_begun(os.path.join(path, "trace.bpt")), "no trace")
    return plain


def both_orders(arguments, library, others=None, status=0):
    check_same(arguments, [profiled.RECORDER, library], others, status)
    return check_same(arguments, [library, profiled.RECORDER], others, status)


def own_functions(name):
    check_same([profiled.program(name)], [profiled.RECORDER])


def linked(library):
    """The allocator is a library that the program needs, and so behind every preloaded one."""
    with profiled.directory() as path:
        name = os.path.join(path, "linked")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
        subprocess.run(["gcc", "-O1", "-fno-builtin", "-D_GNU_SOURCE", "-Wl,--no-as-needed",
                        os.path.join(source, "malloc_family.c"), library, "-o", name], check=True)
        check_same([name], [profiled.RECORDER])


def allocated(libraries):
    """Objects and bytes that malloc_family allocates, exactly."""
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        profiled.run([profiled.program("malloc_family")], trace, 1,
                     extra={"LD_PRELOAD": ":".join(libraries)})
        total = profiled.report(trace)["totals"]["allocated"]
        profiled.expect(total["bytes"].get("exact") and total["objects"].get("exact"), total)
        return total["objects"]["estimate"], total["bytes"]["estimate"]


def wrapper(name):
    library = profiled.program("libwraps_%s.so" % name)
    plain = both_orders([profiled.program("malloc_family"), "glibc"], library)
    profiled.expect(not plain.stderr.startswith(b"0 calls"), plain.stderr)
    alone, wrapped = allocated([profiled.RECORDER]), allocated([profiled.RECORDER, library])
    profiled.expect(wrapped == alone, "%s allocated instead of %s" % (wrapped, alone))


def reallocarray_decides_nothing():
    """libbsd has a reallocarray, and Xvfb for one is linked with it: malloc is glibc's all the same, of which
    alone --verify can count every object."""
    with profiled.directory() as folder:
        result = profiled.run([profiled.BYTEPOLL, "run", "--verify", "-i", "64", "-o", os.path.join(folder, "t.bpt"), "--",
                               profiled.program("malloc_family"), "glibc"],
                              extra={"LD_PRELOAD": profiled.program("libwraps_reallocarray.so")})
        profiled.expect(result.status == 0 and b"verdict: GOOD" in result.stderr, result)


def debugging(arguments, others, status, words):
    plain = both_orders(arguments, path_of(DEBUGGING), others, status)
    profiled.expect(words in plain.stdout + plain.stderr, plain)


def main():
    tap = profiled.Tap()
    for name in ("own_free", "own_malloc"):
        tap.attempt(name, lambda: own_functions(name))
    for name, library in LIBRARIES.items():
        for arguments in PROGRAMS + ([profiled.program("malloc_family")],):
            tap.attempt("%s preloaded to %s" % (name, os.path.basename(arguments[0])),
                        lambda: both_orders(arguments, path_of(library)))
        tap.attempt(name + " linked", lambda: linked(path_of(library)))
    for name in WRAPPED:
        tap.attempt("a wrapper of " + name, lambda: wrapper(name))
    tap.attempt("a reallocarray alone makes no foreign malloc", reallocarray_decides_nothing)
    checked = profiled.program("heap_checked")
    tap.attempt("mcheck, an intact heap", lambda: debugging([checked], {}, 0, b"mcheck 0\nintact"))
    tap.attempt("mcheck, a damaged heap",
                lambda: debugging([checked, "damage"], {}, -6, b"memory clobbered past end"))
    # Its functions are called by every program then, mcheck or not.
    tap.attempt("MALLOC_CHECK_, a damaged heap",
                lambda: debugging([checked, "damage"], {"MALLOC_CHECK_": "3"}, -6, b"intact"))
    tap.attempt("MALLOC_CHECK_, the whole family",
                lambda: debugging([profiled.program("malloc_family")], {"MALLOC_CHECK_": "3"}, 0, b"all"))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
