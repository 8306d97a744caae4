#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every option of every command stands in a page for users, with the command's name on the same page.

Usage: mentioned.py BUILD

The options are those that `bytepoll COMMAND --help` names. The pages are the README and those that docs/README.md
lists above "For developers".
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_LOOKED_FOR = {"--help"}  # every command's first line says it


def pages():
    listed = (ROOT / "docs/README.md").read_text(encoding="utf-8").split("## For developers")[0]
    names = [name for name in re.findall(r"\]\(([\w-]+\.md)\)", listed)]
    return {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in names} | {
        "README.md": (ROOT / "README.md").read_text(encoding="utf-8")}


def options_of(program, command):
    """(name, letter or None) of every option in the help of a command."""
    text = subprocess.run([program, command, "--help"], check=True, capture_output=True, text=True).stdout
    for letter, name in re.findall(r"^  (?:-(\w), |    )(--[\w-]+)", text.split("\nExamples")[0], flags=re.MULTILINE):
        yield name, letter


def is_mentioned(text, command, option, letter):
    names = option if not letter else f"(?:{option}|-{letter})"
    return re.search(rf"\b{command}\b", text) and re.search(rf"(?<![\w-]){names}(?![\w-])", text)


def main():
    program = pathlib.Path(sys.argv[1]) / "bytepoll"
    overview = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    commands = [line.split()[0] for line in overview.split("Commands:")[1].splitlines() if line.startswith("  ")]
    texts, count, missing = pages(), 0, []
    for command in commands:
        for option, letter in options_of(program, command):
            count += 1
            if option not in NOT_LOOKED_FOR and not any(
                    is_mentioned(text, command, option, letter) for text in texts.values()):
                missing.append(f"bytepoll {command} {option}")
    assert count > 100 and not is_mentioned("report --json-lines", "report", "--json", None), count
    for text in missing:
        print(f"in no page for users: {text}")
    print(f"{count} options of {len(commands)} commands, {len(texts)} pages")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
