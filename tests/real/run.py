#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs, profiled and unprofiled: same output, same exit status.

    run.py [--table] [NAME...]
    run.py --more [--table] [NAME...]    many more programs, compared more strictly: more.py

Each program is run as a person runs it and then under `bytepoll run`, at the default interval and
at T = 4096, in a fresh directory. Standard output, standard error, exit status and the files it
made must be the same bytes; the trace must read and lose nothing at the default interval; a tree
of processes must be one merged tree, with nothing else left behind. `--table` prints the rows of
docs/real-programs.md. A program that is not installed is skipped; scripts/install-deps has them
all.
"""
import hashlib
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenario"))
import profiled  # noqa: E402

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inputs")
INTERVALS = (None, 4096)
FIXED = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "A",
         "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_AUTHOR_DATE": "2024-02-29T12:00:00Z",
         "GIT_COMMITTER_DATE": "2024-02-29T12:00:00Z", "GIT_CONFIG_NOSYSTEM": "1",
         "GIT_CONFIG_GLOBAL": "/dev/null", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0",
         "PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": "1709208000"}


def write(path, name, text):
    with open(os.path.join(path, name), "w") as file:
        file.write(text)


def nothing(path):
    del path


def sql(path):
    lines = ["create table parts(id integer primary key, name text, price real, note text);",
             "begin;"]
    lines += ["insert into parts(name, price, note) values('part %d', %d.%02d, '%s');" % (
        i * 7919 % 10007, i % 500, i % 100, "x" * (i % 90)) for i in range(20000)]
    lines += ["commit;", "create index by_name on parts(name);",
              "select count(*), sum(price), max(name) from parts;",
              "select name, count(*) c, avg(price) from parts group by name "
              "order by c desc, name limit 5;",
              "select a.name from parts a join parts b on a.name = b.name "
              "where a.id < b.id limit 5;",
              "select length(group_concat(note)) from (select note from parts order by price);"]
    write(path, "work.sql", "\n".join(lines) + "\n")


def c_source(functions, first=0):
    parts = ["#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"]
    parts += ["static int f%d(int x, const char *s)\n{\n\tint a[%d] = {0}, t = 0;\n"
              "\tfor (int i = 0; i < %d; i++)\n\t\ta[i %% %d] += x * i + (s ? s[0] : %d);\n"
              "\tfor (int i = 0; i < %d; i++)\n\t\tt ^= a[i] << (i & 3);\n"
              "\tswitch (x & 3) {\n\tcase 0: return t + %d;\n\tcase 1: return t * 3;\n"
              "\tdefault: return (int)strlen(s ? s : \"\") + t;\n\t}\n}\n" % (
                  i, i % 9 + 2, i % 30 + 4, i % 9 + 2, i, i % 9 + 2, i)
              for i in range(first, first + functions)]
    parts.append("int sum%d(int x)\n{\n\tint t = 0;\n%s\treturn t;\n}\n" % (first, "".join(
        "\tt += f%d(x + %d, \"%d\");\n" % (i, i, i) for i in range(first, first + functions))))
    return "".join(parts)


def large_c(path):
    write(path, "large.c", c_source(500))


def project(path):
    for part in range(8):
        write(path, "part%d.c" % part, c_source(25, part * 1000))
    write(path, "main.c", "".join("int sum%d(int x);\n" % (i * 1000) for i in range(8)) +
          "#include <stdio.h>\nint main(void)\n{\n\tprintf(\"%d\\n\", " +
          " + ".join("sum%d(3)" % (i * 1000) for i in range(8)) + ");\n\treturn 0;\n}\n")
    write(path, "Makefile", "OBJECTS = main.o " + " ".join("part%d.o" % i for i in range(8)) +
          "\nall: program\n\t./program\nprogram: $(OBJECTS)\n\tgcc -o $@ $(OBJECTS)\n"
          "%.o: %.c\n\tgcc -O1 -c -o $@ $<\n")


def git_files(path):
    for number in range(120):
        os.makedirs(os.path.join(path, "tree", "d%d" % (number % 10)), exist_ok=True)
        write(path, "tree/d%d/f%d.txt" % (number % 10, number),
              "".join("line %d of %d\n" % (i * number % 977, i) for i in range(200)))
    write(path, "work.sh", "set -e\ncd tree\ngit init -q -b main .\ngit add .\n"
          "git commit -q -m first\nfor i in 1 2 3; do echo change $i >> d1/f1.txt; "
          "git commit -q -a -m \"change $i\"; done\ngit mv d2/f2.txt d3/moved.txt\n"
          "git commit -q -m moved\ngit gc -q\ngit log --stat -M | cat\n"
          "git blame d1/f1.txt | tail -5\n"
          "git fsck\ngit diff HEAD~4 --shortstat\ngit rev-parse HEAD\n")


class Program:
    """A program, what it is run on, and how much of what it prints is its own. `sort`: lines come
    in any order (parallel jobs). `ignored`: files whose contents are not compared."""

    def __init__(self, name, command, prepare=nothing, needs=(), sort=False, ignored=(),
                 compile=None):
        self.name, self.command, self.prepare = name, command, prepare
        self.needs, self.sort, self.ignored, self.compile = needs, sort, ignored, compile


PROGRAMS = (
    Program("sqlite3", ["sqlite3", "-init", "/dev/null", "-batch", ":memory:", ".read work.sql"],
            sql),
    Program("python3", ["/usr/bin/python3", "-I", os.path.join(INPUTS, "work.py")]),
    Program("gcc", ["gcc", "-O1", "-c", "large.c", "-o", "large.o"], large_c),
    Program("git", ["sh", "work.sh"], git_files, needs=("git",), ignored=(".git/",)),
    Program("lua5.4", ["lua5.4", os.path.join(INPUTS, "work.lua")]),
    Program("perl", ["perl", os.path.join(INPUTS, "work.pl")]),
    Program("node", ["node", os.path.join(INPUTS, "work.js")]),
    Program("C++ threads", ["./threads"], needs=("g++",), ignored=("/threads",),
            compile=["g++", "-O2", "-g", "-pthread", "-o", "threads",
                     os.path.join(INPUTS, "threads.cpp")]),
    Program("make -j2", ["make", "-j2"], project, needs=("make", "gcc"), sort=True),
)


def find(name):
    return shutil.which(name, path=FIXED["PATH"]) if name[0] not in "./" else name


def files_of(path, ignored):
    """Digest of every file under a directory, by name."""
    found = {}
    for folder, _, names in os.walk(path):
        for name in names:
            whole = os.path.join(folder, name)
            if not any(part in whole for part in ignored):
                with open(whole, "rb") as file:
                    found[os.path.relpath(whole, path)] = hashlib.sha256(file.read()).hexdigest()
    return found


class Outcome:
    """One run in a directory of its own; profiled into `trace` if given."""

    def __init__(self, program, path, trace=None, interval=None):
        work = os.path.join(path, "work")
        os.mkdir(work)
        program.prepare(work)
        if program.compile:
            built = profiled.run(program.compile, cwd=work, extra=FIXED)
            profiled.expect(built.status == 0, built.stderr.decode(errors="replace"))
        command = [find(program.command[0]), *program.command[1:]]
        if trace:
            options = ["--interval", str(interval)] if interval else []
            command = [profiled.BYTEPOLL, "run", "--quiet", "-o", trace, *options, "--", *command]
        result = profiled.run(command, cwd=work, extra=FIXED, time_limit_s=300)
        self.status = result.status
        self.stdout, self.stderr = (
            b"\n".join(sorted(text.split(b"\n"))) if program.sort else text
            for text in (result.stdout, result.stderr))
        self.files = files_of(work, program.ignored)


def compare(plain, other):
    profiled.expect_same(plain, other)
    changed = {name for name in plain.files.keys() | other.files.keys()
               if plain.files.get(name) != other.files.get(name)}
    profiled.expect(not changed, "files differ: %s" % sorted(changed)[:5])


def mebibytes(figure):
    if figure["estimate"] is None:
        return "%.1f to %.1f" % (figure["low"] / 2 ** 20, figure["high"] / 2 ** 20)
    text = "%.1f" % (figure["estimate"] / 2 ** 20)
    return text if figure.get("exact") else text + " [%.1f, %.1f]" % (
        figure["low"] / 2 ** 20, figure["high"] / 2 ** 20)


def count_processes(data):
    processes = data["processes"]
    return processes if isinstance(processes, int) else len(processes)


def judge(tap, program, plain, interval, rows):
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        other = Outcome(program, path, trace, interval)
        compare(plain, other)
        left = [name for name in profiled.litter(path, trace) if name != "work"]
        profiled.expect(not left, "litter: %s" % left)
        data = profiled.report(trace)
        profiled.expect(interval is None or data["samples"] > 0, "no samples")
        lost = profiled.lost(data)
        profiled.expect(interval is not None or not lost, "lost: %s" % data["losses"])
        if program.name == "make -j2":
            profiled.expect(count_processes(data) > 20, "%s processes" % data["processes"])
        totals = data["totals"]
        rows.append((program.name, "%d" % (interval or data["intervals"][0]), count_processes(data),
                     data["samples"], lost, mebibytes(totals["allocated"]["bytes"]),
                     mebibytes(totals["peak"]["bytes"]), mebibytes(totals["live"]["bytes"])))
        tap.note("%s: %s" % (program.name, rows[-1][1:]))


def main():
    if "--more" in sys.argv:
        import more
        return more.main(sys.argv[1:])
    words = [word for word in sys.argv[1:] if word != "--table"]
    tap, rows = profiled.Tap(), []
    for program in PROGRAMS:
        if words and program.name not in words:
            continue
        missing = [name for name in (program.command[0], *program.needs)
                   if not name.startswith("./") and not find(name)]
        if missing:
            tap.skip(program.name, "%s is not installed" % ", ".join(missing))
            continue
        with profiled.directory() as path:
            plain = Outcome(program, path)
        for interval in INTERVALS:
            tap.attempt("%s at T = %s" % (program.name, interval or "default"),
                        lambda: judge(tap, program, plain, interval, rows))
    if "--table" in sys.argv:
        for row in rows:
            print("| " + " | ".join(map(str, row)) + " |")
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
