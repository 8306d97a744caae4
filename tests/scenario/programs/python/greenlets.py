# SPDX-License-Identifier: MIT
"""Makes objects in greenlets, which change their stacks of C by themselves, and writes down of each its address and the
stack that Python itself sees, as marks.py does: python greenlets.py FILE."""
import os
import sys
import traceback

import gevent
import gevent.pool

log = []


class Thing:
    __slots__ = ("a", "b", "c", "d", "e", "f")


def mark():
    thing = Thing(); stack = [(frame.f_code.co_qualname, frame.f_code.co_filename, line) for frame, line in traceback.walk_stack(sys._getframe(0))]
    log.append((id(thing) - 16, stack))  # two words of the garbage collector stand before it
    log.append(thing)


def deep(depth):
    if depth > 0:
        deep(depth - 1)
        return
    gevent.sleep(0)
    mark()


def work(number):
    for _ in range(5):
        mark()
        gevent.sleep(0)
        deep(number % 7)
        mark()


gevent.pool.Pool(20).map(work, range(60))
with open(sys.argv[1], "w", encoding="utf-8") as file:
    for entry in log:
        if isinstance(entry, tuple):
            file.write(repr(entry) + "\n")
os._exit(0)
