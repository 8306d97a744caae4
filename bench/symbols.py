#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time to name 10,000 random addresses of a large binary with debug information.

The budget is 1.5 s for a binary of 146 MB (gdb with -g -O2). Building gdb takes too long for a
benchmark, so this links many copies of one unit full of std::regex and std::map, whose templates
the linker is kept from merging: the same kind of debug information at any size. Beside bytepoll's
symboliser (the tool resolve_addresses of its tests; also from its cache) it runs llvm-symbolizer and
addr2line, if they are there, and counts the addresses with another inline depth or innermost line.

    bench/symbols.py BUILD_DIRECTORY [--copies 96] [--addresses 10000] [--file PROGRAM]
    bench/run BUILD_DIRECTORY --only symbols
"""

import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import tempfile
import time

from harness import table, verdict

SOURCE = r"""
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
std::map<std::string, int> seen;
int entry(const std::string &text) {
	std::regex words("([a-z]+)(\\d*)");
	for (std::sregex_iterator i(text.begin(), text.end(), words), end; i != end; ++i)
		seen[i->str()]++;
	std::vector<std::pair<int, std::string>> order;
	for (auto &word : seen) order.push_back({word.second, word.first});
	std::sort(order.begin(), order.end(), [](auto &a, auto &b) { return a.first > b.first; });
	return order.size();
}
"""


def build(directory, copies):
    """Links `copies` copies of the unit, each with its own text and debug information."""
    run = lambda *words: subprocess.run(words, cwd=directory, check=True, stderr=subprocess.DEVNULL)
    with open(os.path.join(directory, "unit.cc"), "w") as file:
        file.write(SOURCE)
    with open(os.path.join(directory, "main.c"), "w") as file:
        file.write("int main(void) { return 0; }\n")
    run("g++", "-std=c++17", "-O2", "-g", "-c", "unit.cc")
    run("gcc", "-O2", "-c", "main.c")
    run("objcopy", "-R", ".group", "unit.o", "plain.o")
    objects = []
    for number in range(copies):
        objects.append(f"copy{number}.o")
        run("cp", "plain.o", objects[-1])
    run("g++", "-Wl,-z,muldefs", "main.o", *objects, "-o", "large")
    return os.path.join(directory, "large")


def text_section(path):
    listing = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout
    fields = re.search(r" \.text +\S+ +(\S+) +\S+ +(\S+)", listing)
    return int(fields.group(1), 16), int(fields.group(2), 16)


def measure(command, text, environment=None):
    """Seconds, seconds of processor time, output."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    output = subprocess.run(command, input=text, capture_output=True, text=True, check=True,
                            env={**os.environ, **(environment or {})}).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return time.monotonic() - start, busy, output


def innermost(output):
    """Per address: number of frames and the line of the innermost."""
    blocks = [block.split("\n") for block in output.strip("\n").split("\n\n")]
    return [(len(b) // 2, re.search(r":(\d+)", b[1] + ":0").group(1)) for b in blocks]


def build_id(path):
    listing = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", listing).group(1)


def best(rounds, command, text, environment=None):
    """Of several rounds the fastest: the others had less of the machine."""
    return min((measure(command, text, environment) for _ in range(rounds)), key=lambda result: result[0])


def compare(tool, large, addresses, rounds):
    """Rows (who, seconds, seconds of processor time) and a note about agreement."""
    start, size = text_section(large)
    random.seed(1)
    text = "".join(f"{start + random.randrange(size):#x}\n" for _ in range(addresses))
    rows, notes = [], []
    seconds, busy, ours = best(rounds, [tool, large], text)
    rows.append(("bytepoll", seconds, busy))
    with tempfile.TemporaryDirectory() as cache:
        command, environment = [tool, "--cache", "--build-id", build_id(large), large], {"XDG_CACHE_HOME": cache}
        measure(command, text, environment)
        seconds, busy, again = best(rounds, command, text, environment)
        rows.append(("bytepoll, from its cache", seconds, busy))
        if again != ours:
            notes.append("THE CACHE GIVES OTHER ANSWERS")
    other = shutil.which("llvm-symbolizer-14") or shutil.which("llvm-symbolizer")
    if other is not None:
        seconds, busy, theirs = best(rounds, [other, "--inlines", "--obj=" + large], text)
        rows.append(("llvm-symbolizer", seconds, busy))
        pairs = zip(innermost(ours), innermost(theirs))
        notes.append("%d addresses with another depth or innermost line than llvm-symbolizer's"
                     % sum(a != b for a, b in pairs))
    if shutil.which("addr2line") is not None:
        seconds, busy, _ = best(1, ["addr2line", "-i", "-f", "-C", "-e", large], text)
        rows.append(("addr2line -i -C", seconds, busy))
    return rows, notes


def resolver(build_directory):
    tool = os.path.join(build_directory, "tests/unit/symbols/resolve_addresses")
    subprocess.run(["ninja", "-C", build_directory, "tests/unit/symbols/resolve_addresses"],
                   check=True, stdout=subprocess.DEVNULL)
    return tool


def symbols(bench):
    """The part of bench/run."""
    copies, addresses = (20, 2000) if bench.quick else (96, 10000)
    with tempfile.TemporaryDirectory() as directory:
        large = build(directory, copies)
        rows, notes = compare(resolver(bench.build), large, addresses, 3)
        megabytes = os.path.getsize(large) / 1e6
    for who, seconds, busy in rows:
        bench.figures["symbols, " + who] = seconds
    budget = "" if bench.quick else verdict(rows[0][1], 1.5)
    table("Names of %d addresses of a program of %.0f MB, inlined frames included" % (addresses, megabytes),
          ("by", "seconds", "processor seconds", "budget 1.5 s"),
          [(who, "%.2f" % seconds, "%.2f" % busy, budget if who == "bytepoll" else "")
           for who, seconds, busy in rows], notes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", help="Meson's build directory")
    parser.add_argument("--copies", type=int, default=96)
    parser.add_argument("--addresses", type=int, default=10000)
    parser.add_argument("--file", help="a program with debug information, instead of one made here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        large = arguments.file or build(directory, arguments.copies)
        print(f"{os.path.getsize(large) / 1e6:.0f} MB, {arguments.addresses} addresses")
        rows, notes = compare(resolver(arguments.build), large, arguments.addresses, 3)
    for who, seconds, busy in rows:
        print(f"{who:26}{seconds:6.2f} s, {busy:6.2f} s of processor time")
    print(*notes, sep="\n")


if __name__ == "__main__":
    main()
