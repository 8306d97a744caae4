#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line of the built program, from outside: what every wrong use says (one line on stderr,
the right exit status), and that `run` is a parent that cannot be noticed: exit statuses, signals,
descriptors, environment. What is recorded is the subject of other tests.

Usage: command_line.py BYTEPOLL STATIC_PROGRAM MALLOC_PROGRAM FOREIGN_PROGRAM     (prints TAP)
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data", "trace"))
import cases
import trace_builder
from cases import test

BYTEPOLL, STATIC, OWN_MALLOC, FOREIGN_MALLOC = (os.path.abspath(a) for a in sys.argv[1:5])
RECORDER = "libbytepoll-recorder.so"


def call(*words, **options):
    return subprocess.run([BYTEPOLL, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, **options)


def as_nobody(*words):
    """As an ordinary user, by a copy that such a user can reach; the tests themselves may run as root,
    in a folder that is closed to others."""
    if os.getuid() != 0:
        return call(*words)
    copy = os.path.join(tempfile.mkdtemp(), "bytepoll")
    os.chmod(os.path.dirname(copy), 0o755)
    shutil.copy(BYTEPOLL, copy)
    shutil.copy(os.path.join(os.path.dirname(BYTEPOLL), RECORDER), os.path.dirname(copy))
    try:
        return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy,
                               *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60)
    finally:
        shutil.rmtree(os.path.dirname(copy))


def refuses(status, text, result):
    """One clear line, nothing on stdout, the right status."""
    assert result.returncode == status, (result.returncode, result.stderr)
    assert result.stdout == "", result.stdout
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("bytepoll: "), result.stderr
    assert text in lines[0], lines[0]


@test
def wrong_commands():
    refuses(2, "did you mean 'bytepoll report'", call("reprot"))
    refuses(2, "no command 'zebra'", call("zebra"))
    refuses(2, "no option '--nonsense'", call("--nonsense"))
    refuses(2, "no command 'nope'", call("help", "nope"))


@test
def wrong_flags():
    refuses(125, "did you mean --interval", call("run", "--intervall", "4", "--", "true"))
    refuses(125, "no option -Z", call("run", "-Z", "true"))
    refuses(125, "needs a program", call("run"))
    refuses(125, "--interval many: is no size: write 4096, 512K, 2M or 1G, or auto",
            call("run", "--interval", "many", "true"))
    refuses(125, "must be from 1 to 1T", call("run", "--interval", "0", "true"))
    refuses(125, "is no number", call("run", "--seed", "x", "true"))
    refuses(125, "must be one of exact|bernoulli", call("run", "--law", "poisson", "true"))
    refuses(2, "no option --colour", call("report", "--colour", "x"))
    # Options of other tools: by one dash or two, alone and with a value.
    refuses(2, "no option -p: a process is named without an option: bytepoll attach PID", call("attach", "-p", "1"))
    refuses(2, "no option --top: bytepoll report --rows N", call("report", "--top=10"))
    refuses(2, "no option -inuse_space: bytepoll report --metric live", call("report", "-inuse_space"))
    refuses(2, "takes one program", call("doctor"))


@test
def help_and_version():
    for words in ([], ["--help"], ["help"]):
        result = call(*words)
        assert result.returncode == 0 and "report" in result.stdout, result
    assert call("--version").stdout.startswith("bytepoll ")
    for command in ("run", "report", "doctor"):
        long = call(command, "--help")
        assert long.returncode == 0 and long.stdout == call("help", command).stdout
        assert f"bytepoll {command} " in long.stdout
    listed = call("--help").stdout.split("Commands:")[1].splitlines()
    commands = [line.split()[0] for line in listed if line.startswith("  ")]
    assert {"manual", "completion"} < set(commands), commands
    for command in commands:
        for line in call("help", command).stdout.splitlines():
            assert len(line) <= 80 and line == line.rstrip(), line
        assert "\nExit status:\n" in call("help", command).stdout, command
    for word in ("version", "-v", "-V"):
        assert call(word).stdout == call("--version").stdout, word


