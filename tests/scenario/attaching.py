# SPDX-License-Identifier: MIT
"""Programs that `bytepoll attach` and `detach` are tried on: run until they are told to end, compiled from a few
lines, the commands with what they must say, and users without rights. For the tests of attach (test_attach*.py).
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys

import profiled

USER = 65534


@contextlib.contextmanager
def running(*arguments, before_exec=None):
    """A program that works, and says so; at the end it must say that all was well."""
    process = subprocess.Popen(arguments, env=profiled.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=before_exec)
    try:
        process.stdout.readline()
        yield process
        profiled.expect(process.poll() is None, "it has ended: %s" % process.returncode)
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=60)
        profiled.expect(process.returncode == 0 and stdout.split()[-1:] == [b"well"],
                        "status %s: %s %s" % (process.returncode, stdout[-40:], stderr[-300:]))
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def as_user(*arguments):
    """As a user without rights; for root's tests."""
    return ["setpriv", "--reuid=%d" % USER, "--regid=%d" % USER, "--clear-groups", *arguments]


def copied_command(path):
    """bytepoll with its recorder in a folder that every user may enter, which the folder of the build need not be.
    Returns the command's path."""
    os.chmod(path, 0o777)
    for file in (profiled.BYTEPOLL, profiled.RECORDER):
        shutil.copy(file, path)
    return os.path.join(path, os.path.basename(profiled.BYTEPOLL))


def command(name, pid, *options):
    return profiled.run([profiled.BYTEPOLL, name, *options, str(pid)])


def expect_done(result):
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr.decode(errors="replace")))
    return float(re.search(rb"stood still one at a time, for ([0-9.]+) ms", result.stderr).group(1))


def expect_refused(result, words):
    text = result.stderr.decode(errors="replace")
    profiled.expect(result.status == 1 and text.startswith("bytepoll: ") and words in text,
                    "status %s instead of 1, and '%s' is not in: %s" % (result.status, words, text))


def run_tests(tests, mode=None):
    """Those that the command line names, or all: {name: (title, test of a folder, what is in its way or None)}.
    `mode`: of the folders, if they are not the tests' alone."""
    tap = profiled.Tap()
    for name in sys.argv[1:] or tests:
        title, test, obstacle = tests[name]
        if obstacle is not None:
            tap.skip(title, obstacle)
            continue
        with profiled.directory() as path:
            if mode is not None:
                os.chmod(path, mode)
            tap.attempt(title, lambda test=test, path=path: test(path))
    return tap.finish()


def stop(process):
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


def compiled(path, name, text, *options):
    source, program = os.path.join(path, name + ".c"), os.path.join(path, name)
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["cc", "-o", program, source, *options], check=True)
    return program
