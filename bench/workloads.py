# SPDX-License-Identifier: MIT
"""The real programs that are measured, and their inputs: made once, the same on every machine. Each has
a long input, whose time is taken, and a short one, for valgrind."""
import json
import os
import random
import shutil
import subprocess

from harness import DEFAULT, PROGRAMS as SOURCES

LIBRARIES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")
PYTHON = "/usr/bin/python3"


class Program:
    """A program, what it needs, and how it is called."""

    def __init__(self, name, needs, command, stdin=None, extra=None, allocator=None, status=0):
        self.name = name
        self.needs = needs
        self.command = command  # (bench, short) -> words
        self.stdin = stdin      # (short) -> text
        self.extra = extra
        self.allocator = allocator  # a library to preload below the recorder
        self.status = status        # the exit status it is to end with

    def available(self):
        """None, or what is missing."""
        for name in self.needs:
            if not shutil.which(name):
                return name + " is not installed"
        if self.allocator and not library(self.allocator):
            return self.allocator + " is not installed"
        return None

    def variables(self, bench, variant):
        """What the program's environment has beside the variant's. Of two preloads the recorder is
        first."""
        variables = dict(self.extra or {})
        if self.allocator:
            first = bench.variables(variant, DEFAULT, "").get("LD_PRELOAD")
            variables["LD_PRELOAD"] = ":".join(filter(None, (first, library(self.allocator))))
        return variables

    def run(self, bench, variant, interval=DEFAULT, short=False, keep=False):
        """One run."""
        stdin = self.stdin(short) if self.stdin else None
        return bench.run(self.command(bench, short), variant, interval, stdin,
                         self.variables(bench, variant), keep=keep, status=self.status)

    def count(self, bench, variant, interval):
        """Instructions of the short input."""
        stdin = self.stdin(True) if self.stdin else None
        return bench.instructions(self.command(bench, True), variant, interval, stdin,
                                  self.variables(bench, variant), tool="cachegrind",
                                  status=self.status)


def library(name):
    """Path of a shared library, None if it is not there."""
    return next((os.path.join(folder, name) for folder in LIBRARIES
                 if os.path.exists(os.path.join(folder, name))), None)


def made(bench, name, make):
    """A file (or folder) of the build directory, made by make(path) if it is not there."""
    path = os.path.join(bench.programs, name)
    if not os.path.exists(path):
        make(path + ".new")
        os.rename(path + ".new", path)
    return path


def sql(short):
    """The script, with its number of rows."""
    with open(os.path.join(SOURCES, "build.sql"), encoding="ascii") as file:
        return file.read().replace("ROWS", "20000" if short else "100000")


def objects(_bench, short):
    """Python objects of all sizes, every one by malloc."""
    return [PYTHON, "-S", os.path.join(SOURCES, "objects.py"), "15000" if short else "100000"]


OBJECTS = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}


def compiler(bench, _short):
    """The C++ compiler proper on a preprocessed file."""
    def preprocess(path):
        subprocess.run(["g++", "-E", os.path.join(SOURCES, "templates.cc"), "-o", path], check=True)
    source = made(bench, "templates.ii", preprocess)
    proper = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.strip()
    return [proper, "-fpreprocessed", "-quiet", source, "-o", "/dev/null"]


def documents(bench, short):
    """A file of JSON documents."""
    def write(path):
        source = random.Random(2)
        with open(path, "w", encoding="ascii") as file:
            for number in range(1500 if short else 25000):
                words = ["%x" % source.getrandbits(8 * source.randrange(1, 12)) for _ in range(9)]
                json.dump({"id": number, "tags": words, "more": {word: len(word) for word in words}},
                          file)
                file.write("\n")
    return made(bench, "documents-%s.json" % ("short" if short else "long"), write)


def markup(bench, short):
    """An XML file."""
    def write(path):
        source = random.Random(3)
        with open(path, "w", encoding="ascii") as file:
            file.write("<all>\n")
            for number in range(4000 if short else 80000):
                file.write('<item id="i%d"><name>%x</name><note lang="en">%s</note></item>\n'
                           % (number, source.getrandbits(40), "word " * source.randrange(12)))
            file.write("</all>\n")
    return made(bench, "markup-%s.xml" % ("short" if short else "long"), write)


def repository(bench):
    """A git repository with some hundred commits."""
    def build(path):
        source = random.Random(4)
        stream = []
        for commit in range(300):
            stream.append("commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 2\nc\n"
                          % (1700000000 + commit))
            for _ in range(12):
                text = "".join("%d\n" % source.randrange(10 ** 6)
                               for _ in range(source.randrange(20, 400)))
                stream.append("M 100644 inline d%d/f%d\ndata %d\n%s\n"
                              % (source.randrange(20), source.randrange(40), len(text), text))
        subprocess.run(["git", "init", "-q", "--bare", path], check=True)
        subprocess.run(["git", "-C", path, "fast-import", "--quiet"], input="".join(stream),
                       text=True, check=True)
    return made(bench, "repository.git", build)


