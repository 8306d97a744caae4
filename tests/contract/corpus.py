#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What every command prints, byte for byte: the command lines in tests/contract/corpus/*.txt are run, and
standard output, standard error, exit status and the files that come of them are compared with what stands
there behind each.

Usage: corpus.py BUILD                       compares; shows a difference as a patch
       corpus.py BUILD --update              writes what the lines print now into the *.txt
       corpus.py BUILD --show 'bytepoll ...' prints what one line makes, whole

A line runs in a folder of its own, which holds the recordings of tests/data/corpus; `made` (the traces that
tests/data/trace makes), `dotnet` and `pprof`. It begins with what is to be set in its environment, and
` && ` stands between commands that follow each other. Behind it stand

  = STATUS           of the last command
  | LINE, ! LINE     of standard output, of standard error
  + FILE             a file that is new or has changed, and then its lines
  |# SUM             instead of lines: how many bytes and lines, and the beginning of their SHA-256, where
                     there are more than PLAIN_BYTES_MAX bytes
  ~                  the last line has no end

Bytes that are no text stand as \\xNN, and so does a blank at the end of a line. Changed before it is compared
is only what a compression library or another part of the project may change: gzip is unpacked, a page is
shown by its parts (page_text), its size is SIZE, and the program's version VERSION.
"""
import base64
import concurrent.futures
import difflib
import gzip
import hashlib
import lzma
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CORPUS = SOURCE / "tests/contract/corpus"
DOTNET = ["zoo-rundown", "kinds-doubles", "small-and-big", "lost-gaps", "ratio-loh", "truncated"]
LINES_LEAST = 200
NEWLINE = b"\n"
PLAIN_BYTES_MAX = 5000
DIFFERENCE_LINES_MAX = 40
SECONDS_MAX = 60

# Of these commands the lines need a running process; their options are tested in tests/scenario.
STEERING = {"run", "control", "live", "dotnet"}
# Options that ask a server, or a terminal, or are the same everywhere and shown once.
ELSEWHERE = {"--debuginfod", "--no-pager", "--no-symbol-cache", "--debug-directory", "--help"}


class Shelf:
    """The recordings, unpacked once; every line gets links to them."""

    def __init__(self, folder, build):
        self.folder = folder / "shelf"
        self.folder.mkdir()
        with tarfile.open(SOURCE / "tests/data/corpus/recordings.tar.xz") as archive:
            # What a member may do is limited where Python knows how: 3.12 warns where nobody says it.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(self.folder)
        shutil.copytree(build / "tests/unit/trace/traces", self.folder / "made")
        (self.folder / "dotnet").mkdir()
        for name in DOTNET:
            packed = SOURCE / f"tests/data/dotnet/{name}.nettrace.xz"
            (self.folder / f"dotnet/{name}.nettrace").write_bytes(lzma.decompress(packed.read_bytes()))
        (self.folder / "pprof").mkdir()
        for file in (SOURCE / "tests/data/pprof").glob("go-*"):
            shutil.copy(file, self.folder / "pprof")
        for file in self.files(self.folder):
            os.utime(file, (0, 0))

    @staticmethod
    def files(folder):
        return sorted(path for path in folder.rglob("*") if path.is_file())

    def lend(self, folder, to_change):
        shutil.copytree(self.folder, folder, copy_function=shutil.copy2 if to_change else os.link)

    def changed(self, folder):
        """The files that are not as they were lent, which was with the time 0. One that is a link and has
        another time was written to where no line may write."""
        for path in self.files(folder):
            mine = self.folder / path.relative_to(folder)
            if mine.exists() and path.stat().st_mtime == 0:
                continue
            if not mine.exists() or mine.samefile(path) or mine.read_bytes() != path.read_bytes():
                yield path


def sum_of(data):
    return f"{len(data)} bytes, {data.count(NEWLINE)} lines, {hashlib.sha256(data).hexdigest()[:32]}"


def rounded_cells(data):
    """The cells of a page (docs/page-format.md) with nine digits of each sum: the last one depends on whether
    the processor multiplies and adds at once."""
    start = len(data) - 16 * 8 * int.from_bytes(data[8:12], "little")
    return data[:start] + b"".join(b"%.9g\0" % value for value, in struct.iter_unpack("<d", data[start:]))


def page_text(data):
    """A page by its parts: what web/dist holds is named, what is packed is unpacked."""
    web = SOURCE / "web/dist"
    for name in ("page.css", "page.js"):
        content = (web / name).read_bytes()
        digest = base64.b64encode(hashlib.sha256(content).digest())
        data = data.replace(content, f"[{name}]".encode()).replace(digest, f"[sha256 of {name}]".encode())

    def unpacked(match):
        part = gzip.decompress(base64.b64decode(match.group(2)))
        if part.startswith(b"BPC2"):
            part = rounded_cells(part)
        if part == (web / "estimate.wasm").read_bytes():
            part = b"[estimate.wasm]"
        elif len(part) > PLAIN_BYTES_MAX or b"\0" in part:
            part = f"[{sum_of(part)}]".encode()
        return match.group(1) + part + match.group(3)
    return re.sub(rb'(<script type="text/plain" id="[\w-]+">)([\w+/=]+)(</script>)', unpacked, data)


def lines_of(mark, data, version, whole=False):
    """Bytes as lines of the corpus. `whole`: however many they are."""
    if not data:
        return []
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    if data.startswith(b"<!doctype html>"):
        data = page_text(data)
    data = re.sub(rb'(\bbytepoll[ @]|"version":")' + re.escape(version) + rb"\b", rb"\1VERSION", data)
    data = re.sub(rb"(wrote (?:the page|\S+\.html) \()[\d.]+ [KM]iB", rb"\1SIZE", data)
    if len(data) > PLAIN_BYTES_MAX and not whole:
        return [f"{mark}# {sum_of(data)}"]
    text = data.decode("utf-8", "backslashreplace")
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]|\\x|[ \t](?=\n|\Z)",
                  lambda match: "".join(f"\\x{ord(c):02x}" if c != "x" else c for c in match.group()), text)
    lines = [(mark + " " + line).rstrip() for line in text.split("\n")]
    return lines[:-1] if text.endswith("\n") else lines + ["~"]


class Corpus:
    def __init__(self, build, folder):
        self.program = str(build.resolve() / "bytepoll")
        self.folder = folder
        self.shelf = Shelf(folder, build)
        shown = subprocess.run([self.program, "--version"], check=True, capture_output=True).stdout
        self.version = shown.split()[1]

    def environment(self, home):
        return {"PATH": "/usr/bin:/bin", "HOME": home, "XDG_CACHE_HOME": home, "TZ": "UTC", "LC_ALL": "C",
                "COLUMNS": "80", "LINES": "24", "TERM": "dumb", "NO_COLOR": "1"}

    def outcome(self, number, line):
        """What one line makes, as lines of the corpus."""
        folder, home = self.folder / f"line{number}", self.folder / f"home{number}"
        home.mkdir()
        self.shelf.lend(folder, to_change="bytepoll fold" in line)
        output, errors, status = b"", b"", 0
        for command in line.split(" && "):
            words = shlex.split(command)
            environment = self.environment(str(home))
            while "=" in words[0]:
                name, _, value = words.pop(0).partition("=")
                environment[name] = value
            done = subprocess.run(words, executable=self.program, cwd=folder, env=environment, check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS_MAX)
            output, errors, status = output + done.stdout, errors + done.stderr, done.returncode
        helps = re.search(r"(^| )(--)?help( |$)", line) is not None
        lines = [f"= {status}"] + lines_of("|", output, self.version, whole=helps) + lines_of("!", errors, self.version)
        for path in self.shelf.changed(folder):
            lines += [f"+ {path.relative_to(folder)}"] + lines_of("|", path.read_bytes(), self.version)
        shutil.rmtree(folder)
        shutil.rmtree(home)
        return lines


def blocks_of(text):
    """A file of the corpus: what stands on top, then (line, what it makes, what follows it)."""
    blocks = [[None, [], []]]
    for line in text.splitlines():
        if line.startswith("$ "):
            blocks.append([line[2:], [], []])
        elif line == "" or line.startswith("## "):
            blocks[-1][2].append(line)
        else:
            blocks[-1][1].append(line)
    return blocks


def options_not_used(program, lines):
    """Every option that a command's help names stands in some line of that command."""
    listed = subprocess.run([program], check=False, capture_output=True, text=True).stdout
    commands = re.findall(r"^  (\w+)  +\S", listed.split("Commands:")[1], re.MULTILINE)
    for command in commands:
        mine = [line for line in lines if re.search(rf"\bbytepoll {command}\b", line)]
        if not any(line.endswith("--help") for line in mine):
            yield f"no line shows the help of {command}"
        if command in STEERING:
            continue
        text = subprocess.run([program, command, "--help"], check=True, capture_output=True,
                              text=True).stdout
        for short, option in re.findall(r"^  +(?:(-\w), )?(--[\w-]+)", text, re.MULTILINE):
            names = [name for name in (short, option) if name]
            if option not in ELSEWHERE and not any(
                    name in re.split(r"[ =]", line) for line in mine for name in names):
                yield (f"no line of {command} has {option}: add a line that begins with '$ bytepoll {command}' to a file of "
                       f"tests/contract/corpus, then run this with --update")


