# SPDX-License-Identifier: MIT
"""A terminal for programs that draw on one: a pseudo-terminal with an interpreter (pyte) behind it.

`Terminal` starts a program in a session of its own whose controlling terminal it is, feeds what
the program writes to the interpreter, and keeps the bytes too. What a test waits for is looked for in
whole frames only: between the end of one synchronized update and the beginning of the next.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pyte

LIMIT_S = 30
# A shell's part of job control: starts the command in the foreground, and says when it stopped; a
# line continues it.
SHELL = r"""
import os, signal, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
modes = termios.tcgetattr(0)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    status = os.waitpid(child, os.WUNTRACED)[1]
    if not os.WIFSTOPPED(status):
        os._exit(0 if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 else 1)
    os.tcsetpgrp(0, os.getpid())
    now = termios.tcgetattr(0)
    print("STOPPED", "as before" if now == modes else "otherwise: %s" % now,
          "by", os.WSTOPSIG(status), flush=True)
    sys.stdin.readline()
    os.tcsetpgrp(0, child)
    os.kill(child, signal.SIGCONT)
"""

BEGIN, END = b"\033[?2026h", b"\033[?2026l"


class Screen(pyte.Screen):
    """As VT100 and xterm have it: behind a full line the cursor stands on the last cell, whatever it is
    told next but to write. pyte has it one beyond, where erasing to the end of the line erases nothing."""

    def stand_on_last_cell(self):
        self.cursor.x = min(self.cursor.x, self.columns - 1)

    def erase_in_line(self, *arguments, **settings):
        self.stand_on_last_cell()
        super().erase_in_line(*arguments, **settings)

    def erase_in_display(self, *arguments, **settings):
        self.stand_on_last_cell()
        super().erase_in_display(*arguments, **settings)

    def erase_characters(self, *arguments):
        self.stand_on_last_cell()
        super().erase_characters(*arguments)

    def delete_characters(self, *arguments):
        self.stand_on_last_cell()
        super().delete_characters(*arguments)

    def cursor_back(self, *arguments):
        self.stand_on_last_cell()
        super().cursor_back(*arguments)

    def backspace(self):
        self.stand_on_last_cell()
        super().backspace()


class Terminal:
    """A program on a terminal of its own; killed at the end if it still runs."""

    def __init__(self, arguments, environment, columns=100, rows=24):
        self.master, self.slave = pty.openpty()
        self.screen = Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.bytes = b""
        self.pending = b""
        self.frames = 0
        self.set_size(columns, rows)
        self.before = termios.tcgetattr(self.slave)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for number in (signal.SIGINT, signal.SIGQUIT):  # a shell ignores them in the background
                signal.signal(number, signal.SIG_DFL)
        self.process = subprocess.Popen(
            arguments, env=environment, stdin=self.slave, stdout=self.slave, stderr=self.slave,
            preexec_fn=take_terminal, close_fds=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def set_size(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.screen.resize(rows, columns)
        self.set_size(columns, rows)
        self.process.send_signal(signal.SIGWINCH)

    def receive(self, timeout_s):
        """Takes what comes within the time; false if nothing does."""
        if not select.select([self.master], [], [], timeout_s)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # nobody holds the other end
            return False
        self.bytes += data
        self.pending += data
        # Whole frames only.
        end = self.pending.rfind(END)
        begin = self.pending.rfind(BEGIN)
        cut = len(self.pending) if begin <= end and not self.pending.endswith(b"\033") else begin
        if cut > 0:
            self.frames += self.pending[:cut].count(END)
            self.stream.feed(self.pending[:cut])
            self.pending = self.pending[cut:]
        return True

    def press(self, keys):
        os.write(self.master, keys if isinstance(keys, bytes) else keys.encode())

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def wait(self, condition, what="", limit_s=LIMIT_S):
        """Until a frame fulfils a condition: a text it holds, a pattern, or a function of us."""
        if isinstance(condition, str):
            text = condition
            condition = lambda terminal: text in terminal.text
        elif isinstance(condition, re.Pattern):
            pattern = condition
            condition = lambda terminal: pattern.search(terminal.text)
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            found = condition(self)
            if found:
                return found
            self.receive(0.05)
        raise AssertionError("no frame with %s:\n%s" % (what or text_of(condition), self.text))

    def wait_frames(self, more=1):
        wanted = self.frames + more
        self.wait(lambda terminal: terminal.frames >= wanted, "%d more" % more)

    def settle(self, quiet_s=0.3):
        while self.receive(quiet_s):
            pass

    def end(self, limit_s=LIMIT_S):
        """Waits for the end of the program; its status."""
        end = time.monotonic() + limit_s
        while self.process.poll() is None and time.monotonic() < end:
            self.receive(0.05)
        self.settle(0.2)
        return self.process.poll()

    def restored(self):
        """What is not as it was before: a list, empty if all is."""
        wrong = []
        if termios.tcgetattr(self.slave) != self.before:
            wrong.append("modes")
        for name, on, off in (("alternate screen", b"\033[?1049h", b"\033[?1049l"),
                              ("cursor", b"\033[?25l", b"\033[?25h"),
                              ("wrapping", b"\033[?7l", b"\033[?7h")):
            if self.bytes.rfind(on) >= 0 and self.bytes.rfind(off) < self.bytes.rfind(on):
                wrong.append(name)
        return wrong


def text_of(condition):
    return getattr(condition, "__doc__", None) or str(condition)
