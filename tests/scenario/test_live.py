#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll live` on a terminal (terminal.py), following programs/watched.c, which does as it is told.

Figures on the screen against those of a snapshot; every key; sizes of the terminal; every way to end, after
which the terminal must be as it was; a program that ends, is killed, forks; a trace cut off
while it is followed; names that would steer a terminal. Arguments: names of tests, without `test_`.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import profiled
from steered import control, refused
from terminal import BEGIN as BEGIN_OF_FRAME, END as END_OF_FRAME, SHELL, Terminal
from watched import Watched

LIMIT_S = 30
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "k": 1000, "M": 10**6, "": 1}
UP, DOWN, PAGE_DOWN, END, HOME = "\033[A", "\033[B", "\033[6~", "\033[F", "\033[H"


def live(*operands, columns=110, rows=24, extra=None, delay="0.2", **settings):
    """The command on a terminal."""
    environment = profiled.environment(extra={"TERM": "xterm-256color", **(extra or {})})
    environment.pop("COLUMNS", None)
    return Terminal([profiled.BYTEPOLL, "live", "--delay", delay, *map(str, operands)],
                    environment, columns, rows, **settings)


def row_of(text, name):
    """The line of a row, without its name and bar; None: it is not there."""
    for line in text.splitlines():
        match = re.match(r"[> ] %s +(.*)" % re.escape(name), line)
        if match:
            return match.group(1)
    return None


def check_figure(text, figure):
    """A figure as it is written, "12.3 MiB ±0.8", "4.8 ±0.3 k" or with limits in brackets, behind a bar
    or not, against the estimate and interval of JSON."""
    number = r"(\d+(?:\.\d+)?)"
    errors = r"(?:±%s|\[%s, %s\])" % (number, number, number)
    match = re.search(r"(?<![\d.])%s ?(KiB|MiB|B|) ?%s(?: (k|M)\b)?" % (number, errors), text)
    profiled.expect(match, "no figure in %r" % text)
    value, unit, half, low, high, thousands = match.groups()
    factor = UNITS[unit] * UNITS[thousands or ""]
    digit = factor * 10.0 ** -len((value + ".").split(".")[1]) * 0.501

    def near(shown, truth):
        profiled.expect(abs(float(shown) * factor - truth) <= digit, "%r for %s" % (text, figure))
    near(value, figure["estimate"])
    if half is not None:
        near(half, max(figure["estimate"] - figure["low"], figure["high"] - figure["estimate"]))
    else:
        near(low, figure["low"])
        near(high, figure["high"])


def snapshot_of(watched, path, *options):
    copy = os.path.join(path, "snapshot.bpt")
    result = control(watched.pid, "snapshot", "--force", "-o", copy)
    profiled.expect(result.status == 0, result.stderr)
    return profiled.report(copy, *options)


def json_row(report, name):
    return next(row for row in report["rows"] if row["name"] == name)


