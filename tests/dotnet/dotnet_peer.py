#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The diagnostic port of a .NET runtime, played from a script, so that `bytepoll dotnet` is tested without
a runtime. Written from the description of the protocol, and kept apart from the C code.

    dotnet_peer.py listen PLAY [TRACE]       a process that is joined by its pid: listens in TMPDIR
    dotnet_peer.py start PLAY [TRACE]        a program that is started: connects to DOTNET_DiagnosticPorts

PLAY is the name of a function below. Everything that happens is a line on standard output.
"""
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

MAGIC = b"DOTNET_IPC_V1\0"
SESSION = 0x7F00DEADBEEF
END = b"\x06\x01"
TRACE = b"Nettrace" + bytes(range(256)) * 40 + END
LARGE = b"x" * (8 << 20)


def say(*words):
    print(*words, flush=True)


def reply(code, payload):
    return MAGIC + struct.pack("<HBBH", 20 + len(payload), 0xFF, code, 0) + payload


def begun():
    return reply(0, struct.pack("<Q", SESSION))


def refusal(error):
    return reply(0xFF, struct.pack("<I", error))


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            return data
        data += more
    return data


def read_command(connection):
    """(set, id, payload); a runtime trusts the length, so what is not there is waited for."""
    head = read_exactly(connection, 20)
    if len(head) < 20:
        say("closed")
        return None
    assert head[:14] == MAGIC, head
    length, group, number, zero = struct.unpack("<HBBH", head[14:])
    payload = read_exactly(connection, length - 20)
    assert len(payload) == length - 20 and zero == 0, (head, payload)
    say("command", f"{group:02x}{number:02x}", payload.hex() or "-")
    return group, number, payload


def wait_for_close(connection):
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    say("closed")


# ---- a process that is joined ----

def listen(name_ticks=None):
    with open("/proc/self/stat", encoding="utf-8") as file:
        ticks = file.read().rsplit(")", 1)[1].split()[19]
    path = os.path.join(os.environ.get("TMPDIR") or "/tmp",
                        f"dotnet-diagnostic-{os.getpid()}-{name_ticks or ticks}-socket")
    server = socket.socket(socket.AF_UNIX)
    # A long path does not fit into an address.
    folder = os.open(os.path.dirname(path), os.O_PATH)
    server.bind(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    server.listen(16)
    say("ready", path)
    return server


def take_session(server):
    connection = server.accept()[0]
    return connection if read_command(connection) else None


def whole(server):
    connection = take_session(server)
    connection.sendall(begun() + TRACE)
    connection.close()


def real(server):
    connection = take_session(server)
    with open(sys.argv[3], "rb") as file:
        connection.sendall(begun() + file.read())
    connection.close()


def drops(server):
    """Every byte of the reply and the first of the trace in a piece of its own."""
    connection = take_session(server)
    data = begun() + TRACE
    for at in range(60):
        connection.sendall(data[at:at + 1])
    connection.sendall(data[60:])
    connection.close()


def stopped(server):
    """The answer to the stop comes only when the stream has been read: sendall waits for its reader."""
    connection = take_session(server)
    connection.sendall(begun() + TRACE[:1000])
    other = server.accept()[0]
    command = read_command(other)
    assert command == (2, 1, struct.pack("<Q", SESSION)), command
    connection.sendall(LARGE + TRACE[1000:])
    connection.close()
    try:
        other.sendall(begun())
    except BrokenPipeError:
        pass  # nobody needs to read it
    say("done")


def silent_rest(server):
    connection = take_session(server)
    connection.sendall(begun() + TRACE[:1000])
    read_command(server.accept()[0])
    say("stop came")
    wait_for_close(connection)


def idle(server):
    """Whoever comes and goes."""
    while True:
        wait_for_close(server.accept()[0])


def silent(server):
    wait_for_close(take_session(server))


def endless(server):
    connection = take_session(server)
    connection.sendall(begun() + TRACE[:1000])
    wait_for_close(connection)


def again(server):
    """A session whose reader goes away, and a new one afterwards."""
    endless(server)
    whole(server)


def broken_off(server):
    connection = take_session(server)
    connection.sendall(begun() + TRACE[:-1])
    connection.close()


def closes(server):
    take_session(server).close()


def half_reply(server):
    connection = take_session(server)
    connection.sendall(begun()[:25])
    connection.close()


def answers(data):
    def play(server):
        connection = take_session(server)
        connection.sendall(data)
        wait_for_close(connection)
    return play


LISTENING = {
    "whole": whole, "real": real, "drops": drops, "stopped": stopped, "silent_rest": silent_rest,
    "silent": silent, "idle": idle, "endless": endless, "again": again, "broken_off": broken_off,
    "closes": closes, "half_reply": half_reply,
    "encoding": answers(refusal(0x80131384)), "unknown": answers(refusal(0x80131385)),
    "magic": answers(refusal(0x80131386)), "full": answers(refusal(0x80004005)),
    "other": answers(refusal(0x80070005)), "empty_refusal": answers(reply(0xFF, b"")),
    "html": answers(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "nameless": answers(reply(0, b"")),
    "too_short": answers(MAGIC + struct.pack("<HBBH", 3, 0xFF, 0, 0) + bytes(40)),
    "too_long": answers(MAGIC + struct.pack("<HBBH", 0xFFFF, 0xFF, 0, 0) + bytes(40)),
    "wrong_set": answers(MAGIC + struct.pack("<HBBH", 28, 4, 0, 0) + bytes(40)),
    "wrong_answer": answers(MAGIC + struct.pack("<HBBH", 28, 0xFF, 7, 0) + bytes(40)),
}


# ---- a program that is started ----

class Runtime:
    """What a runtime does at its start: connects, says who it is, and waits for commands."""

    def __init__(self, number=0):
        self.cookie = struct.pack("<QQ", os.getpid(), number)
        self.path = os.environ["DOTNET_DiagnosticPorts"].split(";")[0].split(",")[0]

    def connect(self, pieces=1):
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(self.path)
                break
            except OSError:
                connection.close()
                signal.sigtimedwait([], 0.01)  # as a runtime: it tries again
        data = b"ADVR_V1\0" + self.cookie + struct.pack("<QH", os.getpid(), 0)
        step = -(-len(data) // pieces)
        for at in range(0, len(data), step):
            connection.sendall(data[at:at + step])
        return connection

    def wait_for_resume(self):
        """Until it comes; a connection that is closed is made anew."""
        while True:
            connection = self.connect()
            try:
                command = read_command(connection)
            except ConnectionResetError:
                command = None
            if command is None:
                continue
            assert command == (4, 1, b""), command
            connection.sendall(reply(0, b""))
            connection.close()
            return

    def take_session(self, pieces=1):
        connection = self.connect(pieces)
        command = read_command(connection)
        assert command and command[:2] == (2, 3), command
        return connection


def program():
    """What it does itself, when it is let go."""
    say("program", sys.stdin.read().strip())
    print("to standard error", file=sys.stderr, flush=True)


def recorded(status=7, pieces=1, trace=TRACE):
    runtime = Runtime()
    stream = runtime.take_session(pieces)
    stream.sendall(begun())
    runtime.wait_for_resume()
    waiting = runtime.connect()
    program()
    stream.sendall(trace)
    stream.close()
    waiting.close()
    sys.exit(status)


def recorded_real():
    with open(sys.argv[3], "rb") as file:
        recorded(0, 1, file.read())


def slow():
    recorded(0, 34)


def refused():
    runtime = Runtime()
    stream = runtime.take_session()
    stream.sendall(refusal(0x80131385))
    wait_for_close(stream)
    runtime.wait_for_resume()
    program()
    sys.exit(3)


def resume_lost():
    """The connection on which the resume came breaks before it was read."""
    runtime = Runtime()
    stream = runtime.take_session()
    stream.sendall(begun())
    runtime.connect().close()
    connection = runtime.connect()
    read_exactly(connection, 5)
    connection.close()
    runtime.wait_for_resume()
    program()
    stream.sendall(TRACE)
    sys.exit(0)


def no_runtime():
    program()
    sys.exit(5)


def suicide():
    runtime = Runtime()
    stream = runtime.take_session()
    stream.sendall(begun() + TRACE[:1000])
    runtime.wait_for_resume()
    os.kill(os.getpid(), signal.SIGKILL)


def on_term():
    runtime = Runtime()
    stream = runtime.take_session()
    stream.sendall(begun())
    runtime.wait_for_resume()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    say("running")
    signal.sigwait({signal.SIGTERM})
    stream.sendall(TRACE)
    sys.exit(11)


def many():
    """Many runtimes at once, all of them suspended, and all staying connected when they are not."""
    first = Runtime()
    stream = first.take_session()
    stream.sendall(begun())
    first.wait_for_resume()
    others = [Runtime(number) for number in range(1, 301)]
    waiting = [other.connect() for other in others]
    for other, connection in zip(others, waiting):
        command = read_command(connection)
        assert command == (4, 1, b""), command
        connection.sendall(reply(0, b""))
        connection.close()
    waiting = [other.connect() for other in others]
    Runtime(1000).wait_for_resume()
    say("all resumed")
    stream.sendall(TRACE)
    sys.exit(0)


def crowd():
    """Many that do not know of each other."""
    first = Runtime()
    stream = first.take_session()
    stream.sendall(begun())
    first.wait_for_resume()
    enough = threading.Event()

    def live(number):
        runtime = Runtime(number)
        runtime.wait_for_resume()
        connection = runtime.connect()
        enough.wait()
        connection.close()
    threads = [threading.Thread(target=live, args=(number,)) for number in range(1, 101)]
    for thread in threads:
        thread.daemon = True
        thread.start()
    for number in range(200, 205):
        Runtime(number).wait_for_resume()
    enough.set()
    for thread in threads:
        thread.join()
    say("all resumed")
    stream.sendall(TRACE)
    sys.exit(0)


def garbage_first():
    """Something else that was given the path: says nonsense, or goes away in the middle of a word."""
    for words in (b"", b"ADVR", b"x" * 34, b"GET / HTTP/1.1\r\n\r\n" + bytes(40)):
        other = socket.socket(socket.AF_UNIX)
        other.connect(Runtime().path)
        other.sendall(words)
        other.close()
    recorded(0)


def timed():
    """Recorded for a while: the stop comes on the connection that waits, nothing listens in TMPDIR."""
    runtime = Runtime()
    stream = runtime.take_session()
    stream.sendall(begun() + TRACE[:1000])
    runtime.wait_for_resume()
    command = read_command(runtime.connect())
    assert command == (2, 1, struct.pack("<Q", SESSION)), command
    stream.sendall(LARGE + TRACE[1000:])
    stream.close()
    program()
    sys.exit(0)


def held():
    """Is in its start when bytepoll is killed; whoever listens then must let it go."""
    runtime = Runtime()
    stream = runtime.take_session()
    say("asked")
    wait_for_close(stream)
    runtime.wait_for_resume()
    with open("finished", "w", encoding="utf-8") as file:
        file.write("yes")


def background():
    """Ends, but leaves a process that starts a runtime when it is told to (by the end of its input)."""
    read, write = os.pipe()
    subprocess.Popen([sys.executable, __file__, "start", "late"], stdin=read,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if os.fork() == 0:  # holds the other end until the file "go" is made
        os.close(read)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        while not os.path.exists("go"):
            signal.sigtimedwait([], 0.02)
        os._exit(0)
    os.close(write)
    recorded(0)


def late():
    sys.stdin.read()
    Runtime(5).wait_for_resume()
    with open("finished", "w", encoding="utf-8") as file:
        file.write("yes")


STARTED = {"recorded": recorded, "recorded_real": recorded_real, "slow": slow, "refused": refused,
           "resume_lost": resume_lost, "no_runtime": no_runtime, "suicide": suicide,
           "on_term": on_term, "many": many, "crowd": crowd, "garbage_first": garbage_first, "timed": timed,
           "held": held, "background": background, "late": late}


def main():
    if sys.argv[1] == "listen":
        LISTENING[sys.argv[2]](listen())
    elif sys.argv[1] == "listen-elsewhere":
        LISTENING[sys.argv[2]](listen(name_ticks=1))
    else:
        STARTED[sys.argv[2]]()


if __name__ == "__main__":
    main()
