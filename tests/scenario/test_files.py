#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules on the trace file and on what the recorder may take from a program.

Descriptors, file size limits, full file systems, an old kernel, children that change root or user,
address space limits from outside and in mid-run, locked memory: each program must do exactly what
it does unprofiled, its trace must read (where there can be one), and what could not be recorded
must be counted. Parts that need root (tmpfs in a mount namespace, chroot) are skipped without it.
"""
import os
import resource
import sys

import profiled

MEGABYTE = 1 << 20


def both(arguments, interval=64, **options):
    """Runs unprofiled and profiled, compares, and gives the report (None: there is no trace)."""
    plain = profiled.run(arguments, **options)
    profiled.expect(plain.status == 0, "unprofiled: status %s: %s" % (
        plain.status, plain.stderr.decode(errors="replace").strip()))
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        profiled.expect_same(plain, profiled.run(arguments, trace, interval, **options))
        return profiled.report(trace) if os.path.exists(trace) else None


def close_all():
    with profiled.directory() as path:
        contents = []
        for name, trace in (("plain", None), ("profiled", os.path.join(path, "trace.bpt"))):
            own = os.path.join(path, name)
            result = profiled.run([profiled.program("close_all"), own], trace, 64)
            profiled.expect(result.status == 0, "%s: status %s" % (name, result.status))
            with open(own, "rb") as file:
                contents.append(file.read())
        profiled.expect(contents[0] == contents[1], "the program's own file differs")
        data = profiled.report(os.path.join(path, "trace.bpt"))
        profiled.expect(data["samples"] > 10000, "only %d samples: recording stopped at the close"
                        % data["samples"])
        profiled.expect(not profiled.lost(data), "lost: %s" % data["losses"])


def file_size_limit(limit_bytes):
    """The limit holds before the start; SIGXFSZ has its deadly default."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
    data = both([profiled.program("limits"), "work"], interval=8, before_exec=limit)
    if limit_bytes >= MEGABYTE:
        profiled.expect(data is not None and data["samples"] > 0, "no samples")
    if data is not None:
        profiled.expect(profiled.lost(data) > 0, "nothing counted as lost")


def own_file_size_limit():
    data = both([profiled.program("limits"), "fsize"])
    profiled.expect(data["samples"] > 0, "no samples")


def assignments(trace, interval):
    """What `env` must set to profile a program that somebody else starts."""
    return ["%s=%s" % (name, value)
            for name, value in profiled.environment(trace, interval).items()
            if name.startswith("BYTEPOLL_") or name == "LD_PRELOAD"]


def in_small_file_system(size, command, launcher):
    """Profiles a shell command in a mount namespace of its own, its trace in a tmpfs of `size`; the
    launcher itself is not profiled. Copies the trace out. Gives (result, report or None)."""
    with profiled.directory() as path:
        small = os.path.join(path, "small")
        os.mkdir(small)
        trace = os.path.join(small, "trace.bpt")
        profiled_as = " ".join(assignments(trace, 8))
        whole = ("mount -t tmpfs -o size=%s tmpfs %s && { %s env %s %s; status=$?; "
                 "cp %s %s/copy.bpt 2>/dev/null; exit $status; }" % (
                         size, small, launcher, profiled_as, command, trace, path))
        result = profiled.run(["unshare", "-m", "sh", "-c", whole])
        copy = os.path.join(path, "copy.bpt")
        return result, profiled.report(copy) if os.path.exists(copy) else None


def full_file_system(size, launcher=""):
    work = [profiled.program("limits"), "work"]
    plain = profiled.run(work)
    result, data = in_small_file_system(size, " ".join(work), launcher)
    profiled.expect_same(plain, result)
    if data is not None:
        profiled.expect(profiled.lost(data) > 0, "nothing counted as lost")
    return data


def full_from_start():
    full_file_system("4k")


def full_in_mid_run():
    data = full_file_system("512k")
    profiled.expect(data is not None and data["samples"] > 0, "no samples before it was full")


def old_kernel():
    launcher, work = profiled.program("old_kernel"), [profiled.program("limits"), "work"]
    plain = profiled.run([launcher, *work])
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        profiled.expect_same(plain, profiled.run([launcher, "env", *assignments(trace, 64), *work]))
        data = profiled.report(trace)
    profiled.expect(data["samples"] > 0 and not profiled.lost(data), "samples %s, losses %s" % (
        data["samples"], data["losses"]))


