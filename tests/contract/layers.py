#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds every #include under src/ and include/ against the table src/layers.txt, which explains
itself, rooms of folders included. Before that it plants one wrong include of every kind in a mock tree and insists on finding
each: a checker that finds nothing proves nothing.

Usage: layers.py SOURCE_ROOT
"""

import fnmatch
import os
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def read_table(path):
    """{pattern or folder: (set of what it may include, set of what it shows or {'*'})}"""
    rows = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            if len(words) != 3:
                sys.exit(f"{path}:{number}: {len(words)} columns instead of 3")
            rows[words[0]] = tuple(set(w.split(",")) - {"-"} for w in words[1:])
    return rows


def sources(root):
    """Paths of C files below `root`, relative to it."""
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(folder, name), root)


SIDES = ("target/", "tool/")  # of the boundary between the processes: folders of folders


def named(path):
    """A path below src/ as includes and the table name it: without the side that it is on."""
    return next((path[len(side):] for side in SIDES if path.startswith(side)), path)


def row_of(rows, path):
    """The row of a file, and whether its own folder is open to it."""
    for pattern in rows:
        if "/" in pattern and fnmatch.fnmatch(path, pattern):
            return rows[pattern][0], False
    folder = path.split("/")[0]
    return (rows[folder][0], True) if folder in rows else (None, False)


def room_of(rows, name):
    """The room that a file or header is in, as `folder/room/`; None where it is in none, or where a pattern
    rules it."""
    parts = name.split("/")
    if len(parts) < 3 or any(fnmatch.fnmatch(name, pattern) for pattern in rows if "/" in pattern):
        return None
    return "/".join(parts[:2]) + "/"


def shared_headers(rows, folder):
    """The headers of a folder that its rooms may include."""
    return {name for row, (may, _) in rows.items() if row.startswith(folder + "/") and row.endswith("/")
            for name in may if name.endswith(".h")}


def wrong_room(rows, path, header):
    """Findings about an include within one folder: from a room, or from a header that rooms include."""
    room, other = room_of(rows, named(path)), room_of(rows, header)
    if room is not None and room not in rows:
        yield f"src/{path}: its room {room} is not in src/layers.txt"
    elif room is not None and other != room:
        if header not in rows[room][0] and (other is None or other[:-1] not in rows[room][0]):
            yield f"src/{path}: its room may not include \"{header}\""
    elif room is None and other is not None and named(path) in shared_headers(rows, header.split("/")[0]):
        yield f"src/{path}: a header that rooms include may not include \"{header}\""


def wrong_includes(rows, path, text, is_public):
    """Findings in one file; `path` is relative to src/ or to include/."""
    may, own_folder = (set(), False) if is_public else row_of(rows, named(path))
    if may is None:
        yield f"src/{path}: its folder is not in src/layers.txt"
        return
    for header in INCLUDE.findall(text):
        folder, _, name = header.partition("/")
        if is_public:
            if folder != "bytepoll":
                yield f"include/{path}: a public header may not include \"{header}\""
        elif not name:
            yield f"src/{path}: include \"{header}\" by its path from src/"
        elif own_folder and folder == named(path).split("/")[0]:
            yield from wrong_room(rows, path, header)
        elif header not in may and folder not in may:
            yield f"src/{path}: may not include \"{header}\""
        elif folder in rows and header not in may and not {"*", name} & rows[folder][1]:
            yield f"src/{path}: \"{header}\" is not shown to other folders"


def upward_rows(rows):
    """A row may name only folders of rows above it, so that no include runs up."""
    above = set()
    for row, (may, _) in rows.items():
        folder = row.split("/")[0]
        for name in sorted(may):
            is_room = row.endswith("/") and not name.endswith(".h")
            if (name + "/" not in above) if is_room else (name.split("/")[0] not in above | {folder, "bytepoll"}):
                yield f"src/layers.txt: {row} may include {name}, which stands below it"
        above.add(row if row.endswith("/") else folder)


def ambiguous_headers(root):
    """Two headers that one include could mean: the compiler looks beside the including file first."""
    headers = {named(path): path for path in sources(os.path.join(root, "src")) if path.endswith(".h")}
    for header in sorted(headers):
        parts = header.split("/")
        for i in range(1, len(parts) - 1):
            other = "/".join(parts[i:])
            if other in headers:
                yield f"src/{headers[header]}: an include of \"{other}\" beside it could mean this file"


def check(root):
    rows = read_table(os.path.join(root, "src/layers.txt"))
    findings = list(upward_rows(rows)) + list(ambiguous_headers(root))
    for top, is_public in (("src", False), ("include", True)):
        for path in sources(os.path.join(root, top)):
            with open(os.path.join(root, top, path), encoding="utf-8") as file:
                findings += wrong_includes(rows, path, file.read(), is_public)
    return findings


PLANTED = {  # file: (an include, what must be found; None: nothing)
    "src/low/a.h": ("", None),
    "src/low/hidden.h": ("", None),
    "src/high/good.c": ('#include "low/a.h"', None),
    "src/high/own.c": ('#include "high/x.h"', None),
    "src/high/system.c": ("#include <stdio.h>", None),
    "src/high/hidden.c": ('#include "low/hidden.h"', "not shown"),
    "src/high/bare.c": ('#include "x.h"', "by its path"),
    "src/low/upwards.c": ('#include "high/x.h"', "may not include"),
    "src/low/spaced.c": ('  #  include "high/x.h"', "may not include"),
    "src/split/inside.c": ('#include "split/outside.h"', "may not include"),
    "src/split/outside.c": ('#include "split/outside.h"', None),
    "src/stray/a.c": ("", "not in src/layers.txt"),
    "src/tool/high/below/good.c": ('#include "low/a.h"', None),
    "src/tool/low/upwards.c": ('#include "high/below/x.h"', "may not include"),
    "src/tool/stray/a.c": ("", "not in src/layers.txt"),
    "src/tool/high/low/a.h": ("", "could mean this file"),
    "src/tool/high/low/b.h": ("", None),
    "src/house/words.h": ("", None),
    "src/house/wrong_words.h": ('#include "house/cellar/a.h"', "a header that rooms include may not"),
    "src/house/top.c": ('#include "house/attic/a.h"', None),
    "src/house/cellar/a.h": ('#include "house/words.h"', None),
    "src/house/cellar/up.c": ('#include "house/attic/a.h"', "its room may not include"),
    "src/house/cellar/own.c": ('#include "house/cellar/a.h"', None),
    "src/house/attic/a.h": ('#include "house/cellar/a.h"', None),
    "src/house/attic/folder.c": ('#include "house/top.h"', "its room may not include"),
    "src/house/shed/a.c": ('#include "house/words.h"', "its room house/shed/ is not in"),
    "include/bytepoll/good.h": ('#include "bytepoll/other.h"', None),
    "include/bytepoll/bad.h": ('#include "low/a.h"', "public header"),
}


def try_planted():
    findings = []
    with tempfile.TemporaryDirectory() as root:
        for path, (text, _) in PLANTED.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write("int x;\n" + text + "\n")
        with open(os.path.join(root, "src/layers.txt"), "w", encoding="utf-8") as file:
            file.write("low - a.h\nhigh low -\nsplit - *\nsplit/inside* low -\nodd last -\nlast - -\n"
                       "house - -\nhouse/cellar/ house/words.h,house/wrong_words.h -\nhouse/attic/ house/cellar -\n"
                       "house/early/ house/late -\nhouse/late/ - -\n")
        found = check(root)
    for row in ("odd may include last", "house/early/ may include house/late"):
        if not any(row + ", which stands below it" in finding for finding in found):
            findings.append("a planted row that looks down the table was not found: " + row)
    for path, (_, expected) in PLANTED.items():
        mine = [f for f in found if f.startswith(path + ":")]
        if expected is None and mine:
            findings.append(f"planted {path} is right, but: {mine}")
        elif expected is not None and not any(expected in f for f in mine):
            findings.append(f"planted {path} was not found: {mine}")
    return findings


def main():
    findings = try_planted() + check(sys.argv[1])
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
