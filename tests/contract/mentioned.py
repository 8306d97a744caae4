#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every option of every command stands in a page for users, with the command's name on the same page; and every export
format, report and importer of the program's lists stands where it must be known beside the list.

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
# They need files of a real process: tests/scenario/test_resident_parts.py, test_kept_pages.py.
TRIED_ELSEWHERE = {"resident", "pages"}


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


def listed(header):
    """The names X(NAME, ...) of a list in the source."""
    return re.findall(r"^\tX\((\w+)", (ROOT / header).read_text(encoding="utf-8"), flags=re.MULTILINE)


def incomplete():
    """What is in a list of the program and not where users or tests would meet it."""
    def lacks(name, path, pattern):
        text = "".join(file.read_text(encoding="utf-8") for file in sorted(ROOT.glob(path)))
        if not re.search(pattern, text, flags=re.MULTILINE):
            yield f"{name}: nothing of it in {path} (looked for {pattern})"
    for name in listed("src/tool/export/exports.h"):
        yield from lacks(f"export --to {name}", "src/tool/cli/export.c", rf'^\t\t"  (\w+, )?{name}\b')
        yield from lacks(f"export --to {name}", "docs/exports.md", rf"(?<![\w-]){name}\b")
        yield from lacks(f"export --to {name}", "tests/contract/corpus/*.txt", rf"^\$ .*--to {name}\b")
    for name in listed("src/tool/report/reports.h"):
        yield from lacks(f"report --{name}", "tests/contract/corpus/*.txt", rf"^\$ .*--{name}\b")
        if name not in TRIED_ELSEWHERE:
            yield from lacks(f"report --{name}", "tests/contract/options.py", rf"--{name}\b")
    for name in listed("src/tool/import/importers.h"):
        yield from lacks(f"importer {name}", "fuzz/meson.build", rf"\b{name}\b")
        if name != "trace":
            yield from lacks(f"importer {name}", "docs/importers.md", rf"\b{name}\b")


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
    lists = list(incomplete())
    for text in lists:
        print(text)
    print(f"{count} options of {len(commands)} commands, {len(texts)} pages")
    return 1 if missing or lists else 0


if __name__ == "__main__":
    sys.exit(main())
