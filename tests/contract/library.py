#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What libbytepoll.so may be, read from the built object: it lives in somebody else's process.

  exports     it exports what src/tool/library/exports.map names, each as bytepoll_... with the version
              BYTEPOLL_1, and that is what bytepoll/analysis.h declares: no more, no less
  undefined   it cannot end the program (exit, abort, assert), print to standard output, change the
              locale, or read the environment and write to standard error but where said here
  needed      its libraries are those that the program bytepoll needs, and its soname is libbytepoll.so.1

Usage: library.py CHECK SOURCE_ROOT LIBRARY
"""
import re
import subprocess
import sys

# fprintf and stderr: of src/tool/symbols/symbols.c, where `verbose` or the command line ask for it; getenv:
# of src/tool/symbols/files/frame_cache.c, when the caller asked for the cache; setenv, unsetenv, signal and _exit:
# in processes of its own.
FORBIDDEN = {"exit", "abort", "__assert_fail", "quick_exit", "_Exit", "raise", "err", "errx", "warn",
             "warnx", "error", "perror", "psignal", "puts", "putchar", "printf", "vprintf", "__printf_chk",
             "stdout", "stdin", "setlocale", "atexit", "__cxa_atexit", "sigaction", "alarm", "srand",
             "rand", "random", "strtok", "localtime", "gmtime", "asctime", "ctime", "system", "popen",
             "execve", "execvp", "chdir", "umask", "putenv", "secure_getenv", "clearenv"}
NEEDED = {"libdw.so.1", "libelf.so.1", "libzstd.so.1", "libz.so.1", "libm.so.6", "libc.so.6",
          "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def without_comments(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/|#[^\n]*", "", file.read(), flags=re.DOTALL)


def check_exports(source, library):
    script = without_comments(f"{source}/src/tool/library/exports.map")
    named = set(re.findall(r"\b(\w+);", script.split("local:")[0]))
    declared = set(re.findall(r"\b(bytepoll_\w+)\(", without_comments(
        f"{source}/include/bytepoll/analysis.h")))
    rows = [line.split() for line in output("nm", "-D", "--defined-only", library).splitlines()]
    exported = {row[-1] for row in rows if row[-2] != "A"}
    if len(named) < 30:
        yield "src/tool/library/exports.map names hardly anything"
    for name in sorted(named ^ declared):
        yield f"{name} stands in only one of exports.map and analysis.h"
    for name in sorted(exported ^ {name + "@@BYTEPOLL_1" for name in named}):
        yield f"{name} is exported, or named, but not both"
    for name in sorted(name for name in named if not name.startswith("bytepoll_")):
        yield f"{name} has a name that may be somebody else's"


def check_undefined(_, library):
    rows = output("nm", "-D", "--undefined-only", library).splitlines()
    names = {row.split()[-1].split("@")[0] for row in rows}
    if "malloc" not in names:
        yield "its undefined symbols cannot be read"
    for name in sorted(names & FORBIDDEN):
        yield f"it calls {name}"


def check_needed(_, library):
    dynamic = output("readelf", "-dW", library)
    for name in sorted(set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)) - NEEDED):
        yield f"needs {name}"
    if re.findall(r"SONAME.*\[(.*)\]", dynamic) != ["libbytepoll.so.1"]:
        yield "its soname is not libbytepoll.so.1"
    if "TEXTREL" in dynamic or re.search(r"R(UN)?PATH.*\[[^$\]]*/", dynamic):
        yield "it has text relocations or a path of the machine it was built on"


CHECKS = {"exports": check_exports, "undefined": check_undefined, "needed": check_needed}


def main():
    check, source, library = sys.argv[1:]
    findings = list(CHECKS[check](source, library))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
