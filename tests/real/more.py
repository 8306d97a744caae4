# SPDX-License-Identifier: MIT
"""Many more real programs, profiled and unprofiled compared: `run.py --more [--table] [NAME...]`.

Each program of more_programs.py runs four times in the same, freshly made directory: unprofiled,
under `bytepoll run` at the default interval, behind the recorder of `run --verify` (preloaded
without `run`, which would look up every name of every image for its verdict), and at T = 1 (a few
at a larger T). In each of the profiled runs

- standard output, standard error, exit status and the files that were made are those of the
  unprofiled run, and nothing is left beside the trace;
- the trace of the whole tree can be read, nothing was lost, and the programs that the entry names
  were profiled;
- in the verified run, the totals of the threads' counters are what the recorder counted object by
  object, in every process that ended; `bytepoll verify` does not call the intervals of one or two
  processes "bad".

The totals of bytes and objects of every image are compared between the three profiled runs: they
are the same to the last object, unless the entry says why the program itself allocates differently
each time. The environment has the same size in all three, since programs copy it.
"""
import collections
import concurrent.futures
import hashlib
import os
import re
import resource
import shutil
import signal
import socket
import struct
import sys
import time

import profiled
from more_programs import PROGRAMS, material

HERE = os.path.dirname(os.path.abspath(__file__))
INPUTS = os.path.join(HERE, "more")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/games"
TIME_LIMIT_S = 120
JOBS = 2  # programs at a time
# The error of the verdict for one program: about 100 programs are judged in one run.
VERDICT_ERROR = "1e-7"
DEFAULT_INTERVAL = 524288
TOOLS = ("bytepoll", "libbytepoll-recorder.so", "libbytepoll-recorder-verify.so")
# Where the census stands in a trace, and its first fields (docs/trace-format.md 1.7).
STATE_PAGE, CENSUS = 4096, 512
CENSUS_FIELDS = (
    "allocated_bytes", "allocated_objects", "freed_bytes", "freed_objects", "peak_bytes",
    "peak_objects", "peak_time_ns", "smallest_size", "nested_bytes", "nested_objects",
    "uncounted_bytes", "uncounted_objects", "unknown_frees", "missed_frees", "failed_bytes",
    "failed_objects")
Run = collections.namedtuple("Run", "name interval preload")


class Outcome:
    """What one run did that can be compared."""

    def __init__(self, result, program, work):
        text = result.stdout.decode(errors="replace")
        errors = result.stderr.decode(errors="replace")
        for pattern, replacement in program.masks:
            text, errors = re.sub(pattern, replacement, text), re.sub(pattern, replacement, errors)
        self.status = result.status
        self.stdout = self.lines(text, program.sort)
        self.stderr = self.lines(errors, program.sort)
        self.files = files_of(work, program.ignored)

    @staticmethod
    def lines(text, sort):
        lines = text.split("\n")
        return "\n".join(sorted(lines) if sort else lines).encode()


def files_of(path, ignored):
    """The digest of every file, and what every link points to, by name."""
    found = {}
    for folder, folders, names in os.walk(path):
        for name in names + folders:
            whole = os.path.join(folder, name)
            short = os.path.relpath(whole, path)
            if any(re.match(part, short) for part in ignored):
                continue
            if os.path.islink(whole):
                found[short] = "link to " + os.readlink(whole)
            elif os.path.isfile(whole):
                with open(whole, "rb") as file:
                    found[short] = hashlib.sha256(file.read()).hexdigest()
            else:
                found[short] = "folder" if os.path.isdir(whole) else "special"
    return found


