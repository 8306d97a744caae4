#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What embeds the sampler needs nothing but libbytepoll-sampler.a and two headers.

Usage: embedding.py CHECK BUILD

undefined   the library's symbols: bp_ alone; undefined ones: none but what a compiler makes of copying
            memory; it links into an object that has nothing else.
languages   a program with all forms, as strict C11 and C++11, by every compiler, without a warning.
installed   the library and the headers are installed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBRARY = "packaging/libbytepoll-sampler.a"
MEMORY = {"memcpy", "memmove", "memset", "memcmp", "_GLOBAL_OFFSET_TABLE_"}  # the last is the linker's
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-pedantic-errors", "-O2"]
COMPILERS = [("gcc", "-std=c11", "c"), ("clang", "-std=c11", "c"),
             ("g++", "-std=c++11", "c++"), ("clang++", "-std=c++11", "c++")]

# What gcc and clang may call even of freestanding code; the host has them.
MEMORY_SOURCE = """
typedef __SIZE_TYPE__ size;
void *memcpy(void *, const void *, size);
void *memset(void *, int, size);
void *memcpy(void *to, const void *from, size n)
{ volatile char *a = to; const char *b = from; while (n--) *a++ = *b++; return to; }
void *memset(void *to, int byte, size n)
{ volatile char *a = to; while (n--) *a++ = (char)byte; return to; }
"""

# All forms, with T = 1: every object is a sample. C and C++.
PROGRAM = """
#include "bytepoll/sampler.h"
#include "bytepoll/alloc_context.h"

static int counted(void)
{
	struct bp_sampler sampler;
	struct bp_sampler_hot hot = { 0, 0 };
	struct bp_decision decision;
	struct bp_list_hit hits[4];
	bp_sampler_init(&sampler, 1, 1, BP_SAMPLER_EXACT);
	if (!bp_sampler_crosses(&hot, 100))
		return 1;
	hot.trials_left = bp_sampler_decide(&sampler, hot.trials_left, 100, &decision);
	if (!decision.sampled || bp_sampler_trials(&sampler, hot.trials_left) != 101)
		return 2;
	return bp_sampler_charge_list(&sampler, &hot, 8, 4, hits, 4) == 4 ? 0 : 3;
}

static int in_context(void)
{
	static char memory[256];
	struct bp_alloc_context context;
	struct bp_decision decision;
	bp_alloc_context_init(&context, 1, 1, BP_SAMPLER_EXACT);
	while (!bp_alloc_context_slow(&context, 24, &decision))
		bp_alloc_context_refill(&context, (uintptr_t)memory, (uintptr_t)memory + sizeof memory);
	if (!decision.sampled || context.pointer != (uintptr_t)memory + 24)
		return 4;
	bp_alloc_context_set_interval(&context, BP_SAMPLER_OFF);
	if (24 > context.limit - context.pointer)
		return 5;
	bp_alloc_context_outside(&context, 1000, &decision);
	bp_alloc_context_ask_interval(&context, 512);
	bp_alloc_context_leave(&context);
	return bp_alloc_context_bytes(&context) == 1024 ? 0 : 6;
}

int main(void)
{
	const int status = counted();
	return status != 0 ? status : in_context();
}
"""


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def check_undefined(build):
    library = os.path.join(build, LIBRARY)
    defined, undefined = set(), set()
    for line in output("nm", library).splitlines():
        match = re.match(r"^[0-9a-f ]{16} (\w) (\S+)$", line)
        if match:
            (undefined if match.group(1) == "U" else defined).add((match.group(1), match.group(2)))
    symbols = {name for _, name in defined}
    for name in sorted({name for _, name in undefined} - symbols - MEMORY):
        yield f"{LIBRARY} needs {name}"
    for kind, name in sorted(defined):
        if kind.isupper() and not name.startswith("bp_"):
            yield f"{LIBRARY} defines {name}, which is no name of ours"
    if not any(name == "bp_alloc_context_slow" for name in symbols):
        yield f"{LIBRARY} has no allocation context"
    with tempfile.TemporaryDirectory() as directory:
        memory = write(os.path.join(directory, "memory.c"), MEMORY_SOURCE)
        result = subprocess.run(
            ["gcc", "-ffreestanding", "-fPIC", "-O2", "-fno-tree-loop-distribute-patterns", "-shared",
             "-nostdlib", "-Wl,-z,defs", memory, "-Wl,--whole-archive", library, "-o",
             os.path.join(directory, "alone.so")], capture_output=True, text=True)
        if result.returncode != 0:
            yield f"it does not link alone:\n{result.stderr}"


def check_languages(build):
    with tempfile.TemporaryDirectory() as directory:
        source = write(os.path.join(directory, "program"), PROGRAM)
        program = os.path.join(directory, "built")
        for compiler, standard, language in COMPILERS:
            if shutil.which(compiler) is None:
                yield f"{compiler} is not installed: run scripts/install-deps"
                continue
            result = subprocess.run(
                [compiler, standard, *STRICT, "-I", os.path.join(ROOT, "include"), "-x", language,
                 source, "-x", "none", os.path.join(build, LIBRARY), "-o", program],
                capture_output=True, text=True)
            if result.returncode != 0:
                yield f"{compiler} {standard}:\n{result.stderr}"
                continue
            status = subprocess.run([program]).returncode
            if status != 0:
                yield f"{compiler} {standard}: the program's check {status} failed"


def check_installed(build):
    installed = json.loads(output("meson", "introspect", "--installed", build))
    names = set(installed.values())
    for wanted in ("lib/libbytepoll-sampler.a", "include/bytepoll/sampler.h",
                   "include/bytepoll/alloc_context.h"):
        if not any(name.endswith("/" + wanted) for name in names):
            yield f"{wanted} is not installed"


CHECKS = {"undefined": check_undefined, "languages": check_languages, "installed": check_installed}


def main():
    check, build = sys.argv[1:]
    findings = list(CHECKS[check](build))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
