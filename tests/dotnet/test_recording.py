#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll dotnet` against runtimes that are played by dotnet_peer.py: what it sends, what it makes of
every answer, that it waits for nobody for ever, and that nobody waits for it for ever. No runtime is needed;
tests/real/dotnet.py has one.

Usage: dotnet.py BYTEPOLL DATA_FOLDER     (prints TAP)
"""

import contextlib
import lzma
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "cli"))

import cases  # noqa: E402
import dotnet_peer  # noqa: E402
from cases import test  # noqa: E402

BYTEPOLL, DATA = (os.path.abspath(a) for a in sys.argv[1:3])
PEER = [sys.executable, "-I", os.path.abspath(dotnet_peer.__file__)]
LIMIT_S = 60


def environment(**more):
    return {**{name: value for name, value in os.environ.items()
               if not name.startswith("DOTNET_") and name != "TMPDIR"},
            "TMPDIR": os.getcwd(), "LC_ALL": "C.UTF-8", **more}


def call(*words, **options):
    return subprocess.run([BYTEPOLL, "dotnet", *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT_S,
                          **{"env": environment(), **options})


def begin(*words, **options):
    return subprocess.Popen([BYTEPOLL, "dotnet", *words], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            **{"env": environment(), **options})


def refuses(status, text, result):
    """One clear line, nothing on stdout, the right status."""
    assert result.returncode == status, (result.returncode, result.stderr)
    assert result.stdout == "", result.stdout
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("bytepoll: "), result.stderr
    assert text in lines[0], lines[0]


def contents(path):
    with open(path, "rb") as file:
        return file.read()


@contextlib.contextmanager
def peer(play, *words, how="listen", tmpdir=None, **options):
    """A process with a diagnostic port; its lines come from `.next()`."""
    process = subprocess.Popen([*PEER, how, play, *words], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True,
                               env=environment(**({"TMPDIR": tmpdir} if tmpdir else {})), **options)
    process.next = lambda: process.stdout.readline().split()
    try:
        process.socket = process.next()[1]
        yield process
    finally:
        process.kill()
        process.communicate()


def collect(buffer_mib=256, rundown=1):
    """The payload that is to be sent, put together anew."""
    name = "Microsoft-Windows-DotNETRuntime"
    return (struct.pack("<IIBIQI", buffer_mib, 1, rundown, 1, 0x80000000001, 4) +
            struct.pack("<I", len(name) + 1) + (name + "\0").encode("utf-16-le") +
            struct.pack("<I", 0))


def trace_file(name):
    path = os.path.abspath(name + ".nettrace")
    with lzma.open(os.path.join(DATA, name + ".nettrace.xz")) as source, open(path, "wb") as file:
        file.write(source.read())
    return path


# ---- a process that runs ----

@test
def request_is_one_whole_message():
    for options, payload in (([], collect()), (["--buffer", "7"], collect(7)),
                             (["--no-rundown"], collect(256, 0))):
        with peer("whole") as target:
            result = call("-q", "-f", "-o", "t", *options, str(target.pid))
            assert (result.returncode, result.stderr) == (0, ""), result
            assert target.next() == ["command", "0203", payload.hex()]
    assert len(collect()) + 20 == 117, "as recorded from another tool"


@test
def file_is_the_stream():
    for play in ("whole", "drops"):
        with peer(play) as target:
            result = call("-q", "-o", play, str(target.pid))
        assert (result.returncode, result.stdout, result.stderr) == (0, "", ""), result
        assert contents(play) == dotnet_peer.TRACE
        assert stat.S_IMODE(os.stat(play).st_mode) == 0o600


@test
def headline_is_printed():
    with peer("real", trace_file("kinds-doubles")) as target:
        result = call(str(target.pid))
        name = f"bytepoll.python3.{target.pid}.nettrace"
        with open(f"/proc/{target.pid}/comm", encoding="utf-8") as file:
            name = name.replace("python3", file.read().strip())
    assert result.returncode == 0, result
    lines = result.stderr.splitlines()
    assert lines[0].startswith("bytepoll: recording process") and "Ctrl-C" in lines[0], lines
    assert "samples (1 per 100 KiB is assumed), 0 lost, in " + name in lines[1], lines
    assert lines[2].strip().startswith("allocated ") and "±" in lines[2], lines
    assert lines[3].strip() == "next: bytepoll report --by type " + name, lines
    report = subprocess.run([BYTEPOLL, "report", "--by", "type", name], capture_output=True,
                            text=True, check=False)
    assert report.returncode == 0 and "System.Double[]" in report.stdout, report


@test
def stop_while_reading():
    """The runtime answers a stop only when eight more MiB were read."""
    for ask in ("interrupt", "terminate", "hang up", "duration"):
        with peer("stopped") as target:
            words = ["--duration", "50ms"] if ask == "duration" else []
            recording = begin("-f", "-o", "t", *words, str(target.pid))
            if ask != "duration":
                assert "recording process" in recording.stderr.readline()
                recording.send_signal({"interrupt": signal.SIGINT, "terminate": signal.SIGTERM,
                                       "hang up": signal.SIGHUP}[ask])
            said = recording.communicate(timeout=LIMIT_S)[1]
            # What was written is no trace; that is told, and it is all there.
            assert recording.returncode == 1 and "t: " in said, (ask, recording.returncode, said)
            assert target.next()[:2] == ["command", "0203"]
            assert target.next()[:2] == ["command", "0201"] and target.next() == ["done"]
        wanted = dotnet_peer.TRACE[:1000] + dotnet_peer.LARGE + dotnet_peer.TRACE[1000:]
        assert contents("t") == wanted, ask


@test
def second_interrupt_gives_up():
    with peer("silent_rest") as target:
        recording = begin("-o", "t", str(target.pid))
        assert "recording process" in recording.stderr.readline()
        recording.send_signal(signal.SIGINT)
        while target.next() != ["stop", "came"]:
            pass
        recording.send_signal(signal.SIGINT)
        said = recording.communicate(timeout=LIMIT_S)[1]
        assert recording.returncode == 1 and "stopped twice" in said, said
        assert target.next() == ["closed"], "the session has no reader any more"
    assert contents("t") == dotnet_peer.TRACE[:1000]


@test
def interrupt_before_the_answer():
    with peer("silent") as target:
        recording = begin("-o", "t", str(target.pid))
        assert target.next()[0] == "command"
        recording.send_signal(signal.SIGINT)
        said = recording.communicate(timeout=LIMIT_S)[1]
        assert recording.returncode == 1, said
        assert said == "bytepoll: stopped before the runtime had answered\n", said
        assert target.next() == ["closed"]
    assert not os.path.exists("t")


@test
def killed():
    """The target sees the connection close, and a new session works."""
    with peer("again") as target:
        recording = begin("-o", "t", str(target.pid))
        assert "recording process" in recording.stderr.readline()
        recording.kill()
        recording.communicate(timeout=LIMIT_S)
        assert target.next()[0] == "command" and target.next() == ["closed"]
        result = call("-q", "--force", "-o", "t", str(target.pid))
        assert (result.returncode, result.stderr) == (0, ""), result
    assert contents("t") == dotnet_peer.TRACE


@test
def broken_off():
    with peer("broken_off") as target:
        result = call("-q", "-o", "t", str(target.pid))
    assert result.returncode == 0 and "the trace ends before its end" in result.stderr, result
    assert contents("t") == dotnet_peer.TRACE[:-1]


@test
def target_killed():
    with peer("endless") as target:
        recording = begin("-q", "-o", "t", str(target.pid))
        assert target.next()[0] == "command"
        while not os.path.exists("t") or os.path.getsize("t") < 1000:
            time.sleep(0.005)
        target.kill()
        said = recording.communicate(timeout=LIMIT_S)[1]
    assert recording.returncode == 0 and "the program was killed" in said, said


@test
def answers_that_are_none():
    for play, text in (("encoding", "0x80131384): it does not understand"),
                       ("unknown", "0x80131385): it does not know"),
                       ("magic", "0x80131386): it speaks another protocol"),
                       ("full", "0x80004005): it has 64 sessions"),
                       ("other", "0x80070005): it gave no reason"),
                       ("empty_refusal", "gave no reason"),
                       ("closes", "closed the connection without an answer"),
                       ("half_reply", "closed the connection without an answer"),
                       ("html", "no .NET runtime"), ("nameless", "no .NET runtime"),
                       ("too_short", "no .NET runtime"), ("too_long", "no .NET runtime"),
                       ("wrong_set", "no .NET runtime"), ("wrong_answer", "no .NET runtime")):
        with peer(play) as target:
            refuses(1, text, call("-o", "t", str(target.pid)))
        assert not os.path.exists("t"), play


# ---- finding the socket ----

@test
def socket_in_odd_places():
    deep = os.path.join(os.getcwd(), *["a" * 60] * 4)
    os.makedirs(deep)
    os.mkdir("relative")
    for folder in (deep, "relative"):
        with peer("whole", tmpdir=folder) as target:
            result = call("-q", "-f", "-o", "t", str(target.pid), env=environment(TMPDIR="/tmp"))
            assert (result.returncode, result.stderr) == (0, ""), (folder, result)
    # In a time namespace of its own a process sees another time of start.
    with peer("whole", how="listen-elsewhere") as target:
        with socket.socket(socket.AF_UNIX) as other:  # of a dead process with the same number
            other.bind(f"dotnet-diagnostic-{target.pid}-2-socket")
        result = call("-q", "-f", "-o", "t", str(target.pid))
        assert (result.returncode, result.stderr) == (0, ""), result


@test
def sockets_of_others():
    """A file of the right name where somebody else listens, or nobody: nothing is sent."""
    with peer("silent") as target:
        os.unlink(target.socket)
        refuses(1, "has no diagnostic port", call(str(target.pid)))
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(target.socket)
            refuses(1, "has no diagnostic port", call(str(target.pid)))
            other.listen(4)
            refuses(1, "belongs to another process", call(str(target.pid)))
            connection = other.accept()[0]
            assert connection.recv(100) == b""
        os.unlink(target.socket)
        with open(target.socket, "w", encoding="utf-8"):
            refuses(1, "has no diagnostic port", call(str(target.pid)))
    assert not [name for name in os.listdir() if name.endswith(".nettrace")]


@test
def processes_that_cannot_be():
    refuses(1, "there is no process 999999999", call("999999999"))
    refuses(1, "has no diagnostic port", call(str(os.getpid())))
    if os.getuid() == 0:
        with peer("silent", tmpdir="/tmp") as target:
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            with tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o777)
                copy = os.path.join(folder, "bytepoll")
                with open(copy, "wb") as file:
                    file.write(contents(BYTEPOLL))
                os.chmod(copy, 0o755)
                result = subprocess.run([*command, copy, "dotnet", str(target.pid)], cwd=folder,
                                        capture_output=True, text=True, timeout=LIMIT_S)
            os.unlink(target.socket)
    else:
        result = call("1")
    refuses(1, "belongs to another user (uid 0)", result)


@test
def stopped_process():
    """One that is stopped takes a connection, but says nothing; the user can still leave."""
    with peer("whole") as target:
        os.kill(target.pid, signal.SIGSTOP)
        recording = begin("-o", "t", str(target.pid))
        while not os.path.exists("t"):
            time.sleep(0.005)
        time.sleep(0.05)
        recording.send_signal(signal.SIGINT)
        said = recording.communicate(timeout=LIMIT_S)[1]
        assert recording.returncode == 1 and "before the runtime had answered" in said, said


# ---- the file ----

@test
def nothing_is_overwritten():
    with open("t", "w", encoding="utf-8") as file:
        file.write("mine")
    with peer("idle") as target:
        for force in ((), ("-f",)):
            refuses(1, "t exists and is no .nettrace file", call(*force, "-o", "t", str(target.pid)))
        assert contents("t") == b"mine"
        with open("t", "w", encoding="utf-8") as file:
            file.write("Nettrace of mine")
        refuses(1, "exists: choose another -o", call("-o", "t", str(target.pid)))
        refuses(1, "no regular file", call("-f", "-o", os.getcwd(), str(target.pid)))
        refuses(1, "cannot be created", call("-o", "no/such/folder", str(target.pid)))
    refuses(1, "no process", call("-f", "-o", "t", "999999999"))
    refuses(127, "cannot be started", call("-o", "u", "--", "no-such-program"))
    refuses(126, "cannot be started", call("-o", "u", "--", os.getcwd()))
    # An earlier recording stays until there is another one.
    refuses(127, "cannot be started", call("-f", "-o", "t", "--", "no-such-program"))
    result = call("-f", "-o", "t", "--", "true")
    assert "NOTHING WAS RECORDED" in result.stderr, result
    left = [name for name in os.listdir(".") if name == "u" or name.endswith(".old")]
    assert contents("t") == b"Nettrace of mine" and not left, left


@test
def wrong_use():
    refuses(125, "needs a process or a program", call())
    refuses(125, "nothing would be recorded", call("--duration", "0", "1"))
    refuses(125, "at least 1 MiB", call("--buffer", "0", "1"))
    refuses(125, "--buffer", call("--buffer", "5000", "1"))
    refuses(125, "--duration", call("--duration", "long", "1"))
    refuses(125, "did you mean --duration", call("--duratoin", "3", "1"))


@test
def file_that_cannot_grow():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
    with peer("stopped") as target:
        result = call("-o", "t", str(target.pid), preexec_fn=limit)
        assert result.returncode == 1 and "cannot be written: File too large" in result.stderr, result
        assert target.next()[:2] == ["command", "0203"]
        assert target.next()[:2] == ["command", "0201"] and target.next() == ["done"]


# ---- a program that is started ----

def start(play, *words, options=("-q", "-f", "-o", "t"), text="words", **more):
    return subprocess.run([BYTEPOLL, "dotnet", *options, "--", *PEER, "start", play, *words],
                          input=text, capture_output=True, text=True, timeout=LIMIT_S,
                          **{"env": environment(), **more})


def litter():
    return [name for name in os.listdir() if name.startswith("bytepoll.")
            and not name.endswith(".nettrace")]


@test
def started_program():
    result = start("recorded")
    assert result.returncode == 7 and result.stderr == "to standard error\n", result
    assert result.stdout.splitlines()[1:] == ["command 0401 -", "program words"], result.stdout
    assert contents("t") == dotnet_peer.TRACE and not litter()
    result = start("slow")
    assert result.returncode == 0 and contents("t") == dotnet_peer.TRACE, result
    result = start("garbage_first")
    assert result.returncode == 0 and contents("t") == dotnet_peer.TRACE, result


@test
def started_program_headline():
    result = start("recorded_real", trace_file("kinds-doubles"), options=())
    assert result.returncode == 0, result
    names = [name for name in os.listdir() if name.startswith("bytepoll.")]
    assert len(names) == 1 and names[0].endswith(".nettrace"), names
    assert "in " + names[0] in result.stderr and "next: bytepoll report" in result.stderr, result


@test
def session_refused():
    result = start("refused")
    assert result.returncode == 3 and "program words" in result.stdout, result
    assert "0x80131385" in result.stderr and not os.path.exists("t"), result


@test
def resume_that_got_lost():
    result = start("resume_lost")
    assert result.returncode == 0 and "program words" in result.stdout, result


@test
def program_without_a_runtime():
    result = start("no_runtime")
    assert result.returncode == 5 and result.stdout == "program words\n", result
    assert "NOTHING WAS RECORDED" in result.stderr and not os.path.exists("t"), result
    assert not litter()


@test
def statuses_and_signals():
    result = start("suicide")
    assert result.returncode == -signal.SIGKILL and "was killed" in result.stderr, result
    recording = begin("-q", "-f", "-o", "t", "--", *PEER, "start", "on_term")
    while recording.stdout.readline() != "running\n":
        pass
    recording.send_signal(signal.SIGINT)  # from a terminal the program would have it as well
    recording.send_signal(signal.SIGTERM)
    recording.communicate(timeout=LIMIT_S)
    assert recording.returncode == 11 and contents("t") == dotnet_peer.TRACE, recording.returncode


@test
def many_runtimes():
    """Also when there are far fewer descriptors for them than there are runtimes."""
    result = start("many")
    assert result.returncode == 0 and "all resumed" in result.stdout, (result.returncode,
                                                                      result.stderr[-500:])
    assert "301 more .NET processes" in result.stderr, result.stderr
    limit = ["prlimit", "--nofile=40:1024", BYTEPOLL, "dotnet", "-q", "-f", "-o", "t", "--",
             "prlimit", "--nofile=1024", *PEER, "start", "crowd"]
    result = subprocess.run(limit, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=LIMIT_S, env=environment())
    assert result.returncode == 0 and "all resumed" in result.stdout, result.stderr[-500:]


@test
def duration_of_a_started_program():
    result = start("timed", options=("-q", "-o", "t", "--duration", "50ms"))
    assert result.returncode == 0 and "program words" in result.stdout, result
    wanted = dotnet_peer.TRACE[:1000] + dotnet_peer.LARGE + dotnet_peer.TRACE[1000:]
    assert contents("t") == wanted


def wait_for(what):
    end = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@test
def killed_before_the_resume():
    """The program is let go all the same, and what was made for it is removed."""
    recording = begin("-q", "-o", "t", "--", *PEER, "start", "held")
    assert recording.stdout.readline().startswith("command 0203")
    assert recording.stdout.readline() == "asked\n"
    recording.kill()
    recording.wait()
    wait_for(lambda: os.path.exists("finished"))
    recording.communicate(timeout=LIMIT_S)
    wait_for(lambda: not litter())


@test
def left_in_the_background():
    """A program that ends before the .NET programs that it causes to be started: they start."""
    result = start("background", options=("-o", "t"))
    assert result.returncode == 0 and "stays with them" in result.stderr, result
    assert litter()
    with open("go", "w", encoding="utf-8"):
        pass
    wait_for(lambda: os.path.exists("finished"))
    wait_for(lambda: not litter())


@test
def ports_of_the_user_stay():
    result = subprocess.run([BYTEPOLL, "dotnet", "-q", "--", "sh", "-c",
                             "echo \"$DOTNET_DiagnosticPorts\""], capture_output=True, text=True,
                            timeout=LIMIT_S, stdin=subprocess.DEVNULL,
                            env=environment(DOTNET_DiagnosticPorts="/mine,nosuspend"))
    assert result.stdout.endswith("/port;/mine,nosuspend\n"), result
    odd = os.path.join(os.getcwd(), "a,b;c")
    os.mkdir(odd)
    result = subprocess.run([BYTEPOLL, "dotnet", "-q", "--", "sh", "-c",
                             "echo \"$DOTNET_DiagnosticPorts\""], capture_output=True, text=True,
                            timeout=LIMIT_S, stdin=subprocess.DEVNULL, env=environment(TMPDIR=odd))
    assert result.stdout.startswith("/tmp/bytepoll."), result


@test
def doctor_names_the_way():
    with peer("silent") as target:
        result = subprocess.run([BYTEPOLL, "doctor", str(target.pid)], capture_output=True,
                                text=True, check=False)
        assert f"bytepoll dotnet {target.pid}" in result.stdout, result
    result = subprocess.run([BYTEPOLL, "doctor", str(os.getpid())], capture_output=True, text=True,
                            check=False)
    assert "bytepoll dotnet" not in result.stdout and "bytepoll attach" in result.stdout, result


if __name__ == "__main__":
    sys.exit(cases.run(sys.argv[3:]))
