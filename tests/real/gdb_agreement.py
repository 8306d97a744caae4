#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recorder's stacks against gdb's backtraces, frame by frame, at the samples of real programs as
Debian builds them: optimised, without frame pointers.

    gdb_agreement.py BUILD [--samples N] [--short] [NAME...]

Each program runs below gdb with the test build of the recorder preloaded. At each sample gdb stops
where the recorder looks up the stack that it has just walked, walks by itself, and both lists of
return addresses must be the same. A stack that differs must be explained by one row of EXPLAINED, which
says whose fault it is; anything else fails. `--short`: a fixed 60 samples of each of a few quick
programs, as TAP, for the test suite; skipped where there is no gdb.

gdb is told not to stop at main, nor anywhere else. Nothing here is random but where samples fall, and
that follows from BYTEPOLL_SEED.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.abspath(__file__)
SHORT_SAMPLES = 60
SHORT = ("sqlite3", "perl", "python3", "signals")

# (who errs; a pattern for "last common frame | our next | gdb's next | gdb's reason to stop | our last";
# why)
EXPLAINED = (
    ("gdb", r"^(Builtins_\w+ \+|\?\? 0x\w+ in no module).*\| \?\? 0x\w+ in no module \|[^|]*\| (_start|"
            r"__clone3?|__start_context)\b", "V8's builtins and the code it makes have no tables: gdb guesses a "
            "frame without frame pointer and takes words of the heap for addresses; the recorder follows their "
            "frame pointers, each return address behind a call, out to the program's first frame"),
    ("gdb", r"^__start_context .*\| flags 2", "where a coroutine of makecontext begins: nothing called it. "
            "Its tables are those of an ordinary function, and gdb goes on into its arguments; the recorder "
            "ends the walk and says that it ended early"),
    ("gdb", r"\| flags 2 \| outside in \.(bss|data)\b", "the same where libc's own names are not installed: gdb "
            "goes on to an address where data lies, which no code returns to"),
    ("gdb", r"^_dl_start_user .*\| flags 2", "the loader's first code, which the kernel jumped to: above lie "
            "the arguments' number and text, and gdb takes them for a return address"),
)

SQL = ("create table t(id integer primary key, a text, b real);"
       "with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000) "
       "insert into t select x, hex(randomblob(12)), x / 3.0 from c;"
       "create index i on t(a); select count(*), max(a) from t where a like '%F0%';"
       "select substr(a, 1, 2), group_concat(b) from t group by 1 order by 2 limit 3;"
       "select json_group_array(a) from t where id < 3000;")
PYTHON = """
import json, re, ctypes, functools, threading, sqlite3, zlib, collections
d = {}
for i in range(3000):
    d['key%d' % i] = [str(i), {'a': i, 'b': (i, i + 1)}]
text = json.dumps(d)
for i in range(3):
    json.loads(text)
    re.findall(r'"(k\\w+)": \\[', text)
    zlib.compress(text.encode())
    sorted(d, key=lambda k: d[k][0] * 2)
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
array = (ctypes.c_int * 300)(*[i * 7919 % 307 for i in range(300)])
def by_value(a, b):
    [str(a[0] * k) for k in range(20)]
    return a[0] - b[0]
ctypes.CDLL(None).qsort(array, 300, 4, compare(by_value))
def work():
    base = sqlite3.connect(':memory:')
    base.create_function('f', 1, lambda x: 'y' * (x % 2000))
    base.execute('create table t as with recursive c(x) as (select 1 union all select x+1 from c '
                 'where x < 3000) select x from c')
    base.execute('select group_concat(f(x)) from t').fetchall()
    base.execute('select x from t order by f(x)').fetchall()
threads = [threading.Thread(target=work) for i in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
"""
PERL = ("my %h; for my $i (1..8000) { $h{\"k$i\"} = [map { $_ * $i } 1..5]; } "
        "my $s = join ',', map { \"$_=@{$h{$_}}\" } sort { $h{$a}[0] <=> $h{$b}[0] } keys %h; "
        "my $n = 0; while ($s =~ /(k\\d+)=(\\d+ (?{ my $x = 'x' x 100; 1 })\\d+)/g) { $n += length \"$1$2\"; } "
        "local $SIG{ALRM} = sub { my @x = (1..1000); }; kill 'ALRM', $$; print \"$n\\n\";")
LUA = ("local t = {} for i = 1, 20000 do t[i] = {name = 'n' .. i, tags = {'x' .. (i % 97)}} end "
       "local c = coroutine.wrap(function() for i = 1, 3000 do coroutine.yield(('a'):rep(i % 50)) end end) "
       "for i = 1, 2000 do t[i].s = c() end "
       "table.sort(t, function(a, b) return a.name < b.name end) "
       "for i = 1, 2000 do string.gsub(t[i].name, '%d', function(d) return d .. d end) end "
       "pcall(function() error({}) end) print(#t)")
