# SPDX-License-Identifier: MIT
"""The programs of more.py: what each is run on, and what is its own where runs differ.

A command is a list, or text for `sh -e -c`; with `script` it is a script of more/ for bash, behind
more/served.sh. It runs in a folder with the files of `material`.
"""
import json
import os

PYTHON = "/usr/bin/python3"


def write(path, name, text):
    with open(os.path.join(path, name), "w", encoding="utf-8") as file:
        file.write(text)


def c_source(first, functions):
    """A C file of some functions that the compiler has something to do with."""
    parts = ["#include <string.h>\n"]
    parts += ["static int f%d(int x, const char *s)\n{\n\tint a[%d] = { 0 }, t = 0;\n"
              "\tfor (int i = 0; i < %d; i++)\n\t\ta[i %% %d] += x * i + s[0];\n"
              "\treturn t + a[1] + (int)strlen(s) * %d;\n}\n" % (
                  i, i % 9 + 2, i % 30 + 4, i % 9 + 2, i)
              for i in range(first, first + functions)]
    parts.append("int sum%d(int x)\n{\n\tint t = 0;\n%s\treturn t;\n}\n" % (first, "".join(
        "\tt += f%d(x + %d, \"%d\");\n" % (i, i, i) for i in range(first, first + functions))))
    return "".join(parts)


def material(path):
    """Small files of many kinds, the same each time."""
    write(path, "words.txt", "".join("line %d of the file: %s\n" % (
        i * 7919 % 10007, "word " * (i % 7)) for i in range(8000)))
    rows = [{"id": i, "name": "part %d" % (i * 7919 % 10007), "tags": ["a", "b"] * (i % 4),
             "price": i % 500 / 4} for i in range(3000)]
    write(path, "data.json", json.dumps(rows))
    write(path, "table.csv", "".join("%d %d\n" % (i, i * i % 97) for i in range(500)))
    write(path, "data.xml", "<?xml version='1.0'?>\n<parts>" + "".join(
        "<part id='%d'><name>%s</name></part>" % (row["id"], row["name"]) for row in rows) +
          "</parts>\n")
    write(path, "style.xsl", "<xsl:stylesheet version='1.0' "
          "xmlns:xsl='http://www.w3.org/1999/XSL/Transform'><xsl:output method='text'/>"
          "<xsl:template match='/'><xsl:for-each select='parts/part'>"
          "<xsl:sort select='name'/><xsl:value-of select='@id'/>,</xsl:for-each></xsl:template>"
          "</xsl:stylesheet>")
    write(path, "page.html", "<html><head><title>A page</title></head><body><script>"
          "var l = []; for (var i = 0; i < 20000; i++) l.push('x' + i);"
          "document.write('<p id=p>' + l.length + '</p>')</script><table>" + "".join(
              "<tr><td>%d</td></tr>" % i for i in range(200)) + "</table></body></html>\n")
    write(path, "text.md", "".join(
        "# Part %d\n\nSome *text* with `code`, [a link](x%d).\n\n- a\n- b\n\n" % (i, i)
        for i in range(60)))
    write(path, "picture.svg", "<svg xmlns='http://www.w3.org/2000/svg' width='200' height='200'>" +
          "".join(
        "<circle cx='%d' cy='%d' r='%d' fill='rgb(%d,80,90)'/>" % (
            i * 7 % 200, i * 13 % 200, i % 20 + 1, i % 255) for i in range(200)) + "</svg>\n")
    write(path, "page.ps", "%!PS\n/Helvetica findfont 20 scalefont setfont\n" + "".join(
        "72 %d moveto (Line number %d of the page) show\n" % (700 - 30 * i, i) for i in range(20)) +
          "showpage\n")
    with open(os.path.join(path, "picture.ppm"), "wb") as file:
        file.write(b"P6 160 120 255\n" + bytes((x * y * c) % 251 for y in range(120)
                                              for x in range(160) for c in (1, 2, 3)))
    for part in range(8):
        write(path, "part%d.c" % part, c_source(part * 1000, 15))
    write(path, "large.c", c_source(0, 150))
    write(path, "main.c", "".join("int sum%d(int x);\n" % (i * 1000) for i in range(8)) +
          "#include <stdio.h>\nint main(void)\n{\n\tprintf(\"%d\\n\", " +
          " + ".join("sum%d(3)" % (i * 1000) for i in range(8)) + ");\n\treturn 0;\n}\n")


