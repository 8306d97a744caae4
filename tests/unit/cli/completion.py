#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The completion scripts in the shells they are for, at a prompt where a shell has one: bash and zsh get keys
through a pseudo-terminal, fish says what it would offer (`complete -C`). The same questions to all three.

Usage: completion.py BYTEPOLL     (prints TAP; the recorder lies beside BYTEPOLL)
"""

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

import cases

BYTEPOLL = os.path.abspath(sys.argv[1])
LIMIT_S = 60
LISTED_S = 20  # a list comes within, if it comes
QUIET_S = 1.5
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r|\x07")
FILES = ("app.bpt", "net.nettrace", "notes.txt", "sources.txt", "sqlpage", "two words.bpt")
KEYS = ("file", "function", "kind", "label", "line", "module", "process", "size", "stack", "thread", "type")


class Prompt:
    """A shell at a prompt on a pseudo-terminal. Keys are typed, and a line that says DONE behind them."""

    def __init__(self, words, setup, environment):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=environment,
                                        start_new_session=True)
        os.close(slave)
        self.count = 0
        for line in setup:
            self.type(line + "\n")
        self.until_done()

    def type(self, keys):
        os.write(self.master, keys.encode())

    def read(self, enough, limit_s):
        """What is shown until it is enough, or so long, without what steers a terminal."""
        text, shown, end = b"", "", time.monotonic() + limit_s
        while not enough(shown) and time.monotonic() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                text += os.read(self.master, 65536)
                shown = CONTROL.sub(" ", text.decode(errors="replace"))
        return shown

    def until_done(self):
        self.count += 1
        self.type("printf '%%s%%s\\n' DO NE%d\n" % self.count)
        text = self.read(lambda shown: "DONE%d" % self.count in shown, LIMIT_S)
        assert "DONE%d" % self.count in text, "no prompt comes: %r" % text[-2000:]
        return text

    def completed(self, line):
        """The words of the line after a TAB behind it."""
        self.type(line + "\t\x01printf '<%s>' \x05\n")
        shown = re.findall(r"<bytepoll>(?:<[^<>%]*>)*", self.until_done())
        return re.findall(r"<([^<>]*)>", shown[-1] if shown else "")

    def offered(self, line, wanted):
        """What a list shows after two TABs; the line is wiped. Shells show none if more keys wait: so they wait,
        for what is wanted."""
        self.type(line + "\t\t")
        shown = self.read(lambda text: wanted and words_of(text) >= set(wanted), LISTED_S if wanted else QUIET_S)
        self.type("\x15")
        return shown + self.until_done()

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def environment(folder):
    return {"PATH": os.path.join(folder, "programs"), "HOME": folder, "TERM": "xterm", "LC_ALL": "C.UTF-8",
            "COLUMNS": "200", "LINES": "400", "BYTEPOLL_CACHE": "off"}


def prepare(folder):
    """A folder to stand in, with some files, and a PATH of few programs."""
    programs = os.path.join(folder, "programs")
    os.makedirs(os.path.join(folder, "here", "folder"))
    os.mkdir(programs)
    os.symlink(BYTEPOLL, os.path.join(programs, "bytepoll"))
    for name in ("sqltool", "sqlother"):
        with open(os.path.join(programs, name), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n")
        os.chmod(file.name, 0o755)
    for name in ("cut", "printf", "sort", "uname", "cat", "sed", "fish", "bash", "zsh", "stty", "ls", "true"):
        for place in ("/usr/bin", "/bin"):
            if os.path.exists(os.path.join(place, name)):
                os.symlink(os.path.join(place, name), os.path.join(programs, name))
                break
    for name in FILES:
        with open(os.path.join(folder, "here", name), "w", encoding="utf-8"):
            pass
    for shell in ("bash", "zsh", "fish"):
        with open(os.path.join(folder, "for." + shell), "w", encoding="utf-8") as file:
            subprocess.run([BYTEPOLL, "completion", shell], stdout=file, check=True, timeout=LIMIT_S)
    os.chdir(os.path.join(folder, "here"))


def bash(folder):
    return Prompt(["/bin/bash", "--norc", "--noprofile", "-i"],
                  ["PS1='> '", "bind 'set bell-style none'", "bind 'set completion-query-items 0'", "bind 'set show-all-if-ambiguous on'",
                   "bind 'set page-completions off'", "bind 'set enable-bracketed-paste off'",
                   "source %s/for.bash" % folder], environment(folder))


def zsh(folder):
    """From $fpath, as it is installed: there the file is the function."""
    os.makedirs(folder + "/functions", exist_ok=True)
    os.replace(folder + "/for.zsh", folder + "/functions/_bytepoll")
    return Prompt(["/usr/bin/zsh", "-f", "-i"],
                  ["PS1='> ' LISTMAX=0", "bindkey -e", "unset zle_bracketed_paste",
                   "fpath=(%s/functions $fpath)" % folder, "autoload -Uz compinit", "compinit -D -u"],
                  environment(folder))


class Fish:
    def __init__(self, folder):
        self.folder = folder

    def offered(self, line, wanted=()):
        return subprocess.run(
            ["/usr/bin/fish", "--no-config", "-c", "source %s/for.fish; complete -C $argv[1]" % self.folder,
             line], env=environment(self.folder), capture_output=True, text=True, check=True,
            timeout=LIMIT_S).stdout

    def completed(self, line):
        """As if the only thing offered were taken."""
        found = [each.split("\t")[0] for each in self.offered(line).splitlines()]
        words = line.split()
        # `complete -C` of fish 4 also says what merely contains the word (--delay for --la); at its prompt,
        # as here, that gives way to what begins with it.
        found = [each for each in found if each.startswith(words[-1])] or found
        if len(found) == 1:
            words[-1:] = [re.sub(r"\\(.)", r"\1", found[0])]
        return words

    def close(self):
        pass


def words_of(text):
    """Descriptions (fish) are none."""
    return {word for line in text.splitlines() for word in re.findall(r"[^\s()<>]+", line.split("\t")[0])}


def check_offer(shell, line, wanted, unwanted=()):
    shown = words_of(shell.offered("bytepoll " + line, wanted))
    missing = [word for word in wanted if word not in shown]
    wrong = [word for word in unwanted if word in shown]
    assert not missing and not wrong, (line, "missing", missing, "not wanted", wrong, sorted(shown)[:60])


def check_completed(shell, line, *wanted):
    found = shell.completed("bytepoll " + line)
    assert found[-len(wanted):] == list(wanted), (line, found)


def commands(shell):
    check_completed(shell, "re", "report")
    check_offer(shell, "", ["run", "report", "control", "live", "doctor"], ["sqltool", "app.bpt", "completion"])
    check_completed(shell, "help rep", "report")
    check_completed(shell, "manual rep", "report")
    check_completed(shell, "manual tr", "trace")
    check_offer(shell, "help tr", [], ["trace"])


def options(shell):
    check_offer(shell, "report --no-", ["--no-pager", "--no-symbol-cache"], ["--by"])
    check_completed(shell, "run --la", "--law")
    check_offer(shell, "report --by=t", ["thread", "type"] if not isinstance(shell, Fish)
                else ["--by=thread", "--by=type"], ["sqltool", "app.bpt", "stack"])
    check_completed(shell, "report --by=th", "--by=thread")
    check_completed(shell, "report --by th", "thread")
    check_completed(shell, "report -b th", "thread")
    check_offer(shell, "report --by ", KEYS, ["sqltool", "app.bpt"])
    if isinstance(shell, Fish):  # the option is described, its words are not
        assert shell.offered("bytepoll report --metric ").split() == ["all", "allocated", "live", "mapped", "mapped-peak", "peak",
                                                                              "temporary"]
        assert shell.offered("bytepoll report --metri").startswith("--metric\tlive at exit"), "no description"
    check_offer(shell, "report --min-size ", [], ["sqltool", "app.bpt", "sqlpage"])
    check_completed(shell, "html -o sqlp", "sqlpage")


def files(shell):
    for command in ("report", "html", "diff", "check", "plan", "verify", "fold", "export"):
        check_offer(shell, command + " ", ["app.bpt", "net.nettrace", "folder/"],
                    ["notes.txt", "sqltool", "sqlpage", "start"])
    check_completed(shell, "report ap", "app.bpt")
    check_completed(shell, "report two", "two words.bpt")
    # Where there is none of ours, any.
    check_completed(shell, "report no", "notes.txt")
    check_completed(shell, "html sq", "sqlpage")
    check_completed(shell, "diff app.bpt ne", "app.bpt", "net.nettrace")


def programs(shell):
    check_offer(shell, "run sql", ["sqltool", "sqlother"], ["sqlpage"])
    check_completed(shell, "run --force -- sqlt", "--", "sqltool")
    check_completed(shell, "run -o x -i 1M sqlt", "sqltool")
    check_offer(shell, "doctor sql", ["sqltool", "sqlother"])
    # What follows is the program's.
    check_completed(shell, "run sqltool no", "notes.txt")
    check_completed(shell, "run -- sqltool no", "notes.txt")
    check_offer(shell, "run -- sqltool --fo", [], ["--force"])


def parent_of(pid):
    """None if it has ended meanwhile."""
    try:
        with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as stat:
            return int(stat.read().rsplit(") ", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def processes(shell):
    sleeper = subprocess.Popen([BYTEPOLL, "run", "-q", "-f", "-o", "../sleep.bpt", "--", "/bin/sleep", "100"],
                               stdin=subprocess.DEVNULL)
    pid = None
    try:
        end = time.monotonic() + LIMIT_S
        while pid is None and time.monotonic() < end:
            for line in subprocess.run([BYTEPOLL, "completion", "processes"], check=True, capture_output=True,
                                       text=True, timeout=LIMIT_S).stdout.splitlines():
                number, name = line.split("\t")
                if name == "sleep" and parent_of(number) == sleeper.pid:
                    pid = number
            time.sleep(0.05)
        assert pid, "the process is not listed"
        for command in ("live", "control", "doctor"):
            check_offer(shell, command + " ", [pid], ["start", str(os.getpid())] +
                        (["sqltool", "cut"] if command != "doctor" else []))
        check_offer(shell, "live ", ["app.bpt"], ["notes.txt"])
        check_offer(shell, "control %s " % pid, ["start", "stop", "interval", "snapshot", "status"],
                    ["app.bpt", "sqltool"])
        check_completed(shell, "control --json %s snap" % pid, "snapshot")
        check_completed(shell, "control -w 1s %s interval a" % pid, "interval", "auto")
    finally:
        if pid is not None:
            os.kill(int(pid), 9)
        else:
            sleeper.kill()
        sleeper.wait(LIMIT_S)


def whole_words(shell):
    """Where = does not break words (bash, as some have it)."""
    shell.type("COMP_WORDBREAKS=${COMP_WORDBREAKS//=}\n")
    check_completed(shell, "report --by=th", "--by=thread")
    check_completed(shell, "html --output=sqlp", "--output=sqlpage")


QUESTIONS = (commands, options, files, programs, processes)


def main():
    number = good = 0
    shells = {"bash": bash, "zsh": zsh, "fish": Fish}
    print("1..%d" % (len(shells) * len(QUESTIONS) + 1))
    for name, start in shells.items():
        with tempfile.TemporaryDirectory(prefix="bytepoll-completion-") as folder:
            prepare(folder)
            shell = start(folder)
            for question in QUESTIONS + ((whole_words,) if name == "bash" else ()):
                number += 1
                good += cases.tell(number, "%s: %s" % (name, question.__name__), lambda: question(shell))
            shell.close()
            os.chdir("/")
    return 0 if good == number else 1


if __name__ == "__main__":
    sys.exit(main())