NODE = ("const a = []; for (let i = 0; i < 40000; i++) a.push({i, s: 'x' + i}); "
        "const z = require('zlib'), c = require('crypto'); "
        "for (let i = 0; i < 60; i++) { const t = JSON.stringify(a.slice(0, 500 + i)); JSON.parse(t); "
        "z.deflateSync(t); c.createHash('sha256').update(t).digest('hex'); "
        "Buffer.from(t).toString('base64'); t.replace(/x(\\d)/g, (m, d) => d); } "
        "a.sort((p, q) => p.s < q.s ? -1 : 1); console.log(a.length);")
SIGNALS = r"""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
static void *volatile kept;
static void take(int n) { kept = malloc((size_t)n); free(kept); }
static void on_alarm(int number) { take(number * 700); }
static int compare(const void *a, const void *b)
{ take(3000); raise(SIGUSR1); return *(const int *)a - *(const int *)b; }
static ucontext_t outside, inside;
static void coroutine(void) { for (int i = 0; i < 300; i++) { take(2000); swapcontext(&inside, &outside); } }
int main(void)
{
	static char alternate[65536], stack[262144];
	stack_t other = { .ss_sp = alternate, .ss_size = sizeof alternate };
	struct sigaction own = { .sa_handler = on_alarm }, on = { .sa_handler = on_alarm, .sa_flags = SA_ONSTACK };
	int numbers[200];
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &own, NULL);
	sigaction(SIGUSR2, &on, NULL);
	for (int i = 0; i < 200; i++) numbers[i] = i * 7919 % 211;
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack; inside.uc_stack.ss_size = sizeof stack; inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	for (int i = 0; i < 300; i++) { raise(SIGUSR1); raise(SIGUSR2); swapcontext(&outside, &inside); }
	qsort(numbers, 200, sizeof *numbers, compare);
	return 0;
}
"""


def c_file(path):
    """A file for the compiler to chew on."""
    with open(os.path.join(path, "a.c"), "w", encoding="ascii") as file:
        file.write("#include <stdio.h>\n#include <string.h>\n")
        for i in range(150):
            file.write("int f%d(int x, char *s) { int a[%d], t = 0; for (int i = 0; i < %d; i++) "
                       "a[i %% %d] = x * i + s[0]; switch (x & 3) { case 0: return t + a[0]; case 1: "
                       "return t * 3; default: return (int)strlen(s) + t; } }\n" % (
                           i, i % 9 + 2, i % 30 + 4, i % 9 + 2))


def compiler(path):
    """cc1 itself, not its driver."""
    c_file(path)
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.strip()
    return [cc1, "-quiet", "-O2", "a.c", "-o", "a.s"]


def history(path):
    """A repository with something to show."""
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", path]
    subprocess.run(git + ["init", "-q"], check=True)
    for i in range(12):
        with open(os.path.join(path, "file"), "w", encoding="ascii") as file:
            file.write("".join("line %d of %d\n" % (k * i % 97, i) for k in range(400)))
        subprocess.run(git + ["add", "file"], check=True)
        subprocess.run(git + ["commit", "-q", "-m", "change %d" % i], check=True)
    return ["git", "--no-pager", "log", "-p", "--stat"]


def signals(path):
    """A program of our own: handlers on both kinds of stack, qsort, a coroutine."""
    source = os.path.join(path, "signals.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(SIGNALS)
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", source, "-o", os.path.join(path, "signals")],
                   check=True)
    return [os.path.join(path, "signals")]


def fixed(*words):
    return lambda path: list(words)


# name: (sampling interval that gives thousands of samples, the command, needed programs)
PROGRAMS = {
    "sqlite3": (2048, fixed("sqlite3", ":memory:", SQL), ["sqlite3"]),
    "python3": (16384, fixed("/usr/bin/python3", "-c", PYTHON), []),
    "perl": (1024, fixed("/usr/bin/perl", "-e", PERL), ["perl"]),
    "lua5.4": (2048, fixed("lua5.4", "-e", LUA), ["lua5.4"]),
    "git": (512, history, ["git"]),
    "cc1": (1024, compiler, ["gcc"]),
    "node": (65536, fixed("/usr/bin/node", "-e", NODE), []),
    "redis": (512, None, ["redis-server", "redis-benchmark"]),
    "signals": (1500, signals, ["gcc"]),
}