def old_kernel_full():
    full_file_system("512k", profiled.program("old_kernel"))


def privileges():
    with profiled.directory() as path:
        empty = os.path.join(path, "empty")
        os.mkdir(empty)
        data = both([profiled.program("privileges"), empty])
        profiled.expect(not os.listdir(empty), "litter in the new root: %s" % os.listdir(empty))
        profiled.expect(len(data["processes"]) == 4, "processes: %s" % data["processes"])
        profiled.expect(data["losses"]["child_trace"] == 1,
                        "a child forked behind a chroot is not counted: %s" % data["losses"])


def address_space_limit(bytes_allowed):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_allowed, bytes_allowed))


def address_space_of(arguments):
    """The smallest address space in which the program runs unprofiled, bytes."""
    low, high = MEGABYTE, 1 << 30
    while high - low > MEGABYTE // 4:
        middle = (low + high) // 2
        if profiled.run(arguments, before_exec=address_space_limit(middle)).status == 0:
            high = middle
        else:
            low = middle
    return high


def address_space_before_start():
    """8 MiB above what the program needs: the recorder's own 4 MiB and its library fit, a mapping
    made far ahead does not."""
    arguments = [profiled.program("limits"), "fill"]
    allowed = address_space_of(arguments) + 8 * MEGABYTE
    data = both(arguments, interval=4096, before_exec=address_space_limit(allowed))
    profiled.expect(data is not None and data["samples"] > 0, "no samples")


def mid_run(what):
    def action():
        data = both([profiled.program("limits"), what], interval=512)
        profiled.expect(data is not None and data["samples"] > 0, "no samples")
    return action


def locked_bytes(result):
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr))
    return int(result.stdout) * 1024


def locked():
    """mlockall counts what is mapped: the recorder's own 4 MiB, its library and the file as far as
    it is written may be added, a mapping made far ahead of use may not."""
    arguments = [profiled.program("limits"), "locked"]
    plain = locked_bytes(profiled.run(arguments))
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        added = locked_bytes(profiled.run(arguments, trace, 4096)) - plain
        samples = profiled.report(trace)["samples"]
        allowed = 6 * MEGABYTE + 256 * samples
        profiled.expect(samples > 0, "no samples")
        profiled.expect(added <= allowed, "%.1f MiB more are locked, %.1f allowed" % (
            added / MEGABYTE, allowed / MEGABYTE))


def mode_and_no_overwrite():
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        work = [profiled.program("limits"), "work"]
        profiled.run(work, trace, 4096)
        profiled.expect(os.stat(trace).st_mode & 0o777 == 0o600, "mode %o" % os.stat(trace).st_mode)
        victim, link = os.path.join(path, "victim"), os.path.join(path, "link.bpt")
        with open(victim, "w") as file:
            file.write("precious")
        os.symlink(victim, link)
        result = profiled.run(work, link, 4096)
        profiled.expect(result.status == 0, "status %s" % result.status)
        with open(victim) as file:
            profiled.expect(file.read() == "precious", "a symbolic link was followed")


def wrong_settings():
    """A value of the environment that means nothing counts as absent, and every report says so."""
    names = ("INTERVAL", "BUDGET", "START", "START_TIME", "STOP_TIME", "SEED", "LAW", "FOLLOW_PID")
    wrong = {"BYTEPOLL_" + name: "64KX" for name in names}
    with profiled.directory() as path:
        trace = os.path.join(path, "wrong.bpt")
        profiled.run(["/bin/true"], trace, extra=wrong)
        report = profiled.report(trace)
        told = [name for name in wrong if any(
            "of %s in" % name in warning for warning in report["warnings"])]
        profiled.expect(told == list(wrong), "told of %s alone" % told)
        profiled.expect(report["intervals"] == [64 << 10], "T is %s" % report["intervals"])
        trace = os.path.join(path, "right.bpt")
        profiled.run(["/bin/true"], trace, extra={
            "BYTEPOLL_INTERVAL": "64K", "BYTEPOLL_LAW": "exact", "BYTEPOLL_START": "",
            "BYTEPOLL_STOP_TIME": "+999000000000"})
        warnings = profiled.report(trace)["warnings"]
        profiled.expect(not any("BYTEPOLL_" in warning for warning in warnings), warnings)
        # Units mean what they mean on the command line.
        for text, interval in (("64kB", 64000), ("64KiB", 64 << 10), ("2m", 2 << 20), ("1MB", 10**6)):
            trace = os.path.join(path, text + ".bpt")
            profiled.run(["/bin/true"], trace, extra={"BYTEPOLL_INTERVAL": text})
            read = profiled.report(trace)["intervals"]
            profiled.expect(read == [interval], "%s is read as %s" % (text, read))