def test_figures(tap):
    """What is shown is what `report` says of a snapshot."""
    with profiled.directory() as path, Watched(path, 4096) as watched:
        watched.tell("hold 5000")
        watched.tell("waste 20000")
        for metric, site in (("live", "site_hold"), ("allocated", "site_waste"),
                             ("temporary", "site_waste"), ("peak", "site_hold")):
            for objects in (False, True):
                def compare():
                    report = snapshot_of(watched, path, "--metric", metric)
                    unit = "objects" if objects else "bytes"
                    options = ["--metric", metric] + (["--objects"] if objects else [])
                    with live(watched.pid, *options) as terminal:
                        terminal.wait("%s by function" % metric)
                        row = row_of(terminal.text, site)
                        profiled.expect(row is not None, terminal.text)
                        check_figure(row, json_row(report, site)[unit])
                        total = re.search(r"^live (.*?)(?: objects)? ·", terminal.text, re.M)
                        check_figure(total.group(1), report["totals"]["live"][unit])
                tap.attempt("%s, %s" % (metric, "objects" if objects else "bytes"), compare)

        def once():
            report = snapshot_of(watched, path)
            result = profiled.run([profiled.BYTEPOLL, "live", "--once", str(watched.pid)])
            profiled.expect(result.status == 0 and b"\033" not in result.stdout, "%s" % (result,))
            check_figure(row_of(result.stdout.decode(), "site_hold"),
                         json_row(report, "site_hold")["bytes"])
        tap.attempt("--once", once)
    with profiled.directory() as path, Watched(path, 1) as watched:
        watched.tell("hold 5000")

        def exact():
            with live(watched.pid) as terminal:
                terminal.wait("site_hold")
                profiled.expect("4.768 MiB" in row_of(terminal.text, "site_hold"), terminal.text)
                watched.tell("hold 1000")
                terminal.wait(re.compile(r"site_hold .*5\.722 MiB.*▲ \+976\.6 KiB"))
                watched.tell("waste 100000")
                terminal.wait(re.compile(r"allocated 101\.1 MiB, [\d.]+ [KM]iB/s"))
        tap.attempt("of every object: exact, and its growth", exact)


def test_change(tap):
    with profiled.directory() as path, Watched(path, 16384) as watched:
        watched.tell("hold 2000")
        with live(watched.pid) as terminal:
            terminal.wait("site_hold")

            def unchanged():
                terminal.wait_frames(3)
                profiled.expect(not re.search("[▲▼]", terminal.text), terminal.text)
            tap.attempt("nothing has changed", unchanged)

            def grown():
                watched.tell("hold 20000")
                row = terminal.wait(re.compile(r"site_hold.*▲ \+([\d.]+) MiB"))
                profiled.expect(15 < float(row.group(1)) < 24, terminal.text)
            tap.attempt("20 MB more are established", grown)

            def rebased():
                terminal.press("z")
                terminal.wait(lambda t: "▲" not in t.text, "no mark")
            tap.attempt("z begins anew", rebased)

            def gone():
                watched.tell("drop")
                terminal.wait(re.compile(r"site_hold.*(▼|gone) -"))
            tap.attempt("what is gone is shown as gone", gone)

            def rate():
                terminal.press("m")
                watched.tell("waste 30000")
                terminal.wait(re.compile(r"site_waste.* [\d.]+ [KM]iB/s"))
            tap.attempt("allocated a second", rate)