class Program:
    """`images`: patterns of programs that must have been profiled. `totals`: why the program's own
    allocations differ between runs, by the part `spread` of them at most; empty where they must
    not. `losses`: why samples may be lost. `allocator`: what stands for glibc's malloc in it; the
    verifying recorder counts over glibc's alone. `user`: who runs it, and bytepoll with it.
    `interval`: T of the last run. `status`: the program's own. `sort`: lines come in any order.
    `ignored`: patterns of files that are not compared. `masks`: what is replaced in the output."""

    def __init__(self, name, what, command, images, needs=(), script=False, sort=False, ignored=(),
                 masks=(), totals="", spread=0.1, losses="", interval=1, status=0, allocator="",
                 user=""):
        self.name, self.what, self.command = name, what, command
        self.images = [images] if isinstance(images, str) else images
        first = [] if script or isinstance(command, str) else [command[0]]
        self.needs = [*first, *needs]
        self.script, self.sort, self.ignored, self.masks = script, sort, ignored, masks
        self.totals, self.spread, self.losses = totals, spread, losses
        self.interval, self.status, self.allocator, self.user = interval, status, allocator, user


def inputs(name):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "more", name)


ADDRESSES = "tables that are filled by addresses"
COMPILER = "cc1's table of types is filled by addresses"
THREADS = "threads share their work as it comes"
# What `run` says of the whole, and the loader of a recorder that it cannot see.
WORDS = (r"(?m)^bytepoll: NOTHING WAS RECORDED.*\n(?:  .*\n)*", "")
LOADER = (r"(?m)^ERROR: ld.so: object .* cannot be preloaded .*: ignored.\n", "")
POLL = "the script waits for the server by trying"

