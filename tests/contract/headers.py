#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every public header compiles alone: as strict C11 and as C++11, by every compiler there is.

Usage: headers.py SOURCE_ROOT
"""

import os
import shutil
import subprocess
import sys

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-pedantic-errors", "-Werror", "-fsyntax-only"]
COMPILERS = [("gcc", ["-std=c11", "-x", "c"]), ("g++", ["-std=c++11", "-x", "c++"]),
             ("clang", ["-std=c11", "-x", "c"]), ("clang++", ["-std=c++11", "-x", "c++"])]


def compile_alone(compiler, flags, include, header):
    text = f'#include "{header}"\n#include "{header}"\nint main(void) {{ return 0; }}\n'
    return subprocess.run([compiler, *flags, *STRICT, "-I", include, "-"], input=text, text=True,
                          capture_output=True)


def main():
    include = os.path.join(sys.argv[1], "include")
    folder = os.path.join(include, "bytepoll")
    headers = sorted(n for n in os.listdir(folder) if n.endswith(".h")) if os.path.isdir(folder) else []
    findings = [] if headers else [f"{folder} holds no header"]
    for compiler, flags in COMPILERS:
        if shutil.which(compiler) is None:
            findings.append(f"{compiler} is not installed: run scripts/install-deps")
            continue
        for header in headers:
            result = compile_alone(compiler, flags, include, f"bytepoll/{header}")
            if result.returncode != 0:
                findings.append(f"{compiler} {' '.join(flags)} {header}:\n{result.stderr}")
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
