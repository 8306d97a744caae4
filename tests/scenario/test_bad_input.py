#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What people do wrong: one clear line on standard error and the right exit status, each time.

`bytepoll run`: 127 not found, 126 not executable, 125 bytepoll's own failure, usage included; a
program that cannot be profiled runs all the same, with its own status and a line that says why.
Readers: 1 for a file they cannot use, 2 for a command line they cannot. Where root would be let
through everything, the command runs as nobody (setpriv). "One clear line" means: exactly one line
that begins with `bytepoll: ` (a usage error may add one hint), it names the thing in question, and
no message of a sanitizer, an assertion or Python-like trace follows.
"""
import os
import random
import re
import shutil
import stat
import struct
import subprocess
import sys

import profiled

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
MOMENTS = random.Random(7)


def one_line(result, status, *words):
    text = result.stderr.decode(errors="replace")
    lines = text.splitlines()
    profiled.expect(result.status == status, "status %s instead of %s: %s" % (
        result.status, status, text[:300]))
    profiled.expect(lines and lines[0].startswith("bytepoll: "), "message: %r" % text[:300])
    profiled.expect(len(lines) == 1 or (status in (2, 125) and len(lines) == 2),
                    "%d lines: %r" % (len(lines), text[:500]))
    for word in words:
        profiled.expect(word in text, "no mention of %r: %r" % (word, text[:300]))


class Place:
    """A directory with the things that are wrong, open to nobody."""

    def __init__(self, path):
        self.path = path
        os.chmod(path, 0o755)
        # The build may lie where nobody cannot go.
        for built in (profiled.BYTEPOLL, profiled.RECORDER):
            shutil.copy(built, path)
        self.bytepoll = os.path.join(path, os.path.basename(profiled.BYTEPOLL))
        self.open = self.directory("open", 0o777)
        self.closed = self.directory("closed", 0o555)
        self.trace = os.path.join(path, "good.bpt")
        self.copy("/bin/true", "mode644", 0o644)
        self.copy("/bin/true", "unreadable", 0o000)
        self.copy("/bin/true", "setuid", 0o4755)
        with open(os.path.join(path, "static.c"), "w") as file:
            file.write("int main(void) { return 3; }\n")
        self.static = os.path.join(path, "static")
        subprocess.run(["gcc", "-static", "-o", self.static, self.static + ".c"], check=True)
        result = profiled.run([profiled.program("truth")], self.trace, 4096, 1)
        profiled.expect(result.status == 0, "no good trace: %s" % (result,))
        os.chmod(self.trace, 0o644)

    def of(self, name):
        return os.path.join(self.path, name)

    def directory(self, name, mode):
        os.mkdir(self.of(name))
        os.chmod(self.of(name), mode)
        return self.of(name)

    def copy(self, source, name, mode):
        shutil.copyfile(source, self.of(name))
        os.chmod(self.of(name), mode)

    def file(self, name, contents):
        with open(self.of(name), "wb") as file:
            file.write(contents)
        os.chmod(self.of(name), 0o644)
        return self.of(name)


def bytepoll(*words, user=(), program=profiled.BYTEPOLL, **options):
    return profiled.run([*user, program, *words], extra={"PATH": "/usr/bin:/bin"}, **options)


def run_mistakes(tap, place):
    user = NOBODY if profiled.is_root() else []
    cases = (
        ("no such program", ("--", "/nonexistent/program"), 127, "/nonexistent/program"),
        ("no such name", ("--", "no-such-program-anywhere"), 127, "no-such-program-anywhere"),
        ("not executable", ("--", place.of("mode644")), 126, "mode644"),
        ("a directory", ("--", place.path), 126, place.path),
        ("no permission", ("--", place.of("unreadable")), 126, "unreadable"),
        ("no program", (), 125, "program"),
        ("unknown option", ("--no-such-option", "--", "/bin/true"), 125, "no-such-option"),
        ("interval of nonsense", ("--interval", "lots", "--", "/bin/true"), 125, "lots"),
        ("interval of 0", ("--interval", "0", "--", "/bin/true"), 125, "interval"),
        ("negative interval", ("--interval", "-5", "--", "/bin/true"), 125, "-5"),
        ("interval beyond all bounds", ("--interval", "99999999999T", "--", "/bin/true"), 125,
         "99999999999T"),
        ("seed of nonsense", ("--seed", "nonsense", "--", "/bin/true"), 125, "nonsense"),
        ("unknown law", ("--law", "murphy", "--", "/bin/true"), 125, "murphy"),
        ("output in no directory", ("-o", "/nonexistent/o.bpt", "--", "/bin/true"), 125,
         "/nonexistent"),
        ("output in a closed directory", ("-o", os.path.join(place.closed, "o.bpt"), "--",
                                          "/bin/true"), 125, "closed"),
        ("output that exists", ("-o", place.trace, "--", "/bin/true"), 125, "good.bpt"),
        ("output that is a directory", ("-o", place.open, "--", "/bin/true"), 125, "open"),
    )
    for name, words, status, word in cases:
        tap.attempt("run: " + name, lambda: one_line(
            bytepoll("run", *words, user=user, program=place.bytepoll, cwd=place.open), status,
            word))


def run_unprofilable(tap, place):
    """Runs all the same, and says why nothing was recorded."""
    user = NOBODY if profiled.is_root() else []

    def case(program, status, word):
        output = os.path.join(place.open, os.path.basename(program) + ".bpt")
        result = bytepoll("run", "-o", output, "--", program, user=user, program=place.bytepoll,
                          cwd=place.open)
        text = result.stderr.decode(errors="replace")
        profiled.expect(result.status == status, "status %s: %s" % (result.status, text))
        profiled.expect(text.startswith("bytepoll: ") and word in text, "message: %r" % text)
    tap.attempt("run: a static program", lambda: case(place.static, 3, "static"))
    if profiled.is_root():
        tap.attempt("run: a set-uid program", lambda: case(place.of("setuid"), 0, "set-uid"))
    else:  # one's own is no privilege
        tap.skip("run: a set-uid program", "needs root")


def run_statuses(tap, place):
    """The status is the program's own."""
    for name, script, status in (("exit 5", "exit 5", 5), ("SIGTERM", "kill -TERM $$", -15),
                                 ("SIGKILL", "kill -KILL $$", -9),
                                 ("SIGSEGV", "kill -SEGV $$", -11)):
        def case():
            output = os.path.join(place.open, "status.bpt")
            result = bytepoll("run", "--force", "-o", output, "--", "sh", "-c", script)
            profiled.expect(result.status == status, "status %s: %s" % (
                result.status, result.stderr.decode(errors="replace")))
        tap.attempt("run: status of " + name, case)


