#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll attach --copy-recorder DIR`: processes that have file systems of their own (a mount namespace in which the
folder of the build is empty, a chroot) are recorded with a copy of the recorder in a folder of theirs, by root and by
their own user; and whatever stands in the way of the copy is refused by its name, with nothing written."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import profiled
from attaching import USER, as_user, command, compiled, copied_command, expect_done, expect_refused, run_tests, running

CHURN = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile sig_atomic_t over;
static void end(int number) { over = number; }
int main(void) {
    signal(SIGTERM, end);
    puts("ready");
    fflush(stdout);
    while (!over) {
        for (int i = 0; i < 1000; i++)
            free(malloc(1 + (size_t)rand() % 4000));
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    puts("well");
    return 0;
}
"""
NAME = re.compile("libbytepoll-recorder-[0-9a-f]{16,}[.]so")
RANDOM_NAME = re.compile("libbytepoll-recorder-[0-9a-f]{16,}-[0-9a-f]{16}[.]so")


def seen(pid, path):
    """A path of the process's, as we have it."""
    return pathlib.Path("/proc/%d/root" % pid + str(path))


@contextlib.contextmanager
def hidden(path, prefix=(), options=("-m",), prepare=""):
    """A process that has its own file system at OWN, with the folder lib, and an empty one over the folder of the build.
    Yields (the process id, OWN)."""
    program, own = compiled(path, "churn", CHURN), os.path.join(path, "own")
    os.mkdir(own)
    script = 'mount -t tmpfs none "$1" && mount -t tmpfs none "$2" && cp "$3" "$1/churn" && mkdir -m 755 "$1/lib" && ' \
        'chmod 755 "$1" && cd "$1" && { %s : ; } && exec ./churn' % prepare
    with running(*prefix, "unshare", *options, "sh", "-c", script, "sh", own, profiled.BUILD, program) as process:
        yield process.pid, own


def copies(folder):
    """All that is in a folder: nothing but copies of the recorder may be left."""
    return sorted(os.listdir(folder))


def attach_to_copy(pid, folder, trace, prefix=(), bytepoll=profiled.BYTEPOLL):
    """Attaches, looks at the trace where the command says it can be read, and detaches. Returns the copy's path."""
    result = profiled.run([*prefix, bytepoll, "attach", "--copy-recorder", folder, "-o", trace, "--interval", "16K",
                           str(pid)])
    expect_done(result)
    text = result.stderr.decode()
    copy = re.search(r"its files have the copy (\S+) from now on", text)
    here = re.search(r"while it runs the trace can be read as (\S+)", text)
    profiled.expect(copy is not None and here is not None, "no word of what stays: %s" % text)
    time.sleep(.2)
    expect_done(profiled.run([*prefix, bytepoll, "detach", str(pid)]))
    data = profiled.report(here.group(1))
    profiled.expect(data["totals"]["allocated"]["bytes"]["low"] > 0, "nothing was recorded")
    profiled.expect(sum(data["losses"].values()) - data["losses"]["free"] == 0, "lost %s" % data["losses"])
    return copy.group(1)


def expect_copy(pid, copy, mode=0o644, user=0):
    status = os.stat(seen(pid, copy))
    profiled.expect(status.st_mode & 0o7777 == mode and status.st_uid == user and status.st_nlink == 1,
                    "the copy has mode %o, user %d" % (status.st_mode, status.st_uid))
    profiled.expect(seen(pid, copy).read_bytes() == pathlib.Path(profiled.RECORDER).read_bytes(), "other bytes")


def namespace(path):
    """Refused without the option, by doctor too; then recorded twice with one copy, which is all that stays."""
    with hidden(path) as (pid, own):
        words = "attach with --copy-recorder DIR, a folder as the process has it"
        expect_refused(command("attach", pid, "-o", os.path.join(own, "no.bpt")), words)
        found = command("doctor", pid)
        profiled.expect(words in (found.stdout + found.stderr).decode(), "doctor says %s" % found.stdout)
        copy = attach_to_copy(pid, own + "/lib", own + "/one.bpt")
        profiled.expect(NAME.fullmatch(os.path.basename(copy)), copy)
        expect_copy(pid, copy)
        made = os.stat(seen(pid, copy))
        expect_refused(command("attach", pid, "--copy-recorder", own + "/lib", "-o", own + "/one.bpt"),
                       "/one.bpt is there already: remove it")
        profiled.expect(attach_to_copy(pid, own + "/lib", own + "/two.bpt") == copy, "another copy")
        again = os.stat(seen(pid, copy))
        profiled.expect((made.st_ino, made.st_mtime_ns) == (again.st_ino, again.st_mtime_ns), "it was made anew")
        profiled.expect(copies(seen(pid, own + "/lib")) == [os.path.basename(copy)], "%s" % os.listdir(seen(pid, own)))
        profiled.expect(not os.listdir(own), "something was made in our files: %s" % os.listdir(own))


def jail(path, prefix=()):
    """A chroot with the program and its libraries, and nothing else."""
    program, root = compiled(path, "churn", CHURN), os.path.join(path, "jail")
    libraries = re.findall(r"(/\S+) \(", profiled.run(["ldd", program]).stdout.decode())
    for file, place in [(program, "/churn"), *((library, library) for library in libraries)]:
        os.makedirs(os.path.dirname(root + place), mode=0o755, exist_ok=True)
        shutil.copy(file, root + place)
    os.mkdir(root + "/opt", 0o755)
    with running(*prefix, "chroot", root, "/churn") as process:
        copy = attach_to_copy(process.pid, "/opt", "/trace.bpt")
        profiled.expect(NAME.fullmatch(os.path.basename(copy)) and copy.startswith("/opt/"), copy)
        expect_copy(process.pid, copy)
        profiled.expect(copies(root + "/opt") == [os.path.basename(copy)] and os.path.exists(root + "/trace.bpt"),
                        "%s, %s" % (os.listdir(root + "/opt"), os.listdir(root)))


def own_user(path):
    """An ordinary user, to a process in a user and mount namespace of his own."""
    bytepoll = copied_command(path)
    os.chown(path, USER, USER)
    os.chmod(path, 0o755)
    with hidden(path, as_user(), ("-U", "-r", "-m")) as (pid, own):
        copy = attach_to_copy(pid, own + "/lib", own + "/one.bpt", as_user(), bytepoll)
        expect_copy(pid, copy, user=USER)


def hostile(path):
    """What others, or the process, may have put in the way."""
    with hidden(path) as (pid, own):
        lib = seen(pid, own + "/lib")

        def refused(words, folder=own + "/lib", trace=own + "/trace.bpt"):
            before = sorted(map(str, seen(pid, own).rglob("*")))
            expect_refused(command("attach", pid, "--copy-recorder", folder, "-o", trace), words)
            profiled.expect(before == sorted(map(str, seen(pid, own).rglob("*"))), "something was made, or removed")
            profiled.expect(not os.listdir(own), "something was made in our files: %s" % os.listdir(own))

        os.symlink(path, seen(pid, own + "/out"))
        refused("there is a symbolic link in this path", own + "/out")
        refused("there is a symbolic link in this path", own + "/out/own")
        refused("cannot create", trace=own + "/out/trace.bpt")
        refused("has no such folder", own + "/absent")
        refused("has no such folder", own + "/lib/../lib")
        refused("has no such folder", "lib")
        refused("has no such folder", own + "/churn")
        belongs = "or others may write there"
        for mode in (0o777, 0o775):
            os.chmod(lib, mode)
            refused(belongs)
        os.chmod(lib, 0o755)
        os.mkdir(lib / "below", 0o755)
        os.chmod(lib, 0o777)
        refused(belongs, own + "/lib/below")
        os.chmod(lib, 0o755)
        os.chown(lib, USER, USER)
        refused(belongs)
        os.chown(lib, 0, 0)
        os.rmdir(lib / "below")
        copy = attach_to_copy(pid, own + "/lib", own + "/one.bpt")
        there = seen(pid, copy)
        bytes_of = there.read_bytes()
        os.rename(there, lib / "kept")  # (it is mapped)
        other = "is there already, and is not the recorder, or others may write it"
        there.write_bytes(bytes_of[:-1] + bytes([bytes_of[-1] ^ 1]))
        refused(other)
        there.write_bytes(bytes_of + b"more")
        refused(other)
        os.remove(there)
        os.symlink("kept", there)
        refused(other)
        os.remove(there)
        os.mkfifo(there)
        refused(other)
        os.remove(there)
        there.write_bytes(bytes_of)
        os.chmod(there, 0o666)
        refused(other)
        os.chmod(there, 0o644)
        os.chown(there, USER, USER)
        refused(other)


def shared_folder(path):
    """A sticky folder, where a name that can be foreseen could be taken: each copy has a name of its own."""
    with hidden(path) as (pid, own):
        os.chmod(seen(pid, own + "/lib"), 0o1777)
        names = [os.path.basename(attach_to_copy(pid, own + "/lib", own + "/%s.bpt" % trace)) for trace in "ab"]
        profiled.expect(all(map(RANDOM_NAME.fullmatch, names)), "%s" % names)


def no_execution(path):
    with hidden(path, prepare="mount -t tmpfs -o noexec,mode=755 none lib &&") as (pid, own):
        expect_refused(command("attach", pid, "--copy-recorder", own + "/lib", "-o", own + "/a.bpt"), "is mounted noexec")
        profiled.expect(not os.listdir(seen(pid, own + "/lib")), "something was made")


def can(*options):
    """Whether namespaces can be made here."""
    try:
        done = subprocess.run([*options, "unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True,
                              check=False).returncode == 0
    except OSError:
        done = False
    return None if profiled.is_root() and done else "needs root and mount namespaces"


def can_as_user():
    done = profiled.is_root() and subprocess.run(as_user("unshare", "-U", "-r", "-m", "true"), capture_output=True,
                                                 check=False).returncode == 0
    return None if done else "needs root and user namespaces"


TESTS = {"namespace": ("a mount namespace", namespace, can()),
         "jail": ("a chroot", jail, None if profiled.is_root() else "needs root"),
         "both": ("a chroot in a mount namespace", lambda path: jail(path, ("unshare", "-m")), can()),
         "user": ("an ordinary user", own_user, can_as_user()),
         "hostile": ("what is in the way", hostile, can()),
         "shared": ("a folder that others may write", shared_folder, can()),
         "noexec": ("a file system without execution", no_execution, can())}


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
