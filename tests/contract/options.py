#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every option of every command that reads recordings has an effect, or is refused in one line that says why.

Usage: options.py BUILD [--list]        (--list also prints every invocation with what became of it)

The options are those that `bytepoll COMMAND --help` names. Each is added, with every value that VALUES or the
help gives for it, to the base lines of its command in BASES; the output (standard output, standard error and
the files that were written) then differs for some value, or the command refuses every value with an exit status
and one line. What does neither is a failure, unless it stands in SAME with its reason. An entry of SAME that is
not needed is a failure, too. What is printed as JSON is held against docs/schema.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import corpus
import mentioned

sys.path.insert(0, str(corpus.SOURCE / "tests/scenario"))
import schemas  # noqa: E402

DEBUG = "--debug-directory debug"
# Of the lines that are made from the tables these print JSON, whatever else does.
HELD = ["diff .*--json --normalize total$", "diff .*--json --normalize duration$", "diff .*--json --normalize 1:2$",
        "diff .*--at 0.4 .*--json", "plan --json$", "plan --fleet .*--json$", "plan --limit live=200M --json", "plan --json --chart probability$",
        "plan --json --chart error$", "plan --json --chart quantiles$", "check .*--against .*--json",
        "report dotnet.*--json", "report pprof.*--json", "export .*--to json"]
ELSEWHERE = {"control-1", "hosts-1"}  # of a running process, of a store: tests/scenario/test_control.py, test_fleet.py
SHOP = f"shop.bpt {DEBUG}"
BASES = {
    "report": [f"{SHOP}", f"{SHOP} --json", f"{SHOP} --csv", f"{SHOP} --tree", f"{SHOP} --stats",
               f"{SHOP} --stats --json", f"{SHOP} --summary", f"{SHOP} --timeline", f"{SHOP} --timeline --json",
               f"{SHOP} --lifetimes", f"{SHOP} --lifetimes --json", f"{SHOP} --lifetimes --age-bytes",
               f"{SHOP} --lifetimes --age-bytes --json", f"{SHOP} --rounding", f"{SHOP} --rounding --json",
               "made/free_stacks.bpt --lifetimes --pairs", "made/free_stacks.bpt --lifetimes --pairs --json",
               "made/free_stacks.bpt --lifetimes --pairs --age-bytes --json",
               f"{SHOP} --growth", f"{SHOP} --growth --json", "dotnet/kinds-doubles.nettrace", "pprof/go-1.26.pb.gz",
               "dotnet/kinds-doubles.nettrace --json", "pprof/go-1.26.pb.gz --json"],
    "export": [f"{SHOP} --to {name} -o out" for name in
               mentioned.listed("src/tool/export/exports.h")],
    "html": [f"{SHOP} -o out.html"],
    "diff": [f"shop.bpt kept.bpt {DEBUG}", f"shop.bpt kept.bpt {DEBUG} --all", f"shop.bpt kept.bpt {DEBUG} --json",
             f"shop.bpt --at 0.1 --at 0.4 {DEBUG}", f"shop.bpt --at 0.1 --at 0.4 {DEBUG} --json",
             f"shop.bpt kept.bpt {DEBUG} --html out.html"],
    "check": [f"{SHOP} --limit live=370K", f"{SHOP} --limit live=370K --json",
              f"kept.bpt {DEBUG} --limit live:add_*=370K", f"new1.bpt --against base1.bpt --max-growth 5% {DEBUG}",
              f"new1.bpt --against base1.bpt --max-growth 5% {DEBUG} --json"],
    "plan": ["", "--heap 1G", "--limit live=200M", "--change 10%", "--table", f"{SHOP}", f"{SHOP} --json",
             "--heap 1G --json", "--change 10% --json", "--limit live=200M --json", "--size 64K --interval 512K --json",
             "--heap 1G --interval 512K --json", "--table --json", "--json", "--chart error --svg out.svg",
             "--fleet --bytes-per-second 20M --host-variation 5%", "--fleet --bytes-per-second 20M --host-variation 5% --json"],
    "verify": ["counted.bpt", "counted.bpt --json"],
    "fold": ["kept.bpt"],
}
# By the argument that the help shows, or by the option's name, which goes first.
VALUES = {
    "TIME": ["0.1", "0.3"], "SIZE": ["8", "64K"], "N": ["2"], "LEVEL": ["0.5"], "FILE": ["other"], "DIR": ["."],
    "KEY=GLOB": ["size=8..20"], "REGEX": ["add_.*", ".*"], "--pid": ["20964"], "RATE": ["0.2"],
    "--by": ["line", "size"], "--suppressions": ["suppressions"], "--from": ["0.1"], "--until": ["0.3"],
    "--min-size": ["8"], "--assume-interval": ["4K"], "--moments": ["5"], "--limit": ["live=1M"],
    "--against": ["base1.bpt"], "--max-growth": ["5%"], "--heap": ["2G"], "--share": ["10%"], "--size": ["1M"],
    "--accuracy": ["5%"], "--change": ["20%"], "--power": ["0.9"], "--false-alarm": ["0.2"], "--interval": ["64K"],
    "--bytes-per-second": ["1M"], "--host-variation": ["3%"],
    "--error": ["0.2"], "--fdr": ["0.5"], "--normalize": ["total", "duration", "1:2"], "--new": ["new2.bpt"],
    "--html": ["page.html"], "--svg": ["chart.svg"], "--junit": ["junit.xml"], "--output": ["other"],
    "--debug-directory": ["debug"], "--keep": ["4K", "1M"], "--max-size": ["16K"], "--label": ["thread", "bytes"],
    "--title": ["a title"], "--tag": ["zone=eu"], "--service": ["kiosk"], "--release": ["2.0"], "--host": ["elsewhere"], "--count": ["objects"], "--debuginfod": ["file:///nowhere"],
}
# Options that change nothing that can be seen here, with the reason; of all lines of all commands.
EVERYWHERE = {
    "--help": "prints the help instead",
    "--no-pager": "there is no terminal, and so no pager",
    "--no-symbol-cache": "what is kept changes the time alone",
    "--debuginfod": "a server has nothing about these programs",
    "--force": "there is no file to replace",
    "--quiet": "prints less where something is amiss",
    "--frames": "these programs have no functions of Python; tests/contract/corpus/python.txt has it",
    "--hide": "the same",
}
# (command, option, expression that the base line matches, reason)
SAME = [
    ("report", "--debug-directory", "nettrace|pprof|free_stacks", "the names stand in the file"),
    ("report", "--pid", "growth --json", "the child processes grew by nothing, and the total is stated without them"),
    ("check", "--only-seen", "shop|new1", "nothing is missing there"),
    ("diff", "--rows", "^(?!.*--all)", "fewer rows have a verdict"),
    ("fold", "--keep", "", "the recordings are of one chunk, which is folded whole or not at all"),
]