def test_keys(tap):
    with profiled.directory() as path, Watched(path, 1024) as watched:
        watched.tell("hold 3000")
        watched.tell("thread worker")
        watched.tell("waste 3000")
        with live(watched.pid) as terminal:
            def expect_after(name, keys, condition):
                def press():
                    terminal.press(keys)
                    terminal.wait(condition)
                tap.attempt(name, press)
            terminal.wait("live by function · by size")
            for metric in ("allocated", "temporary", "peak", "live"):
                expect_after("m: %s" % metric, "m", metric + " by function")
            for key in ("stack", "line", "file", "module", "thread", "type", "label", "size",
                        "process", "function"):
                expect_after("k: %s" % key, "k", "live by " + key)
            expect_after("K: backwards", "K", "live by process")
            expect_after("and on", "k", "live by function")
            for sort in ("rate", "change", "samples", "name"):
                expect_after("s: %s" % sort, "s", "· by " + sort)

            def sorted_names(reverse):
                names = re.findall(r"^[> ] (site_\w+|_\w+)", terminal.text, re.M)
                profiled.expect(len(names) > 1 and names == sorted(names, reverse=reverse),
                                "%s" % names)
            tap.attempt("rows are in that order", lambda: sorted_names(False))
            expect_after("r: reversed", "r", "smallest first")
            tap.attempt("and in that", lambda: sorted_names(True))
            expect_after("S: back", "rSSSS", "· by size")
            expect_after("b: objects", "b", re.compile(r"live [\d.]+.* objects"))
            expect_after("and bytes", "b", re.compile(r"live [\d.]+ [KM]iB"))
            expect_after("c: cumulative", "c", re.compile(r"cumulative.*\n(.*\n)+. main "))
            expect_after("c: not", "c", lambda t: "cumulative" not in t.text)
            expect_after("cursor down", DOWN, re.compile(r"^> (?!site_hold)", re.M))
            expect_after("cursor up", UP, re.compile(r"^> site_hold", re.M))
            expect_after("end", END, re.compile(r"^> (?!site_hold)", re.M))
            expect_after("home", HOME, re.compile(r"^> site_hold", re.M))
            expect_after("Enter: the stacks below", "\r", re.compile(
                r"under site_hold(.*\n)+.*innermost first.*\n.* site_hold ‹ (.* ‹ )?(main|…)"))
            tap.check("site_thread" not in terminal.text, "and no other", terminal.text)
            expect_after("Esc: back", "\033", re.compile(r"^> site_hold", re.M))
            expect_after("/: a filter", "/thread\r", re.compile(r"only function=\*thread\*"))

            def filtered():
                rows = terminal.wait(lambda t: re.findall(r"site_\w+", t.text))
                profiled.expect(set(rows) == {"site_thread"}, "%s" % rows)
            tap.attempt("which leaves what matches", filtered)
            expect_after("Esc: without", "\033", lambda t: "only" not in t.text)
            expect_after("a filter of another key", "/size=2000..\r", "only size=2000..")
            expect_after("an empty one: none", "/\r", lambda t: "only" not in t.text)
            expect_after("a wrong one", "/size=x\r", "no range of sizes")
            expect_after("typing can be undone", "/abc\x7f\x7f", "/a_")
            expect_after("and left", "\033", lambda t: "/a_" not in t.text)
            expect_after("h: help", "h", re.compile(r"false\s+discovery rate"))
            tap.check("…" not in terminal.text, "help is not cut", terminal.text)
            tap.check("end in order" not in terminal.text, "a program that runs has not ended badly", terminal.text)
            expect_after("any key leaves it", "x", "live by function")
            expect_after("+: more often", "+", re.compile(r"every 1\d\d ms"))
            expect_after("-: less often", "---", "every 800 ms")
            expect_after("space: pause", " ", "PAUSED")

            def paused():
                shown = row_of(terminal.text, "site_hold")
                watched.tell("hold 3000")
                time.sleep(1.2)
                terminal.settle(0.1)
                profiled.expect(row_of(terminal.text, "site_hold") == shown, terminal.text)
            tap.attempt("nothing moves", paused)
            expect_after("space: on", " ", re.compile(r"site_hold.*▲"))
            expect_after("by stack: its frames", "k\r", "frames, innermost first\n> site_hold")
            expect_after("sequences that are not known", "\033[99~\033OZ\033[200~q",
                         lambda t: t.process.poll() is not None)
            tap.check(terminal.end() == 0 and not terminal.restored(), "q: quits", "%s %s" % (
                terminal.process.poll(), terminal.restored()))


def sent_lines(terminal):
    """The lines of the last frame as they were sent, without what styles them."""
    frame = terminal.bytes[:terminal.bytes.rfind(END_OF_FRAME)]
    frame = frame[frame.rfind(BEGIN_OF_FRAME):]
    lines = re.split(rb"\033\[[0-9]+;1H", frame)[1:]
    return [re.sub(rb"\033\[[0-9;]*[mK]", b"", line).decode().rstrip() for line in lines]


