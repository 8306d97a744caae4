#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What another user can make root's commands do, where root works in that user's folder.

Each test has a user without any right (number 12345), a folder of that user's, and a folder of root's that the
user wants something in: a file removed, a file created, a file of the user's own. Root runs a command on a
trace in the user's folder, and the user changes what lies there, at the worst moment. The command may fail,
but the folder of root's must be as it was. Without root there is nobody to attack.
"""
import contextlib
import ctypes
import fcntl
import os
import shutil
import sys
import time

import profiled

USER = 12345
INTERVAL = 64


def as_user(action):
    """Runs an action in a process of the user's."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
            action()
            status = 0
        except Exception as error:  # pylint: disable=broad-except
            print("# the user could not do it: %s" % error, flush=True)
        finally:
            os._exit(status)
    profiled.expect(os.waitpid(child, 0)[1] == 0, "the attack itself failed")


@contextlib.contextmanager
def home_and_safe():
    """The user's folder, and root's with two files in it."""
    with profiled.directory() as path:
        os.chmod(path, 0o755)
        home, safe = os.path.join(path, "home"), os.path.join(path, "safe")
        os.mkdir(home, 0o755)
        os.chown(home, USER, USER)
        os.mkdir(safe, 0o755)
        for name in ("index", "precious.bpt"):
            with open(os.path.join(safe, name), "w", encoding="ascii") as file:
                file.write("precious")
        yield home, safe


def expect_safe(safe):
    found = sorted(os.listdir(safe))
    profiled.expect(found == ["index", "precious.bpt"], "root's folder holds %s" % found)
    for name in found:
        with open(os.path.join(safe, name), encoding="ascii") as file:
            profiled.expect(file.read() == "precious", "%s was changed" % name)


def bytepoll(*arguments):
    return profiled.run([profiled.BYTEPOLL, *arguments])


def replaces_a_link():
    """`run --force`: what FILE.d holds is removed, and FILE.d is a link."""
    with home_and_safe() as (home, safe):
        trace = os.path.join(home, "t.bpt")
        as_user(lambda: os.symlink(safe, trace + ".d"))
        result = bytepoll("run", "--force", "-o", trace, "--", "/bin/true")
        expect_safe(safe)
        profiled.expect(result.status == 125, "status %s" % result.status)
        profiled.expect(b"t.bpt.d is no folder" in result.stderr, "said: %s" % result.stderr)


def replaces_a_strangers_folder():
    """The same where FILE.d is a folder, but the user's: what lies there is not root's to remove."""
    with home_and_safe() as (home, _):
        trace = os.path.join(home, "t.bpt")
        profiled.run([profiled.program("leak"), "10"], trace, INTERVAL)
        as_user(lambda: (os.mkdir(trace + ".d"), os.mknod(trace + ".d/index")))
        result = bytepoll("run", "--force", "-o", trace, "--", "/bin/true")
        profiled.expect(os.listdir(trace + ".d") == ["index"] and os.path.exists(trace),
                        "something was removed")
        profiled.expect(result.status == 125, "status %s" % result.status)
        profiled.expect(b"t.bpt.d is not a folder of this user's" in result.stderr,
                        "said: %s" % result.stderr)


def records(make_folder, expected):
    """The recorder: FILE is taken, so that a program writes to FILE.d."""
    with home_and_safe() as (home, safe):
        trace = os.path.join(home, "t.bpt")
        with open(trace, "w", encoding="ascii"):
            pass
        make_folder(trace + ".d", safe)
        result = profiled.run([profiled.program("leak"), "10"], trace, INTERVAL)
        expect_safe(safe)
        profiled.expect(result.status == 0, "the program ended by %s" % result.status)
        found = os.listdir(trace + ".d")
        profiled.expect(len(found) == expected, "FILE.d holds %s" % found)


def users_own_folder(path, _):
    as_user(lambda: os.mkdir(path, 0o755))


def everybodys_folder(path, _):
    os.mkdir(path)
    os.chmod(path, 0o777)


