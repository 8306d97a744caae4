#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The calls that the recorder has of what a program maps itself (docs/mapped.md), against those that the kernel got:
the program runs under the recorder and under `strace -k` at once. A call is expected if its caller is neither the C
library nor the loader; each must be recorded with its address and its bytes, and no other. By hand: it needs an strace
that prints stacks, and takes a minute.

Usage: mapped_calls.py BUILD PROGRAM [ARGUMENTS]
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CALLS = "mmap,munmap,mremap,mprotect,pkey_mprotect,brk,shmat,shmdt"
# By call: `what` of the record, and where address and bytes stand; None: the call's result, or no bytes.
FORMS = {"mmap": (1, None, 1), "munmap": (2, 0, 1), "mremap": (3, None, 2), "mprotect": (4, 0, 1),
         "pkey_mprotect": (4, 0, 1), "brk": (5, 0, None), "shmat": (6, None, None), "shmdt": (7, 0, None)}


def is_library(module):
    return module.startswith(("libc.so", "ld-linux"))


def frame(text):
    """(module, function) of a frame that strace prints."""
    function = re.search(r"\(([^)+]*)", text)
    return os.path.basename(re.split(r"[( ]", text)[0]), function[1] if function else ""


def is_expected(name, frames):
    """Is the caller the program, through the C library's function of that name?"""
    if not frames or not frames[0][0].startswith("libc.so") or frames[0][1] == "syscall":
        return False  # a system call of its own, of the recorder's or of the loader's
    if any(module == "bytepoll" for module, _ in frames):
        return False  # of the command, which is traced too
    at = 1 + (name == "brk" and len(frames) > 1 and frames[1][1] == "sbrk")
    while at < len(frames) and frames[at][0].startswith("libbytepoll-recorder"):
        at += 1
    return at < len(frames) and not is_library(frames[at][0])


def number(text):
    return 0 if text == "NULL" else int(text, 0)


def calls_of(lines):
    """(name, arguments, result, frames) of each call that succeeded."""
    pending, current = {}, None
    for line in [*lines, "0 end"]:
        if line.startswith(" > "):
            if current:
                current[1].append(frame(line[3:]))
            continue
        if current:
            found = re.match(r"(\w+)\((.*)\)\s+= (\S+)", current[0])
            if found and found[3] not in ("-1", "?"):
                yield found[1], found[2].split(", "), found[3], current[1]
        current = None
        pid, _, rest = line.partition(" ")
        rest = rest.strip()
        if "<unfinished" in rest:
            pending[pid] = rest.split(" <unfinished")[0]
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", rest)
        current = ((pending.pop(pid, "") + resumed[1]) if resumed else rest, [])


def expected(lines):
    wanted = collections.Counter()
    for name, arguments, result, frames in calls_of(lines):
        if not is_expected(name, frames):
            continue
        if name == "brk" and (arguments[0] == "NULL" or number(arguments[0]) != number(result)):
            continue  # it asks where the end is, or failed
        what, address, bytes_ = FORMS[name]
        wanted[what, number(result if address is None else arguments[address]),
               0 if bytes_ is None else number(arguments[bytes_])] += 1
    return wanted


def recorded(folder):
    found, lost = collections.Counter(), 0
    for trace in [folder / "c.bpt", *folder.glob("c.bpt.d/*.bpt")]:
        printed = subprocess.run([sys.executable, str(SOURCE / "tools/trace_decode.py"), str(trace)], check=False,
                                 stdout=subprocess.PIPE, text=True).stdout
        for line in printed.splitlines():
            if '"line": "mapping"' in line:
                one = json.loads(line)
                found[one["what"], one["address"], 0 if one["what"] == 6 else one["bytes"]] += 1
            elif '"lost"' in line:
                lost += json.loads(line)["lost"][13]
    return found, lost


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run(["strace", "-f", "-k", "-o", str(folder / "log"), "-e", "trace=" + CALLS, "-e", "signal=none",
                        str(build / "bytepoll"), "run", "--mapped", "-q", "--no-resident", "-o", str(folder / "c.bpt"), "--",
                        *sys.argv[2:]], check=False, stdout=subprocess.DEVNULL)
        with open(folder / "log", encoding="utf-8", errors="replace") as file:
            wanted = expected(file.read().splitlines())
        found, lost = recorded(folder)
    print(f"expected {wanted.total()}, recorded {found.total()}, counted as lost {lost}")
    print(f"not recorded: {list((wanted - found).items())[:9]}, too many: {list((found - wanted).items())[:9]}")
    return 0 if wanted == found else 1


sys.exit(main())
