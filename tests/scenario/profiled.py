# SPDX-License-Identifier: MIT
"""Running programs with and without the recorder, for the drivers of this folder.

Everything comes from the build tree whose root is in BYTEPOLL_BUILD: the command line `bytepoll`,
the recorder and its test build, and the small programs. `run` starts a program in a session of its
own with a clean environment (no BYTEPOLL_ variable of the caller leaks in) and a time limit after
which the whole session is killed; `Tap` prints results in the format that Meson reads.
"""
import collections
import contextlib
import difflib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("BYTEPOLL_BUILD", "build"))
PROGRAMS = os.path.join(BUILD, "tests", "scenario")
BYTEPOLL = os.path.join(BUILD, "bytepoll")
RECORDER = os.path.join(BUILD, os.environ.get("BYTEPOLL_TEST_RECORDER", "libbytepoll-recorder.so"))
RECORDER_TEST = os.path.join(BUILD, "libbytepoll-recorder-test.so")
LONG = os.environ.get("BYTEPOLL_LONG_TESTS", "") not in ("", "0")
TIME_LIMIT_S = 120

Result = collections.namedtuple("Result", "status stdout stderr")


def heed_signals():
    """Under nohup, or started in the background by a script, we would hand on that these are ignored."""
    for ignored in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


heed_signals()  # every driver of this folder


def program(name):
    """Path of one of the small programs."""
    return os.path.join(PROGRAMS, name)


def is_root():
    return os.geteuid() == 0


def environment(trace=None, interval=None, seed=None, law=None, recorder=RECORDER, extra=None):
    """The environment of a run; profiled under LD_PRELOAD if `trace` is given."""
    result = {key: value for key, value in os.environ.items()
              if not key.startswith("BYTEPOLL_") and
              key not in ("LD_PRELOAD", "MALLOC_PERTURB_", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    result["LC_ALL"] = "C.UTF-8"
    if trace is not None:
        result["LD_PRELOAD"] = recorder
        result["BYTEPOLL_OUTPUT"] = trace
        for name, value in (("INTERVAL", interval), ("SEED", seed), ("LAW", law)):
            if value is not None:
                result["BYTEPOLL_" + name] = str(value)
    result.update(extra or {})
    return result


def run(arguments, trace=None, interval=None, seed=None, law=None, recorder=RECORDER, extra=None,
        time_limit_s=TIME_LIMIT_S, before_exec=None, pass_fds=(), cwd=None, stdin=None):
    """Runs a program to its end; `trace` profiles it. The status is negative for a signal."""
    process = subprocess.Popen(
        arguments, env=environment(trace, interval, seed, law, recorder, extra),
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=before_exec, pass_fds=pass_fds, cwd=cwd)
    try:
        stdout, stderr = process.communicate(input=stdin, timeout=time_limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        return Result("time limit", stdout, stderr)
    return Result(process.returncode, stdout, stderr)


def report(trace, *options):
    """`bytepoll report --json` of a trace; raises with its message if it fails."""
    result = run([BYTEPOLL, "report", "--json", *options, trace])
    if result.status != 0:
        raise AssertionError("report of %s: status %s: %s" % (
            trace, result.status, result.stderr.decode(errors="replace").strip()))
    return json.loads(result.stdout)


def lost(data):
    """All losses of a report, summed over reasons."""
    losses = data["losses"]
    if isinstance(losses, dict):
        return sum(value for value in losses.values() if isinstance(value, (int, float)))
    return sum(entry["count"] for entry in losses)


def has_begun(trace):
    """Is there a file, with a header in it?"""
    try:
        with open(trace, "rb") as file:
            return file.read(8) == b"BYTEPOLL"
    except FileNotFoundError:
        return False


Sample = collections.namedtuple(
    "Sample", "pid thread sequence size interval exact free_sequence temporary stack depth")


def samples(trace):
    """The samples of a trace and its tree, by the tool that prints one line for each."""
    result = run([program("sample_lines"), trace])
    if result.status != 0:
        raise AssertionError("%s: status %s: %s" % (
            trace, result.status, result.stderr.decode(errors="replace").strip()))
    return [Sample(*map(int, line.split("\t"))) for line in result.stdout.decode().splitlines()]


def no_mounts():
    """Why small file systems cannot be mounted, in a mount namespace of one's own; None: they can. What is mounted
    there must not be seen outside, so that `unshare` makes the root private, and in a plain chroot cannot: the root
    is no mount point then."""
    if not is_root() or shutil.which("unshare") is None:
        return "needs root and unshare"
    tried = run(["unshare", "-m", "true"])
    return None if tried.status == 0 else "no mounts of one's own: " + tried.stderr.decode(errors="replace").strip()


@contextlib.contextmanager
def directory(parent=None):
    """A directory of one's own that goes away with everything in it."""
    path = tempfile.mkdtemp(prefix="bytepoll-scenario-", dir=parent)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def litter(path, trace):
    """What a profiled run left in the directory of its trace beside the trace and its tree."""
    expected = {os.path.basename(trace) + suffix for suffix in ("", ".d", ".fold", ".resident", ".mappings", ".pages", ".jit")}
    found = sorted(set(os.listdir(path)) - expected)
    tree = trace + ".d"
    if os.path.isdir(tree):
        found += sorted(name for name in os.listdir(tree)
                        if not name.endswith(".bpt") and name != "index")
    return found


class Tap:
    """Results in the Test Anything Protocol; `finish` gives the exit status."""

    def __init__(self):
        self.count = self.failures = 0

    def check(self, condition, name, detail=""):
        self.count += 1
        self.failures += not condition
        print("%s %d - %s" % ("ok" if condition else "not ok", self.count, name))
        if not condition and detail:
            self.note(detail)
            # A runner that reads the protocol shows standard error beside a failure, and no comments.
            print("%s: %s" % (name, detail), file=sys.stderr, flush=True)
        sys.stdout.flush()
        return bool(condition)

    def attempt(self, name, action):
        """A check whose action raises AssertionError (or anything else) where it fails."""
        try:
            action()
        except Exception as error:  # every failure is a result, none ends the driver
            return self.check(False, name, "%s: %s" % (type(error).__name__, error))
        return self.check(True, name)

    def skip(self, name, reason):
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, name, reason))

    @staticmethod
    def note(text):
        for line in str(text).splitlines():
            print("# " + line)

    def finish(self):
        print("1..%d" % self.count)
        return 1 if self.failures or not self.count else 0


def expect(condition, message):
    """An assertion that survives python -O and says what was seen."""
    if not condition:
        raise AssertionError(message)


def difference(before, after):
    """The first lines in which two outputs differ, shortened."""
    lines = difflib.unified_diff(before.decode(errors="replace").splitlines(),
                                 after.decode(errors="replace").splitlines(), lineterm="", n=0)
    return "\n".join([line[:200] for line in lines][2:12])


def expect_same(plain, result):
    """A profiled run did what the unprofiled one did."""
    expect(result.status == plain.status, "status %s instead of %s: %s" % (
        result.status, plain.status, result.stderr.decode(errors="replace").strip()[-500:]))
    expect(result.stdout == plain.stdout,
           "output differs:\n" + difference(plain.stdout, result.stdout))
    expect(result.stderr == plain.stderr,
           "standard error differs:\n" + difference(plain.stderr, result.stderr))