@test
def command_lines():
    """Empty words of a command line are shown, and zeros behind a title are none."""
    def shown(trace):
        return json.loads(call("report", "--json", trace).stdout)["command_line"]
    for words, expected in ((["", "a b", ""], "/bin/true '' a b ''"), (["x"], "/bin/true x"), ([], "/bin/true")):
        assert call("run", "--force", "-o", "words.bpt", "--", "/bin/true", *words).returncode == 0
        assert shown("words.bpt") == expected, shown("words.bpt")
    for text, expected in (("nginx: worker process" + 5 * "\0", "nginx: worker process"), ("(sd-pam)" + 30 * "\0", "(sd-pam)"),
                           ("", ""), ("\0a", "a"), ("a\0\0\0b", "a '' '' b")):
        with open("title.bpt", "wb") as file:
            file.write(trace_builder.trace(trace_builder.header(command_line=text), trace_builder.state(ended=1, reason=1, end_time=3000)))
        assert shown("title.bpt") == expected, (text, shown("title.bpt"))


@test
def licences():
    """The licence and those of all parts, byte for byte, after the version."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    texts = [open(os.path.join(root, name), encoding="utf-8").read() for name in ("LICENSE", "NOTICE")]
    expected = call("--version").stdout + "\n" + "\n".join(texts)
    for words in (["--version", "--licences"], ["--licences"], ["--licenses"], ["-V", "--licenses"], ["--licences", "--version"]):
        result = call(*words)
        assert result.returncode == 0 and result.stdout == expected and not result.stderr, words
    for shell in ("bash", "zsh", "fish"):
        assert "licences" in call("completion", shell).stdout, shell
    assert "licences" in call("manual").stdout and "--licences" in call("--help").stdout
    refuses(2, "no effect beside --version", call("--version", "--json"))
    refuses(2, "did you mean --licences", call("--licence"))


@test
def letters_and_names_mean_one_thing():
    """A short option is the same long one in every command, and a window in time ends with --until."""
    meanings = {}
    commands = [line.split()[0] for line in call("--help").stdout.split("Commands:")[1].splitlines()
                if line.startswith("  ")]
    assert len(commands) > 10, commands
    for command in commands:
        for line in call("help", command).stdout.splitlines():
            words = line.split()
            if line.startswith("  -") and words[0][1] != "-" and words[0].endswith(","):
                meanings.setdefault(words[0], set()).add(words[1])
            if words[:2] == ["--to", "TIME"]:
                raise AssertionError(f"{command}: --to is a time")
    assert meanings["-f,"] == {"--force"} and meanings["-F,"] == {"--filter"}, meanings
    assert all(len(names) == 1 for names in meanings.values()), meanings
    assert "(or --to)" in call("help", "report").stdout


@test
def output_that_cannot_be_written():
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = subprocess.run([BYTEPOLL, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1 and "standard output" in result.stderr, result


@test
def completions_and_manuals_are_well_formed():
    script = call("completion", "bash").stdout
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    reply = subprocess.run(
        ["bash", "-c", script + "\nCOMP_WORDS=(bytepoll run --la) COMP_CWORD=2; _bytepoll;"
         "echo \"${COMPREPLY[*]}\""], capture_output=True, text=True, check=True).stdout
    assert reply.split() == ["--law"], reply
    for word, page in (("re", "report"), ("tr", "trace")):
        reply = subprocess.run(
            ["bash", "-c", script + "\nCOMP_WORDS=(bytepoll manual %s) COMP_CWORD=2; _bytepoll;"
             "echo \"${COMPREPLY[*]}\"" % word], capture_output=True, text=True, check=True).stdout
        assert reply.split() == [page], reply
    assert "complete -c bytepoll" in call("completion", "fish").stdout
    assert call("completion", "zsh").stdout.startswith("#compdef bytepoll")
    refuses(2, "bash, zsh or fish", call("completion", "tcsh"))
    listed = call("--help").stdout.split("Commands:")[1].splitlines()
    for command in [[]] + [[line.split()[0]] for line in listed if line.startswith("  ")]:
        page = call("manual", *command).stdout
        assert page.startswith(".TH BYTEPOLL") and ".SH NAME" in page, page
        assert "\n-" not in page, "an unescaped dash begins a line"
        for columns in (60, 80, 120):
            said = subprocess.run(["groff", "-man", "-Tutf8", "-ww", f"-rLL={columns}n"], input=page, text=True,
                                  capture_output=True, check=True).stderr
            assert not said, f"{command} in {columns} columns: {said}"


@test
def the_page_of_traces():
    """As scdoc makes it, and dated by the version like the others."""
    result = call("manual", "trace")
    if not shutil.which("scdoc"):
        refuses(1, "built without scdoc", result)
        return
    page = result.stdout
    version = call("--version").stdout.strip()
    assert result.returncode == 0 and not result.stderr, result
    assert '\n.TH BYTEPOLL-TRACE 5 "" "%s" bytepoll\n' % version in page, page[:500]
    assert page.count("\n.TH ") == 1 and ".SH RECORDS" in page and "FOLDED_TOLD" in page, page
    assert page.endswith("\n") and "\0" not in page, page[-200:]
    assert "manual trace" in call("manual", "--help").stdout
    refuses(2, "did you mean 'bytepoll manual trace'", call("manual", "trac"))
    refuses(2, "did you mean 'bytepoll report'", call("manual", "reprot"))
    refuses(2, "one page", call("manual", "run", "trace"))


@test
def programs_that_cannot_be_run():
    refuses(127, "not found in PATH", call("run", "no-such-program"))
    refuses(127, "no such program", call("run", "./no-such-program"))
    refuses(126, "is a directory", call("run", "/tmp"))
    with open("closed", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n")
    os.chmod("closed", 0o644)
    refuses(126, "cannot be executed", call("run", "./closed"))
    os.chmod("closed", 0o755)
    with open("closed", "w", encoding="utf-8") as file:
        file.write("#!/no/such/interpreter\n")
    refuses(127, "interpreter /no/such/interpreter is missing", call("run", "./closed"))


@test
def outputs_that_cannot_be_written():
    refuses(125, "cannot be created", call("run", "-o", "no/such/folder/x", "--", "true"))
    refuses(125, "no regular file", call("run", "-f", "-o", "/dev/full", "--", "true"))
    os.mkdir("closed.folder", 0o755)
    refuses(125, "Permission denied", as_nobody("run", "-o", "closed.folder/x", "--", "true"))
    with open("there.bpt", "w", encoding="utf-8") as file:
        file.write("precious")
    for force in ((), ("-f",)):
        refuses(125, "exists", call("run", *force, "-o", "there.bpt", "--", "touch", "ran"))
    with open("there.bpt", encoding="utf-8") as file:
        assert file.read() == "precious"
    os.truncate("there.bpt", 0)
    os.mkdir("other.bpt.d")
    refuses(125, "other.bpt.d exists", call("run", "-o", "other.bpt", "--", "touch", "ran"))
    assert not os.path.exists("ran")
    assert call("run", "-f", "-o", "there.bpt", "--", "touch", "ran").returncode == 0
    assert os.path.exists("ran")


@test
def exit_statuses_are_the_programs():
    for status in (0, 1, 7, 125, 126, 127, 255):
        assert call("run", "-f", "-o", "s", "--", "sh", "-c", f"exit {status}").returncode == status
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT, signal.SIGQUIT):
        result = call("run", "-f", "-o", "s", "--", "sh", "-c", f"kill -{int(number)} $$")
        assert result.returncode == -number, (number, result)


@test
def trouble_with_our_own_output_changes_no_status():
    script = f"ulimit -f 0; exec '{BYTEPOLL}' run -f -o s -- sh -c 'sh -c true; exit 7'"
    result = subprocess.run(["sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True)
    assert result.returncode == 7, result
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run([BYTEPOLL, "run", "-f", "-o", "s", "--", "sh", "-c", "exit 7"],
                            stdin=subprocess.DEVNULL, stderr=writer)
    os.close(writer)
    assert result.returncode == 7, result


@test
def the_program_sees_what_it_would_have_seen():
    """Same signals, same descriptors, same working directory; only the environment differs."""
    script = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; ls /proc/self/fd; pwd; cat"
    alone = subprocess.run(["sh", "-c", script], input="typed", capture_output=True, text=True)
    under = subprocess.run([BYTEPOLL, "run", "-q", "-f", "-o", "s", "--", "sh", "-c", script],
                           input="typed", capture_output=True, text=True)
    assert under.stdout == alone.stdout, (alone.stdout, under.stdout)
    # An ignored signal stays ignored, for the program too.
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        result = call("run", "-f", "-o", "s", "--", "grep", "^SigIgn", "/proc/self/status",
                      restore_signals=False)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert int(result.stdout.split()[1], 16) & 1, result.stdout


@test
def the_environment_carries_the_options():
    result = call("run", "-q", "-f", "-o", "s", "--interval", "64K", "--seed", "0x10", "--law",
                  "bernoulli", "--", "env", env={**os.environ, "LD_PRELOAD": "libm.so.6"})
    seen = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
    assert seen["BYTEPOLL_OUTPUT"] == os.path.join(os.getcwd(), "s"), seen
    assert seen["BYTEPOLL_INTERVAL"] == "65536" and seen["BYTEPOLL_SEED"] == "16", seen
    assert seen["BYTEPOLL_LAW"] == "bernoulli" and "BYTEPOLL_FOLLOW_PID" not in seen, seen
    first, second = seen["LD_PRELOAD"].split(":")
    assert first.endswith("/libbytepoll-recorder.so") and second == "libm.so.6", seen
    result = call("run", "-q", "-f", "-o", "s", "--no-follow-fork", "--", "sh", "-c",
                  "echo $$ $BYTEPOLL_FOLLOW_PID")
    pid, follow = result.stdout.split()
    assert pid == follow, result.stdout


def start(script):
    """`run` with a shell script that prints a line when it is ready."""
    process = subprocess.Popen([BYTEPOLL, "run", "-q", "-f", "-o", "s", "--", "sh", "-c", script],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


@test
def term_and_hup_are_passed_on():
    for name in ("TERM", "HUP"):
        process = start(f"trap 'echo got; exit 9' {name}; echo ready; while :; do sleep 0.05; done")
        process.send_signal(getattr(signal, "SIG" + name))
        assert process.communicate(timeout=30)[0] == "got\n"
        assert process.returncode == 9, process.returncode
    process = start("echo ready; exec sleep 60")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == -signal.SIGTERM


@test
def int_and_quit_are_left_to_the_program():
    for number in (signal.SIGINT, signal.SIGQUIT):
        process = start("echo ready; read x < /dev/null; sleep 0.3; exit 5")
        process.send_signal(number)
        assert process.wait(timeout=30) == 5, process.returncode


@test
def orphans_are_not_waited_for():
    began = time.monotonic()
    result = call("run", "-f", "-o", "s", "--", "sh", "-c", "sleep 20 >/dev/null 2>&1 & echo $!; exit 3")
    os.kill(int(result.stdout), signal.SIGKILL)
    assert result.returncode == 3 and time.monotonic() - began < 10, result


@test
def programs_that_cannot_be_profiled_run_all_the_same():
    result = call("run", "-f", "-o", "s", "--", STATIC)
    assert result.returncode == 0, result
    assert result.stderr.count("statically linked") == 1 and "NOTHING WAS RECORDED" in result.stderr, result
    set_uid = next((p for p in ("/usr/bin/su", "/bin/su", "/usr/bin/mount") if os.path.exists(p)), None)
    if set_uid:
        os.chmod(".", 0o777)
        result = as_nobody("run", "-o", "nobody.bpt", "--", set_uid, "--version")
        assert result.returncode == 0 and "set-uid" in result.stderr, result


@test
def percent_signs_in_names():
    os.mkdir("100%p")
    os.chdir("100%p")  # a directory's name is nobody's pattern
    assert call("run", "-q", "-o", "a.%p.bpt", "--", "sh", "-c", ":").returncode == 0
    assert call("run", "-q", "-o", "b.%%p.bpt", "--", "sh", "-c", ":").returncode == 0
    names = sorted(name for name in os.listdir(".") if not name.endswith((".resident", ".mappings", ".pages")))
    assert len(names) == 2 and names[0].split(".")[1].isdigit() and names[1] == "b.%p.bpt", names
    result = call("report", names[0])
    assert result.returncode == 0 and names[0].split(".")[1] in result.stdout, result


@test
def a_missing_file_may_be_the_newest_one():
    os.mkdir("recordings")
    os.chdir("recordings")
    refuses(2, "no file given: bytepoll report FILE (see", call("report"))
    for name, seconds in (("old.bpt", 1000), ("new\x1b.bpt", 3000), ("middle.bpt", 2000)):
        assert call("run", "-q", "--no-resident", "-o", name, "--", "sh", "-c", ":").returncode == 0
        os.utime(name, (seconds, seconds))
    with open("none.bpt", "w", encoding="ascii") as file:
        file.write("no recording\n")
    os.symlink("none.bpt", "link.bpt")
    for command in ("report", "html", "export", "check"):
        refuses(2, "the newest recording here is new?.bpt (see", call(command))


@test
def programs_are_called_what_they_were_started_as():
    """One file of several names, without symbols: its frames have the name that was typed. And words without a
    character are seen in the command line."""
    shutil.copy(shutil.which("sort"), "filed")
    os.symlink("filed", "started")
    with open("words", "w", encoding="ascii") as file:
        file.write("b\na\n")
    result = call("run", "-q", "-i", "1", "-o", "named.bpt", "--", "./started", "words", "-o", "/dev/null")
    assert result.returncode == 0, result
    data = json.loads(call("report", "--json", "--metric", "allocated", "named.bpt").stdout)
    names = [row["name"] for row in data["rows"]]
    assert any(name.startswith("started+0x") for name in names), names
    assert not any(name.startswith("filed+0x") for name in names), names
    call("run", "-q", "-i", "1", "-o", "empty.bpt", "--", "./started", "", "words", "")
    data = json.loads(call("report", "--json", "empty.bpt").stdout)
    assert data["command_line"] == "./started '' words ''", data["command_line"]


def doctor_tells_of_processes():
    """What a process runs in: told by /proc, for one that is held by a tracer or given a filter."""
    for prefix, expected in ((["strace", "-f", "-qq", "-o", "/dev/null"], "traces it"),
                             (["unshare", "-m", "--propagation", "unchanged"], "file systems of its own"),
                             (["valgrind", "-q"], "runs under valgrind")):
        if shutil.which(prefix[0]) is None or (prefix[0] == "unshare" and os.geteuid() != 0):
            continue
        with subprocess.Popen([*prefix, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              start_new_session=True) as process:
            process.stdin.write(b"x\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"x\n"  # it runs now
            with open("/proc/%d/task/%d/children" % (process.pid, process.pid),
                      encoding="ascii") as file:
                child = (file.read().split() or [str(process.pid)])[0]
            result = call("doctor", child)
            process.stdin.close()
        assert expected in result.stdout, (prefix, result)
        assert result.returncode == (1 if prefix[0] == "valgrind" else 0), (prefix, result)


@test
def doctor_asks_for_the_output_as_run_does():
    """What `run -o` refuses is a problem in the same words; what it accepts is left as it was, that is, absent."""
    with tempfile.TemporaryDirectory() as folder:
        there = os.path.join(folder, "there.bpt")
        assert call("run", "-q", "-o", there, FOREIGN_MALLOC).returncode == 0
        os.mkdir(os.path.join(folder, "folder.bpt"))
        before = sorted(os.listdir(folder))
        for name in ("absent/x.bpt", "folder.bpt", "there.bpt", "n" * 300, "/dev/full"):
            path = os.path.join(folder, name)
            asked, ran = call("doctor", "-o", path, FOREIGN_MALLOC), call("run", "-o", path, FOREIGN_MALLOC)
            assert ran.returncode == 125 and ran.stderr.startswith("bytepoll: "), ran
            assert "  problem  %s\n" % ran.stderr[len("bytepoll: "):].strip() in asked.stdout, (asked, ran)
            assert asked.returncode == 1 and asked.stdout.endswith("\ncannot be profiled\n"), asked
        free = os.path.join(folder, "free.bpt")
        result = call("doctor", "-o", free, FOREIGN_MALLOC)
        assert result.returncode == 0 and "  ok       the trace can be written to %s\n" % free in result.stdout, result
        assert sorted(os.listdir(folder)) == before
        refuses(2, "does not run yet", call("doctor", "-o", free, str(os.getpid())))
    result = call("doctor", FOREIGN_MALLOC, cwd="/proc/self")
    assert result.returncode == 0 and "  note     bytepoll run needs -o here: " in result.stdout, result


@test
def doctor_tells():
    assert call("doctor", "sh").returncode == 0
    result = call("doctor", STATIC)
    assert result.returncode == 1 and "statically linked" in result.stdout, result
    result = call("doctor", OWN_MALLOC)
    assert result.returncode == 1 and "malloc of its own" in result.stdout, result
    result = call("doctor", FOREIGN_MALLOC)
    assert result.returncode == 0 and "looks them up" in result.stdout, result
    result = call("doctor", str(os.getpid()))
    assert result.returncode == 0 and "bytepoll attach" in result.stdout, result
    assert "CPython" in result.stdout, result
    # A process that runs already is not said to be what it cannot be any more: this one is stopped.
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b"x\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"x\n"
        os.kill(process.pid, signal.SIGSTOP)
        while " T " not in open(f"/proc/{process.pid}/stat", encoding="ascii").read():
            pass
        result = call("doctor", str(process.pid))
        os.kill(process.pid, signal.SIGCONT)
        process.stdin.close()
    assert f"is stopped: let it go on, kill -CONT {process.pid}" in result.stdout, result
    assert result.stdout.endswith("can be profiled, by bytepoll run from its start on: not as it runs\n"), result
    assert call("doctor", "sh").stdout.endswith("\ncan be profiled\n")
    doctor_tells_of_processes()
    refuses(1, "not found in PATH", call("doctor", "no-such-program"))
    refuses(1, "no process 2147483000", call("doctor", "2147483000"))


if __name__ == "__main__":
    sys.exit(cases.run())