def test_sizes(tap):
    with profiled.directory() as path, Watched(path, 1024) as watched:
        watched.tell("hold 3000")
        with live(watched.pid) as terminal:
            terminal.wait("site_hold")
            full = [0]
            for columns, rows in ((40, 10), (200, 60), (20, 5), (3, 2), (1, 1), (80, 24)):
                def resized():
                    terminal.settle(0.05)
                    terminal.resize(columns, rows)
                    terminal.wait_frames(2)
                    profiled.expect(terminal.process.poll() is None, "it ended")
                    if columns >= 20:
                        profiled.expect(terminal.lines[-1].startswith("q quit") and
                                        any("> site_hol" in line or "> site" in line
                                            for line in terminal.lines), terminal.text)
                    sent = sent_lines(terminal)
                    profiled.expect(sent == terminal.lines, "sent %r, shown %r" % (sent, terminal.lines))
                    full[0] += sum(len(line) == columns for line in sent)
                tap.attempt("%d x %d" % (columns, rows), resized)
            tap.check(full[0] >= 5, "%d lines were full, to the last column" % full[0], "too few")
            tap.check(b"\n" not in terminal.bytes, "no line feed is sent, so that nothing scrolls")


GUARDED = ("KILL", "BUS", "USR1")  # not caught
ENDING = ("INT", "TERM", "HUP", "QUIT", "SEGV", "ABRT", "FPE", "ILL", "XCPU") + GUARDED


def guard_of(terminal):
    return int(profiled.run(["pgrep", "-P", str(terminal.process.pid)]).stdout)


def test_signals(tap):
    with profiled.directory() as path, Watched(path, 65536) as watched:
        watched.tell("hold 100")
        for name in ENDING:
            def killed():
                number = getattr(signal, "SIG" + name)
                with live(watched.pid) as terminal:
                    terminal.wait("live by function")
                    profiled.expect(terminal.restored(), "the terminal was not taken")
                    if name not in GUARDED:  # then it must do so itself
                        os.kill(guard_of(terminal), signal.SIGKILL)
                    terminal.process.send_signal(number)
                    profiled.expect(terminal.end() == -number,
                                    "status %s" % terminal.process.poll())
                    end = time.monotonic() + 5
                    while terminal.restored() and time.monotonic() < end:
                        terminal.receive(0.05)
                    profiled.expect(not terminal.restored(), "%s" % terminal.restored())
            tap.attempt("SIG%s gives the terminal back" % name, killed)
        tap.check(watched.process.poll() is None, "the program does not notice")

        def interrupted():
            with live(watched.pid) as terminal:
                terminal.wait("live by function")
                terminal.press("\x03")
                profiled.expect(terminal.end() == -signal.SIGINT and not terminal.restored(),
                                "%s %s" % (terminal.process.poll(), terminal.restored()))
        tap.attempt("so does ^C", interrupted)

        def no_child_left():
            with live(watched.pid) as terminal:
                terminal.wait("live by function")
                guard = guard_of(terminal)
                terminal.process.kill()
                terminal.process.wait()
                end = time.monotonic() + 5
                while os.path.exists("/proc/%d" % guard) and time.monotonic() < end:
                    state = open("/proc/%d/stat" % guard).read().rsplit(")", 1)[1].split()[0]
                    if state == "Z":
                        break
                    time.sleep(0.02)
                profiled.expect(time.monotonic() < end, "the guard stays")
        tap.attempt("the guard goes, too", no_child_left)


def test_stop(tap):
    with profiled.directory() as path, Watched(path, 65536) as watched:
        watched.tell("hold 100")
        environment = profiled.environment(extra={"TERM": "xterm"})
        command = [sys.executable, "-c", SHELL, profiled.BYTEPOLL, "live", "--delay", "0.2",
                   str(watched.pid)]
        with Terminal(command, environment, 100, 24) as terminal:
            terminal.wait("live by function")
            for turn in ("first", "second"):
                def stopped():
                    at = len(terminal.bytes)
                    terminal.press("\x1a")
                    terminal.wait(lambda t: re.search(rb"STOPPED [^\n]*\n", t.bytes[at:]), "stop")
                    profiled.expect(b"STOPPED as before" in terminal.bytes[at:],
                                    terminal.bytes[terminal.bytes.rfind(b"STOPPED"):])
                    profiled.expect(not terminal.restored(), "%s" % terminal.restored())

                def continued():
                    terminal.press("fg\n")
                    before = terminal.frames
                    terminal.wait(lambda t: t.frames > before + 1 and "by function" in t.text,
                                  "frames again")
                    profiled.expect(terminal.restored(), "the terminal was not taken again")
                tap.attempt("^Z gives the terminal back, the %s time" % turn, stopped)
                tap.attempt("and going on takes it", continued)
            terminal.press("q")
            tap.check(terminal.end() == 0 and not terminal.restored(), "q ends it then", "%s %s" % (
                terminal.process.poll(), terminal.restored()))


