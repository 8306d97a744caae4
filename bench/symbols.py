#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time to name 10,000 random addresses of a large binary with debug information.

The budget is 1.5 s for a binary of 146 MB (gdb with -g -O2). Building gdb takes too long for a
benchmark, so this links many copies of one unit full of std::regex and std::map, whose templates
the linker is kept from merging: the same kind of debug information at any size. Beside bytepoll's
symboliser (the tool resolve_addresses of its tests) it runs llvm-symbolizer, if there is one, and
counts the addresses with another inline depth or innermost line.

    bench/symbols.py BUILD_DIRECTORY [--copies 100] [--addresses 10000]
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


def measure(command, text):
    """Seconds, seconds of processor time, output."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    output = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return time.monotonic() - start, busy, output


def innermost(output):
    """Per address: number of frames and the line of the innermost."""
    blocks = [block.split("\n") for block in output.strip("\n").split("\n\n")]
    return [(len(b) // 2, re.search(r":(\d+)", b[1] + ":0").group(1)) for b in blocks]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", help="Meson's build directory")
    parser.add_argument("--copies", type=int, default=100)
    parser.add_argument("--addresses", type=int, default=10000)
    arguments = parser.parse_args()
    tool = os.path.join(arguments.build, "tests/unit/symbols/resolve_addresses")
    subprocess.run(["ninja", "-C", arguments.build, "tests/unit/symbols/resolve_addresses"],
                   check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as directory:
        large = build(directory, arguments.copies)
        start, size = text_section(large)
        random.seed(1)
        text = "".join(f"{start + random.randrange(size):#x}\n" for _ in range(arguments.addresses))
        print(f"{os.path.getsize(large) >> 20} MiB, {arguments.addresses} addresses")
        seconds, busy, ours = measure([tool, large], text)
        print(f"bytepoll         {seconds:6.2f} s, {busy:6.2f} s of processor time")
        other = shutil.which("llvm-symbolizer-14") or shutil.which("llvm-symbolizer")
        if other is None:
            return
        seconds, busy, theirs = measure([other, "--inlines", "--obj=" + large], text)
        print(f"llvm-symbolizer  {seconds:6.2f} s, {busy:6.2f} s of processor time")
        pairs = zip(innermost(ours), innermost(theirs))
        print(f"different depth or innermost line: {sum(a != b for a, b in pairs)}")


if __name__ == "__main__":
    main()