def commands(bench, short):
    """A folder with a log of redis commands, which a server carries out when it starts. The last one is
    no command: there the server ends, with status 1."""
    def write(path):
        source = random.Random(1)
        os.makedirs(os.path.join(path, "appendonlydir"))
        with open(os.path.join(path, "appendonlydir", "a.manifest"), "w", encoding="ascii") as file:
            file.write("file a.1.incr.aof seq 1 type i\n")
        with open(os.path.join(path, "appendonlydir", "a.1.incr.aof"), "w",
                  encoding="ascii", newline="") as file:
            for number in range(20000 if short else 600000):
                key = source.randrange(30000)
                file.write(command(
                    (("SET", "k%d" % key, "x" * source.randrange(8, 600)),
                     ("LPUSH", "l%d" % (key % 500), "y" * source.randrange(8, 100)),
                     ("HSET", "h%d" % (key % 2000), "f%d" % (key % 37), "z" * (number % 100)),
                     ("DEL", "k%d" % source.randrange(30000)),
                     ("SADD", "s%d" % (key % 300), str(key)))[source.randrange(5)]))
            file.write("end\r\n")
    folder = made(bench, "redis-%s" % ("short" if short else "long"), write)
    return ["redis-server", "--port", "0", "--unixsocket", os.path.join(bench.fresh(), "socket"),
            "--save", "", "--appendonly", "yes", "--appendfilename", "a", "--dir", folder]


def command(words):
    """One command as redis logs it."""
    return "*%d\r\n" % len(words) + "".join("$%d\r\n%s\r\n" % (len(word), word) for word in words)


LUA = """
local words, n = {}, tonumber(arg[1])
for i = 1, n do
  local t = {i, tostring(i * 7919 % 10007), key = "k" .. i % 997}
  words[i % 5000] = t
  if i % 50 == 0 then words[i % 4999] = table.concat(t, ",", 1, 2):rep(i % 13) end
end
"""

PERL = """
my %h; my $n = shift;
for my $i (1 .. $n) {
    push @{$h{"k" . ($i * 7919 % 10007)}}, { id => $i, text => "x" x ($i % 97) };
    delete $h{"k" . ($i % 5003)} if $i % 3 == 0;
}
print scalar(keys %h), "\\n";
"""

AWK = """
BEGIN { for (i = 1; i <= n; i++) { a["k" (i * 7919 % 30011)] = a["k" (i % 3001)] substr("abcdefghijklmnop", i % 9, 5);
        if (i % 7 == 0) delete a["k" (i % 1009)]; if (length(a["k" (i % 3001)]) > 300) a["k" (i % 3001)] = "" }
        for (k in a) c++; print c }
"""


def lua(bench, short):
    """Tables and strings; every object by realloc."""
    def write(path):
        with open(path, "w", encoding="ascii") as file:
            file.write(LUA)
    return ["lua5.4", made(bench, "tables.lua", write), "60000" if short else "1500000"]


PROGRAMS = (
    Program("sqlite3", ["sqlite3"], lambda bench, short: ["sqlite3", ":memory:"], sql),
    Program("python3", [PYTHON], objects, extra=OBJECTS),
    Program("cc1plus", ["g++"], compiler),
    Program("lua5.4", ["lua5.4"], lua),
    Program("perl", ["perl"],
            lambda _bench, short: ["perl", "-e", PERL, "20000" if short else "800000"],
            extra={"PERL_HASH_SEED": "0"}),
    Program("mawk", ["mawk"],
            lambda _bench, short: ["mawk", "-v", "n=%d" % (40000 if short else 2500000), AWK]),
    Program("jq", ["jq"], lambda bench, short: [
        "jq", "-c", "[.id, (.tags | sort | join(\" \")), (.more | to_entries | length)]",
        documents(bench, short)]),
    Program("xmllint", ["xmllint"],
            lambda bench, short: ["xmllint", "--xpath", "count(//note)", markup(bench, short)]),
    Program("git log", ["git"],
            lambda bench, short: ["git", "-C", repository(bench), "log", "--stat", "main",
                                  "-n", "20" if short else "300"]),
    Program("redis-server (jemalloc)", ["redis-server"], commands, status=1),
)

# Those in which the cost of single samples is taken.
DENSE = PROGRAMS[:3]

# The same over other allocators, preloaded; mimalloc has another name in Debian 13.
MIMALLOC = next(filter(library, ("libmimalloc.so.3", "libmimalloc.so.2")), "libmimalloc.so.2")
OVER_ALLOCATORS = tuple(
    Program("python3 over " + name, [PYTHON], objects, extra=OBJECTS, allocator=file)
    for name, file in (("jemalloc", "libjemalloc.so.2"), ("TCMalloc", "libtcmalloc_minimal.so.4"),
                       ("mimalloc", MIMALLOC)))
