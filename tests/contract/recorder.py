#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the recorder may be, read from the built shared object: it lives in somebody else's process.

  undefined     every undefined symbol stands in recorder-undefined.txt (no malloc, no stdio, no libm,
                no thread of its own, no __tls_get_addr)
  exports       what it exports is what src/target/hooks/exports.map names, and that is what src/target/hooks/names.h
                lists: no more, no less
  tls           at most 64 bytes of thread-local storage, initial-exec
  needed        it needs libc (and the loader) alone
  (these four for the recorder that verifies, too)
  instructions  malloc and free, on their longest way from entry to the tail jump into the real
                function, have at most 10 instructions together; so do operator new and sized operator
                delete of libstdc++ at most 13 with all that they call; each operator has one. With
                `clang`, the same sources compiled by clang, which takes two for a jump through a table
                where a function has more than one argument: 16

Usage: recorder.py CHECK SOURCE_ROOT BUILD_ROOT
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

LIBRARY = "libbytepoll-recorder.so"
LIBRARY_VERIFY = "libbytepoll-recorder-verify.so"
OF_BOTH = ("undefined", "exports", "tls", "needed")  # the verifying hooks are not hot
TLS_BYTES_MAX = 64
# What a pair runs: libstdc++'s new calls malloc, its sized delete the plain one, and that free.
PAIR_INSTRUCTIONS_MAX = 10
OF_MALLOC = ("malloc", "free")
OF_OPERATORS = ("_Znwm", "_ZdlPvm", "_ZdlPv")
FREE_BYTES_MIN = 28  # what src/target/hooks/binding/patch.c may write over it


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def names_of(library, *flags):
    """Symbol names without versions."""
    lines = output("nm", "-D", *flags, library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line.split()}


def check_undefined(source, library):
    with open(os.path.join(source, "tests/contract/recorder-undefined.txt"), encoding="utf-8") as f:
        allowed = {line.split("#")[0].strip() for line in f} - {""}
    for name in sorted(names_of(library, "--undefined-only") - allowed):
        yield f"undefined symbol {name} is not in tests/contract/recorder-undefined.txt"


