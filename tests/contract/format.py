#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The C and C++ files are as clang-format 14 writes them by .clang-format. Other versions differ in
details, so that another one proves nothing: without version 14 the test is skipped. Before that a
badly formatted file has to be found.

Usage: format.py SOURCE_ROOT
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

VERSION = "14"
FOLDERS = ("src", "include", "bindings", "examples", "fuzz", "bench", "tests")
FOREIGN = ("tests/cross/cmocka.h",)


def tool():
    for name in ("clang-format-" + VERSION, "clang-format"):
        path = shutil.which(name)
        if path is None:
            continue
        said = subprocess.run([path, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
        if re.search(r"version %s\." % VERSION, said):
            return path
    return None


def files(root):
    for folder in FOLDERS:
        for where, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                path = os.path.join(where, name)
                if name.endswith((".c", ".h", ".cpp")) and os.path.relpath(path, root) not in FOREIGN:
                    yield path


def badly_formatted(program, paths, style):
    """The lines of clang-format's complaints."""
    done = subprocess.run([program, "--dry-run", "--style=file:" + style] + paths, stderr=subprocess.PIPE)
    return [line for line in done.stderr.decode().splitlines() if "-Wclang-format-violations" in line]


def main():
    root, program = sys.argv[1], tool()
    if program is None:
        print("no clang-format %s here" % VERSION)
        return 77
    style = os.path.join(root, ".clang-format")
    with tempfile.TemporaryDirectory() as folder:
        planted = os.path.join(folder, "planted.c")
        with open(planted, "w", encoding="utf-8") as file:
            file.write("int  main(void) { return 0; }\n")
        if not badly_formatted(program, [planted], style):
            print("a planted file that is badly formatted was not found")
            return 1
    found = badly_formatted(program, list(files(root)), style)
    for line in found:
        print(line)
    if found:
        print("run clang-format-%s -i on these files" % VERSION)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
