#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Three programs built from Debian's source packages with -g: does the report name what a person
would expect?

    source_packages.py FOLDER      (sources and builds are kept there; needs the network once)

For each, the lines of the source that allocate are looked up in the source itself, the program is
profiled on a small task at T = 4096, and the report must show those lines by --by line, their
functions by --by function, and the callers a person knows of on the stacks. Then the program is
stripped: what it exports may be named, everything else must be module+offset, never a wrong name.
Not part of `make test`.
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenario"))
import profiled  # noqa: E402
from debian_source import Sources  # noqa: E402

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inputs")


class Package:
    """`build`: shell script, run in the source tree, that makes $OUT; `places`: (function, source
    file, pattern of the line it allocates in); `callers` stand on the stacks; `text`: standard
    input. The last wrappers before malloc (l_alloc, default_bzalloc, ZSTD_customMalloc) end in a
    jump to it and are on no stack: a person sees their callers."""

    def __init__(self, name, build, places, callers, arguments, text=None):
        self.name, self.build, self.places, self.callers = name, build, places, callers
        self.arguments, self.text = arguments, text


PACKAGES = (
    Package("lua5.4", "echo '#define DEB_HOST_MULTIARCH \"multiarch\"' > "
            "src/lua5.4-deb-multiarch.h && gcc -g -O2 -DLUA_USE_POSIX -o $OUT "
            "$(ls src/*.c | grep -v luac.c) -lm",
            (("luaM_malloc_", "src/lmem.c", r"newblock = firsttry\(g, NULL, tag, size\)"),
             ("luaM_realloc_", "src/lmem.c", r"newblock = firsttry\(g, block, osize, nsize\)"),
             ("resizebox", "src/lauxlib.c", r"allocf\(ud, box->box, box->bsize, newsize\)")),
            ("luaH_new", "luaH_resize", "luaV_execute", "setnodevector", "main"),
            [os.path.join(INPUTS, "work.lua")]),
    Package("bzip2", "gcc -g -O2 -D_FILE_OFFSET_BITS=64 -o $OUT blocksort.c huffman.c crctable.c "
            "randtable.c compress.c decompress.c bzlib.c bzip2.c",
            (("BZ2_bzCompressInit", "bzlib.c", r"s->arr1 *= BZALLOC"),
             ("BZ2_bzCompressInit", "bzlib.c", r"s->arr2 *= BZALLOC"),
             ("BZ2_bzWriteOpen", "bzlib.c", r"bzf = malloc")),
            ("BZ2_bzWriteOpen", "compressStream", "compress", "main"), ["-9", "-c"],
            b"many bytes " * 30000),
    Package("libzstd", "make -s -C programs zstd HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 "
            "CFLAGS='-O2 -g' >/dev/null && cp programs/zstd $OUT",
            (("ZSTD_cwksp_create", "lib/compress/zstd_cwksp.h", r"= ZSTD_customMalloc\("),),
            ("ZSTD_resetCCtx_internal", "FIO_compressZstdFrame", "FIO_compressFilename", "main"),
            ["--single-thread", "-c"], b"many bytes " * 30000),
)


def build(sources, package):
    """(program, source tree)"""
    tree = sources.unpack(package.name)
    program = os.path.join(sources.path, package.name, "program")
    if not os.path.exists(program):
        subprocess.run(["sh", "-ec", package.build], cwd=tree, check=True,
                       env={**os.environ, "OUT": program})
    return program, tree


def lines_like(path, pattern):
    with open(path, errors="replace") as file:
        found = [number for number, line in enumerate(file, 1) if re.search(pattern, line)]
    profiled.expect(found, "%s: no line like %s" % (path, pattern))
    return found


def frames_of(data):
    """Every frame's function that stands on any stack."""
    names = set()
    for row in data["rows"]:
        for frame in row["stack"]:
            names.add(frame if isinstance(frame, str) else
                      frame.get("function") or frame.get("name"))
    return names


def profile(package, program, path, name):
    trace = os.path.join(path, name + ".bpt")
    plain = profiled.run([program, *package.arguments], stdin=package.text)
    result = profiled.run([program, *package.arguments], trace, 4096, stdin=package.text)
    profiled.expect((plain.status, plain.stdout) == (result.status, result.stdout), "differs")
    return trace


def rows_of(trace, by):
    return profiled.report(trace, "--by", by, "--metric", "allocated", "--rows", "100000")


def named(package, program, tree, path):
    trace = profile(package, program, path, "named")
    functions = {row["name"] for row in rows_of(trace, "function")["rows"]}
    lines = [row["name"] for row in rows_of(trace, "line")["rows"]]
    for function, source, pattern in package.places:
        profiled.expect(function in functions, "%s not among %s" % (function, functions))
        wanted = ["/%s:%d" % (os.path.basename(source), line)
                  for line in lines_like(os.path.join(tree, source), pattern)]
        profiled.expect(any(("/" + line).endswith(want) for line in lines for want in wanted),
                        "%s not among %s" % (wanted, lines))
    frames = frames_of(rows_of(trace, "stack"))
    absent = [caller for caller in package.callers if caller not in frames]
    profiled.expect(not absent, "%s not on the stacks: %s" % (absent, sorted(map(str, frames))))


def stripped(package, program, path):
    """Without its symbols a program's frames are exported names or module+offset."""
    bare = os.path.join(path, "bare-" + package.name)
    shutil.copy(program, bare)
    subprocess.run(["strip", "--strip-all", bare], check=True)
    listing = subprocess.run(["nm", "-D", "--defined-only", bare], capture_output=True, text=True,
                             check=False).stdout
    exported = {line.split()[2] for line in listing.splitlines()}
    frames = frames_of(rows_of(profile(package, bare, path, "bare"), "stack"))
    inside = [name for name in frames if re.search(r"bare-", name)]
    profiled.expect(any(re.fullmatch(r".*bare-[\w.-]+\+0x[0-9a-f]+", name) for name in inside),
                    "no module+offset: %s" % frames)
    symbols = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True,
                             check=True)
    own = {line.split()[-1] for line in symbols.stdout.splitlines()} - exported
    wrong = [name for name in frames if name in own and name not in ("_start", "main")]
    profiled.expect(not wrong, "named without a symbol: %s" % wrong)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: source_packages.py FOLDER")
    sources, tap = Sources(sys.argv[1]), profiled.Tap()
    for package in PACKAGES:
        program, tree = build(sources, package)
        with profiled.directory() as path:
            tap.attempt("%s: functions, lines and callers" % package.name,
                        lambda: named(package, program, tree, path))
            tap.attempt("%s: stripped" % package.name, lambda: stripped(package, program, path))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
