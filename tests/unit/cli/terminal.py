#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `bytepoll report` does on a terminal, through a pseudo-terminal: the width of every report, colour,
the pager (that it is started, left early, missing, unwanted), progress on long reads, and the distributions
against the samples they are made of.

Usage: terminal.py BYTEPOLL CHURN     (prints TAP; the recorder lies beside BYTEPOLL)
"""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import cases
from cases import test

BYTEPOLL, CHURN = (os.path.abspath(a) for a in sys.argv[1:3])
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def environment(**more):
    plain = {k: v for k, v in os.environ.items()
             if k not in ("NO_COLOR", "COLUMNS", "PAGER", "LESS", "TERM", "LINES")}
    return {**plain, "LC_ALL": "C.UTF-8", "TERM": "xterm", **more}


def record(trace, *options):
    subprocess.run([BYTEPOLL, "run", "-q", "-f", "-o", trace, *options, "--", CHURN, "2", "30000"],
                   check=True, timeout=60, stdin=subprocess.DEVNULL)
    return trace


class Terminal:
    """A command on a terminal of so many columns. `stdout` and `stderr`: is it the terminal?"""

    def __init__(self, words, columns=80, rows=24, stdout=True, stderr=True, **variables):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.other = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [BYTEPOLL, *words], stdin=slave, stdout=slave if stdout else self.other,
            stderr=slave if stderr else self.other, env=environment(**variables), start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.text = b""

    def read_until(self, pattern, seconds=20):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text) and time.monotonic() < end:
            if not self.read_some(0.2) and self.process.poll() is not None:
                break
        assert re.search(pattern, self.text), (pattern, self.text[-2000:])

    def read_some(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            got = os.read(self.master, 65536)
        except OSError:  # EIO: everybody else has closed it
            got = b""
        self.text += got
        return got != b""

    def type(self, text):
        os.write(self.master, text)

    def finish(self, seconds=30):
        """(status, what the terminal got, what the file got)"""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not self.read_some(0.2) and self.process.poll() is not None:
                break
        if self.process.poll() is None:
            self.process.kill()
            raise AssertionError("it does not end: %r" % self.text[-500:])
        os.close(self.master)
        self.other.seek(0)
        return self.process.returncode, self.text.decode().replace("\r\n", "\n"), self.other.read().decode()


def shown(*words, **options):
    status, text, other = Terminal(words, **options).finish()
    assert status == 0, (status, text)
    return text + other


def lines_of(text):
    return ESCAPES.sub("", text).split("\n")


REPORTS = (["report"], ["report", "--summary"], ["report", "--stats"], ["report", "--tree"],
           ["report", "--timeline"], ["report", "--growth"], ["plan"])


@test
def width_is_the_terminals():
    trace = record("a.bpt", "-i", "8K")
    for words in REPORTS:
        for columns in (80, 100, 133):
            text = shown(*words, "--no-pager", trace, columns=columns,
                         COLUMNS="57")
            widest = max(len(line) for line in lines_of(text) if "bytepoll run --interval" not in line)
            assert widest <= columns, (words, columns, widest)
            if words == ["report"]:
                assert widest > columns - 40, (columns, widest)


@test
def width_without_a_terminal():
    trace = record("a.bpt", "-i", "8K")

    def widest(**variables):
        text = subprocess.run([BYTEPOLL, "report", "--summary", trace], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=True, timeout=60,
                              env=environment(**variables)).stdout
        return max(len(line) for line in text.split("\n"))
    assert 60 < widest() <= 80, widest()
    assert 100 < widest(COLUMNS="120") <= 120, widest(COLUMNS="120")
    for nonsense in ("", "x", "-5", "0", "99999999999999999999", "1e9"):
        assert widest(COLUMNS=nonsense) <= 80, nonsense


@test
def colour():
    trace = record("a.bpt", "-i", "8K")
    with_colour = shown("report", "--no-pager", trace)
    assert "\x1b[1m" in with_colour, with_colour
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
        assert "\x1b" not in shown("report", "--no-pager", trace, **variables), variables
    assert "\x1b" not in shown("report", trace, stdout=False)
    text = shown("report", "--no-pager", trace, LC_ALL="C", NO_COLOR="1")
    assert text.isascii() and "* estimate" in text, text


@test
def pager_gets_everything():
    trace = record("a.bpt", "-i", "8K")
    plain = shown("report", "--stats", "--no-pager", trace)
    assert shown("report", "--stats", trace, PAGER="tee seen > /dev/null; echo paged") == "paged\n"
    with open("seen", encoding="utf-8") as seen:
        assert seen.read() == plain, "other text"
    # So do all commands that print as much as they please.
    other = record("b.bpt", "-i", "8K")
    subprocess.run([BYTEPOLL, "run", "-q", "-f", "--verify", "-o", "c.bpt", "--", CHURN, "1", "3000"], check=True,
                   timeout=60, stdin=subprocess.DEVNULL)
    for words in (["diff", "--all", trace, other], ["diff", "--json", trace, other], ["plan", trace], ["plan", "--table"],
                  ["verify", "c.bpt"]):
        plain = shown(*words, "--no-pager")
        assert len(plain) > 200 and shown(*words, PAGER="tee seen > /dev/null; echo paged") == "paged\n", words
        with open("seen", encoding="utf-8") as seen:
            assert seen.read() == plain, words
        assert "paged" not in shown(*words, "--no-pager", PAGER="echo paged; cat > /dev/null"), words
    assert shown("report", trace, PAGER="printf '%s %s\\n' $LESS $LV; cat > /dev/null") == "FRX -c\n"
    assert shown("report", trace, PAGER="echo $LESS; cat > /dev/null", LESS="XY") == "-R XY\n"


@test
def no_pager():
    trace = record("a.bpt", "-i", "8K")
    for options, variables in ((["--no-pager"], {}), ([], {"PAGER": ""}), ([], {"PAGER": "cat"}),
                               (["--no-pager"], {"PAGER": "false"}), ([], {"TERM": "dumb", "PAGER": "false"})):
        assert "live at exit" in shown("report", *options, trace, **variables), (options, variables)
    assert "live at exit" in shown("report", trace, stdout=False, PAGER="touch started")
    assert not os.path.exists("started"), "a pager for a file"
    assert "live at exit" in shown("report", trace, PATH="/nonexistent"), "without less"


@test
def pager_that_is_left_early():
    trace = record("a.bpt", "-i", "512")
    for words in (["report", "--by", "stack", "-n", "100000"], ["report", "--json", "--timeline", "--moments", "5000"]):
        status, text, _ = Terminal([*words, trace], PAGER="head -n 3").finish()
        assert status == 0 and "bytepoll:" not in text, (status, text)
        assert text.count("\n") == 3, text
    status, text, _ = Terminal(["report", trace], PAGER="exit 1").finish()
    assert status == 0 and text == "", (status, text)


@test
def pager_that_cannot_start():
    trace = record("a.bpt", "-i", "8K")
    for words in (["report", trace], ["diff", "--all", trace, trace], ["plan", trace]):
        plain = shown(*words, "--no-pager")
        # Named where it is not; a folder; not to be executed; with control characters.
        for pager in ("/nonexistent/pager", "nosuchpager -x 3", "/tmp", "/etc/passwd", "no\x1b31m"):
            status, text, stderr = Terminal(words, stderr=False, PAGER=pager).finish()
            assert status == 0 and text == plain, (pager, status, text)
            assert stderr.count("\n") == 1 and "cannot be started: set PAGER" in stderr and \
                "\x1b" not in stderr, (pager, stderr)
    # What can only be known too late is an error.
    status, text, _ = Terminal(["report", trace], PAGER="A=1 nosuchpager").finish()
    assert status == 1 and "bytepoll: the pager A=1 nosuchpager cannot be started" in text, (status, text)
    # Words of the shell are there.
    for pager in ("exec head -n 1", "{ head -n 1; }", "f() { head -n 1; }; f", "  command head -n 1"):
        status, text, _ = Terminal(["report", trace], PAGER=pager).finish()
        assert status == 0 and text.count("\n") == 1 and "churn" in text, (pager, text)
    # What is wrong is said, and the status is the command's, pager or not.
    status, text, _ = Terminal(["report", "--pid", "4194999", trace], PAGER="cat; exit 0").finish()
    assert status == 1 and text.count("bytepoll: ") == 1, (status, text)
    status, text, _ = Terminal(["report", "missing.bpt"], PAGER="touch started").finish()
    assert status == 1 and not os.path.exists("started"), (status, text)


@test
def less_and_its_keys():
    trace = record("a.bpt", "-i", "8K")
    terminal = Terminal(["report", "--stats", trace], rows=10)
    terminal.read_until(rb":")
    time.sleep(0.3)
    assert terminal.process.poll() is None, "it did not wait for a key"
    terminal.type(b"q")
    status, text, _ = terminal.finish()
    assert status == 0 and "bytepoll:" not in text, (status, text)
    # Short output does not wait (F).
    status, text, _ = Terminal(["report", "-n", "1", trace], rows=60).finish()
    assert status == 0 and "live at exit" in text, (status, text)


@test
def colours_in_less():
    """Each line has its own: less ends them where a line ends. LESS without R does not show them as text."""
    trace = record("a.bpt", "-i", "64")
    os.truncate(trace, os.path.getsize(trace) // 2 + 777)  # warns
    for words in (["report"], ["report", "--summary"], ["report", "--stats"], ["report", "--tree"],
                  ["diff", trace], ["plan"]):
        on = ""
        for line in shown(*words, "--no-pager", trace, columns=60).split("\n"):
            assert on == "" or line == "", (words, "begins in colour", line)
            found = re.findall(r"\x1b\[([0-9;]*)m", line)
            on = found[-1].replace("0", "") if found else on
    warned = [line for line in shown("report", "--no-pager", trace, columns=60).split("\n") if "\x1b[33m" in line]
    assert len(warned) > 1 and all(line.endswith("\x1b[0m") for line in warned), warned
    for variables in ({}, {"LESS": "X"}, {"LESS": "-iX"}, {"LESS": ""}):
        terminal = Terminal(["report", trace], rows=60, columns=60, **variables)
        terminal.read_until(rb"samples")
        terminal.type(b"q")
        status, text, _ = terminal.finish()
        assert status == 0 and "ESC[" not in text and re.search("\x1b\\[33?m  !", text), (variables, text)


@test
def narrow():
    """The totals and what is wrapped keep to thirty columns."""
    trace = record("a.bpt", "-i", "8K")
    for words in (["report"], ["report", "--summary"]):
        text = shown(*words, "--no-pager", trace, columns=30)
        head = lines_of(text)[:8]
        assert "live at exit" in text and "peak" in text and "temporary" in text, text
        assert all(len(line) <= 30 for line in head), head


@test
def interrupt_is_the_pagers():
    trace = record("a.bpt", "-i", "8K")
    terminal = Terminal(["report", trace],
                        PAGER="trap 'echo heard; exit 0' INT; echo ready; cat > /dev/null; sleep 20 & wait")
    terminal.read_until(rb"ready")
    time.sleep(0.2)
    os.killpg(terminal.process.pid, signal.SIGINT)
    status, text, _ = terminal.finish()
    assert status == 0 and "heard" in text, (status, text)


@test
def quiet_when_a_pipe_closes():
    trace = record("a.bpt", "-i", "512")
    result = subprocess.run("'%s' report --by stack -n 100000 '%s' | head -n 1; exit ${PIPESTATUS[0]}" % (
        BYTEPOLL, trace), shell=True, executable="/bin/bash", capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL, env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    assert result.stderr == "" and result.returncode in (0, 141), result


# Four million samples take a loaded machine, or a sanitizer, longer than what finish() allows.
PATIENCE_SECONDS = 150


@test
def progress():
    subprocess.run([BYTEPOLL, "run", "-q", "-f", "-i", "1", "-o", "big.bpt", "--", CHURN, "1", "4000000"],
                   check=True, timeout=120, stdin=subprocess.DEVNULL)
    _, text, file = Terminal(["report", "big.bpt"], stdout=False).finish(seconds=PATIENCE_SECONDS)
    assert "live at exit" in file, file
    told = [part for part in text.split("\r") if "reading samples" in part]
    assert told and re.search(r"[\d,]+ of [\d,]+, \d+ %", told[-1]), text
    assert "\x1b" not in text and "\n" not in text, text
    assert text.endswith("\r") and text.split("\r")[-2].strip() == "", "not taken away: %r" % text[-200:]
    assert all(len(part) <= 79 for part in text.split("\r")), "wider than the terminal"
    for variables in ({"TERM": "dumb"}, {"TERM": ""}):
        _, text, _ = Terminal(["report", "big.bpt"], stdout=False, **variables).finish(seconds=PATIENCE_SECONDS)
        assert text == "", text
    _, text, file = Terminal(["report", "big.bpt"], stderr=False, PAGER="").finish(seconds=PATIENCE_SECONDS)
    assert file == "" and "reading" not in text, (file, text)


@test
def csv_for_eyes():
    """Names with control characters: harmless on a terminal, and in a file that is shown on one."""
    name = "evil\x1b]0;owned\x07\x1b[31m"
    os.mkdir(name)
    shutil.copy(CHURN, os.path.join(name, "churn"))
    subprocess.run([BYTEPOLL, "run", "-q", "-f", "-i", "8K", "-o", "a.bpt", "--", os.path.join(name, "churn"),
                    "1", "20000"], check=True, timeout=60, stdin=subprocess.DEVNULL,
                   env=environment())
    for words in (["--csv", "--by", "process"], ["--csv", "--by", "module"], ["--by", "module"],
                  ["--summary"], ["--stats"], ["--json"]):
        text = shown("report", *words, "--no-pager", "a.bpt", NO_COLOR="1")
        assert "\x1b" not in text and "\x07" not in text, (words, text)
    assert "owned" in shown("report", "--csv", "--by", "module", "--no-pager", "a.bpt", NO_COLOR="1")
    text = shown("report", "--csv", "--by", "module", "a.bpt", stdout=False)
    assert name.replace("\x1b", "\\x1b").replace("\x07", "\\x07") in text, text


def amounts(data):
    for entry in data["stats"]["sizes"]:
        yield entry


@test
def distributions_are_true():
    """Every object taken: figures are counts. Sampled: intervals (at 99.99 %) hold those counts."""
    subprocess.run([BYTEPOLL, "run", "-q", "-f", "-i", "1", "--seed", "5", "-o", "all.bpt", "--", CHURN,
                    "2", "30000"], check=True, timeout=60, stdin=subprocess.DEVNULL)
    def stats(*words):
        return json.loads(subprocess.run([BYTEPOLL, "report", "--stats", "--json", "--confidence", "0.9999",
                                          *words], check=True, capture_output=True, timeout=60).stdout)
    truth = stats("all.bpt")
    total = truth["totals"]["allocated"]
    for kind in ("bytes", "objects"):
        assert all(e["allocated"][kind].get("exact") for e in amounts(truth)), truth["stats"]["sizes"]
        exact = total[kind]["estimate"]
        assert sum(e["allocated"][kind]["estimate"] for e in amounts(truth)) == exact
        ages = truth["stats"]["lifetimes"]
        assert ages["freed"][kind]["estimate"] + ages["still_live"][kind]["estimate"] == exact, ages
        assert ages["still_live"][kind]["estimate"] == truth["totals"]["live"][kind]["estimate"], ages
        assert sum(a["freed"][kind]["estimate"] + a["still_live"][kind]["estimate"]
                   for a in ages["ranges"]) == exact
        assert sum(r["allocated"][kind]["estimate"] for r in truth["stats"]["rates"]) == exact
        assert sum(e["live"][kind]["estimate"] for e in amounts(truth)) == \
            truth["totals"]["live"][kind]["estimate"]
    by_size = {row["name"]: row for row in json.loads(subprocess.run(
        [BYTEPOLL, "report", "--json", "--metric", "allocated", "--by", "size", "all.bpt"], check=True,
        capture_output=True, timeout=60).stdout)["rows"]}
    for entry in amounts(truth):
        inside = [row for size, row in by_size.items() if entry["low"] <= int(size) <= entry["high"]]
        assert sum(row["objects"]["estimate"] for row in inside) == entry["allocated"]["objects"]["estimate"]
    record("some.bpt", "-i", "2K", "--seed", "9")
    some = {entry["low"]: entry for entry in amounts(stats("some.bpt"))}
    wide = 0
    for entry in amounts(truth):
        if entry["low"] not in some:
            continue
        for kind in ("bytes", "objects"):
            true, guess = entry["allocated"][kind]["estimate"], some[entry["low"]]["allocated"][kind]
            assert guess["low"] <= true <= guess["high"], (entry["low"], kind, true, guess)
            wide += guess["low"] < guess["high"]
    assert wide > 0 and len(some) >= 3, some


@test
def wrong_uses():
    trace = record("a.bpt", "-i", "8K")
    for words in (["--summary", "--by", "line"], ["--stats", "--metric", "live"], ["--summary", "--tree"],
                  ["--stats", "--csv"], ["--summary", "--json"], ["--stats", "--growth"], ["--stats", "--sort", "name"],
                  ["--summary", "--timeline"], ["--stats", "--summary"]):
        result = subprocess.run([BYTEPOLL, "report", *words, trace], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=60)
        assert result.returncode == 2 and result.stdout == "", (words, result)
        assert result.stderr.count("\n") == 1 and result.stderr.startswith("bytepoll: "), (words, result)


if __name__ == "__main__":
    sys.exit(cases.run())
