#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `bytepoll run` says when it has not seen everything, and that it says it of the right program: images
with a malloc of their own behind a wrapper, valgrind, loaders that cannot open the recorder, file capabilities,
lost samples, processes that stay, settings that mean nothing. What is not amiss is not said.
"""
import fcntl
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import time

import profiled
from profiled import expect

OWN_MALLOC = """
#include <stddef.h>
static char pool[1 << 20];
static size_t used;
void *malloc(size_t size) { void *at = pool + used; used += (size + 15) & ~(size_t)15; return at; }
void free(void *object) { (void)object; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *object, size_t size) { (void)object; return malloc(size); }
int main(void) { return malloc(100) == NULL; }
"""
# starts fork|vfork PROGRAM...: each in a child of its own; `starts fork starts MODE PROGRAM...`: with these words;
# starts try PROGRAM...: one after the other in one child, until there is one.
STARTS = """
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words)
{
	void *volatile kept = malloc(100);
	const int try = strcmp(words[1], "try") == 0;
	for (int i = 2; i < count; i++) {
		char *alone[] = { words[i], NULL };
		const int again = strcmp(words[i], "starts") == 0;
		const pid_t child = words[1][0] == 'f' ? fork() : vfork();
		if (child == 0) {
			for (int j = i; j < (try ? count : i + 1); j++) {
				alone[0] = words[j];
				execv(again ? words[0] : words[j], again ? words + i : alone);
			}
			_exit(127);
		}
		waitpid(child, NULL, 0);
		if (try || again)
			break;
	}
	return kept == NULL;
}
"""
ONE = "#include <stdlib.h>\nvoid *volatile kept;\nint main(void) { kept = malloc(4096); return 0; }\n"
FAILS = "#include <stdlib.h>\nint main(void) { volatile size_t much = -1; return malloc(much / 4) != NULL; }\n"
DAEMON = """
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(5000));
	if (daemon(0, 1) != 0)
		return 1;
	for (int i = 0; i < 40; i++) {
		free(malloc(5000));
		usleep(50000);
	}
	return 0;
}
"""
# Holds 40 MB at its highest in objects of 2000 bytes, and at its end `words[1]` of them.
HELD = """
#include <stdlib.h>
void *volatile held[20000];
int main(int count, char **words)
{
	(void)count;
	for (int i = 0; i < 20000; i++)
		held[i] = malloc(2000);
	for (int i = atoi(words[1]); i < 20000; i++)
		free(held[i]);
	return 0;
}
"""
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class Place:
    def __init__(self, path):
        self.path = path
        os.chmod(path, 0o755)
        for name, source in (("own", OWN_MALLOC), ("one", ONE), ("stays", DAEMON), ("starts", STARTS),
                             ("fails", FAILS), ("held", HELD)):
            with open(self.of(name + ".c"), "w", encoding="ascii") as file:
                file.write(source)
            subprocess.run(["gcc", "-O0", "-fno-builtin", "-o", self.of(name), self.of(name + ".c")],
                           check=True)
        self.trace = self.of("t.bpt")

    def of(self, name):
        return os.path.join(self.path, name)


def says(place, *words, options=(), status=0, bytepoll=profiled.BYTEPOLL, **more):
    """What `run` says. With a seed, so that a first image of which nothing is to be sampled never is."""
    seed = () if "extra" in more else ("--seed", "1")  # a variable given is to be read
    result = profiled.run([bytepoll, "run", "-f", *seed, "-o", place.trace, *options, "--", *words], cwd=place.path,
                          **more)
    expect(status is None or result.status == status, result)
    return result.stderr.decode()


def has(text, *parts):
    for part in parts:
        expect(part in text, "no %r in: %s" % (part, text))


def has_not(text, *parts):
    for part in parts:
        expect(part not in text, "%r in: %s" % (part, text))


def report_of(place):
    return " ".join(profiled.run([profiled.BYTEPOLL, "report", place.trace]).stdout.decode().split())


def names_the_program_that_ran_unprofiled(place):
    text = says(place, "sh", "-c", "exec ./own")
    has(text, "NOTHING WAS RECORDED", "/own ran unprofiled: its malloc is its own")
    has_not(text, "dash ran")
    report = report_of(place)
    has(report, "1 process not profiled", "/own (pid")
    has_not(report, "did not end in order")
    with open(place.trace + ".d/index", encoding="utf-8") as file:
        expect("unprofiled_reason=1" in file.read(), "no reason in the index")
    text = says(place, "sh", "-c", "./own; ./one; true", options=("-i", "1"))
    has(text, "1 program ran unprofiled: ", "/own: its malloc is its own", "next: bytepoll report")


def spells_the_peak_as_all_others_do(place):
    """The limits of a total peak, without an estimate: that is of the moment which the rows of the peak add up to."""
    figure = r"(\[[0-9.]+, [0-9.]+\] MiB)"
    for kept in (100, 15000):
        said = re.search(" peak " + figure + " ", says(place, "./held", str(kept)))
        expect(said is not None, "no peak in what run says")
        said = said.group(1)
        for words in (["report"], ["report", "--metric", "peak"], ["report", "--metric", "live"], ["report", "--summary"],
                      ["report", "--metric", "live", "--at", "0"], ["live", "--once"],
                      ["export", "--to", "speedscope", "--metric", "peak", "-o", "-"]):
            text = profiled.run([profiled.BYTEPOLL, *words, place.trace]).stdout.decode()
            peaks = re.findall(r"\bpeak:? +([\[0-9][^\n]*MiB[^\n]*)", text)
            expect(peaks and all(peak.startswith(said) for peak in peaks), (kept, words, said, peaks))
        limits = profiled.run([profiled.BYTEPOLL, "check", "--limit", "peak=1", place.trace]).stdout.decode()
        expect(re.search(r"exceeded +peak=1 +at least ", limits), limits)
    exact = re.search(r" peak (\d[0-9.]* MiB), exactly", says(place, "./held", "100", options=("-i", "1")))
    expect(exact is not None and "peak " in report_of(place) and exact.group(1) in report_of(place), exact)


def names_valgrind(place):
    text = says(place, "valgrind", "-q", "./one")
    has(text.splitlines()[0], "warning: ", "valgrind", "malloc of its own")
    has(text, "NOTHING WAS RECORDED")
    text = says(place, "sh", "-c", "valgrind -q ./one; true", options=("-i", "1K"))
    has(text, "valgrind, which has a malloc of its own")
    has_not(text, "statically linked")
    has(report_of(place), "valgrind, which has a malloc of its own")


def names_images_that_ran_without_the_recorder(place):
    """The recorder where another user cannot go, and an exec that only another user does."""
    closed = place.of("closed")
    os.mkdir(closed, 0o700)
    for built in (profiled.BYTEPOLL, profiled.RECORDER):
        shutil.copy(built, closed)
    bytepoll = os.path.join(closed, os.path.basename(profiled.BYTEPOLL))
    text = says(place, *NOBODY, place.of("one"), bytepoll=bytepoll, options=("-i", "512K"))
    has(text, "NOTHING WAS RECORDED: ", "/one, which setpriv", "could not open " + closed)
    has(report_of(place), "1 program ran without the recorder: ", "/one, which", "setpriv")
    text = says(place, "sh", "-c", "%s ./one; true" % " ".join(NOBODY), bytepoll=bytepoll, options=("-i", "1"))
    has(text, "1 program ran without the recorder: ./one, which setpriv", "next: bytepoll report")
    # The same in the open is seen.
    text = says(place, "setpriv", "--no-new-privs", "./one", options=("-i", "1"))
    has_not(text, "without the recorder")


def names_file_capabilities_in_a_tree(place):
    shutil.copy(place.of("one"), place.of("capable"))
    # capabilities(7), VFS_CAP_REVISION_2: effective, CAP_NET_RAW permitted.
    os.setxattr(place.of("capable"), "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
    os.chmod(place.path, 0o777)
    try:
        for built in (profiled.BYTEPOLL, profiled.RECORDER):
            shutil.copy(built, place.path)
        result = profiled.run([*NOBODY, place.of("bytepoll"), "run", "-f", "--seed", "1", "-o",
                               place.of("c.bpt"), "--", "sh", "-c", "exec ./capable"], cwd=place.path)
    finally:
        os.chmod(place.path, 0o755)
    has(result.stderr.decode(), "NOTHING WAS RECORDED", "./capable, which", "file capabilities")


def names_what_a_vfork_child_became(place):
    """As nobody, for whom the loader of a program with file capabilities preloads nothing. An exec that failed is no
    program, nor is one that is recorded; processes that were not to be recorded are not missed."""
    shutil.copy(place.of("one"), place.of("capable"))
    os.setxattr(place.of("capable"), "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
    os.makedirs(place.of("open"), exist_ok=True)
    os.chmod(place.of("open"), 0o777)
    for built in (profiled.BYTEPOLL, profiled.RECORDER):
        shutil.copy(built, place.of("open"))

    def said(mode, *programs, options=()):
        result = profiled.run([*NOBODY, place.of("open/bytepoll"), "run", "-f", "--seed", "1", "-i", "1", "-o",
                               place.of("open/v.bpt"), *options, "--", place.of("starts"), mode, *programs],
                              cwd=place.path)
        expect(result.status == 0, result)
        return result.stderr.decode()
    for mode, verb in (("vfork", "started"), ("fork", "became")):
        text = said(mode, "./capable")
        has(text, "1 program ran without the recorder: ./capable", "which starts (pid", verb, "file capabilities")
    has(said("vfork", "./capable", "./one", "./capable"), "2 programs ran without the recorder: ./capable (pid")
    # A child that tries several paths: the last one counts.
    has_not(said("try", "./nothing", "./one.c", "./one"), "without the recorder")
    has(said("try", "./one.c", "./capable"), "1 program ran without the recorder: ./capable (pid")
    has_not(said("vfork", "./nothing", "./one.c", "./one"), "without the recorder")
    has_not(said("vfork", "./one", "./capable", options=("--no-follow-fork",)), "without the recorder")
    # Nor is it forgotten where the process that started it has no sample of its own.
    result = profiled.run([*NOBODY, place.of("open/bytepoll"), "run", "-f", "--seed", "1", "-i", "1T", "-o",
                           place.of("open/v.bpt"), "--", place.of("starts"), "fork", "starts", "vfork", "./capable"],
                          cwd=place.path)
    has(result.stderr.decode(), "1 program ran without the recorder: ./capable (pid")


def advice_is_right(place):
    text = says(place, "./one")
    has(text, "1 object was allocated, too little for 1 sample per 64 KiB: --interval ",
        "shows a tenth of it to within 10 %")
    has_not(text, "switch it on", "does not use malloc", "arenas")
    text = says(place, "/usr/bin/python3", "-c", "pass", options=("-i", "1T", "--python", "off"))
    has(text, "too little for 1 sample per 1 TiB", "in arenas that it maps itself", "bytepoll run --python all")
    text = says(place, "./one", options=("--start-dormant",))
    has(text, "while sampling was off: switch it on")
    text = says(place, "bash", "-c", "ulimit -f 100; exec \"$0\" 2 30000", profiled.program("churn"),
                options=("-i", "16"), status=None)
    has(text, "lost ", "size")
    has_not(text, "shows a tenth of it")


def does_not_say_that_calls_that_failed_were_none(place):
    text = says(place, "./fails", options=("-i", "1"))
    has(text, "NOTHING WAS RECORDED: no call of malloc by ./fails gave it an object", "or all of them failed")
    has_not(text, "never called")


def knows_who_stays(place):
    for _ in range(5):
        text = says(place, "./stays")  # and waits for the daemon, which has standard error open
        has(text, "1 process of this run still runs and goes on recording")
        has_not(text, "cannot write a trace")
    # What it writes to is not taken away from it.
    subprocess.run([profiled.BYTEPOLL, "run", "-f", "-q", "-o", place.trace, "--", "./stays"], cwd=place.path,
                   stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=60)
    has(says(place, "./one", status=125), "of another run writes to " + place.trace)
    time.sleep(2.5)
    text = says(place, "sh", "-c", "true")
    has_not(text, "still runs")


def records_the_program_of_an_inner_run_once(place):
    """Below a `run` of another recorder, and below one of the same."""
    inner = place.of("inner.bpt")
    for options in (("--verify",), ()):
        result = profiled.run([profiled.BYTEPOLL, "run", "-f", "-i", "1", "-o", place.trace, *options, "--",
                               profiled.BYTEPOLL, "run", "-f", "-i", "1", "-o", inner, "--", "grep", "libbytepoll",
                               "/proc/self/maps"], extra={"LD_PRELOAD": "libm.so.6"})
        text = result.stderr.decode()
        mapped = {line.split()[-1] for line in result.stdout.decode().splitlines()}
        expect(mapped == {os.path.realpath(profiled.RECORDER)}, "%s: %s" % (mapped, text))
        has(text, "of grep (every object sampled)", "in %s" % inner, "of bytepoll (every object sampled)")
        has_not(text, "sanitizer", "unprofiled")


def refuses_settings_that_mean_nothing(place):
    for name, value, allowed in (
            ("START", "Dormant", "dormant"), ("INTERVAL", "garbage", "512K"), ("INTERVAL", "0", "512K"),
            ("INTERVAL", "1.5M", "512K"), ("SEED", "x", "number"), ("LAW", "murphy", "bernoulli"),
            ("BUDGET", "0", "1000000"), ("STOP_TIME", "soon", "nanoseconds"), ("TRACEPOINTS", "all", "otel")):
        text = says(place, "./one", status=125, extra={"BYTEPOLL_" + name: value})
        has(text, "BYTEPOLL_%s=%s in the environment: must be" % (name, value), allowed)
    for name, value in (("START", "dormant"), ("START", ""), ("INTERVAL", "2M"), ("INTERVAL", "auto"),
                        ("SEED", "18446744073709551615"), ("LAW", "exact"), ("START_TIME", "+5"),
                        ("TRACEPOINTS", "none")):
        has_not(says(place, "./one", extra={"BYTEPOLL_" + name: value}), "environment")
    # An option replaces what would be refused.
    has(says(place, "./one", options=("-i", "8K"), extra={"BYTEPOLL_INTERVAL": "garbage"}), "1 sample per 8 KiB")


def begun(trace):
    """Is this the recorder's file? Before, `run` makes one and removes it, to see whether it can."""
    try:
        with open(trace, "rb") as file:
            return file.read(1) not in (b"", b"\0")
    except FileNotFoundError:
        return False


