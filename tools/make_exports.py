#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what follows from the one list of hooked names (src/hooks/names.h): the recorder's version
script, or with --page the documentation. Both are committed; a test compares.

usage: make_exports.py NAMES_H > src/hooks/exports.map
       make_exports.py --page NAMES_H > docs/hooks.md"""
import os
import re
import sys

PAGE_HEAD = """# What is hooked

The recorder puts itself before these functions of libc and of the C++ library, and before no others.
All behave as without it: results, errno, exceptions, failures. *Counted* calls make trials and appear
in the exact totals; the rest only keep the recorder informed. Generated from `src/hooks/names.h`.

| name | what the hook does |
|---|---|
"""

PAGE_TAIL = """
A library behind the recorder that puts one of these functions before glibc's is called as often as without
it, and makes the malloc of the process a foreign one. `libc_malloc_debug.so.0` (mcheck, mtrace, `MALLOC_CHECK_`)
is such a library: it checks every object, sampled ones included, behind the recorder or preloaded before it
(then the program runs unprofiled). What a program asks of glibc by a `__libc_` name behind the back of such a
library is passed on and not counted.

Where the program's malloc is another than glibc's (jemalloc, TCMalloc, mimalloc, any other), the C++
operators that it brings are counted, too, and so are its own entries where it exports them: calls that
the objects loaded at the start make of them, and those by addresses from `dlsym`. The recorder exports
none of these names (`src/hooks/extended.h`):

"""


PAGE_CALLS = """
For programs that know of it the recorder exports some functions that it puts itself before nothing with
(docs/in-process.md):

| name | what the call does |
|---|---|
"""


def entries(text, macro):
    """[(name, what it does)] of the entries MACRO(name, "...")."""
    found = re.findall(r'^\s*' + macro + r'\((\w+),\s*((?:"[^"]*"[\s\\]*)+)\)', text, re.M)
    return [(name, "".join(re.findall(r'"([^"]*)"', strings))) for name, strings in found]


def main():
    page = sys.argv[1] == "--page"
    with open(sys.argv[-1], encoding="utf-8") as file:
        text = file.read()
    hooks, calls = entries(text, "BP_HOOK"), entries(text, "BP_CALL")
    if page:
        sys.stdout.write(PAGE_HEAD)
        for name, text in hooks:
            print(f"| `{name}` | {text} |")
        with open(os.path.join(os.path.dirname(sys.argv[-1]), "extended.h"),
                  encoding="utf-8") as file:
            names = re.findall(r"^\s*BP_ENTRY\((\w+),", file.read(), re.M)
        sys.stdout.write(PAGE_TAIL + ", ".join(f"`{name}`" for name in names) + ".\n" + PAGE_CALLS)
        for name, text in calls:
            print(f"| `{name}` | {text} |")
        return
    print("/* Generated from names.h by tools/make_exports.py; do not edit. */")
    print("{\nglobal:")
    for name in sorted(name for name, _ in hooks + calls):
        print(f"\t{name};")
    print("local:\n\t*;\n};")


main()