PROGRAMS = (
    # Languages.
    Program("ruby", "hashes, fibers, threads", ["ruby", inputs("work.rb")], "ruby.*",
            totals="random seeds of its hashes"),
    Program("php", "arrays, JSON, generators", ["php", inputs("work.php")], "php.*"),
    Program("ocaml", "bytecode: maps, a compaction", ["ocaml", inputs("work.ml")], "ocaml.*"),
    Program("ghc", "compiles and links; the program on two processors",
            "ghc -v0 -O0 -threaded -o program $INPUTS/work.hs -outputdir out && ./program +RTS "
            "-N2; rm -r program out", ["ghc", "program"], needs=["ghc"], totals=THREADS),
    Program("erlang", "processes, binaries, ets",
            "erlc $INPUTS/work.erl && erl -noshell -s work main; rm work.beam", "beam.*",
            needs=["erl", "erlc"], totals=THREADS),
    Program("java", "compiles in memory; threads, direct buffers, zip", ["/usr/bin/java",
            "-XX:-UsePerfData", inputs("Work.java")], "java",
            totals="the compiler at run time, by the clock", interval=64, spread=0.5),
    Program("javac", "compiles to a class", ["/usr/bin/javac", "-d", ".", inputs("Work.java")],
            "javac", totals="the compiler at run time, by the clock", interval=64, spread=0.5),
    Program("tclsh", "dictionaries, coroutines, an inner interpreter",
            ["tclsh", inputs("work.tcl")], "tclsh.*"),
    Program("expect", "sessions of bash and bc on pseudo-terminals",
            ["expect", inputs("work.expect")], ["expect", "bash", "bc"], needs=["bc"],
            totals="what one read finds on a terminal"),
    Program("R", "svd, aggregate, lm", ["Rscript", "--vanilla", inputs("work.R")], "R"),
    Program("octave", "qr, cells, structs",
            ["octave-cli", "--no-history", "--norc", inputs("work.m")], "octave.*", totals=THREADS,
            interval=64),
    Program("gawk", "arrays and strings", ["gawk", "-f", inputs("work.awk"), "words.txt"], "gawk"),
    Program("mawk", "the same", ["mawk", "-f", inputs("work.awk"), "words.txt"], "mawk"),
    Program("gfortran", "compiles; arrays that grow, OpenMP",
            "gfortran -O1 -fopenmp -o program $INPUTS/work.f90 && ./program; rm program",
            ["f951", "program"], needs=["gfortran"], totals=COMPILER),
    Program("guile", "Boehm's collector, call/cc",
            ["guile", "--no-auto-compile", inputs("work.scm")], "guile"),
    Program("swipl", "prolog: search, assert, atoms",
            ["swipl", "-g", "main", inputs("work.prolog")], "swipl", allocator="TCMalloc",
            totals="a thread of its own collects"),
    Program("sbcl", "a heap of its own, alien memory", ["sbcl", "--script", inputs("work.lisp")],
            "sbcl"),
    Program("gforth", "allocate, resize, free", ["gforth", inputs("work.fs")], "gforth.*"),
    Program("perl threads", "fork, sockets, ithreads", ["perl", inputs("threads.pl")], "perl"),
    Program("node workers", "worker threads, scrypt, zlib, a child", ["node", inputs("workers.js")],
            "node", totals=THREADS, interval=64, spread=0.2),
    Program("luajit", "its own allocator",
            ["luajit", os.path.join(inputs(".."), "inputs", "work.lua")], "luajit.*"),
    # Compilers and tools.
    Program("rustc", "compiles; threads, channels, a caught panic",
            "rustc -o program $INPUTS/work.rs && ./program; rm program", ["rustc", "program"],
            needs=["rustc"], masks=[(r"thread 'main' \(\d+\)", "thread 'main'")], totals=THREADS,
            interval=4096),
    Program("cargo", "builds a package, runs its test",
            "cargo init -q --vcs none --name small . && cp $INPUTS/work.rs src/main.rs && cargo "
            "build -q --offline && target/debug/small && cargo test -q --offline > /dev/null; rm "
            "-r target", ["cargo", "rustc", "small"], needs=["cargo"], totals=THREADS,
            interval=4096, ignored=[r"\.cargo", "Cargo.lock"]),
    Program("go with cgo", "go build (static), the program with cgo",
            "GOCACHE=$PWD/cache GOPATH=$PWD/path GO111MODULE=off GOTOOLCHAIN=local go build -o "
            "program $INPUTS/work.go && ./program; rm -r program cache", ["program"], needs=["go"],
            totals=THREADS, ignored=["path"]),
    Program("clang", "compiles 15 functions", "clang -O2 -c part1.c -o part1.o", "clang.*",
            needs=["clang"], totals=ADDRESSES),
    Program("g++", "templates",
            "printf '#include <map>\\nint main() { return std::map<int, int>().size(); }' > "
            "a.cc; g++ -O1 -o a a.cc", "cc1plus", needs=["g++"], totals=COMPILER),
    Program("gcc -flto", "optimises at link time",
            "gcc -O2 -flto -o program main.c part?.c && ./program", ["lto1", "cc1"], needs=["gcc"],
            totals=COMPILER),
    Program("cmake, ninja", "configures and builds a small project", "cmake.sh", ["cmake", "ninja"],
            script=True, needs=["cmake", "ninja"], totals="jobs end in any order"),
    Program("binutils", "objdump, readelf, ld, strip, ar", "binutils.sh",
            [".*objdump", ".*readelf", ".*ld.bfd"], script=True, totals=COMPILER),
    Program("cppcheck", "on 150 functions", ["cppcheck", "-q", "--enable=all",
            "--suppress=missingIncludeSystem", "large.c"], "cppcheck", interval=64),
    Program("git", "a repository, by its shell",
            "export GIT_COMMITTER_DATE=@1709208000 GIT_AUTHOR_DATE=@1709208000; git init -q . && "
            "git add . && git -c user.name=A -c user.email=a commit -q -m a && git gc -q && git "
            "grep -c line words.txt && git archive HEAD | cksum && git stash list; rm -rf .git",
            "git", needs=["git"], totals="threads of pack and grep share their work as it comes",
            masks=[]),
    Program("mercurial", "commits, annotates, clones", "hg.sh", "python3.*", script=True,
            needs=["hg"], ignored=["repository/.hg", "copy/.hg"]),
    # Text, documents and data.
    Program("ripgrep", "two threads",
            "rg -j2 'line [0-9]+7 .*word$' words.txt part*.c data.xml | cksum; rg -j2 -c x . | "
            "sort", "rg", needs=["rg"], totals=THREADS),
    Program("fd", "two threads", ["fdfind", "-j2", "txt|c$"], "fd.*", sort=True, totals=THREADS),
    Program("bat", "colours a C file", ["batcat", "--color=always", "-n", "large.c"], "bat.*"),
    Program("jq", "groups and sorts", ["jq", "-c",
            "group_by(.tags | length) | map({n: length, s: map(.price) | add})", "data.json"],
            "jq"),
    Program("xmllint", "parses, validates, xpath", ["xmllint", "--xpath",
            "count(//part[@id mod 7 = 3])", "data.xml"], "xmllint",
            totals="random seeds of libxml2's dictionaries"),
    Program("xsltproc", "sorts 3000 nodes", ["xsltproc", "style.xsl", "data.xml"], "xsltproc",
            totals="random seeds of libxml2's dictionaries"),
    Program("bc", "pi to 400 digits", "echo 'scale=400; 4*a(1); 2^2000' | bc -l", "bc",
            needs=["bc"]),
    Program("units", "a table of 3000 units", ["units", "-t", "12 parsec/fortnight", "km/s"],
            "units"),
    Program("vim", "ex commands, a script", ["vim", "-u", "NONE", "-i", "NONE", "-es", "-S",
            inputs("work.vim")], "vim.*"),
    Program("emacs", "batch: buffers, hashes", ["emacs", "-Q", "--batch", "-l", "json", "-l",
            inputs("work.el")], "emacs.*",
            totals="its collector takes what looks like an address for one", interval=64),
    Program("pandoc", "Markdown to HTML", ["pandoc", "-t", "html", "text.md"], "pandoc"),
    Program("groff", "a manual page",
            "printf '.TH A 1\\n.SH NAME\\na \\\\- b\\n' > a.1; groff -man -Tutf8 a.1; groff -man "
            "-Tps a.1 | grep -v Date | cksum", ["troff", "grotty"], needs=["groff"]),
    Program("tidy", "mends a page", "tidy -q page.html 2> /dev/null | cksum", "tidy",
            needs=["tidy"]),
    Program("graphviz", "lays out 100 nodes",
            "(echo 'digraph g {'; for i in $(seq 1 100); do echo \"n$i -> n$((i * 7 % 100)); \"; "
            "done; echo '}') > g.dot; dot -Tsvg g.dot | cksum; neato -Tplain g.dot | cksum",
            "libgvc6.*", needs=["dot"], totals="a thread of pango's looks for fonts"),
    Program("gnuplot", "svg and text", ["gnuplot", inputs("work.gp")], "gnuplot.*"),
    Program("ghostscript", "renders a page; makes a PDF",
            "gs -q -dBATCH -dNOPAUSE -sDEVICE=png16m -r50 -o page.png page.ps; gs -q -dBATCH "
            "-dNOPAUSE -sDEVICE=pdfwrite -o page.pdf page.ps; rm page.pdf", "gs", needs=["gs"],
            totals="one object of 248 bytes more or less, also between equal runs"),
    Program("poppler, qpdf", "text, pictures, structure of a PDF",
            "gs -q -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -o page.pdf page.ps; pdftotext page.pdf - "
            "| cksum; pdftoppm -r 40 page.pdf page; qpdf --check page.pdf | tail -1; qpdf "
            "--linearize --deterministic-id page.pdf out.pdf; rm page.pdf out.pdf",
            ["pdftotext", "pdftoppm", "qpdf"], needs=["gs", "pdftotext", "qpdf"],
            totals="each run makes a PDF of its own"),
    Program("tesseract", "reads a picture of text",
            "gs -q -dBATCH -dNOPAUSE -sDEVICE=pgmraw -r100 -o page.pgm page.ps; "
            "OMP_THREAD_LIMIT=1 tesseract page.pgm - 2> /dev/null | head -5", "tesseract",
            needs=["gs", "tesseract"], interval=64, totals="ghostscript's, see there"),
    # Sound and pictures.
    Program("ffmpeg", "makes, scales and codes a film, two threads",
            "ffmpeg -nostdin -v error -f lavfi -i testsrc=d=1:s=160x120:r=10 -vf scale=80:60 "
            "-c:v mpeg4 -threads 2 -fflags +bitexact -flags:v +bitexact -y a.avi; ffprobe -v "
            "error -show_entries stream=width,nb_frames a.avi", ["ffmpeg", "ffprobe"],
            needs=["ffmpeg"], totals=THREADS),
    Program("sox", "a tone, resampled, its spectrum",
            "sox -R -n a.wav synth 1 sine 440; sox -R a.wav -r 8000 b.wav reverb; sox b.wav -n "
            "stat 2>&1", "sox", needs=["sox"]),
    Program("imagemagick", "OpenMP: blur, rotate, quantize",
            "convert picture.ppm -blur 0x3 -rotate 20 -colors 16 ppm:- | cksum", "convert.*",
            needs=["convert"]),
    Program("graphicsmagick", "the same",
            "gm convert picture.ppm -blur 0x3 -rotate 20 -colors 16 ppm:- | cksum", "gm",
            needs=["gm"],
            totals="a pixel cache for each thread that came to work; libhwy measures the clock"),
    Program("rsvg, optipng", "renders 200 circles", "pictures.sh", ["rsvg-convert", "optipng"],
            script=True, needs=["rsvg-convert", "optipng"],
            totals="the time as text, to the microsecond, without leading zeros"),
    # Servers on 127.0.0.1.
    Program("nginx", "two workers, gzip, ab, a reload", "nginx.sh", ["nginx", "ab", "curl"],
            script=True, needs=["nginx", "ab", "curl"], ignored=["logs"], totals=POLL),
    Program("apache", "processes of 16 threads, ab", "apache.sh", ["apache2", "ab"], script=True,
            needs=["apache2", "ab"], ignored=["error.log"], totals=POLL),
    Program("lighttpd", "ab", "lighttpd.sh", "lighttpd", script=True, needs=["lighttpd", "ab"],
            totals=POLL),
    Program("haproxy", "four threads before python3's server", "haproxy.sh",
            ["haproxy", "python3.*"], script=True, needs=["haproxy", "ab"], totals=POLL),
    Program("memcached", "four threads", "memcached.sh", "memcached", script=True,
            needs=["memcached"], totals=POLL),
    Program("mosquitto", "600 messages", "mosquitto.sh", ["mosquitto", "mosquitto_sub"],
            script=True, needs=["mosquitto", "mosquitto_pub"], totals=POLL),
    Program("redis-server", "Debian's, over jemalloc; Lua, saves", "redis.sh", ["redis-.*"],
            script=True, needs=["redis-server"], totals=POLL, allocator="jemalloc"),
    Program("postgres", "initdb, queries, jit, as another user", "postgres.sh",
            ["postgres", "initdb", "psql"], script=True,
            needs=["/usr/lib/postgresql/15/bin/postgres"], ignored=["data"], totals=POLL,
            interval=4096, user="postgres"),
    Program("mariadb", "two connections, innodb", "mariadb.sh", "mariadbd", script=True,
            needs=["mariadbd", "mariadb"], ignored=["data", "log", "pid", "socket"], totals=POLL,
            interval=4096),
    Program("curl, wget", "several at a time from python3's server", "curl.sh",
            ["curl", "wget", "python3.*"], script=True, needs=["curl", "wget"], totals=POLL),
    Program("openssl", "keys, digests, a TLS server", "openssl.sh", ["openssl", "curl"],
            script=True, needs=["openssl"], ignored=["key", "certificate"],
            totals="random keys; " + POLL),
    Program("gnupg", "an agent, keys, signatures", "gnupg.sh", ["gpg", "gpg-agent"], script=True,
            needs=["gpg"], ignored=["home", "words.asc", "words.gpg"], totals="random keys"),
    # Shells, terminals, files.
    Program("bash", "arrays, jobs, coproc, traps; status 3", ["bash", inputs("work.sh")], "bash",
            status=3),
    Program("zsh", "globs, parameters; status 2", ["zsh", "-f", inputs("work.zsh")], "zsh.*",
            status=2),
    Program("fish", "lists, regular expressions; status 4",
            ["fish", "--no-config", inputs("work.fish")], "fish", status=4, ignored=[r"\."],
            totals="threads that start as they are needed"),
    Program("tmux", "a server, two panes", "tmux.sh", "tmux", script=True, needs=["tmux"],
            totals=POLL),
    Program("screen", "a session behind the scenes", "screen.sh", "screen", script=True,
            needs=["screen"], ignored=["sockets"], totals=POLL),
    Program("coreutils", "threads of sort, 100 images", "coreutils.sh",
            ["sort", "xargs", "sha256sum"], script=True),
    Program("archives", "tar, zstd, xz, pigz, bzip2, pbzip2, lz4, brotli, 7z, bsdtar",
            "archives.sh", ["tar", "zstd", "xz", "pigz", "pbzip2", "7z.*", "brotli", "bsdtar"],
            script=True, needs=["zstd", "xz", "pigz", "pbzip2", "lz4", "brotli", "7z", "bsdtar"],
            ignored=["all.tar"], totals=THREADS),
    Program("rsync", "three processes, deltas", "rsync.sh", "rsync", script=True, needs=["rsync"],),
    # Strange ones.
    Program("chromium", "headless: a page with a script",
            "chromium --headless --no-sandbox --disable-gpu --user-data-dir=$PWD/profile "
            "--dump-dom file://$PWD/page.html 2> /dev/null | cksum", "dash", needs=["chromium"],
            ignored=["profile", r"\."], interval=4096,
            masks=[WORDS]),
    Program("Xvfb", "a display and four clients", "xvfb.sh", ["Xvfb", "xdpyinfo", "xlogo"],
            script=True, needs=["Xvfb", "xdpyinfo", "xlsfonts", "xlogo"],
            ignored=["xvfb.log", r"\."], totals=POLL),
    Program("gdb, strace", "a backtrace, system calls; both sides profiled", "debuggers.sh",
            ["gdb", "strace"], script=True, needs=["gdb", "strace"],
            totals="gdb reads what the recorder maps"),
    Program("valgrind", "runs unprofiled programs of its own",
            "gcc -g -O0 -o p main.c part?.c && valgrind -q ./p; rm p", "cc1", needs=["valgrind"],
            totals=COMPILER),
    Program("static programs", "glibc's, musl's, busybox", "static.sh", ["bash", "cc1"],
            script=True, needs=["busybox", "musl-gcc"], totals=COMPILER),
    Program("qemu-user", "an arm64 program", "qemu.sh", ["qemu-.*"], script=True,
            needs=["qemu-aarch64", "aarch64-linux-gnu-gcc"], totals=THREADS),
    Program("sysbench", "threads with LuaJIT",
            "sysbench cpu --threads=4 --events=200 --time=0 run | grep 'total number'", "sysbench",
            needs=["sysbench"], totals=THREADS),
    Program("socat", "copies a file to a socket and back",
            "socat -u OPEN:words.txt UNIX-LISTEN:s & "
            "socat -u UNIX-CONNECT:s,retry=50,interval=.1 - | cksum; wait", "socat",
            needs=["socat"], totals="it tries until the other one listens"),
    Program("dpkg, apt", "builds a package, reads it",
            "mkdir -p d/DEBIAN && printf 'Package: a\\nVersion: 1\\nArchitecture: "
            "all\\nMaintainer: A <a@b>\\nDescription: a\\n' > d/DEBIAN/control && dpkg-deb "
            "--root-owner-group -b d a.deb && dpkg-deb -I a.deb | tail -3 && apt-cache show bash "
            "| cksum; rm a.deb", ["dpkg-deb", "apt-cache"], needs=["dpkg-deb"],
            totals="some objects of apt-cache more or less, also between equal runs"),
    Program("openssh", "sshd with its sandbox (seccomp, another user), two sessions", "sshd.sh",
            ["sshd", "ssh"], script=True, needs=["sshd", "ssh"], totals="random keys; " + POLL,
            losses="the sandbox forbids the trace to grow"),
    Program("man", "formats a page as the user man, whose programs write no traces",
            "man -P cat ls | cksum", "man",
            needs=["man"], totals="pages of pipes come as they come"),
    Program("file", "its magic by mmap",
            ["file", "/bin/ls", "words.txt", "picture.ppm", "data.xml"], "file"),
    Program("fakeroot", "another preloaded library, a daemon",
            "fakeroot sh -c 'touch a; chown nobody a; stat -c %U a; rm a'", ["faked.*", "chown"],
            needs=["fakeroot"], totals="the shell's text of process numbers"),
    Program("faketime", "another preloaded library",
            "faketime '2020-01-01 00:00:00' date +%F; eatmydata sort words.txt | cksum; stdbuf "
            "-oL sort -r words.txt | head -3", ["date", "sort"], needs=["faketime", "eatmydata"],
            totals="names with process numbers"),
    Program("bubblewrap", "a file system in which the recorder is not",
            "bwrap --ro-bind /usr /usr --symlink usr/lib64 /lib64 --symlink usr/bin /bin --proc "
            "/proc sort /usr/share/common-licenses/GPL-3 | cksum", "bwrap", needs=["bwrap"],
            masks=[LOADER, WORDS],
            losses="the folder of the trace is not there, either"),
    Program("qemu-img", "coroutines, threads",
            "qemu-img create -q -f qcow2 d.img 10M && qemu-img convert -O raw d.img r.img && "
            "qemu-img check d.img; rm d.img r.img", "qemu-img", needs=["qemu-img"], totals=THREADS),
    Program("systemd tools", "escape, tmpfiles, journalctl",
            "systemd-escape a/b-c; systemd-analyze --version | head -1; systemd-analyze calendar "
            "--base-time=2024-01-01 'Mon *-*-* 02:00' 2>&1 | head -3; journalctl --version | "
            "head -1", ["systemd-escape", "systemd-analyze"],
            needs=["systemd-analyze", "systemd-escape"]),
)