class Place:
    """A folder with two copies of the tool, whose names make LD_PRELOAD equally long for both
    recorders, and one `work` folder that every run finds as new."""

    def __init__(self, path):
        self.path, self.work = path, os.path.join(path, "work")
        self.home, self.trace = os.path.join(path, "home"), os.path.join(path, "traces", "t.bpt")
        build = os.path.abspath(profiled.BUILD)
        for folder in ("ordinary", "v"):
            os.mkdir(os.path.join(path, folder))
            for name in TOOLS:
                shutil.copy2(os.path.join(build, name), os.path.join(path, folder))
        os.chmod(path, 0o755)
        self.ports = free_ports()

    def begin(self, program):
        for name in ("work", "traces", "home"):
            shutil.rmtree(os.path.join(self.path, name), ignore_errors=True)
            os.mkdir(os.path.join(self.path, name))
            os.chmod(os.path.join(self.path, name), 0o755)
        material(self.work)
        for name in ("work", "traces", "home") if program.user else ():
            shutil.chown(os.path.join(self.path, name), program.user)

    def environment(self):
        first, second = self.ports
        return {"PATH": PATH, "HOME": self.home, "TMPDIR": "/tmp", "LC_ALL": "C.UTF-8",
                "TERM": "dumb", "PORT": str(first), "SECOND": str(second), "INPUTS": INPUTS,
                "SOURCE_DATE_EPOCH": "1709208000", "PYTHONHASHSEED": "0",
                "PERL_HASH_SEED": "0", "TZ": "UTC0"}