def script_names(path):
    """The global names of a version script."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/|#[^\n]*", "", file.read(), flags=re.DOTALL)
    names, is_global = set(), True
    for word in re.findall(r"global\s*:|local\s*:|[\w*?]+(?=\s*;)", text):
        if word.endswith(":"):
            is_global = word.startswith("global")
        elif is_global:
            names.add(word)
    return names


def listed_names(path):
    """The names, hooked or to be called, of the list from which everything else is made."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    return set(re.findall(r"\bBP_(?:HOOK|CALL)\((\w+),", text))


def check_exports(source, library):
    named = script_names(os.path.join(source, "src/target/hooks/exports.map"))
    exported = names_of(library, "--defined-only")
    if not named:
        yield "src/target/hooks/exports.map names nothing"
    listed = listed_names(os.path.join(source, "src/target/hooks/names.h"))
    for name in sorted(named ^ listed):
        yield f"{name} stands in only one of src/target/hooks/exports.map and src/target/hooks/names.h"
    for name in sorted(exported - named):
        yield f"{name} is exported, but not in src/target/hooks/exports.map"
    for name in sorted(named - exported):
        yield f"{name} is in src/target/hooks/exports.map, but not exported"
    for options, committed in (([], "src/target/hooks/exports.map"), (["--page"], "docs/hooks.md")):
        made = subprocess.run([sys.executable, os.path.join(source, "tools/make_exports.py"), *options,
                               os.path.join(source, "src/target/hooks/names.h")],
                              capture_output=True, text=True, check=True).stdout
        with open(os.path.join(source, committed), encoding="utf-8") as file:
            if file.read() != made:
                yield f"{committed} is not what tools/make_exports.py makes of src/target/hooks/names.h"



def check_tls(_, library):
    segments = re.findall(r"^\s*TLS\s+(.*)$", output("readelf", "-lW", library), re.MULTILINE)
    if len(segments) != 1:
        yield f"{len(segments)} TLS segments instead of 1"
        return
    size = int(segments[0].split()[4], 16)
    if size > TLS_BYTES_MAX:
        yield f"{size} bytes of thread-local storage, more than {TLS_BYTES_MAX}"
    relocations = output("readelf", "-rW", library)
    if not (re.search(r"FLAGS.*STATIC_TLS", output("readelf", "-dW", library)) or
            "R_AARCH64_TLS_TPREL" in relocations):  # for aarch64 the linker sets no such flag
        yield "thread-local storage is not initial-exec (no STATIC_TLS flag)"
    if re.search(r"DTPMOD|TLSDESC", relocations):
        yield "thread-local storage is reached by a dynamic model (DTPMOD or TLSDESC relocation)"


def check_needed(_, library):
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-dW", library)))
    for name in sorted(needed - {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}):
        yield f"needs {name}"


def place_of(file, function):
    """(section, start, end) of a defined function."""
    symbol = re.search(rf"^\s*\d+:\s+([0-9a-f]+)\s+(\d+)\s+FUNC\s+\w+\s+\w+\s+(\d+)\s+{function}(?:@\S+)?$",
                       output("readelf", "-sW", file), re.MULTILINE)
    if symbol is None:
        sys.exit(f"{file} defines no function {function}")
    section = re.search(rf"^\s*\[\s*{symbol.group(3)}\]\s+(\S+)", output("readelf", "-SW", file),
                        re.MULTILINE)
    start = int(symbol.group(1), 16)
    return section.group(1), start, start + int(symbol.group(2))


def disassemble(file, function):
    """{address: (mnemonic, operands, address of the next)} of a function, and its entry. Where the
    linker has still to fill in the target of a jump, its operands are empty: it leaves the function."""
    section, start, end = place_of(file, function)  # by place, since a function can have many names
    text = output("objdump", "-dr", "--no-show-raw-insn", "-w", "-j", section,
                  f"--start-address={start}", f"--stop-address={end}", file)
    rows = []
    for line in text.splitlines():
        match = re.match(r"^\s+([0-9a-f]+):\s+(?:(?:bnd|notrack|data16|cs|rex\.?\w*)\s+)*(\w+)\s*(.*)$",
                         line)
        if match is None or match.group(2).startswith("R_"):
            continue  # no instruction, or a line of a relocation alone
        operands = match.group(3).split("\t")[0].split("#")[0].strip()
        unresolved = "R_X86_64_" in line and match.group(2).startswith(("j", "call"))
        rows.append((int(match.group(1), 16), match.group(2),
                     "" if unresolved and not operands.startswith("*") else operands))
    code = {row[0]: (row[1], row[2], following[0] if following else None)
            for row, following in zip(rows, rows[1:] + [None])}
    return code, rows[0][0] if rows else None


def is_padding(name, operands):
    return name.startswith("nop") or name == "endbr64" or (name, operands) == ("xchg", "%ax,%ax")


def hot_paths(code, address, before=()):
    """Every way from `address` to an indirect tail jump, which is how the real function is reached:
    tuples of (mnemonic, operands). A road that returns or leaves the function otherwise is cold."""
    if address not in code or len(before) > 40:
        return []
    name, operands, following = code[address]
    here = before if is_padding(name, operands) else before + ((name, operands),)
    if name.startswith("jmp") and operands.startswith("*"):
        return [here]
    if name.startswith("ret"):
        return []
    paths = []
    if name.startswith("j"):
        target = re.match(r"[0-9a-f]+", operands)
        if target:
            paths += hot_paths(code, int(target.group(), 16), here)
    if not name.startswith("jmp"):
        paths += hot_paths(code, following, here)
    return paths


def longest_path(file, function, compiler):
    """Instructions of the longest way of a hook into the real function, and what is wrong with it."""
    paths = hot_paths(*disassemble(file, function))
    if not paths:
        return 0, [f"{compiler}: {function} never ends in an indirect tail jump"]
    longest = max(paths, key=len)
    print(f"{compiler}: {function} {len(longest)}: " + "; ".join(" ".join(i) for i in longest))
    if any(name.startswith("call") for path in paths for name, _ in path):
        return len(longest), [f"{compiler}: {function} calls something on its way to the real function"]
    return len(longest), []


def hot_hooks(source):
    """malloc, free, and the operators of C++."""
    listed = listed_names(os.path.join(source, "src/target/hooks/names.h"))
    return ["malloc", "free"] + sorted(name for name in listed if name.startswith(("_Zn", "_Zd")))


def judge_hooks(files, compiler, operator_max):
    """`files`: {hook: the file that has it}."""
    lengths = {}
    for hook, file in files.items():
        lengths[hook], findings = longest_path(file, hook, compiler)
        yield from findings
        if hook.startswith("_Z") and lengths[hook] > operator_max:
            yield f"{compiler}: {hook} takes {lengths[hook]} instructions, more than {operator_max}"
    for pair, most in ((OF_MALLOC, PAIR_INSTRUCTIONS_MAX),
                       (OF_OPERATORS + OF_MALLOC, PAIR_INSTRUCTIONS_MAX + len(OF_OPERATORS) * operator_max)):
        total = sum(lengths[hook] for hook in pair)
        if total > most:
            yield f"{compiler}: {' + '.join(pair)} take {total} instructions, more than {most}"


def room_of(library, function):
    """Bytes from a function's start to the next one's."""
    starts = sorted({int(row.split()[0], 16) for row in output("nm", library).splitlines()
                     if re.match(r"[0-9a-f]+ [tT] ", row)})
    start = place_of(library, function)[1]
    return min(other for other in starts if other > start) - start


def check_instructions(source, library):
    by_clang = "clang version" in output("readelf", "-p", ".comment", library)
    yield from judge_hooks({hook: library for hook in hot_hooks(source)}, "as built", 2 if by_clang else 1)
    if room_of(library, "free") < FREE_BYTES_MIN:
        yield f"free has room for {room_of(library, 'free')} bytes, and takes {FREE_BYTES_MIN}"


def clang_objects(build, directory, hooks):
    """The hooks compiled by clang with the flags of the build: {hook: object file}."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    found = {}
    for index, entry in enumerate(commands):
        if "src/target/hooks/" not in entry["file"] or LIBRARY + ".p" not in entry["output"]:
            continue
        target = os.path.join(directory, f"{index}.o")
        words = shlex.split(entry["command"])
        while os.path.basename(words[0]) in ("ccache", "sccache"):
            words = words[1:]
        words[0] = "clang"
        words[words.index("-o") + 1] = target
        result = subprocess.run(words, cwd=entry["directory"], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"clang cannot compile {entry['file']}:\n{result.stderr}")
        defined = output("nm", "--defined-only", target)
        found.update({hook: target for hook in hooks if re.search(rf" T {hook}$", defined, re.MULTILINE)})
    return found


def check_clang(source, library):
    if shutil.which("clang") is None:
        yield "clang is not installed: run scripts/install-deps"
        return
    with tempfile.TemporaryDirectory() as directory:
        hooks = hot_hooks(source)
        objects = clang_objects(os.path.dirname(library), directory, hooks)
        if set(objects) != set(hooks):
            yield f"src/target/hooks defines no {' or '.join(sorted(set(hooks) - set(objects)))}"
            return
        yield from judge_hooks(objects, "clang", 2)


CHECKS = {"undefined": check_undefined, "exports": check_exports, "tls": check_tls,
          "needed": check_needed, "instructions": check_instructions, "clang": check_clang}


def main():
    check, source, build = sys.argv[1:]
    findings = []
    for name in (LIBRARY, LIBRARY_VERIFY) if check in OF_BOTH else (LIBRARY,):
        library = os.path.join(os.path.abspath(build), name)
        if not os.path.exists(library):
            print(f"{library} was not built: there is nothing to check")
            return 1
        findings += [f"{name}: {finding}" for finding in CHECKS[check](source, library)]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
