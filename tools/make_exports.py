#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what follows from the one list of hooked names (src/target/hooks/names.h): the recorder's version
script, or with --page the documentation. Both are committed; a test compares.

usage: make_exports.py NAMES_H > src/target/hooks/exports.map
       make_exports.py --page NAMES_H > docs/hooks.md"""
import os
import re
import sys

PAGE_HEAD = """# What is hooked

The recorder hooks these functions of libc and of the C++ library, and no others. All of them behave as
without the recorder: results, errno, exceptions, failures. *Counted* calls make trials and appear in the
exact totals; the other hooks only keep the recorder informed. This page is generated from `src/target/hooks/names.h`.

| name | what the hook does |
|---|---|
"""

PAGE_TAIL = """
A library behind the recorder may replace one of these functions of glibc. It is then called as often as
without the recorder, and the malloc of the process counts as a foreign one. `libc_malloc_debug.so.0` (mcheck,
mtrace, `MALLOC_CHECK_`) is such a library: it checks every object, sampled ones included. It may be behind the
recorder, or be preloaded before it (then the program runs unprofiled). If a program calls glibc by a `__libc_`
name, which such a library does not replace, the call is passed on and not counted.

Of mmap and the functions beside it only calls by the program, its libraries and its allocator are seen. glibc calls none of
them by its public name, so that the memory of its malloc and of its threads is not among what [mapped.md](mapped.md) shows.
`bytepoll attach` does not bind them.

Where the program's malloc is not glibc's (but jemalloc, TCMalloc, mimalloc or any other), the C++ operators
of that allocator are counted, too, and so are its own functions where it exports them: calls by objects that
are loaded at the start, and calls by addresses from `dlsym`. The recorder exports none of these names
(`src/target/hooks/extended.h`):

"""


PAGE_CALLS = """
The recorder also exports some functions for programs that know of it (docs/in-process.md). They hook
nothing:

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