def free_ports():
    """Two ports that nobody listens on now, of five digits like all others."""
    sockets = [socket.socket() for _ in range(2)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def command_of(program):
    if program.script:
        return ["bash", "-e", "-c", ". $INPUTS/served.sh; . $INPUTS/" + program.command]
    if isinstance(program.command, str):
        return ["sh", "-e", "-c", program.command]
    return program.command


def execute(place, program, run=None, fixed=False):
    """One run, profiled if `run` says how; `fixed`: without randomised addresses. The interval goes
    by the environment, with as many digits for every interval."""
    place.begin(program)
    command, extra = command_of(program), {}
    if run:
        extra = {"BYTEPOLL_INTERVAL": "%06d" % run.interval}
    if run and run.preload:
        extra.update({"LD_PRELOAD": os.path.join(place.path, "v", "libbytepoll-recorder-verify.so"),
                      "ASAN_OPTIONS": "verify_asan_link_order=0", "BYTEPOLL_OUTPUT": place.trace})
    elif run:
        command = [os.path.join(place.path, "ordinary", "bytepoll"), "run", "--quiet", "--output",
                   place.trace, "--", *command]
    if program.user:
        command = ["setpriv", "--reuid=" + program.user, "--regid=" + program.user,
                   "--clear-groups", *command]
    if fixed:
        # setarch itself shall not be profiled where the recorder is preloaded without `run`.
        preload = extra.pop("LD_PRELOAD", "")
        command = ["setarch", "-R", *(["env", "LD_PRELOAD=" + preload] if preload else []),
                   *command]
    result = profiled.run(command, cwd=place.work, extra={**place.environment(), **extra},
                          time_limit_s=TIME_LIMIT_S)
    return Outcome(result, program, place.work)


def compare(plain, other, program):
    profiled.expect_same(plain, other)
    changed = sorted(name for name in plain.files.keys() | other.files.keys()
                     if plain.files.get(name) != other.files.get(name))
    profiled.expect(not changed, "files differ: %s" % changed[:5])


def image(process):
    return os.path.basename(process["program"])


def totals(data):
    """Bytes and objects of every image that ended in order, as a sorted list. A shell keeps the
    numbers of processes as text, which is four or five digits long: its bytes are left out."""
    return sorted((image(p), 0 if image(p) == "bash" else p["bytes_allocated"]["estimate"],
                   p["objects_allocated"]["estimate"])
                  for p in data["processes"] if p["profiled"] and p["ended"])


def judge_trace(program, place):
    data = profiled.report(place.trace)
    left = profiled.litter(os.path.dirname(place.trace), place.trace)
    profiled.expect(not left, "litter: %s" % left)
    lost = {name: n for name, n in data["losses"].items() if n}
    profiled.expect(not lost or program.losses, "lost: %s" % lost)
    seen = {image(p) for p in data["processes"]
            if p["profiled"] and p["objects_allocated"]["high"] > 0}
    missing = [name for name in program.images if not any(re.fullmatch(name, s) for s in seen)]
    profiled.expect(not missing, "not profiled: %s, but %s" % (missing, sorted(seen)))
    inexact = ["%s: %s" % (image(p), p["objects_allocated"]) for p in data["processes"]
               if p["profiled"] and p["ended"] and not p["objects_allocated"].get("exact")]
    profiled.expect(not inexact, "totals are not exact: %s" % inexact[:3])
    return data


def census_of(file):
    """What the recorder counted object by object (docs/trace-format.md 1.7)."""
    with open(file, "rb") as trace:
        trace.seek(STATE_PAGE + CENSUS)
        values = struct.unpack("<%dQ" % len(CENSUS_FIELDS), trace.read(8 * len(CENSUS_FIELDS)))
    return dict(zip(CENSUS_FIELDS, values))


def judge_census(data, place):
    """The counters of the threads against the count of every object, in each process; the verdict
    on the intervals where there are few processes, since it looks up every name in each of them."""
    folder = os.path.dirname(place.trace)
    counted = [p for p in data["processes"] if p["profiled"] and p["ended"]]
    profiled.expect(counted, "no process was counted")
    for process in counted:
        census = census_of(os.path.join(folder, process["file"]))
        profiled.expect(not census["missed_frees"],
                        "%s: missed frees: %s" % (image(process), census))
        for unit in ("bytes", "objects"):
            truth = sum(census[kind + unit]
                        for kind in ("allocated_", "nested_", "uncounted_", "failed_"))
            shown = process[unit + "_allocated"]["estimate"]
            profiled.expect(shown == truth, "%s: %s %s, counted %s" % (
                image(process), shown, unit, truth))
    if len(counted) <= 2:
        result = profiled.run(
            [os.path.join(place.path, "v", "bytepoll"), "verify", "--json", "--error",
             VERDICT_ERROR, place.trace], time_limit_s=TIME_LIMIT_S)
        profiled.expect(result.stdout.startswith(b"{"), "verify: %s" % result.stderr.decode())
        verdict = profiled.json.loads(result.stdout)["verdict"]
        profiled.expect(verdict != "bad", "verdict: %s" % verdict)


def differing(before, after):
    """What only one of two lists of totals has, shortened."""
    first, second = collections.Counter(before), collections.Counter(after)
    return "%s for %s" % (list((second - first).elements())[:4],
                          list((first - second).elements())[:4])


def runs_of(program):
    runs = [Run("default", DEFAULT_INTERVAL, False), Run("verify", DEFAULT_INTERVAL, True),
            Run("T = %d" % program.interval, program.interval, False)]
    return [run for run in runs if not run.preload or not program.allocator]


def measure(program, place, plain, fixed):
    """The profiled runs, compared with the unprofiled one: [(name, report)]."""
    found = []
    for run in runs_of(program):
        try:
            compare(plain, execute(place, program, run, fixed), program)
            data = judge_trace(program, place)
            if run.preload:
                judge_census(data, place)
        except Exception as error:
            raise AssertionError("%s: %s" % (run.name, error)) from error
        found.append((run.name, data))
    return found


def disagreement(found):
    """What is not the same in the totals of the runs, or nothing."""
    first = totals(found[0][1])
    return "; ".join("%s, default: %s" % (name, differing(first, totals(data)))
                     for name, data in found[1:] if totals(data) != first)


def judge(program, place, rows):
    plain = execute(place, program)
    profiled.expect(plain.status == program.status, "unprofiled: status %s: %s" % (
        plain.status, plain.stderr.decode()[-600:]))
    found, how = measure(program, place, plain, False), "same"
    differs = disagreement(found)
    if differs and not program.totals:
        found, how = measure(program, place, plain, True), "same at fixed addresses"
        differs = disagreement(found)
        profiled.expect(not differs, "totals, also at fixed addresses: %s" % differs)
    apart = spread_of(program, found)
    profiled.expect(apart <= program.spread, "totals differ by %.2g %%" % (100 * apart))
    rows.append((program, found, "" if differs else how))


def spread_of(program, found):
    """The largest difference of the totals of the programs that the entry names, as a part of them.
    How often a script waited for a server is not looked at."""
    named = [[row for row in totals(data) if any(re.fullmatch(i, row[0]) for i in program.images)]
             for _, data in found]
    sums = [[sum(row[column] for row in rows) for column in (1, 2)] for rows in named]
    return max((max(column) - min(column)) / max(1, max(column)) for column in zip(*sums))


def row_of(program, found, how):
    rows = totals(found[0][1])
    return "| %s | %s | %d | %d | %.1f | %d, %d | %s |" % (
        program.name, program.what, len(found[0][1]["processes"]), sum(row[2] for row in rows),
        sum(row[1] for row in rows) / 2 ** 20, found[0][1]["samples"], found[-1][1]["samples"],
        how or "%.2g %%: %s" % (100 * spread_of(program, found), program.totals))


def again(program, place):
    """Does the program differ from itself unprofiled? Said beside a failure; it excuses nothing."""
    outcomes = [execute(place, program) for _ in range(2)]
    try:
        compare(outcomes[0], outcomes[1], program)
    except AssertionError as error:
        return "two unprofiled runs differ, too: %s" % error
    return "two unprofiled runs agree"


def end_strays(path):
    """Ends what a script that failed or reached its limit left behind in a session of its own."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            if (os.readlink("/proc/%s/cwd" % number) + "/").startswith(path + "/"):
                os.kill(int(number), signal.SIGKILL)
        except OSError:
            pass  # it has ended, or is another user's


def attempt(program, rows):
    """(outcome, what is to be said of it, seconds)."""
    began = time.monotonic()
    missing = [name for name in program.needs if not shutil.which(name, path=PATH)]
    if missing:
        return "skipped", "not installed: " + ", ".join(missing), 0
    with profiled.directory() as path:
        place = Place(path)
        try:
            judge(program, place, rows)
        except Exception as error:  # every failure is a result, none ends the driver
            detail = "%s\n%s" % (error or type(error).__name__, again(program, place))
            return "failed", detail, time.monotonic() - began
        finally:
            end_strays(path)
    return "passed", "", time.monotonic() - began


def main(words):
    chosen = [word for word in words if not word.startswith("--")]
    programs = [p for p in PROGRAMS if not chosen or p.name in chosen]
    count, rows, began = collections.Counter(), [], time.monotonic()
    os.environ.clear()  # the programs get what `Place.environment` gives, and nothing else
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        waiting = {pool.submit(attempt, program, rows): program for program in programs}
        for number, future in enumerate(concurrent.futures.as_completed(waiting), 1):
            outcome, detail, seconds = future.result()
            count[outcome] += 1
            print("%3d/%d  %-7s %5.1f s  %s" % (number, len(programs), outcome, seconds,
                                                waiting[future].name))
            for line in detail.splitlines():
                print("         " + line[:400])
            sys.stdout.flush()
    if "--table" in words:
        rows.sort(key=lambda row: programs.index(row[0]))
        print("\n".join(row_of(*row) for row in rows))
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("%.0f s in all, %.0f s of CPU" % (time.monotonic() - began,
                                            spent.ru_utime + spent.ru_stime))
    print("%d passed, %d failed, %d skipped" % (count["passed"], count["failed"], count["skipped"]))
    return 1 if count["failed"] or not count["passed"] else 0