def options_of(program, command):
    """(name, argument or None, words) of every option in the help of a command."""
    text = subprocess.run([program, command, "--help"], check=True, capture_output=True, text=True).stdout
    parts = re.split(r"^  (?:-\w, |    )(?=--)", text.split("\nExamples")[0], flags=re.MULTILINE)[1:]
    for part in parts:
        part = re.split(r"\n(?=\S|\n)", part)[0]
        head = re.match(r"(--[\w-]+)(?: (\S+))?(?:  |\n|$)", part)
        words = re.search(r"one of (?!.*one of)([\w|:\s-]+)", part, re.DOTALL)
        choices = re.sub(r"\s", "", words.group(1)).split("|") if words else []
        yield head.group(1), head.group(2), [word.replace("KEY", "work") for word in choices]


def values_of(name, argument, choices):
    if argument is None:
        return [None]
    return VALUES.get(name) or choices or VALUES.get(argument) or ["1"]


class Invocations:
    def __init__(self, build, folder):
        self.corpus = corpus.Corpus(build, pathlib.Path(folder))
        self.number = 0
        self.kept = {}

    def outcome(self, line):
        if line not in self.kept:
            self.number += 1
            self.kept[line] = self.corpus.outcome(self.number, "bytepoll " + line)
        return self.kept[line]


    def json_of(self, line):
        """What a line prints or writes as JSON of ours; None if it does not."""
        words = shlex.split(line)
        folder = self.corpus.folder / ("json%d" % abs(hash(line)))
        self.corpus.shelf.lend(folder, to_change=False)
        done = subprocess.run([self.corpus.program, *words], cwd=folder, stdin=subprocess.DEVNULL, check=False,
                              capture_output=True, env=self.corpus.environment(str(folder)))
        data = done.stdout
        if "json" in words and (folder / "out").exists():
            data = (folder / "out").read_bytes()
        shutil.rmtree(folder)
        data = json.loads(data) if data.startswith(b"{") else {}
        return data if data.get("schema", "").startswith("bytepoll-") else None