# Runs inside gdb.
INSIDE = r'''
import gdb, json, time

WANTED, RESULT, SKIP = %(wanted)d, %(result)r, %(skip)d
counts = {"samples": 0, "frames": 0, "agree": 0, "gdb_s": 0.0, "signal": 0}
differences = {}
threads = set()


def place(pc):
    symbol = gdb.execute("info symbol 0x%%x" %% pc, to_string=True).strip().split("\n")[0]
    library = gdb.solib_name(pc)
    if library is None and "No symbol" in symbol:
        return "?? 0x%%x in %%s" %% (pc, "the executable" if is_executable(pc) else "no module")
    if "No symbol" in symbol:
        return "?? in " + library
    return symbol.replace(" in section", " in").strip()


executable = []


def is_executable(pc):
    if not executable:
        for line in gdb.execute("info files", to_string=True).split("\n"):
            words = line.split()
            if len(words) >= 5 and words[1] == "-" and words[3] == "is" and len(words) == 5:
                executable.append((int(words[0], 16), int(words[2], 16)))
    return any(start <= pc < end for start, end in executable)


def gdb_walk():
    pcs, reason = [], ""
    frame = gdb.newest_frame()
    while frame is not None and len(pcs) < 256:
        # Inlined and tail-called functions, which gdb adds from debug information, are no frames.
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            library = gdb.solib_name(frame.pc())
            if library is None or "libbytepoll" not in library:
                pcs.append(frame.pc())
            if frame.type() == gdb.SIGTRAMP_FRAME:
                counts["signal"] += 1
        try:
            older = frame.older()
        except gdb.error as error:
            return pcs, str(error)
        if older is None:
            reason = gdb.frame_stop_reason_string(frame.unwind_stop_reason())
        frame = older
    return pcs, reason


class Walked(gdb.Breakpoint):
    def __init__(self):
        super().__init__("bp_stack_table_id", internal=True)
        self.hits = 0

    def stop(self):
        self.hits += 1
        if self.hits %% (SKIP + 1) != 0:
            return False
        capture = gdb.parse_and_eval("$rsi").cast(
            gdb.lookup_type("struct bp_stack_capture").pointer()).dereference()
        depth, flags = int(capture["depth"]), int(capture["flags"])
        at = int(capture["pcs"].address)
        raw = gdb.selected_inferior().read_memory(at, 8 * max(depth, 1)).tobytes()
        ours = [int.from_bytes(raw[8 * i:8 * i + 8], "little") for i in range(depth)]
        start = time.monotonic()
        theirs, reason = gdb_walk()
        counts["gdb_s"] += time.monotonic() - start
        counts["samples"] += 1
        counts["frames"] += depth
        threads.add(gdb.selected_thread().num)
        if ours == theirs:
            counts["agree"] += 1
            if flags == 2:
                key = json.dumps(["both end", place(ours[-1]), "", "", reason])
                differences.setdefault(key, [0, ours, theirs])[0] += 1
        else:
            i = 0
            while i < min(len(ours), len(theirs)) and ours[i] == theirs[i]:
                i += 1
            last = place(ours[i - 1]) if i > 0 else "start"
            mine = place(ours[i]) if i < len(ours) else "flags %%d" %% flags
            other = place(theirs[i]) if i < len(theirs) else "end: " + reason
            key = json.dumps(["differ", last, mine, other, reason])
            differences.setdefault(key, [0, [place(p) for p in ours], [place(p) for p in theirs]])[0] += 1
        return counts["samples"] >= WANTED


for setting in ("pagination off", "confirm off", "backtrace past-main on", "backtrace past-entry on",
                "backtrace limit 400", "breakpoint pending on", "print thread-events off",
                "debuginfod enabled off", "width 0", "python print-stack full",
                "print inferior-events off", "disable-randomization on"):
    try:
        gdb.execute("set " + setting, to_string=True)
    except gdb.error:
        pass
gdb.execute("handle all nostop noprint pass", to_string=True)
gdb.execute("set exec-wrapper env %%s" %% " ".join("%%s=%%s" %% pair for pair in %(variables)r))
Walked()
try:
    gdb.execute("run", to_string=True)
except gdb.error as error:
    counts["error"] = str(error)
counts["threads"] = len(threads)
with open(RESULT, "w") as file:
    json.dump({"counts": counts, "differences": [[*json.loads(k), *v] for k, v in differences.items()]}, file)
try:
    gdb.execute("kill")
except gdb.error:
    pass
gdb.execute("quit")
'''


