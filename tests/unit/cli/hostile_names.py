#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names that try to steer a terminal or to look like lines of ours: as files, programs, arguments, options
and environment, to every command there is. Whatever a command answers, nothing of it may reach a terminal
but text: no control byte beside the line end, no C1 control, no change of direction, and no line that the
name made.

Usage: hostile_names.py BYTEPOLL CHURN STATIC_PROGRAM MALLOC_PROGRAM     (prints TAP; the recorder lies beside
BYTEPOLL)
"""

import os
import re
import shutil
import subprocess
import sys

import cases
from cases import test

BYTEPOLL, CHURN, STATIC, OWN_MALLOC = (os.path.abspath(a) for a in sys.argv[1:5])
FORGED = b"forged: line"
# Colour, window title, a line of its own; C1 controls as a byte and as UTF-8; direction; a broken sequence.
HOSTILE = [b"a\x1b[31mb\x1b]0;title\x07c", b"a\n" + FORGED, b"a\r" + FORGED + b"\x08\x7f",
           b"a\x9b31mb\xc2\x9b31mc", b"a\xe2\x80\xaetxt.exe", b"a\xff\xc3b\t"]


def call(*words, locale="C.UTF-8", more=None, cwd=None):
    environment = {k: v for k, v in os.environb.items() if not k.startswith(b"BYTEPOLL_")}
    environment.update({b"LC_ALL": locale.encode(), b"NO_COLOR": b"1", **(more or {})})
    result = subprocess.run([BYTEPOLL, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                            env=environment, cwd=cwd)
    harmless(words, result.stdout + result.stderr, locale)
    assert result.returncode >= 0, (words, result)  # no signal
    return result


def harmless(words, output, locale):
    for place, byte in enumerate(output):
        assert byte == 0x0a or byte >= 0x20 and byte != 0x7f, (words, output[max(0, place - 60):place + 20])
    text = output.decode()  # all of it is UTF-8
    for character in text:
        assert not 0x80 <= ord(character) < 0xa0 and character not in "\u202e\u200b", (words, text[-300:])
    assert locale != "C" or output.isascii(), (words, output[-300:])
    for line in output.split(b"\n"):
        assert not line.startswith(FORGED), (words, output[-300:])


def commands():
    overview = call("--help").stdout.decode()
    found = re.findall(r"^  (\w+) +\S", overview.split("Commands:")[1], re.MULTILINE)
    assert len(found) >= 10 and {"run", "report", "control", "doctor"} <= set(found), found
    return found


@test
def every_command_refuses_hostile_words():
    for command in commands():
        if command == "live":
            continue  # needs a terminal before it looks at its words; below
        for word in HOSTILE:
            call(command, word)
            call(command, b"--" + word.replace(b"\n", b"\r"))
            call(command, b"./" + word, word)
            call(command, b"--no-such", word)
            call(command, word, locale="C")
    for word in HOSTILE:
        call(word)
        call("help", word)
        call("completion", word)


@test
def every_option_refuses_hostile_values():
    for command in commands():
        text = call("help", command).stdout.decode()
        for option in re.findall(r"^ +(?:-\w, +)?--([a-z-]+) [A-Z]", text, re.MULTILINE):
            for word in HOSTILE[:4]:
                call(command, b"--" + option.encode() + b"=" + word, "x")


def place(name, program):
    os.symlink(program, name)
    return b"./" + name


def record(word, program, *options):
    """A hostile program with hostile arguments, and a hostile output; returns the trace."""
    trace = word + b".bpt"
    result = call("run", *options, "-f", "-o", trace, "--", program, b"2", b"20000", word)
    assert result.returncode == 0, result
    return trace


@test
def run_and_its_readers_take_any_name():
    for number, word in enumerate(HOSTILE):
        folder = b"%d" % number
        os.mkdir(folder)
        os.chdir(folder)
        trace = record(word, place(word, CHURN), "-i", "4K")
        other = record(b"2" + word, b"./" + word, "-i", "4K")
        for words in (["report"], ["report", "--summary"], ["report", "--stats"], ["report", "--tree"],
                      ["report", "--timeline"], ["report", "--growth"], ["report", "--by", "process"],
                      ["report", "--by", "module"], ["check", "--limit", "live=1G"], ["plan"], ["fold"],
                      ["control", "-q"], ["live"]):
            more = ["status"] if words[0] == "control" else []
            call(*words, trace, *more)
        call("diff", trace, other)
        call("html", trace, "-o", trace + b".html")
        for format_name in ("pprof", "collapsed", "json"):
            call("export", trace, "--to", format_name, "-o", trace + b".out")
        call("verify", trace)
        call("doctor", b"./" + word)
        call("report", trace, locale="C")
        os.chdir(b"..")


@test
def run_says_what_it_could_not_see():
    for word in HOSTILE:
        for program, expected in ((STATIC, b"statically linked"), (OWN_MALLOC, b"NOTHING WAS RECORDED")):
            shutil.copy(program, word)
            result = call("run", "-f", "-o", b"t" + word, "--", b"./" + word)
            assert expected in result.stderr, result
            result = call("run", "-f", "-o", b"t" + word, "--", "sh", "-c", b'"./$0"; true', word)
            call("report", b"t" + word)
            call("doctor", b"./" + word)
            os.unlink(word)
        with open(word, "wb") as script:
            script.write(b"#!/no/such/\x1b[31minterpreter\n")
        os.chmod(word, 0o755)
        call("run", "-f", "-o", "t", "--", b"./" + word)
        call("doctor", b"./" + word)
        os.unlink(word)


@test
def environment_and_folders_with_any_name():
    for word in HOSTILE:
        call("run", "--", "true", more={b"BYTEPOLL_START": word})
        call("run", "-f", "--", "true", more={b"PATH": b"/" + word})
        os.mkdir(word)
        call("run", "-f", "--", "sh", "-c", ":", cwd=word)
        call("run", "-f", "-o", "x/y", "--", "true", cwd=word)
        call("report", ".", cwd=word)
        shutil.rmtree(word)


@test
def processes_with_any_name():
    for word in HOSTILE:
        shutil.copy("/bin/sleep", word)
        with subprocess.Popen([b"./" + word, "60"], stdin=subprocess.DEVNULL) as process:
            call("doctor", str(process.pid))
            call("control", str(process.pid), "status")
            process.kill()
        trace = b"s" + word
        with subprocess.Popen([BYTEPOLL, "run", "-q", "-f", "-i", "1", "-o", trace, "--", b"./" + word, "60"],
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            for _ in range(600):
                result = call("control", trace, "status")
                if result.returncode == 0:
                    break
                subprocess.run(["sleep", "0.05"], check=True)
            assert result.returncode == 0, result
            for words in (["stop"], ["start"], ["snapshot", "-f", "-o", b"p" + word]):
                assert call("control", *words[1:], trace, words[0]).returncode == 0, words
            process.terminate()
        os.unlink(word)


if __name__ == "__main__":
    sys.exit(cases.run())
