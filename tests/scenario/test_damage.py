#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that damage the memory of sampled objects, as an attack on the recorder.

`programs/damage.c` writes into objects that it has freed, just where the recorder keeps them in a list:
because another thread holds the lock of their class, or because a signal handler freed them. The recorder
must neither fault nor write where the program's words lead it. Other ways of damage are noticed, in glibc's words.
"""
import os
import re
import signal
import sys

import profiled

ATTACKS = ("returned", "deferred")
NOTICED = (("written when freed", "malloc(): unaligned tcache chunk detected\n"),
           ("overflow", "free(): invalid next size (normal)\n"))
ROUNDS = 3  # the threads and the timer meet the recorder in the middle of its work more surely


def damaged(way, extra=None):
    """(signal, exit status, is the memory of others whole, standard error) of a damaged process"""
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = profiled.run([profiled.program("damage"), way], trace, 1, extra=extra)
        profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[-300:]))
        profiled.expect(profiled.report(trace)["samples"] > 0, "no samples")
        words = re.fullmatch(rb"signal (\d+) status (\d+) victim (\w+)\n", result.stdout)
        profiled.expect(words is not None, "printed %r" % result.stdout)
        return int(words[1]), int(words[2]), words[3] == b"whole", result.stderr.decode()


def attack(way):
    for _ in range(ROUNDS):
        ended_by, status, whole, errors = damaged(way)
        profiled.expect(whole, "the recorder wrote where freed memory told it to")
        profiled.expect(ended_by in (0, signal.SIGABRT) and status == 0,
                        "signal %d, status %d: %s" % (ended_by, status, errors))


def noticed(way, words):
    ended_by, _, whole, errors = damaged(way)
    profiled.expect(ended_by == signal.SIGABRT and whole, "signal %d: %s" % (ended_by, errors))
    profiled.expect(errors.endswith(words) and set(errors.splitlines(True)) == {words}, "said %r" % errors)


def unharmed():
    profiled.expect(damaged("none") == (0, 0, True, ""), "a program without a fault was ended")


def perturbed():
    for extra in ({"GLIBC_TUNABLES": "glibc.malloc.check=0:glibc.malloc.perturb=0x5a"},
                  {"MALLOC_PERTURB_": "90"}):
        profiled.expect(damaged("perturbed", extra) == (0, 0, True, ""), "not filled by %s" % extra)


def main():
    tap = profiled.Tap()
    for way in ATTACKS:
        tap.attempt("freed objects that wait in a list, %s" % way, lambda way=way: attack(way))
    for way, words in NOTICED:
        tap.attempt(way, lambda way=way, words=words: noticed(way, words))
    tap.attempt("no damage", unharmed)
    tap.attempt("perturbed", perturbed)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