def test_end(tap):
    with profiled.directory() as path:
        for how in ("exits", "is killed"):
            for operand in ("pid", "file"):
                trace = os.path.join(path, "trace.bpt")
                shutil.rmtree(trace + ".d", ignore_errors=True)
                if os.path.exists(trace):
                    os.remove(trace)
                with Watched(path, 1024) as watched:
                    watched.tell("hold 3000")
                    with live(watched.pid if operand == "pid" else watched.trace) as terminal:
                        def ended():
                            terminal.wait("running")
                            terminal.wait("site_hold")
                            if how == "exits":
                                watched.end()
                            else:
                                watched.process.kill()
                                watched.process.wait()
                            terminal.wait("ended after")
                            profiled.expect("site_hold" in terminal.text, terminal.text)
                            terminal.press("b")
                            terminal.wait(re.compile("site_hold .*3"))
                            terminal.press("q")
                            profiled.expect(terminal.end() == 0 and not terminal.restored(),
                                            "%s" % terminal.restored())
                        tap.attempt("a program that %s, by %s" % (how, operand), ended)
        trace = os.path.join(path, "trace.bpt")

        def afterwards():
            with live(trace) as terminal:
                terminal.wait("ended after")
                terminal.wait("site_hold")
        tap.attempt("a trace that has ended", afterwards)


def test_tree(tap):
    with profiled.directory() as path, Watched(path, 1) as watched:
        watched.tell("hold 1000")
        watched.tell("fork")
        for name, operands in (("a trace", [watched.trace]),
                               ("--tree of a process", ["--tree", watched.pid])):
            def both():
                with live(*operands) as terminal:
                    terminal.wait("and 1 more")
                    terminal.wait("site_child")
                    profiled.expect("2.003 MiB" in row_of(terminal.text, "site_child") and
                                    "976.6 KiB" in row_of(terminal.text, "site_hold"),
                                    terminal.text)
                    terminal.press("K")
                    terminal.wait(lambda t: len(re.findall(r"\(pid \d+\)", t.text)) >= 2)
            tap.attempt("%s brings the child along" % name, both)

        def alone():
            with live(watched.pid) as terminal:
                terminal.wait("site_hold")
                profiled.expect("site_child" not in terminal.text, terminal.text)
        tap.attempt("a process alone does not", alone)


