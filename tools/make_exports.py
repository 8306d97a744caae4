#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the recorder's version script from the one list of hooked names (src/hooks/names.h).

usage: make_exports.py NAMES_H > exports.map
The result is committed as src/hooks/exports.map; a test compares."""
import re
import sys

names = re.findall(r"^\s*BP_HOOK\((\w+),", open(sys.argv[1]).read(), re.M)
print("/* Generated from names.h by tools/make_exports.py; do not edit. */")
print("{\nglobal:")
for name in sorted(names):
    print(f"\t{name};")
print("local:\n\t*;\n};")
