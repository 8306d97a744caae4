#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One compiler builds everything without a warning: every command of compile_commands.json again,
with -Werror and the output thrown away (optimising, since some warnings need it).

Usage: compilers.py COMPILER BUILD_ROOT
"""

import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile


def strict_command(entry, compiler):
    """The command without its output. Where the build has a compiler cache, so has this: what did not change since
    the last time is not compiled again."""
    words, cache = shlex.split(entry["command"]), []
    while os.path.basename(words[0]) in ("ccache", "sccache"):
        cache, words = words[:1], words[1:]
    # Nothing of the build tree may be written.
    skip, kept = 0, []
    for word in words[1:]:
        if skip:
            skip -= 1
        elif word in ("-o", "-MF", "-MQ"):
            skip = 1
        elif word != "-MD":
            kept.append(word)
    return [*cache, compiler, *kept, "-Werror"]


def compile_one(entry, compiler):
    # In a folder, because a compiler that fails removes its output.
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([*strict_command(entry, compiler), "-o", os.path.join(folder, "output.o")],
                                cwd=entry["directory"], capture_output=True, text=True)
    return "" if result.returncode == 0 else result.stderr


def main():
    compiler, build = sys.argv[1:]
    if shutil.which(compiler) is None:
        print(f"{compiler} is not installed: run scripts/install-deps")
        return 1
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = [e for e in json.load(file) if e["file"].endswith(".c")]
    # A source compiled twice with the same words is looked at once.
    distinct = {" ".join(strict_command(e, compiler)): e for e in entries}
    if not distinct:
        print("compile_commands.json has no C file")
        return 1
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [f for f in pool.map(lambda e: compile_one(e, compiler), distinct.values()) if f]
    for failure in failures:
        print(failure)
    print(f"{len(distinct)} sources, {len(failures)} with warnings by {compiler}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