def own_folder(path, _):
    os.mkdir(path, 0o700)


def writes_its_index():
    """FILE.d is replaced by a link while the program runs: the index goes nowhere, nothing is removed."""
    with home_and_safe() as (home, safe):
        trace = os.path.join(home, "t.bpt")
        attack = "mv %s.d %s.away && ln -s %s %s.d" % (trace, trace, safe, trace)
        result = bytepoll("run", "-o", trace, "--", "/bin/sh", "-c",
                          "/bin/true; env -u LD_PRELOAD setpriv --reuid %d --clear-groups "
                          "sh -c '%s'" % (USER, attack))
        profiled.expect(os.path.islink(trace + ".d"), "the attack itself failed")
        expect_safe(safe)
        profiled.expect(result.status == 0, "status %s" % result.status)
        profiled.expect(b"nothing was changed there" in result.stderr, "said: %s" % result.stderr)


def make_trace_of_user(home):
    """A trace of the user's that is worth folding."""
    trace = os.path.join(home, "t.bpt")
    result = profiled.run([profiled.program("churn"), "2", "20000"], trace, 1)
    profiled.expect(result.status == 0, "status %s" % result.status)
    os.chown(trace, USER, USER)
    return trace


def folds():
    """`fold` waits for a lock that the user holds; meanwhile the folder becomes a link. Then root would make
    a file for the user in any folder."""
    with home_and_safe() as (home, safe):
        work = os.path.join(home, "work")
        as_user(lambda: os.mkdir(work))
        trace = make_trace_of_user(work)
        ready, go = os.pipe(), os.pipe()
        attacker = os.fork()
        if attacker == 0:
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
            with open(trace, "rb") as held:
                fcntl.flock(held, fcntl.LOCK_SH)
                os.write(ready[1], b"x")
                os.read(go[0], 1)
                os.rename(work, work + ".away")
                os.symlink(safe, work)
            os._exit(0)
        os.read(ready[0], 1)
        folder = os.fork()
        if folder == 0:
            result = bytepoll("fold", trace)
            print("# %s" % (result.stdout + result.stderr).decode().strip())
            sys.stdout.flush()
            os._exit(0)
        wait_for_open(trace, 2)
        os.write(go[1], b"x")
        status = os.waitpid(attacker, 0)[1]
        os.waitpid(folder, 0)
        profiled.expect(status == 0 and os.path.islink(work), "the attack itself failed")
        expect_safe(safe)
        profiled.expect(sorted(os.listdir(work + ".away")) == ["t.bpt", "t.bpt.fold"],
                        "folded: %s" % os.listdir(work + ".away"))


def holders(path):
    """How many processes have the file open."""
    wanted, count = os.stat(path), 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            for name in os.listdir("/proc/%s/fd" % pid):
                with contextlib.suppress(OSError):
                    status = os.stat("/proc/%s/fd/%s" % (pid, name))
                    if (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino):
                        count += 1
                        break
    return count


def wait_for_open(path, wanted):
    end = time.monotonic() + 20
    while holders(path) < wanted:
        profiled.expect(time.monotonic() < end, "nobody opened %s" % path)
        time.sleep(.02)


def folds_in_a_strangers_folder():
    """The trace of one user in the folder of another."""
    with home_and_safe() as (home, _):
        trace = make_trace_of_user(home)
        os.chown(home, USER + 1, USER + 1)
        result = bytepoll("fold", trace)
        profiled.expect(result.status == 1 and b"neither to its owner nor to root" in result.stderr,
                        "status %s: %s" % (result.status, result.stderr))
        profiled.expect(os.listdir(home) == ["t.bpt"], "left: %s" % os.listdir(home))