def test_cut(tap):
    """A trace cut off under its reader. (The program itself must not write then, and does not.)"""
    with profiled.directory() as path, Watched(path, 1024) as watched:
        watched.tell("hold 3000")
        whole = open(watched.trace, "rb").read()
        for operand, size in ((watched.pid, 0), (watched.trace, 0), (watched.pid, 5000),
                              (watched.trace, 70000)):
            def cut():
                with live(operand) as terminal:
                    terminal.wait("site_hold")
                    os.truncate(watched.trace, size)
                    terminal.wait_frames(4)
                    profiled.expect(terminal.process.poll() is None,
                                    "status %s" % terminal.process.poll())
                    profiled.expect(size > 65536 or "site_hold" in terminal.text, terminal.text)
                    if size < 65536:
                        terminal.wait(re.compile("cannot be read any more|nobody seen|ended"))
                    with open(watched.trace, "r+b") as file:
                        file.write(whole)
                    terminal.wait("running")
                    terminal.press("q")
                    profiled.expect(terminal.end() == 0 and not terminal.restored(),
                                    "%s" % terminal.restored())
            tap.attempt("to %d bytes, by %s" % (
                size, "process" if operand == watched.pid else "file"), cut)

        def polling():
            """`control --wait` looks at the state page again and again."""
            waiting = subprocess.Popen(
                [profiled.BYTEPOLL, "control", str(watched.pid), "interval", "1M", "--wait", "20s"],
                env=profiled.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(0.5)
            os.truncate(watched.trace, 0)
            errors = waiting.communicate(timeout=LIMIT_S)[1].decode()
            profiled.expect(waiting.returncode == 1 and "cut off" in errors,
                            "status %s: %s" % (waiting.returncode, errors))
        tap.attempt("control --wait says so", polling)
        for action in (["status"], ["start"], ["stop"]):
            tap.attempt("control %s fails in one line" % action[0], lambda: profiled.expect(
                control(watched.pid, *action).status == 1, "another status"))


OWN_SEQUENCES = re.compile(rb"\033\[(\?(1049|25|7|2026)[hl]|[0-9]+;1H|[0-9]*m|2J|K)")
HOSTILE = [b"a\033]0;owned\007b", b"\033[2J\033[31m", "\u202egnp".encode(), b"\xff\xfe\x9b31m",
           b"<script>\"'&", "\u65e5\u672c\u8a9e".encode(), b"*[a]\\?"]


def inert(data):
    """Nothing in what was drawn steers the terminal but what we send ourselves."""
    rest = OWN_SEQUENCES.sub(b"", data)
    profiled.expect(b"\033" not in rest, "an escape sequence: %r" % rest[rest.find(b"\033") - 20:][:60])
    text = rest.decode("utf-8")  # raises if it is none
    profiled.expect(not re.search("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]",
                                  text), "a control character")


def test_hostile(tap):
    for number, name in enumerate(HOSTILE):
        def drawn():
            with profiled.directory() as path, Watched(path, 256, name) as watched:
                watched.tell("hold 50")
                watched.tell(b"thread " + name[:15])
                for columns in (110, 40):
                    with live(watched.pid, columns=columns) as terminal:
                        terminal.wait("site_hold")
                        for key in ("module", "thread", "process"):
                            terminal.press("k" * 9)
                            terminal.wait_frames(2)
                            terminal.press("k")
                        while "by module" not in terminal.text:
                            terminal.press("k")
                            terminal.wait_frames(1)
                            terminal.settle(0.05)
                        terminal.press("\r")
                        terminal.wait("site_hold" if columns > 40 else "> ")
                        terminal.press("\033")
                        terminal.wait_frames(1)
                        terminal.press("q")
                        profiled.expect(terminal.end() == 0, "status")
                        inert(terminal.bytes)
                result = profiled.run([profiled.BYTEPOLL, "live", "--once", "--by", "thread",
                                       str(watched.pid)])
                profiled.expect(result.status == 0, "%s" % (result,))
                inert(result.stdout)
        tap.attempt("name %d: %s" % (number, ascii(name)), drawn)

    def typed():
        with profiled.directory() as path, Watched(path, 1024) as watched:
            watched.tell("hold 300")
            with live(watched.pid) as terminal:
                terminal.wait("site_hold")
                terminal.press(b"/\xc2\x9b31m\xe2\x80\xae\xff" + b"x" * 500 + b"\r")
                terminal.wait("nothing passes the filter")
                terminal.press("q")
                profiled.expect(terminal.end() == 0, "status")
                inert(terminal.bytes)
    tap.attempt("a hostile filter, typed", typed)


def test_look(tap):
    with profiled.directory() as path, Watched(path, 1024) as watched:
        watched.tell("hold 3000")

        def plain():
            with live(watched.pid, extra={"NO_COLOR": "1"}) as terminal:
                terminal.wait("site_hold")
                terminal.press(DOWN)
                terminal.wait_frames(2)
                profiled.expect(not re.search(rb"\033\[[1-9][0-9;]*m", terminal.bytes), "colours")
        tap.attempt("NO_COLOR", plain)

        def coloured():
            with live(watched.pid) as terminal:
                terminal.wait("site_hold")
                profiled.expect(b"\033[7m" in terminal.bytes, "no colours")
        tap.attempt("colours without", coloured)

        def ascii_only():
            with live(watched.pid, extra={"LC_ALL": "C"}) as terminal:
                terminal.wait("site_hold")
                terminal.wait_frames(2)
                profiled.expect(all(byte < 0x80 for byte in terminal.bytes), terminal.text)
                profiled.expect("...*" in terminal.text, terminal.text)
        tap.attempt("ASCII", ascii_only)


def test_cost(tap):
    """Watching takes less than 5 % of a processor, whatever delay is asked for."""
    with profiled.directory() as path, Watched(path, 1) as watched:
        watched.tell("hold 60000")

        def used(pid):
            with open("/proc/%d/stat" % pid) as file:
                fields = file.read().rsplit(")", 1)[1].split()
            return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

        def measured():
            with live(watched.pid, delay="0.1") as terminal:
                terminal.wait("to cost little")
                terminal.wait_frames(1)
                before, frames, began = used(terminal.process.pid), terminal.frames, time.monotonic()
                while time.monotonic() < began + 10:
                    terminal.receive(0.1)
                share = (used(terminal.process.pid) - before) / (time.monotonic() - began)
                profiled.expect(terminal.frames > frames + 3, "it does not read")
                profiled.expect(share < 0.06, "%.1f %%" % (100 * share))  # the clock's ticks: 1 %
                tap.note("%.1f %% of a processor" % (100 * share))
        tap.attempt("little", measured)


def test_refused(tap):
    with profiled.directory() as path:
        empty, torn = os.path.join(path, "empty"), os.path.join(path, "torn.bpt")
        open(empty, "wb").close()
        with Watched(path, 1024) as watched:
            watched.tell("hold 100")
            with open(watched.trace, "rb") as file:
                head = file.read(300)
            with open(torn, "wb") as file:
                file.write(head)
            tap.attempt("no terminal", lambda: refused(profiled.run(
                [profiled.BYTEPOLL, "live", str(watched.pid)]), "--once prints one frame"))
            with Terminal([profiled.BYTEPOLL, "live", str(watched.pid)],
                          profiled.environment(extra={"TERM": "dumb"})) as terminal:
                tap.check(terminal.end() == 1 and b"--once" in terminal.bytes and
                          b"\033" not in terminal.bytes, "a dumb one", "%s" % terminal.bytes)
            for name, operands, text, status in (
                    ("no operand", [], "needs a process", 2),
                    ("two", ["1", "2"], "one word too many", 2),
                    ("no such process", ["2147483646"], "no process", 1),
                    ("a process that is not profiled", [str(os.getpid())], "no trace open", 1),
                    ("no such file", ["nothing.bpt"], "nothing.bpt", 1),
                    ("an empty file", [empty], "empty", 1),
                    ("a torn one", [torn], "torn", 1),
                    ("a directory", [path], path, 1),
                    ("a long name", ["x" * 100000], "xxx", 1),
                    ("a delay of nothing", ["--delay", "0", "1"], "--delay", 2),
                    ("a delay that is none", ["--delay", "soon", "1"], "soon", 2),
                    ("rows on a terminal", ["--rows", "5", "1"], "--once", 2),
                    ("an unknown key", ["--by", "luck", "1"], "luck", 2),
                    ("a filter that is none", ["--filter", "size=?", "1"], "sizes", 2)):
                tap.attempt(name, lambda: refused(profiled.run(
                    [profiled.BYTEPOLL, "live", *(["--once"] if status == 1 else []), *operands]),
                    text, status))


def main():
    tap = profiled.Tap()
    tests = {name[5:]: value for name, value in globals().items() if name.startswith("test_")}
    for name in sys.argv[1:] or tests:
        tests[name](tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
