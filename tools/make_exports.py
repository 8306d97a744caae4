#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what follows from the one list of hooked names (src/hooks/names.h): the recorder's version
script, or with --page the documentation. Both are committed; a test compares.

usage: make_exports.py NAMES_H > src/hooks/exports.map
       make_exports.py --page NAMES_H > docs/hooks.md"""
import re
import sys

PAGE_HEAD = """# What is hooked

The recorder puts itself before these functions of libc and of the C++ library, and before no others.
All behave as without it: results, errno, exceptions, failures. *Counted* calls make trials and appear
in the exact totals; the rest only keep the recorder informed. Generated from `src/hooks/names.h`.

| name | what the hook does |
|---|---|
"""


def main():
    page = sys.argv[1] == "--page"
    with open(sys.argv[-1], encoding="utf-8") as file:
        hooks = re.findall(r'^\s*BP_HOOK\((\w+),\s*"([^"]*)"\)', file.read(), re.M)
    if page:
        sys.stdout.write(PAGE_HEAD)
        for name, text in hooks:
            print(f"| `{name}` | {text} |")
        return
    print("/* Generated from names.h by tools/make_exports.py; do not edit. */")
    print("{\nglobal:")
    for name in sorted(name for name, _ in hooks):
        print(f"\t{name};")
    print("local:\n\t*;\n};")


main()