def below_gdb(build, path, command, interval, wanted, skip=0):
    """Runs `command` below gdb; {'counts', 'differences'}."""
    result = os.path.join(path, "result.json")
    script = os.path.join(path, "inside.py")
    variables = [("LD_PRELOAD", os.path.join(build, "libbytepoll-recorder-test.so")),
                 ("BYTEPOLL_OUTPUT", os.path.join(path, "trace.bpt")),
                 ("BYTEPOLL_INTERVAL", str(interval)), ("BYTEPOLL_SEED", "1"),
                 ("PYTHONMALLOC", "malloc"), ("PYTHONHASHSEED", "0"), ("PERL_HASH_SEED", "0"),
                 ("GIT_CONFIG_NOSYSTEM", "1"), ("LC_ALL", "C")]
    with open(script, "w", encoding="ascii") as file:
        file.write(INSIDE % {"wanted": wanted, "result": result, "variables": variables, "skip": skip})
    program = shutil.which(command[0]) or command[0]
    done = subprocess.run(["gdb", "-nx", "-batch", "-x", script, "--args", program, *command[1:]],
                          cwd=path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if not os.path.exists(result):
        raise RuntimeError("gdb gave no result:\n" + done.stdout[-3000:])
    with open(result, encoding="utf-8") as file:
        return json.load(file)


def redis(build, path, interval, wanted):
    """The server below gdb, a client beside it."""
    socket = os.path.join(path, "s")
    client = subprocess.Popen(
        ["sh", "-c", "while [ ! -S %s ]; do sleep 0.1; done; redis-benchmark -q -s %s -c 4 -P 4 -n 4000 "
         "-d 100 -r 1000 -t set,get,lpush,hset,zadd,lrange_100,mset; redis-cli -s %s shutdown nosave"
         % (socket, socket, socket)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        return below_gdb(build, path, ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
                                       "--appendonly", "no"], interval, wanted)
    finally:
        os.killpg(client.pid, 15)
        client.wait()


def explained(difference):
    """The row of EXPLAINED that accounts for it, or None."""
    text = " | ".join([*difference[1:5], str(difference[6][-1])])
    for who, pattern, why in EXPLAINED:
        if re.search(pattern, text):
            return who, why
    return None


def one(build, name, wanted):
    """Runs one program; (row of figures, unexplained differences)."""
    interval, make, _ = PROGRAMS[name]
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bytepoll-gdb.") as path:
        found = (redis(build, path, interval, wanted) if make is None
                 else below_gdb(build, path, make(path), interval, wanted))
    counts = found["counts"]
    accounted, unexplained, ends = [], [], 0
    for difference in sorted(found["differences"], key=lambda d: -d[5]):
        if difference[0] == "both end":
            ends += difference[5]
            continue
        row = explained(difference)
        (accounted if row else unexplained).append((difference, row))
    print("# %s: %d samples in %d threads, %d frames (%.1f a stack), %d signal frames; %d agree, of these "
          "%d end early in both; %d explained, %d not; %.0f s" % (
              name, counts["samples"], counts["threads"], counts["frames"],
              counts["frames"] / max(1, counts["samples"]), counts["signal"], counts["agree"], ends,
              sum(d[5] for d, _ in accounted), sum(d[5] for d, _ in unexplained),
              time.monotonic() - start), flush=True)
    for difference, row in accounted[:3] + unexplained[:9]:
        print("#   %d times after %s: ours %s, gdb %s (%s)%s" % (
            difference[5], difference[1], difference[2], difference[3], difference[4],
            "; %s errs: %s" % row if row else ""))
        if row is None:
            print("#     ours: " + " < ".join(map(str, difference[6][:60])))
            print("#     gdb:  " + " < ".join(map(str, difference[7][:60])), flush=True)
    return counts, unexplained


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of: " + ", ".join(PROGRAMS))
    parser.add_argument("--samples", type=int, default=1250, help="of each program")
    parser.add_argument("--short", action="store_true", help="for the test suite")
    options = parser.parse_intermixed_args()
    if options.short and not shutil.which("gdb"):
        print("1..0 # SKIP gdb is not installed")
        return 0
    build = os.path.abspath(options.build)
    names = options.names or (SHORT if options.short else list(PROGRAMS))
    names = [name for name in names if all(shutil.which(word) for word in PROGRAMS[name][2])]
    print("1..%d" % len(names))
    failed, total = 0, 0
    for number, name in enumerate(names, 1):
        counts, unexplained = one(build, name, SHORT_SAMPLES if options.short else options.samples)
        good = not unexplained and counts["samples"] > 50 and "error" not in counts
        total += counts["samples"]
        failed += not good
        print("%sok %d - %s agrees with gdb" % ("" if good else "not ", number, name), flush=True)
    print("# %d samples in all" % total)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
