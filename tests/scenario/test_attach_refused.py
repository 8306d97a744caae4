#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Everything that `bytepoll attach` refuses, each by its name: nothing is changed, no trace is made, the process
lives, and `bytepoll doctor PID` says the same. Where it matters the command runs as an ordinary user. Filters of
seccomp are asked: what permits the recorder's calls is attached to. (Levels of Yama and shadow stacks, which a test
cannot have, are judged in tests/unit/cli/test_rights.c.)"""
import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import time

import profiled
from attaching import as_user, command, compiled, copied_command, expect_done, expect_refused, run_tests, stop
import test_sandbox

SLEEPER = ["/bin/sleep", "100"]
KILL, TRAP, ERRNO, TRACE = 0x80000000, 0x00030000, 0x00050001, 0x7ff00000  # SECCOMP_RET_...
PAUSE = "#include <unistd.h>\nint main(void) { return (int)sleep(100); }\n"


class Refused:
    """A process that cannot be attached to. `user`: that runs the commands, and the process too."""

    def __init__(self, path):
        self.trace = os.path.join(path, "trace.bpt")

    def __call__(self, words, *arguments, prepare=None, options=None, user=False, doctor=True, ready=False, **rest):
        words = [words] if isinstance(words, str) else words
        prefix = as_user() if user else []
        process = subprocess.Popen([*prefix, *(arguments or SLEEPER)], stdout=subprocess.PIPE,
                                   env=rest.pop("env", profiled.environment()), **rest)
        try:
            if ready:
                profiled.expect(process.stdout.readline() == b"ready\n", "it does not begin")
            else:
                time.sleep(.3)
            if prepare is not None:
                prepare(process)
            result = profiled.run([*prefix, profiled.BYTEPOLL, "attach", *(options or ["-o", self.trace]),
                                   str(process.pid)])
            for some in words:
                expect_refused(result, some)
            profiled.expect(not os.path.exists(self.trace), "a trace was made")
            if doctor:
                found = profiled.run([*prefix, profiled.BYTEPOLL, "doctor", str(process.pid)])
                for some in words:
                    profiled.expect(some in (found.stdout + found.stderr).decode(),
                                    "doctor does not say '%s': %s" % (some, found.stdout.decode()))
            if process.poll() is None:
                with open("/proc/%d/status" % process.pid, encoding="utf-8") as file:
                    profiled.expect("TracerPid:\t0\n" in file.read(), "it is traced")
        finally:
            process.kill()
            process.communicate()


def states(path):
    refused = Refused(path)
    refused("is stopped: let it go on, kill -CONT", prepare=stop)
    refused("has ended", "/bin/true", prepare=lambda process: time.sleep(.2), doctor=False)
    expect_refused(command("attach", 4194000), "there is no process 4194000")
    expect_refused(profiled.run([profiled.BYTEPOLL, "doctor", "4194000"]), "there is no process 4194000")
    expect_refused(command("detach", os.getpid()), "is not attached")
    refused("runs under bytepoll", env=profiled.environment(os.path.join(path, "other.bpt")), doctor=False)


def traced(path):
    def trace(process):
        tracers.append(subprocess.Popen(["strace", "-o", "/dev/null", "-p", str(process.pid)],
                                        stderr=subprocess.DEVNULL))
        until = time.monotonic() + 20
        while "TracerPid:\t0" in open("/proc/%d/status" % process.pid, encoding="utf-8").read():
            profiled.expect(time.monotonic() < until, "strace does not trace it")
            time.sleep(.02)

    tracers = []
    process = subprocess.Popen(SLEEPER)
    try:
        trace(process)
        result = command("attach", process.pid, "-o", os.path.join(path, "trace.bpt"))
        expect_refused(result, "is traced by process %d (a debugger, strace): end that first" % tracers[0].pid)
        found = profiled.run([profiled.BYTEPOLL, "doctor", str(process.pid)]).stdout.decode()
        profiled.expect("is traced by process %d" % tracers[0].pid in found, found)
    finally:
        for tracer in tracers:
            tracer.terminate()
            tracer.wait()
        process.kill()
        process.wait()


def outputs(path):
    refused = Refused(path)
    refused("cannot create", options=["-o", os.path.join(path, "absent", "trace.bpt")], doctor=False)
    with open(os.path.join(path, "there.bpt"), "w", encoding="utf-8"):
        pass
    refused("is there already", options=["-o", os.path.join(path, "there.bpt")], doctor=False)


def becomes_another(path):
    """An exec while a thread is looked for: nothing was attached to in the new program, and its words are plain."""
    program = compiled(path, "becomes", """
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
int main(void) {
    /* Within malloc nearly always, where nothing is attached to; then another program. */
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do {
        void *objects[1000];
        for (int i = 0; i < 1000; i++)
            objects[i] = malloc(100000);
        for (int i = 0; i < 1000; i++)
            free(objects[i]);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 600);
    return execlp("sleep", "sleep", "100", (char *)0);
}
""")
    for i in range(5):
        process = subprocess.Popen([program])
        try:
            time.sleep(.3 + i * .06)
            trace = os.path.join(path, "%d.bpt" % i)
            result = command("attach", process.pid, "-o", trace, "--wait", "2s")
            profiled.expect(result.status == 0 or result.stderr.startswith(b"bytepoll: "), "%s" % result.stderr)
            profiled.expect(process.poll() is None, "it has ended: %s" % process.returncode)
            time.sleep(.4)
            profiled.expect(process.poll() is None, "it has ended: %s" % process.returncode)
            command("detach", process.pid)
        finally:
            process.kill()
            process.wait()


def program_of_32_bits(path):
    """An ELF file of i386 that waits for ever: pause, by the old way into the kernel."""
    code, base = bytes.fromhex("b81d000000cd80ebf7"), 0x8048000
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + 84, 52, 0, 0, 52, 32,
                                                                1, 0, 0, 0)
    segment = struct.pack("<IIIIIIII", 1, 0, base, base, 84 + len(code), 84 + len(code), 5, 4096)
    program = os.path.join(path, "of32")
    with open(program, "wb") as file:
        file.write(header + segment + code)
    os.chmod(program, 0o755)
    return program


def kinds(path):
    refused = Refused(path)
    refused("is statically linked", compiled(path, "static", PAUSE, "-static"))
    refused("is a 32-bit program: it is not profiled", program_of_32_bits(path))
    refused("has a malloc of its own inside", compiled(path, "own", """