def difference(line, wanted, made):
    patch = list(difflib.unified_diff(wanted, made, "committed", "made", lineterm="", n=1))
    more = len(patch) - DIFFERENCE_LINES_MAX
    return [f"$ {line}"] + patch[2:DIFFERENCE_LINES_MAX + 2] + ([f"... {more} lines more"] if more > 2 else [])


def run(build, update):
    files = {path: blocks_of(path.read_text(encoding="utf-8")) for path in sorted(CORPUS.glob("*.txt"))}
    blocks = [block for parts in files.values() for block in parts if block[0] is not None]
    lines = [block[0] for block in blocks]
    findings = []
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        corpus = Corpus(build, pathlib.Path(folder))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            made = list(pool.map(corpus.outcome, range(len(lines)), lines))
        findings += list(options_not_used(corpus.program, lines))
    if len(lines) < LINES_LEAST:
        findings.append(f"{len(lines)} lines, fewer than {LINES_LEAST}")
    findings += [f"twice: {line}" for line in sorted({line for line in lines if lines.count(line) > 1})]
    changed = 0
    for block, outcome in zip(blocks, made):
        if block[1] != outcome:
            changed += 1
            if not update:
                print("\n".join(difference(block[0], block[1], outcome)))
        block[1] = outcome
    print("\n".join(findings + [f"{len(lines)} command lines, {changed} of them print something else"]))
    if changed and not update:
        print("if this is meant: tests/contract/corpus.py BUILD --update, and the patch is part of the commit")
    if update:
        for path, parts in files.items():
            path.write_text("".join(
                "".join(text + "\n" for text in ([f"$ {line}"] if line is not None else []) + made + rest)
                for line, made, rest in parts), encoding="utf-8")
        changed = 0
    return 1 if changed or findings else 0


def main():
    build, options = pathlib.Path(sys.argv[1]), sys.argv[2:]
    if options[:1] == ["--show"]:
        global PLAIN_BYTES_MAX
        PLAIN_BYTES_MAX = sys.maxsize
        with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
            print("\n".join(Corpus(build, pathlib.Path(folder)).outcome(0, options[1])))
        return 0
    return run(build, options == ["--update"])


if __name__ == "__main__":
    sys.exit(main())
