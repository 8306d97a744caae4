#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules of CONTRIBUTING.md that a machine can check, over every file of the repository. Each
rule is one function from (path, text) to findings, and is first tried on text that breaks it.

Usage: house.py SOURCE_ROOT
"""

import fnmatch
import os
import re
import sys

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 600
README_LINES_MAX = 130
# Data, not code: tables may be as long as what they hold.
DATA_TABLES = ["*.csv", "*.md", "*.svg", "tests/data/*", "fuzz/corpus/*"]

# Made by a program, and not to be read.
GENERATED = ["fuzz/corpus/*", "web/dist/*", "web/package-lock.json"]

CODE = (".c", ".h", ".py", ".js", ".jsx", ".mjs")
IN_TARGET = ["src/target/*", "src/sampler/*", "src/trace/writer*", "src/trace/label_set*", "include/bytepoll/*",
             "bindings/*"]
COMMENT_COLUMNS_MAX = 100
# Where a question about the compiler or the machine may stand.
CONDITIONS_ALLOWED = ["src/base/attributes.h", "src/target/probes/test_points.h", "src/target/unwind/machine.h",
                      "include/bytepoll/sampler.h"]  # the last must be whole by itself
DRAWERS = {"util", "utils", "common", "misc", "helper", "helpers", "manager", "managers", "internal"}
# What may not be called in somebody else's process: it allocates, locks, buffers or exits.
BANNED_CALLS = re.compile(
    r"(?<![\w.>])(v?[fsd]?n?printf|v?asprintf|puts|fputs|fputc|fopen|fdopen|fclose|fread|fwrite"
    r"|fgets|getline|perror|syslog|strerror|strdup|strndup|malloc|calloc|realloc|free|alloca"
    r"|pthread_create|pthread_mutex_lock|exit|atexit|setlocale|strtod|localtime|opendir|system"
    r"|popen|log|log2|exp|pow|sqrt)\s*\(")
# In src/target/hooks these names are our own functions; that libc's are not called, the list of undefined
# symbols shows.
OUR_OWN = {"malloc", "calloc", "realloc", "free"}
# What a program loads by its own choice, beside its runtime, has its own memory from malloc and its own locks; it
# prints, exits and starts threads as little as the recorder does.
CHOSEN = ["bindings/lua/*", "bindings/boehm/*"]
CHOSEN_MAY = OUR_OWN | {"snprintf", "pthread_mutex_lock"}
MACHINE_PATHS = re.compile(r"(?<![\w.$}])/(?:home|root|work|Users)/\w")
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
ISSUE_NUMBERS = re.compile(r"\bissue\s+#?\d|\bPR\s+#\d", re.IGNORECASE)


# Those whose words hold nothing but figures and our own.
SPEAKERS = ["src/tool/cli/say.c", "src/tool/cli/run/recorded.c", "src/tool/cli/live/live.c"]


def matches(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def without_comments(text):
    """Comments and literals blanked, lines kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text,
                  flags=re.DOTALL)


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


def file_lengths(path, text):
    lines = text.count("\n")
    if path.endswith(CODE) and lines > FILE_LINES_MAX and not matches(path, DATA_TABLES):
        yield f"{path}: {lines} lines, more than {FILE_LINES_MAX}"


def readme_length(path, text):
    if path == "README.md" and text.count("\n") > README_LINES_MAX:
        yield f"{path}: {text.count(chr(10))} lines, more than {README_LINES_MAX}: the rest belongs into docs/"


def function_lengths(path, text):
    start = None
    if not path.endswith((".c", ".h")):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start is not None:
            if number - start - 1 > FUNCTION_LINES_MAX:
                yield f"{path}:{start}: a function of {number - start - 1} lines"
            start = None


def drawer_names(path, _):
    for part in path.split("/"):
        if DRAWERS & set(re.split(r"[_.\-]", part.lower())):
            yield f"{path}: '{part}' says nothing: file it under its noun"
            return


def conditions(path, text):
    """#if is for include guards, and for C++ around public headers."""
    if not path.startswith(("src/", "include/")) or not path.endswith((".c", ".h")):
        return
    if matches(path, CONDITIONS_ALLOWED):
        return
    plain = without_comments(text)
    found = list(re.finditer(r"^[ \t]*#[ \t]*(if\w*)\b[ \t]*([^\n]*)", plain, re.MULTILINE))
    if path.endswith(".h") and found and found[0].group(1) == "ifndef":
        guard = found[0].group(2).strip()
        if re.search(r"^#define\s+" + re.escape(guard) + r"\s*$", plain, re.MULTILINE):
            found = found[1:]
    for match in found:
        if path.startswith("include/") and match.group(2).strip() == "__cplusplus":
            continue
        yield f"{path}:{line_of(plain, match)}: #{match.group(1)} outside the files for it"


def calls_in_target(path, text):
    if not path.endswith((".c", ".h")) or not matches(path, IN_TARGET):
        return
    plain = without_comments(text)
    for number, line in enumerate(plain.splitlines(), 1):
        for match in BANNED_CALLS.finditer(line):
            if path.startswith("src/target/hooks/") and match.group(1) in OUR_OWN or \
                    matches(path, CHOSEN) and match.group(1) in CHOSEN_MAY:
                continue
            yield f"{path}:{number}: {match.group(1)} may not be called in the target"
        if re.search(r"\b(secure_)?getenv\s*\(", line) and not path.endswith(("/config.c", "/settings.c")):
            yield f"{path}:{number}: only config.c and settings.c read the environment"