def hostile_files(place):
    """Names and contents of files that are no good traces, and whether a report may still come."""
    with open(place.trace, "rb") as file:
        good = file.read()
    wrong_version = bytearray(good)
    struct.pack_into("<H", wrong_version, 8, 99)
    fatal_flag = bytearray(good)
    struct.pack_into("<Q", fatal_flag, 16, 1 << 40)
    bad_header = bytearray(good)
    bad_header[130] ^= 0xff
    yield "empty", b"", False
    yield "zeros", bytes(100000), False
    yield "text", b"This is a letter and no trace.\n" * 50, False
    yield "elf", open("/bin/true", "rb").read(), False
    yield "magic alone", good[:8], False
    yield "half a header", good[:100], False
    yield "later version", bytes(wrong_version), False
    yield "unknown fatal flag", bytes(fatal_flag), False
    yield "damaged header", bytes(bad_header), False
    yield "torn in the state page", good[:5000], True
    yield "torn in the slots", good[:20000], True
    yield "torn in a chunk", good[:65536 + 30000], True
    yield "torn by one byte", good[:-1], True
    for number in range(20):
        damaged = bytearray(good)
        for _ in range(MOMENTS.choice((1, 10, 1000))):
            damaged[MOMENTS.randrange(4096, len(damaged))] = MOMENTS.randrange(256)
        yield "random damage %d" % number, bytes(damaged), True


def read_mistakes(tap, place):
    user = NOBODY if profiled.is_root() else []
    unreadable = place.file("unreadable.bpt", b"BYTEPOLL")
    os.chmod(unreadable, 0o000)
    for name, words, status, word in (
            ("no such file", ("/nonexistent/file.bpt",), 1, "/nonexistent/file.bpt"),
            ("unreadable", (unreadable,), 1, "unreadable.bpt"),
            ("a directory", (place.path,), 1, place.path),
            ("no file", (), 2, ""),
            ("unknown option", ("--no-such-option", place.trace), 2, "no-such-option"),
            ("unknown metric", ("--metric", "weight", place.trace), 2, "weight"),
            ("unknown key", ("--by", "colour", place.trace), 2, "colour"),
            ("confidence of 2", ("--confidence", "2", place.trace), 2, "confidence"),
            ("confidence near 0", ("--confidence", "1e-300", place.trace), 2, "from 1e-12 to"),
            ("confidence near 1", ("--confidence", "0.9999999999999999", place.trace), 2,
             "from 1e-12 to"),
            ("filter of nonsense", ("--filter", "colour=red", place.trace), 2, "colour"),
            ("rows of nonsense", ("--rows", "many", place.trace), 2, "many")):
        tap.attempt("report: " + name, lambda: one_line(
            bytepoll("report", *words, user=user, program=place.bytepoll), status, word))
    for number, (name, contents, may_read) in enumerate(hostile_files(place)):
        path = place.file("hostile%d.bpt" % number, contents)

        def case():
            result = bytepoll("report", "--json", path, time_limit_s=20)
            if not (may_read and result.status == 0):
                one_line(result, 1, os.path.basename(path))
        tap.attempt("report: %s" % name, case)


