#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No function or variable that is linked into bytepoll is there for nothing: each one that other files
can see is used by another file of the product, or by its own file and by a test. What one file alone uses
is static, and what only tests use stands with the tests.

Usage: dead_code.py SOURCE_ROOT BUILD_ROOT
"""

import collections
import os
import re
import subprocess
import sys

NOT_PRODUCT = ("tests/", "fuzz/", "bench/", "examples/", "aarch64/")
# Used by tests alone, and why it stands with the product all the same.
ALLOWED = {
    # The other direction of a documented formula, by which tests check the direction that is used.
    "bp_negative_binomial_cdf", "bp_plan_change_power",
    # A constructor, and the functions that libc calls around fork: no file names them.
    "bp_recorder_start", "bp_recorder_fork_prepare", "bp_recorder_fork_parent", "bp_recorder_fork_child",
}


def objects(build):
    for folder, _, names in os.walk(build):
        place = os.path.relpath(folder, build) + "/"
        if not place.startswith(NOT_PRODUCT):
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".o"))


def symbols_of(paths):
    """({name: objects that define it}, {name: objects that use it and do not define it})"""
    defined, used = collections.defaultdict(set), collections.defaultdict(set)
    listed = subprocess.run(["nm", "-A"] + paths, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    for line in listed.stdout.decode().splitlines():
        path, _, rest = line.rpartition(":")
        words = rest.split()
        if words[-2] == "U":
            used[words[-1]].add(path)
        elif words[-2] in "TDBRVW":
            defined[words[-1]].add(path)
    return defined, used


def public_names(root):
    """What a program outside may use: it is declared in a header that is installed."""
    names = set()
    for folder in ("include/bytepoll", "bindings/boehm", "bindings/lua", "bindings/lttng"):
        for name in os.listdir(os.path.join(root, folder)):
            if name.endswith(".h"):
                with open(os.path.join(root, folder, name), encoding="utf-8") as file:
                    names |= set(re.findall(r"\bbp_\w+|\bbytepoll_\w+", file.read()))
    return names


def unused(defined, used, public, own_use, tested):
    """Names that no other object uses."""
    for name in sorted(defined):
        if not name.startswith("bp_") or used[name] or name in public | ALLOWED:
            continue
        if not own_use(name):
            yield f"{name}: only tests use it: let it stand with them" if tested(name) else f"{name}: nothing uses it"
        elif not tested(name):
            yield f"{name}: only its own file uses it: make it static"


def planted():
    defined = {name: {"a.o"} for name in ("bp_dead", "bp_live", "bp_offered", "main", "bp_own", "bp_own_and_tested",
                                          "bp_tested")}
    used = collections.defaultdict(set, {"bp_live": {"b.o"}})
    found = [line.split(":")[0] for line in unused(
        defined, used, {"bp_offered"}, lambda name: "own" in name, lambda name: "tested" in name)]
    return [] if found == ["bp_dead", "bp_own", "bp_tested"] else [f"planted names: {found}"]


def main():
    root, build = sys.argv[1:]
    own, tests = (collections.Counter(), collections.Counter())
    for top, words in (("src", own), ("tests", tests)):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith((".c", ".cpp", ".h" if top == "tests" else ".c")):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        words.update(re.findall(r"\bbp_\w+", file.read()))
    defined, used = symbols_of(list(objects(build)))
    findings = planted() + list(unused(
        defined, used, public_names(root), lambda name: own[name] > 1, lambda name: tests[name] > 0))
    findings += [f"{name}: allowed, but it is used or gone" for name in sorted(ALLOWED)
                 if name not in defined or used[name]]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
