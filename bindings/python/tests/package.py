# SPDX-License-Identifier: MIT
"""Running Python programs that use the package, from the source tree and with the build's native
parts, for the tests of this folder."""
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)
sys.path[:0] = [PACKAGE, os.path.join(PACKAGE, "..", "..", "tests", "scenario")]
import profiled  # noqa: E402

os.environ.pop("LD_LIBRARY_PATH", None)  # of Meson; a user has none
os.environ["BYTEPOLL_BINARY"] = profiled.BYTEPOLL  # for the package within a test's own process


def setting(**more):
    """Variables with which a program finds the package and the build."""
    return dict({"PYTHONPATH": PACKAGE, "BYTEPOLL_BINARY": profiled.BYTEPOLL, "BYTEPOLL_CACHE": "off",
                 "PYTHONDONTWRITEBYTECODE": "1"}, **more)


def run(*words, python=sys.executable, cwd=None, **more):
    """`python` with these words, unrecorded unless they say so."""
    return profiled.run([python] + [str(word) for word in words], extra=setting(**more), cwd=cwd)


def recorded(folder, text, *options, python=sys.executable, **more):
    """What a program prints under `python -m bytepoll run`, read as JSON."""
    script = os.path.join(folder, "script.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(text)
    done = run("-m", "bytepoll", "run", "-q", "--force", "--no-resident", *options, "-o",
               os.path.join(folder, "script.bpt"), script, python=python, **more)
    profiled.expect(done.status == 0, "status %s: %s" % (
        done.status, done.stderr.decode(errors="replace")[-800:]))
    return json.loads(done.stdout)


def interpreters():
    """(version, path) of every Python from 3.8 on that is found, this one first."""
    paths = [sys.executable] + sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    for path in paths:
        told = run("-c", "import sys; print('%d.%d' % sys.version_info[:2])", python=path)
        version = told.stdout.decode().strip()
        if told.status == 0 and tuple(map(int, version.split("."))) >= (3, 8):
            yield version, path


def pythons():
    """{version: path}, one of each version."""
    found = {}
    for version, path in interpreters():
        found.setdefault(version, path)
    return found


def python_with(*modules):
    """An interpreter that has these modules; None: none has."""
    for _, path in interpreters():
        if run("-c", "import " + ", ".join(modules), python=path).status == 0:
            return path
    return None


def allowed(rate, trials):
    """How many events of this rate are seen at most, but once in two thousand times (3.3 sigma)."""
    return rate * trials + 3.3 * (rate * (1 - rate) * trials) ** .5