def held_against_schema(invocations, line):
    """None where the line prints no JSON, the name of the schema that is in the document, or what is wrong."""
    try:
        data = invocations.json_of(line)
        if data is not None:
            schemas.validate(data, data["schema"].removeprefix("bytepoll-"))
    except (AssertionError, KeyError, ValueError, OSError) as error:
        return f"wrong: bytepoll {line}: {type(error).__name__}: {error}"
    return None if data is None else data["schema"].removeprefix("bytepoll-")


def refused(outcome):
    return outcome[0] != "= 0" and len(outcome) == 2 and outcome[1].startswith("! bytepoll: ")


def verdict(invocations, command, base, name, argument, choices):
    """(what became of the option on this line, the invocations)."""
    before = invocations.outcome(f"{command} {base}".strip())
    words = shlex.split(base)
    if name in words:
        return "there already", []
    lines, says = [], []
    for value in values_of(name, argument, choices):
        line = f"{command} {base} {name}" + ("" if value is None else " " + shlex.quote(value))
        after = invocations.outcome(line)
        lines.append(line)
        says.append("refused" if refused(after) and after != before else
                    "the same" if after == before else "differs")
    if "differs" in says:
        return "differs", lines
    # One of the words that the help lists may be the default.
    many = says.count("the same") > (1 if choices and len(says) > 1 else 0)
    return "the same" if many else "refused", lines


def main():
    build, listed = pathlib.Path(sys.argv[1]), "--list" in sys.argv
    failures, counts, needed = [], {}, set()
    with tempfile.TemporaryDirectory(prefix="options-") as folder:
        invocations = Invocations(build, folder)
        tasks = []
        for command, bases in BASES.items():
            for option in options_of(invocations.corpus.program, command):
                tasks += [(command, base, *option) for base in bases if option[0] not in EVERYWHERE]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda task: verdict(invocations, *task), tasks))
            lines = sorted(line for line in invocations.kept if "json" in line)
            held = list(pool.map(lambda line: held_against_schema(invocations, line), lines))
    failures += [text for text in held if text and text.startswith("wrong: ")]
    documents = [(line, name) for line, name in zip(lines, held) if name and not name.startswith("wrong: ")]
    failures += [f"no document of {words}" for words in HELD if not any(re.search(words, line) for line, _ in documents)]
    failures += [f"no document of docs/schema/{name}.json" for name in schemas.names()
                 if name not in ELSEWHERE | {name for _, name in documents}]
    for (command, base, name, _, _), (became, lines) in zip(tasks, found):
        counts[became] = counts.get(became, 0) + 1
        if listed:
            print(f"{became:14} bytepoll {command} {base} {name}")
        known = [entry for entry in SAME if entry[:2] == (command, name) and re.search(entry[2], base)]
        if became == "the same" and not known:
            failures.append(f"no effect: bytepoll {lines[0]}")
        elif became == "the same":
            needed.update(known)
    failures += [f"not needed in SAME: {entry}" for entry in SAME if entry not in needed]
    print("\n".join(failures))
    if any(text.startswith("no effect") for text in failures):
        print("let the command refuse the option in one line (without_effect_in in its table, or the command's own "
              "checks), let it have an effect, or add it to SAME in tests/contract/options.py with the reason")
    print(f"{sum(len(lines) for _, lines in found)} invocations of {len(tasks)} options on lines: " +
          ", ".join(f"{count} {word}" for word, count in sorted(counts.items())) +
          f"; {len(documents)} JSON documents held against docs/schema")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