def words_to_a_terminal(path, text):
    """What a command says of names and arguments goes by cli/say.h, which lets no escape through."""
    if not path.startswith("src/tool/cli/") or not path.endswith(".c") or path in SPEAKERS:
        return
    for match in re.finditer(r"\b(?:fprintf|fputs)\s*\((?:[^;\"]|\"(?:\\.|[^\"\\])*\")*?;", text):
        call = match.group(0)
        if re.match(r"fprintf\s*\(\s*stderr", call) and "bytepoll:" in call and "%s" in call:
            yield f"{path}:{line_of(text, match)}: say it by bp_say (cli/say.h)"


def json_by_hand(path, text):
    """JSON has one writer, src/tool/text/json_writer.h; a key in a string of C is another one."""
    if path.startswith("src/") and path.endswith((".c", ".h")):
        for match in re.finditer(r'\\"[\w$]+\\":', text):
            yield f"{path}:{line_of(text, match)}: write JSON by text/json_writer.h: {match.group(0)}"


def licence_line(path, text):
    script = text.startswith("#!")
    if (path.endswith(CODE) or script) and "SPDX-License-Identifier: MIT" not in text[:200]:
        yield f"{path}: no SPDX line on top"


def essay(path, text):
    """A file opens with what it is."""
    if path.endswith((".c", ".h")) and path.startswith(("src/", "include/")):
        if not re.match(r"/\* SPDX-License-Identifier: MIT \*/\n/\*", text):
            yield f"{path}: must open with the SPDX line and a comment on what it is"


def forbidden_words(path, text):
    for rule, what in ((MACHINE_PATHS, "a path of somebody's machine"),
                       (UNFINISHED, "an unfinished thing: finish it"),
                       (ISSUE_NUMBERS, "a number of the tracker, which a reader cannot see")):
        for match in rule.finditer(text):
            yield f"{path}:{line_of(text, match)}: {what}: {match.group(0)}"


def blanks(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if line != line.rstrip() and not path.endswith((".md", ".map")):
            yield f"{path}:{number}: blanks at the end of the line"


def comment_columns(path, text):
    """Comments of C are at most so wide (a tab is eight columns), but for tables, which have tabs in their lines."""
    if not path.endswith((".c", ".h")) or not path.startswith(("src/", "include/", "bindings/", "fuzz/", "bench/")):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*(/\*|\*( |/|$))", line) and "\t" not in line.lstrip() and not line.endswith("\\"):
            if len(line.expandtabs(8)) > COMMENT_COLUMNS_MAX:
                yield f"{path}:{number}: a comment beyond {COMMENT_COLUMNS_MAX} columns"


RULES = {  # rule: (a path, text that breaks it)
    file_lengths: ("src/a/b.c", "int x;\n" * 601),
    readme_length: ("README.md", "word\n" * 131),
    function_lengths: ("src/a/b.c", "void f(void)\n{\n" + "\tx();\n" * 71 + "}\n"),
    drawer_names: ("src/a/string_utils.c", ""),
    conditions: ("src/a/b.h", "#ifndef A_H\n#define A_H\n#ifdef __linux__\n#endif\n#endif\n"),
    calls_in_target: ("src/target/unwind/a.c", "\tx = malloc(4);\n"),
    words_to_a_terminal: ("src/tool/cli/b.c", '\tfprintf(stderr, "bytepoll: %s\\n", path);\n'),
    json_by_hand: ("src/a/b.c", '\tprintf("{\\"pid\\": %d}", pid);\n'),
    licence_line: ("src/a/b.c", "int x;\n"),
    essay: ("src/a/b.c", "/* SPDX-License-Identifier: MIT */\nint x;\n"),
    forbidden_words: ("src/a/b.c", "/* TO" "DO */\n"),
    blanks: ("src/a/b.c", "int x; \n"),
    comment_columns: ("src/a/b.h", "\t/* " + "word " * 19 + "*/\n"),
}
# Text that breaks no rule.
RIGHT = [
    ("src/a/b.h", "/* SPDX-License-Identifier: MIT */\n/* What. */\n#ifndef A_H\n#define A_H\n#endif\n"),
    ("src/target/hooks/malloc.c",
     "/* SPDX-License-Identifier: MIT */\n/* Calls malloc(3). */\nBP_EXPORT void *malloc(size_t size)\n"
     "{\n\treturn real.malloc(size);\n}\n"),
    ("src/target/start/config.c", "/* SPDX-License-Identifier: MIT */\n/* a */\nint x = getenv(y);\n"),
]


def try_planted():
    for rule, (path, text) in RULES.items():
        if not list(rule(path, text)):
            yield f"planted: {rule.__name__} did not find its violation"
        for right_path, right_text in RIGHT:
            for finding in rule(right_path, right_text):
                yield f"planted: {rule.__name__} objects to right text: {finding}"


def files(root):
    for folder, folders, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        folders[:] = [f for f in folders if f not in {".git", "__pycache__", "subprojects", "node_modules"}
                      and not (relative == "." and f.startswith("build"))]
        for name in sorted(names):
            yield os.path.normpath(os.path.join(relative, name))


def check(root):
    for path in files(root):
        if path.endswith((".bpt", ".png", ".pyc")) or matches(path, GENERATED):
            continue
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for rule in RULES:
            yield from rule(path, text)


def main():
    findings = list(try_planted()) + list(check(sys.argv[1]))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
