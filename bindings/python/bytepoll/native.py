# SPDX-License-Identifier: MIT
"""Finds the native parts: the program `bytepoll`, its recorder and libbytepoll.so.

A wheel carries them in the folder native/ beside this file. Where that is not so, the program is the
one that BYTEPOLL_BINARY names, or the first on PATH that is a program of machine code: the console
script of this package, which has the same name, is passed over. The other two are looked for beside
the program, as in a build folder, and in the lib folder beside its bin, as after `make install`.
"""
import os
import subprocess

CARRIED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native")
RECORDER = "libbytepoll-recorder.so"
LIBRARY = "libbytepoll.so.1"
ADVICE = ("install the wheel of bytepoll, which carries it; or build bytepoll with `make`, and set "
          "BYTEPOLL_BINARY to its path or put it on PATH")


class NotFound(RuntimeError):
    """A native part is missing. The text says what to do."""


def is_native(path):
    """Is it a program of machine code that may be executed?"""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF" and os.access(path, os.X_OK)
    except OSError:
        return False


def program():
    """The path of the native program."""
    carried = os.path.join(CARRIED, "bytepoll")
    if is_native(carried):
        return carried
    named = os.environ.get("BYTEPOLL_BINARY")
    if named:
        if is_native(named):
            return os.path.abspath(named)
        raise NotFound("bytepoll: BYTEPOLL_BINARY=%s is no native program" % named)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or ".", "bytepoll")
        if is_native(path):
            return os.path.abspath(path)
    raise NotFound("bytepoll: the native program was not found: " + ADVICE)


def beside_program(name, folders):
    """A file in one of the folders, which are relative to the program's own; None: in none."""
    try:
        base = os.path.dirname(os.path.realpath(program()))
    except NotFound:
        return None
    for folder in folders:
        path = os.path.normpath(os.path.join(base, folder, name))
        if os.path.isfile(path):
            return path
    return None


def recorder():
    """The path of the recorder, for LD_PRELOAD."""
    path = beside_program(RECORDER, ("", "../lib/bytepoll"))
    if path is None:
        raise NotFound("bytepoll: %s was not found beside %s: %s" % (RECORDER, program(), ADVICE))
    return path


def library():
    """The path of libbytepoll.so; None: it is not there."""
    return beside_program(LIBRARY, ("", "../lib", "src/tool/library"))


def plain_environment():
    """This process's environment without the recorder, for programs that are not to be recorded."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("BYTEPOLL_") or name in ("BYTEPOLL_CACHE", "BYTEPOLL_BINARY")}
    preloaded = [path for path in kept.pop("LD_PRELOAD", "").replace(":", " ").split()
                 if "libbytepoll-recorder" not in os.path.basename(path)]
    if preloaded:
        kept["LD_PRELOAD"] = ":".join(preloaded)
    return kept


def output(*words, good=(0,)):
    """What the native program prints; RuntimeError with its own words if its status is not `good`."""
    done = subprocess.run([program()] + list(words), env=plain_environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in good:
        raise RuntimeError(done.stderr.decode(errors="replace").strip() or
                           "bytepoll %s: status %d" % (words[0], done.returncode))
    return done.stdout
