# SPDX-License-Identifier: MIT
"""Makes objects in every way that a Python function is entered, and writes down of each its address and the stack
that Python itself sees: python marks.py FILE ROUNDS. A line of FILE is repr((address, [(function, file, line)...])),
innermost first. Ends without the interpreter's own end, so that the objects are live in the trace."""
import asyncio
import functools
import os
import sys
import threading
import traceback

log = []


def qualified(frame):
    code = frame.f_code
    return getattr(code, "co_qualname", code.co_name)


class Thing:
    __slots__ = ("a", "b", "c", "d", "e", "f")


def mark():
    thing = Thing(); stack = [(qualified(frame), frame.f_code.co_filename, line) for frame, line in traceback.walk_stack(sys._getframe(0))]
    log.append((id(thing) - 16, stack))  # two words of the garbage collector stand before it
    log.append(thing)


def recursive(depth):
    if depth == 0:
        mark()
    else:
        recursive(depth - 1)


def generator(count):
    for i in range(count):
        mark()
        yield i


def decorate(function):
    @functools.wraps(function)
    def inner(*arguments):
        return function(*arguments)
    return inner


@decorate
def decorated(value):
    mark()
    return value


class Methods:
    def method(self):
        mark()

    @classmethod
    def of_class(cls):
        mark()

    @property
    def attribute(self):
        mark()
        return 1

    def __lt__(self, other):
        mark()
        return False

    def __repr__(self):
        mark()
        return "called by C"


async def coroutine(depth):
    mark()
    await asyncio.sleep(0)
    if depth:
        await coroutine(depth - 1)
    mark()


def exceptions():
    try:
        raise ValueError
    except ValueError:
        mark()
    finally:
        mark()


def unicodé_ñ():
    mark()


made = {}
exec(compile("def from_exec(function):\n\n  function()\n", "<stri\x1b[31mng \u4e2d\U0001F600>", "exec"), made)


def work(with_loop):
    for depth in (0, 1, 5, 30, 100):
        recursive(depth)
    list(generator(5))
    sum(i for i in generator(3))
    decorated(3)
    Methods().method()
    Methods.of_class()
    Methods().attribute
    sorted([Methods(), Methods(), Methods()])
    repr([Methods(), {1: Methods()}])
    if with_loop:
        asyncio.new_event_loop().run_until_complete(coroutine(3))
    exceptions()
    unicodé_ñ()
    made["from_exec"](mark)
    list(map(lambda i: mark(), range(3)))
    max([1, 2], key=lambda i: (mark(), i)[1])
    [mark() for _ in range(3)]
    {mark(): 1 for _ in range(2)}
    # Code objects that are freed, and others at their addresses.
    for i in range(20):
        names = {}
        exec(compile("def f%d(m):\n%s m()\n" % (i, "\n" * (i % 3)), "<s>", "exec"), names)
        names["f%d" % i](mark)


for _ in range(int(sys.argv[2])):
    work(True)
threads = [threading.Thread(target=work, args=(False,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open(sys.argv[1], "w", encoding="utf-8") as out:
    for entry in log:
        if isinstance(entry, tuple):
            out.write(repr(entry) + "\n")
os._exit(0)
