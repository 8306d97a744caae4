#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds libbytepoll-host.a against what include/bytepoll/host.h promises to whoever links it: it needs
libc alone and little of it (no malloc, no stdio, no threads, no libm), every name it defines is ours, a
shared object that is made with it exports none of them, and the first question of a free is a handful
of instructions.

Usage: host.py CHECK BUILD_ROOT      CHECK: undefined, exports or instructions
"""
import os
import re
import subprocess
import sys
import tempfile

ARCHIVE = "src/target/host/libbytepoll-host.a"
# libc's, all of them without memory or locks of its own; syscall carries the rest.
ALLOWED = {"syscall", "clock_gettime", "getauxval", "secure_getenv", "__errno_location", "memcpy",
           "memmove", "memset", "memcmp", "strlen", "strcmp",
           "__ehdr_start", "_GLOBAL_OFFSET_TABLE_"}  # of the linker
QUESTION_MAX = 8
QUESTION = """
#include "bytepoll/host.h"
void slow(struct bp_host *host, const void *object);
void question(struct bp_host *host, const void *object)
{
	if (__builtin_expect(bp_host_may_hold(host, object), 0))
		slow(host, object);
}
"""
USER = """
#include "bytepoll/host.h"
struct bp_host *user_open(void);
struct bp_host *user_open(void)
{
	struct bp_host_options options = { .name = "x", .interval = 1 };
	struct bp_host *host = bp_host_open(&options);
	struct bp_host_event event = { .kind = BP_HOST_SMALL };
	bp_host_sampled(host, &event);
	bp_host_close(host);
	return host;
}
"""


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def include():
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include")


def compile_text(folder, text, *flags):
    source, result = os.path.join(folder, "x.c"), os.path.join(folder, "x.out")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["gcc", "-O2", "-I", include(), source, "-o", result, *flags], check=True)
    return result


def check_undefined(archive):
    defined, undefined = set(), set()
    for line in output("nm", archive).splitlines():
        words = line.split()
        if len(words) >= 2 and words[-2] == "U":
            undefined.add(words[-1])
        elif len(words) == 3 and words[1] in "TDBRVW":
            defined.add(words[2])
    for name in sorted(undefined - defined - ALLOWED):
        yield f"undefined symbol {name}"
    for name in sorted(defined):
        if not name.startswith(("bp_", "_.stapsdt.base")):
            yield f"it defines {name}, a name that is not ours"


def check_exports(archive):
    with tempfile.TemporaryDirectory() as folder:
        library = compile_text(folder, USER, "-shared", "-fPIC", "-Wl,--no-undefined", archive)
        exported = {line.split()[-1] for line in output("nm", "-D", "--defined-only",
                                                         library).splitlines()}
        needed = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", library))
    if exported != {"user_open"}:
        yield f"a shared object made with it exports {sorted(exported)}"
    if needed != ["libc.so.6"]:
        yield f"it needs {needed}"


def check_instructions(_):
    with tempfile.TemporaryDirectory() as folder:
        code = output("objdump", "-d", "--no-show-raw-insn",
                      compile_text(folder, QUESTION, "-c", "-fcf-protection=none"))
    lines = re.findall(r"^\s+[0-9a-f]+:\t(\S+.*)$", code.split("<question>:")[1], re.MULTILINE)
    # From the test of the host to the branch on the page's count.
    branches = [number for number, line in enumerate(lines, 1) if re.match(r"jn?e\b", line)]
    if len(branches) != 2 or branches[1] > QUESTION_MAX:
        yield f"bp_host_may_hold takes more than {QUESTION_MAX} instructions: {lines}"


def main():
    check, build = sys.argv[1:]
    archive = os.path.join(build, ARCHIVE)
    findings = list({"undefined": check_undefined, "exports": check_exports,
                     "instructions": check_instructions}[check](archive))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