def other_mistakes(tap, place):
    tap.attempt("bytepoll: unknown command", lambda: one_line(bytepoll("reprot"), 2, "reprot"))
    tap.attempt("bytepoll: unknown option", lambda: one_line(bytepoll("--what"), 2, "--what"))
    tap.attempt("bytepoll: a full disk under the report", lambda: full_disk(place))


def full_disk(place):
    """Standard output that cannot be written is a failure, not a silent success."""
    with open("/dev/full", "w") as full:
        result = subprocess.run([profiled.BYTEPOLL, "report", place.trace], stdout=full,
                                stderr=subprocess.PIPE, env=profiled.environment(), check=False)
    one_line(profiled.Result(result.returncode, b"", result.stderr), 1)


def full_output_disk(tap, place):
    reason = profiled.no_mounts()
    if reason is not None:
        tap.skip("run: output on a full disk", reason)
        return
    small = place.directory("small", 0o777)

    def case():
        script = ("mount -t tmpfs -o size=4k tmpfs %s && dd if=/dev/zero of=%s/fill 2>/dev/null; "
                  "exec %s run -o %s/o.bpt -- sh -c 'echo out; exit 9'" % (
                      small, small, profiled.BYTEPOLL, small))
        result = profiled.run(["unshare", "-m", "sh", "-c", script])
        text = result.stderr.decode(errors="replace")
        profiled.expect(result.status in (9, 125), "status %s: %s" % (result.status, text))
        expected = b"out\n" if result.status == 9 else b""
        profiled.expect(result.stdout == expected, "output differs: %r" % result.stdout)
        profiled.expect("bytepoll: " in text and re.search("full|space|lost|write", text),
                        "message: %r" % text)
    tap.attempt("run: output on a full disk", case)


def missing_recordings(tap, place):
    """What was meant may lie beside a file that is not there: it is named, the newest first, and harmlessly."""
    folder = place.directory("recordings", 0o777)
    def there(name, day):
        path = os.path.join(os.fsencode(folder), name)
        shutil.copy(place.trace, path)
        os.utime(path, (day * 86400, day * 86400))
    def says(name, *words, commands=(["report"],)):
        for command in commands:
            one_line(profiled.run([profiled.BYTEPOLL, *command, os.path.join(folder, name)]),
                     2 if command[0] == "check" else 1, *words)
    commands = (["report"], ["html"], ["check", "--limit", "peak=1"], ["plan"], ["live", "--once"], ["fold"], ["metrics"], ["verify"],
                ["export", "--to", "csv", "-o", "-"], ["diff", place.trace])
    tap.attempt("missing, in an empty folder", lambda: says("x.bpt", "record one with `bytepoll run -o "))
    there(b"monday.bpt", 1)
    shutil.copy("/bin/true", os.path.join(folder, "wrong.bpt"))  # no recording: not named
    tap.attempt("missing, beside one", lambda: says("x.bpt", "the newest recording there is monday.bpt\n"))
    there(b"tuesday.bpt", 2)
    tap.attempt("missing, in every command", lambda: says("x*.bpt", "no file has a name like that: the newest recordings "
                                                          "there are tuesday.bpt, monday.bpt\n", commands=commands))
    tap.attempt("missing, a slip of the finger", lambda: says("mnoday.bpt", ": did you mean %s/monday.bpt?" % folder))
    tap.attempt("missing, without its ending", lambda: says("tues", ": did you mean %s/tuesday.bpt?" % folder))
    tap.attempt("missing, and so is the folder", lambda: says("none/x.bpt", "and no folder %s/none" % folder))
    hostile = b"\x1b[31m\r\nbytepoll: \xe2\x80\xae\xff%s%n.bpt"
    there(hostile, 3)
    for day in range(4, 8):
        there(b"%d" % day + 200 * b"a" + b".bpt", day)
    def inert():
        os.utime(os.path.join(os.fsencode(folder), hostile), (10 * 86400,) * 2)
        said = profiled.run([profiled.BYTEPOLL, "report", os.path.join(folder, "x.bpt")])
        one_line(said, 1, "?[31m??bytepoll: ", "%s%n.bpt, 7aaa", " and 5 more\n")
        profiled.expect(not any(byte < 32 and byte != 10 for byte in said.stderr) and b"\xff" not in said.stderr and
                        b"\xe2\x80\xae" not in said.stderr, said.stderr)
    tap.attempt("missing, beside hostile and long names", inert)


def main():
    tap = profiled.Tap()
    with profiled.directory() as path:
        place = Place(path)
        profiled.expect(os.stat(place.of("setuid")).st_mode & stat.S_ISUID, "no set-uid bit")
        run_mistakes(tap, place)
        run_unprofilable(tap, place)
        run_statuses(tap, place)
        read_mistakes(tap, place)
        missing_recordings(tap, place)
        other_mistakes(tap, place)
        full_output_disk(tap, place)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