def tells_of_a_long_folding_at_the_end(place):
    """A reader keeps the last folding from being done: after two seconds `run` says what it waits for. It has the
    file before there is anything to fold in it."""
    trace = place.of("folded.bpt")
    process = subprocess.Popen(
        [profiled.BYTEPOLL, "run", "-f", "-i", "1", "--max-size", "1M", "-o", trace, "--", "/usr/bin/python3",
         "-S", "-c", "input(); kept = [bytearray(600) for _ in range(200000)]"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=place.path, start_new_session=True)
    while not begun(trace) and process.poll() is None:
        time.sleep(0.05)
    with open(trace, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        process.stdin.write(b"go\n")
        process.stdin.close()
        lines = []
        for line in process.stderr:
            lines.append(line.decode())
            if b"folding" in line:
                fcntl.flock(file, fcntl.LOCK_UN)
    expect(process.wait() == 0, lines)
    has("".join(lines), "--max-size: the program has ended; folding", "next: bytepoll report")
    text = says(place, profiled.program("churn"), "2", "60000", options=("-i", "1", "--max-size", "1M"))
    has(text, "next: bytepoll report")


READ_ONLY = """
mount --make-rprivate /; mkdir -p "$1"; mount --bind / "$1" && mount -o remount,ro,bind "$1" && exec "$2" -c '
import os, sys
os.chroot(sys.argv[1])
if os.fork() == 0:
    kept = [bytearray(5000) for _ in range(100)]
    os.execv(sys.argv[2], sys.argv[2:])
os.wait()
if os.fork() == 0:
    os._exit(0)
os.wait()
' "$1" "$3"
"""


def names_who_forked_below_a_read_only_root(place):
    """A child that cannot write a trace there is not known by name, but the process that forked it is."""
    result = profiled.run([profiled.BYTEPOLL, "run", "-f", "-i", "64", "-o", place.trace, "--", "unshare", "-m", "sh",
                           "-c", READ_ONLY, "sh", place.of("root"), sys.executable, place.of("one")])
    expect(result.status == 0, result)
    who = os.path.realpath(sys.executable) + " (pid "
    for text in (result.stderr.decode(), report_of(place)):
        has(text, who, ") forked 2 of them: ", "read-only")
    has(result.stderr.decode(), "lost 2 processes")


def with_few_descriptors(soft, hard, place, *words):
    return profiled.run([profiled.BYTEPOLL, "run", "-q", "-i", "1", "-o", place, "--", *words],
                        before_exec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))


def a_program_that_needs_few_descriptors_runs(place):
    """It has the limits that it was given. Below a soft limit it is recorded; where the hard one leaves no room it
    runs unprofiled, which is said."""
    limits = ("/bin/sh", "-c", "ulimit -Sn; ulimit -Hn; exit 7")
    for soft, hard in ((4, 4), (5, 5), (6, 6), (4, 64), (5, 64)):
        trace = place.of("descriptors.%d.%d" % (soft, hard))
        result = with_few_descriptors(soft, hard, trace, *limits)
        expect((result.status, result.stdout) == (7, b"%d\n%d\n" % (soft, hard)), result)
        recorded = os.path.exists(trace)
        expect(recorded == (hard > 5), "%d of %d: %s" % (soft, hard, result))
        expect((b"(ulimit -n)" in result.stderr and b"/bin/sh; it runs unprofiled" in result.stderr) != recorded,
               result.stderr)
        expect(not recorded or not result.stderr and profiled.report(trace)["samples"] > 0, result.stderr)
    broken = place.of("broken")
    with open(broken, "w", encoding="utf-8") as file:
        file.write("#!/nowhere/interpreter\n")
    os.chmod(broken, 0o755)
    result = with_few_descriptors(4, 4, trace + ".none", broken)
    expect(result.status == 127 and b"cannot be started" in result.stderr, result)


AS_ROOT = (names_images_that_ran_without_the_recorder, names_file_capabilities_in_a_tree,
           names_what_a_vfork_child_became)
WITH_MOUNTS = (names_who_forked_below_a_read_only_root,)


def main():
    tap = profiled.Tap()
    with profiled.directory() as path:
        place = Place(path)
        for action in (names_the_program_that_ran_unprofiled, spells_the_peak_as_all_others_do, names_valgrind,
                       names_images_that_ran_without_the_recorder, names_file_capabilities_in_a_tree,
                       names_what_a_vfork_child_became, advice_is_right, does_not_say_that_calls_that_failed_were_none,
                       knows_who_stays, tells_of_a_long_folding_at_the_end,
                       records_the_program_of_an_inner_run_once,
                       names_who_forked_below_a_read_only_root, a_program_that_needs_few_descriptors_runs,
                       refuses_settings_that_mean_nothing):
            name = action.__name__.replace("_", " ")
            if action in AS_ROOT and not profiled.is_root():
                tap.skip(name, "takes root")
            elif action in WITH_MOUNTS and profiled.no_mounts() is not None:
                tap.skip(name, profiled.no_mounts())
            else:
                tap.attempt(name, lambda: action(place))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