#include <stddef.h>
#include <unistd.h>
static char heap[1 << 20];
static size_t used;
void *malloc(size_t size) { used += size + 16 & ~(size_t)15; return heap + used; }
void free(void *object) { (void)object; }
int main(void) { return (int)sleep(100); }
"""))
    refused("is built with a sanitizer", compiled(path, "sanitized", PAUSE, "-fsanitize=address"))


def with_musl(path):
    """What musl-gcc links; the loader's name is what tells."""
    source = os.path.join(path, "musl.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PAUSE)
    program = os.path.join(path, "musl")
    subprocess.run(["musl-gcc", "-o", program, source], check=True)
    Refused(path)("uses musl's loader, and the recorder is built for glibc", program)


def under_valgrind(path):
    Refused(path)("runs programs under a malloc of its own", "valgrind", "-q", "--tool=none", compiled(
        path, "plain", "#include <stdio.h>\n" + PAUSE.replace("{ ", "{ puts(\"ready\"); fflush(stdout); ")), ready=True)


# ---- rights ----

def of_another_user(path):
    """The kernel lets nobody else trace it, and we say the same before we try."""
    process = subprocess.Popen(SLEEPER, env=profiled.environment())
    try:
        result = profiled.run(as_user(profiled.BYTEPOLL, "attach", "-o", "/tmp/never.bpt", str(process.pid)))
        expect_refused(result, "process %d is another user's: be its owner or root" % process.pid)
        kernel = "import ctypes; libc = ctypes.CDLL(None, use_errno=True); " \
            "print(libc.ptrace(0x4206, %d, 0, 0), ctypes.get_errno())" % process.pid
        result = profiled.run(as_user("/usr/bin/python3", "-c", kernel))
        profiled.expect(result.stdout.split() == [b"-1", b"1"], "the kernel says %s" % result.stdout)
        found = profiled.run(as_user(profiled.BYTEPOLL, "doctor", str(process.pid)))
        profiled.expect(b"be its owner or root" in found.stdout + found.stderr, "%s" % found.stderr)
    finally:
        process.kill()
        process.wait()
    # Its owner may, whoever that is.
    process = subprocess.Popen(as_user("/bin/sleep", "100"), env=profiled.environment())
    bytepoll = copied_command(path)
    try:
        time.sleep(.3)
        for name in ("attach", "detach"):
            options = ["-o", os.path.join(path, "owner.bpt")] if name == "attach" else []
            expect_done(profiled.run(as_user(bytepoll, name, *options, str(process.pid))))
    finally:
        process.kill()
        process.wait()


def not_dumpable(path):
    """Which the kernel keeps from everyone but root, its own user included."""
    program = compiled(path, "secret", "#include <stdio.h>\n#include <sys/prctl.h>\n" + PAUSE.replace(
        "{ ", "{ prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); puts(\"ready\"); fflush(stdout); "))
    os.chmod(path, 0o755)
    Refused(path)(["be "], program, user=True, ready=True, doctor=False)


def elsewhere(path):
    Refused(path)("has file systems of its own (a container, a chroot)", "unshare", "-m", *SLEEPER)


# ---- seccomp ----

FILTERED = """
import ctypes, struct, sys, threading, time
libc = ctypes.CDLL(None)
def give_up(answers):
    steps = [struct.pack("HBBI", 0x20, 0, 0, 0)]
    for number, action in answers:
        steps += [struct.pack("HBBI", 0x15, 0, 1, number), struct.pack("HBBI", 6, 0, 0, action)]
    steps.append(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
    code = ctypes.create_string_buffer(b"".join(steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
def in_thread(answers):
    give_up(answers)
    done.set()
    time.sleep(100)
answers = [tuple(map(int, word.split(":"))) for word in sys.argv[2:]]
done = threading.Event()
if sys.argv[1] == "thread":
    threading.Thread(target=in_thread, args=(answers,), daemon=True).start()
    done.wait()
else:
    # Two filters, of which the kernel takes the strictest answer.
    give_up(answers)
    give_up([])
print("ready", flush=True)
end = time.time() + 100
while time.time() < end:
    bytes(5000)
    time.sleep(.001)
"""


def filtered(where, **answers):
    number = test_sandbox.numbers()
    return ["/usr/bin/python3", "-c", FILTERED, where,
            *("%s:%d" % (number[name], action) for name, action in answers.items())]


def forbidden(path):
    """As root, who may read a filter: the call is named, whichever thread and filter forbids it."""
    refused = Refused(path)
    for name, action in (("openat", KILL), ("openat", ERRNO), ("mprotect", TRACE), ("tgkill", TRAP)):
        refused("has given up the system call %s (seccomp)" % name, *filtered("main", **{name: action}), ready=True)
    refused("has given up the system call rt_sigprocmask (seccomp)", *filtered("thread", rt_sigprocmask=KILL), ready=True)


def unreadable(path):
    """As an ordinary user, who may not."""
    os.chmod(path, 0o755)
    Refused(path)(["has given up system calls (seccomp), and one of ours could end it: start it with bytepoll run",
                   "or attach as root, who may read what its filter forbids"],
                  *filtered("main", ptrace=KILL), ready=True, user=True)


def strict(path):
    """The mode in which read and write are left."""
    Refused(path)("has given up system calls (seccomp)", compiled(path, "strict", """
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        return 3;
    write(1, "ready\\n", 6);
    return (int)read(ends[0], &byte, 1);
}
"""), ready=True)


def asked_calls():
    """The names in the two lists that filters are asked about."""
    text = ""
    for name in ("src/base/recorder_calls.h", "src/tool/cli/attach/filters.c"):
        with open(os.path.join(test_sandbox.ROOT, name), encoding="utf-8") as file:
            text += file.read()
    return set(re.findall(r"BP_CALL\((\w+)\),", text))


def permitted(path):
    """Under a filter that permits what is asked about and kills for all else the process is attached to, twice, and
    ends well: so the lists are whole. And where a call may fail, an error is no obstacle."""
    program = compiled(path, "only", """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
static volatile sig_atomic_t over;
static void end(int number) { over = number; }
int main(int argc, char **argv) {
    struct sock_filter steps[400] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
    unsigned short count = 1;
    for (int i = 1; i < argc; i++) {
        steps[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(argv[i]), 0, 1);
        steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = { count, steps };
    signal(SIGTERM, end);
    puts("ready");
    fflush(stdout);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 3;
    while (!over)
        free(malloc(1 + (size_t)rand() % 4000));
    puts("well");
    return 0;
}
""", "-O1")
    number = test_sandbox.numbers()
    allowed = [str(number[name]) for name in sorted(asked_calls() | {"exit_group", "write"})]
    from_fork = filtered("main", getrandom=ERRNO, unlinkat=ERRNO, ptrace=KILL)
    for arguments in ([program, *allowed], from_fork):
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, env=profiled.environment())
        try:
            process.stdout.readline()
            time.sleep(.2)
            for i in range(2):
                trace = os.path.join(path, "%s.%d.bpt" % (os.path.basename(arguments[0]), i))
                expect_done(command("attach", process.pid, "-o", trace, "--interval", "64K"))
                time.sleep(.3)
                expect_done(command("detach", process.pid))
                profiled.expect(profiled.report(trace)["samples"] > 0, "no samples")
            process.terminate()
            stdout, _ = process.communicate(timeout=30)
            profiled.expect(arguments is from_fork or (process.returncode, stdout) == (0, b"well\n"),
                            "status %s" % process.returncode)
        finally:
            process.kill()
            process.wait()


