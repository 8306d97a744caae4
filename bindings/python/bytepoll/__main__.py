# SPDX-License-Identifier: MIT
"""`python -m bytepoll`, and the console script: becomes the native program.

`run script.py` and `run -m module` become `run -- PYTHON script.py`, with the interpreter that runs
this; `kernelspec` writes a kernel for Jupyter. All other words are passed on as they are.
"""
import os
import sys

from . import native

# Options of `bytepoll run` that take a value; a test compares them with `bytepoll help run`.
LETTERS_WITH_VALUE = "oi"
NAMES_WITH_VALUE = {"--output", "--interval", "--budget", "--delay", "--duration", "--seed", "--law",
                    "--python", "--max-size"}


def program_at(words):
    """Where the program to run begins among the words after `run`: behind the options."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1
        if word == "-m" or not word.startswith("-") or word == "-":
            return at
        at += 1
        if word in NAMES_WITH_VALUE:
            at += 1
        elif not word.startswith("--"):
            valued = next((i for i, letter in enumerate(word) if letter in LETTERS_WITH_VALUE), None)
            at += valued == len(word) - 1
    return at


def run_words(words):
    """The words after `run`, with the interpreter put before a script or a module."""
    at = program_at(words)
    program = words[at:at + 1]
    if not program or not (program == ["-m"] or program[0].endswith(".py")):
        return words
    options = words[:at - 1] if words[at - 1:at] == ["--"] else words[:at]
    return options + ["--", sys.executable] + words[at:]


def main():
    words = sys.argv[1:]
    if words[:1] == ["kernelspec"]:
        from . import kernelspec
        return kernelspec.main(words[1:])
    try:
        path = native.program()
    except native.NotFound as missing:
        print(missing, file=sys.stderr)
        return 125
    if words[:1] == ["run"]:
        words = ["run"] + run_words(words[1:])
    sys.stdout.flush()
    os.execv(path, [path] + words)


if __name__ == "__main__":
    sys.exit(main())
