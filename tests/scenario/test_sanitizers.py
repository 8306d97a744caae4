#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs built with a sanitizer, which nobody asked whether they like to be profiled: started below a
program that is, or with a bare LD_PRELOAD. A sanitizer owns malloc, stands before most functions of the
C library and starts itself at the first call of one. The recorder must stay out of the way.

For each sanitizer that the compilers have, of gcc with its runtime as a library and linked in, of clang:
the program's output and exit status under `bytepoll run -- sh -c`, with a bare preload, and without.
With a library gcc's and clang's AddressSanitizer refuse to start behind any preload; `run` tells them
that this one does no harm, and a bare preload must do so itself.
"""
import os
import shutil
import subprocess
import sys

import profiled

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "sanitized.cpp")
BUILDS = {
    "gcc address": ["g++", "-fsanitize=address"],
    "gcc address, linked in": ["g++", "-fsanitize=address", "-static-libasan"],
    "gcc thread": ["g++", "-fsanitize=thread"],
    "gcc leak": ["g++", "-fsanitize=leak"],
    "gcc undefined": ["g++", "-fsanitize=undefined"],
    "clang address": ["clang++", "-fsanitize=address"],
    "clang address, a library": ["clang++", "-fsanitize=address", "-shared-libasan"],
    "clang thread": ["clang++", "-fsanitize=thread"],
    "clang memory": ["clang++", "-fsanitize=memory"],
    "clang leak": ["clang++", "-fsanitize=leak"],
}
# The C++ library is not built for it: its memory would look unwritten.
OPTIONS = {"clang memory": ["-stdlib=libstdc++"]}
UNTOLD = ("gcc undefined",)  # profiled as any program
WANTED = "fork 5\n", "spawn 7\n", "system 3\n", "calls 0 0 0\n", "usable 1\n"
# What LeakSanitizer looks for needs ptrace, which a container may forbid; it is not what is tested here.
QUIET = {"LSAN_OPTIONS": "detect_leaks=0"}


def build(name, folder):
    command = BUILDS[name]
    profiled.expect(shutil.which(command[0]) is not None, command[0] + " is not installed")
    path = os.path.join(folder, name.replace(" ", "-").replace(",", ""))
    words = [*command, *OPTIONS.get(name, []), "-g", "-O1", "-pthread", SOURCE, "-o", path, "-ldl"]
    if "a library" in name:
        # Not -print-runtime-dir: Debian 13's clang names a folder there that does not exist.
        runtime = subprocess.run(["clang++", "-print-file-name=libclang_rt.asan-x86_64.so"],
                                 capture_output=True, text=True, check=True).stdout.strip()
        words.append("-Wl,-rpath," + os.path.dirname(runtime))
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    profiled.expect(made.returncode == 0, made.stderr)
    return path


def check(name):
    with profiled.directory() as folder:
        path = build(name, folder)
        plain = profiled.run([path], extra={**QUIET, "ASAN_OPTIONS": "detect_leaks=0"})
        text = plain.stdout.decode()
        profiled.expect(plain.status == 7 and all(line in text for line in WANTED),
                        "unprofiled: %s %s" % (plain.status, plain.stderr))
        options = {**QUIET, "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
        bare = profiled.run([path], os.path.join(folder, "bare.bpt"), 64, extra=options)
        profiled.expect_same(plain, bare)
        trace = os.path.join(folder, "tree.bpt")
        below = profiled.run([profiled.BYTEPOLL, "run", "--quiet", "-i", "64", "-o", trace, "--",
                              "sh", "-c", '"$0"; exit $?', path],
                             extra={**QUIET, "ASAN_OPTIONS": "detect_leaks=0"})
        profiled.expect_same(plain, below)
        profiled.expect(profiled.report(trace)["processes"], "no process in the trace")
        said = profiled.run([profiled.BYTEPOLL, "run", "-o", os.path.join(folder, "said.bpt"), "--",
                             "sh", "-c", 'exec "$0" again', path],
                            extra={**QUIET, "ASAN_OPTIONS": "detect_leaks=0"}).stderr
        profiled.expect((b"is built with a sanitizer" in said) == (name not in UNTOLD), said)


def main():
    tap = profiled.Tap()
    for name in BUILDS:
        tap.attempt(name, lambda: check(name))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