def documented():
    """docs/recorder.md lists what loading takes."""
    with open(os.path.join(test_sandbox.ROOT, "docs", "recorder.md"), encoding="utf-8") as file:
        listed = re.search(r"third list:\n\n(.*?)\n\n", file.read(), re.S)
    with open(os.path.join(test_sandbox.ROOT, "src/tool/cli/attach/filters.c"), encoding="utf-8") as file:
        asked = set(re.findall(r"BP_CALL\((\w+)\),", file.read()))
    profiled.expect(listed is not None and set(re.findall(r"`(\w+)`", listed.group(1))) == asked,
                    "docs/recorder.md and filters.c differ: %s" % sorted(asked))


ROOT_ONLY = "needs root"
TESTS = {"states": ("a process that is stopped, has ended, or is recorded", states, None),
         "traced": ("a process that is traced", traced, None if shutil.which("strace") else "needs strace"),
         "outputs": ("a trace that cannot be made", outputs, None),
         "exec": ("an exec meanwhile", becomes_another, None),
         "kinds": ("static, 32 bits, an allocator of its own, a sanitizer", kinds, None),
         "musl": ("musl", with_musl, None if shutil.which("musl-gcc") else "needs musl-gcc"),
         "valgrind": ("valgrind", under_valgrind, None if shutil.which("valgrind") else "needs valgrind"),
         "user": ("another user's process", of_another_user, None if profiled.is_root() else ROOT_ONLY),
         "secret": ("a process that is not dumpable", not_dumpable, None if profiled.is_root() else ROOT_ONLY),
         "elsewhere": ("other file systems", elsewhere, profiled.no_mounts()),
         "forbidden": ("a filter that forbids", forbidden, None if profiled.is_root() else ROOT_ONLY),
         "unreadable": ("a filter that cannot be read", unreadable, None if profiled.is_root() else ROOT_ONLY),
         "strict": ("seccomp's strict mode", strict, None),
         "permitted": ("a filter that permits", permitted, None if profiled.is_root() else ROOT_ONLY),
         "documented": ("the calls of loading are documented", lambda path: documented(), None)}


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