HOG = """
kept = []
while True:
    kept.append(bytearray(b"x" * 100000))
"""


def memory_group():
    """A new control group that may hold 64 MiB; None where there can be none."""
    for parent, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                          ("/sys/fs/cgroup", "memory.max")):
        group = os.path.join(parent, "bytepoll-%d" % os.getpid())
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            with open(os.path.join(group, limit), "w") as file:
                file.write("%d" % (64 * MEGABYTE))
            return group
        except OSError:
            os.rmdir(group)
    return None


def killed_for_memory(group):
    """A program killed by the kernel because its control group is full: the trace says what it held."""
    def enter():
        with open(os.path.join(group, "cgroup.procs"), "w") as file:
            file.write("%d" % os.getpid())
    try:
        for interval in (1, 65536):
            with profiled.directory() as path:
                trace = os.path.join(path, "trace.bpt")
                result = profiled.run([sys.executable, "-S", "-c", HOG], trace, interval,
                                      before_exec=enter)
                profiled.expect(result.status == -9, "status %s" % result.status)
                live = profiled.report(trace)["totals"]["live"]["bytes"]
                # It held all that it could: 64 MiB less the interpreter and the recorder.
                profiled.expect(live["low"] <= 64 * MEGABYTE and live["high"] >= 32 * MEGABYTE, live)
                profiled.expect(live["high"] <= 1.2 * live["low"], "it is vague: %s" % live)
    finally:
        os.rmdir(group)


def attempt_unless(tap, reason, name, action):
    if reason is None:
        tap.attempt(name, action)
    else:
        tap.skip(name, reason)


def main():
    tap = profiled.Tap()
    group = memory_group() if profiled.is_root() else None
    if group is not None:
        tap.attempt("killed for want of memory", lambda: killed_for_memory(group))
    else:
        tap.skip("killed for want of memory", "needs root and a control group of memory")
    tap.attempt("settings that mean nothing", wrong_settings)
    tap.attempt("closes every descriptor and opens its own file", close_all)
    for limit_bytes in (0, 4096, 65536, MEGABYTE):
        tap.attempt("RLIMIT_FSIZE of %d before the start" % limit_bytes,
                    lambda: file_size_limit(limit_bytes))
    tap.attempt("RLIMIT_FSIZE set in mid-run", own_file_size_limit)
    tap.attempt("a kernel without MADV_POPULATE_WRITE", old_kernel)
    tap.attempt("RLIMIT_AS before the start", address_space_before_start)
    for what, name in (("as", "RLIMIT_AS set in mid-run, relative"),
                       ("absolute", "RLIMIT_AS set in mid-run, absolute"),
                       ("refused", "RLIMIT_AS that refuses memory"),
                       ("descriptors", "RLIMIT_NOFILE of 0 in mid-run")):
        tap.attempt(name, mid_run(what))
    tap.attempt("the trace is private and never written through a link", mode_and_no_overwrite)
    tap.attempt("raw clone", lambda: both([profiled.program("raw_clone")]))
    reason = None if profiled.is_root() else "needs root"
    for name, action in (("mlockall", mid_run("lock")),
                         ("what mlockall locks", locked),
                         ("setuid and chroot after fork", privileges)):
        attempt_unless(tap, reason, name, action)
    reason = profiled.no_mounts()
    for name, action in (("a full file system from the start", full_from_start),
                         ("a file system that fills in mid-run", full_in_mid_run),
                         ("the same on a kernel without MADV_POPULATE_WRITE", old_kernel_full)):
        attempt_unless(tap, reason, name, action)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