@contextlib.contextmanager
def held_by_user(trace):
    """The user, who may read the trace, keeps its lock and never gives it back."""
    ready, end = os.pipe(), os.pipe()
    holder = os.fork()
    if holder == 0:
        os.close(end[1])
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
        with open(trace, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            os.write(ready[1], b"x")
            os.read(end[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    try:
        yield holder
    finally:
        os.close(end[1])
        os.waitpid(holder, 0)


def holds_a_lock():
    """Reports are made all the same, the same as without the lock; what writes says who holds it."""
    with home_and_safe() as (home, _):
        trace = os.path.join(home, "t.bpt")
        result = profiled.run([profiled.program("churn"), "2", "20000"], trace, 1)
        profiled.expect(result.status == 0, "status %s" % result.status)
        os.chmod(trace, 0o644)
        before = bytepoll("report", "--json", trace)
        with held_by_user(trace) as holder:
            for words in (("report", "--json"), ("html", "-o", os.path.join(home, "page.html"))):
                result = profiled.run([profiled.BYTEPOLL, *words, trace], time_limit_s=40)
                profiled.expect(result.status == 0, "%s: %s" % (words, result))
                profiled.expect(words[0] == "html" or result.stdout == before.stdout,
                                "the report differs")
            result = profiled.run([profiled.BYTEPOLL, "fold", trace], time_limit_s=40)
            profiled.expect(result.status == 1 and b"process %d" % holder in result.stderr,
                            "fold: %s" % (result,))
        profiled.expect(bytepoll("fold", trace).status == 0, "cannot be folded afterwards")


def opens_nothing_but_files():
    """To open a device is to act on it. A FIFO stands for one: the kernel tells of every opening of it."""
    with home_and_safe() as (home, _):
        fifo, libc = os.path.join(home, "t.bpt"), ctypes.CDLL(None, use_errno=True)
        as_user(lambda: os.mkfifo(fifo))
        watch = libc.inotify_init1(os.O_NONBLOCK)
        profiled.expect(libc.inotify_add_watch(watch, fifo.encode(), 0x20) >= 0, "no inotify")
        result = profiled.run([profiled.BYTEPOLL, "control", fifo, "status"], time_limit_s=20)
        profiled.expect(result.status == 1, "status %s: %s" % (result.status, result.stderr))
        try:
            profiled.expect(os.read(watch, 4096) == b"", "it was opened")
        except BlockingIOError:
            pass  # nothing to read: it was not
        finally:
            os.close(watch)


def index_that_blocks():
    """A FIFO in the place of FILE.d/index holds no report."""
    with home_and_safe() as (home, _):
        trace = os.path.join(home, "t.bpt")
        profiled.run([profiled.program("churn"), "2", "20000"], trace, 64)
        as_user(lambda: (os.mkdir(trace + ".d"), os.mkfifo(trace + ".d/index")))
        result = profiled.run([profiled.BYTEPOLL, "report", trace], time_limit_s=20)
        profiled.expect(result.status == 0, "%s" % (result,))


def main():
    tap = profiled.Tap()
    if not profiled.is_root() or shutil.which("setpriv") is None:
        tap.skip("another user attacks root's commands", "not root")
        return tap.finish()
    tap.attempt("run --force removes nothing through a link", replaces_a_link)
    tap.attempt("run --force removes nothing in a user's folder", replaces_a_strangers_folder)
    tap.attempt("the recorder writes nothing through a link",
                lambda: records(lambda path, safe: as_user(lambda: os.symlink(safe, path)), 2))
    tap.attempt("the recorder writes nothing into a user's folder",
                lambda: records(users_own_folder, 0))
    tap.attempt("the recorder writes nothing into everybody's folder",
                lambda: records(everybodys_folder, 0))
    tap.attempt("the recorder writes into a folder of its own", lambda: records(own_folder, 1))
    tap.attempt("run writes no index through a link", writes_its_index)
    tap.attempt("fold creates nothing in a folder that was swapped", folds)
    tap.attempt("fold gives nothing to a user in a stranger's folder", folds_in_a_strangers_folder)
    tap.attempt("a user's lock stops no report, and no fold for ever", holds_a_lock)
    tap.attempt("control opens nothing but regular files", opens_nothing_but_files)
    tap.attempt("an index that is a FIFO holds no report", index_that_blocks)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
