#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debug files from servers: debuginfod.py RESOLVE_ADDRESSES BYTEPOLL. TAP.

A server on this machine gives the right file, none, another, garbage, half of one, nothing at all
for a long time, or no end of bytes; and must not be asked where nobody said so.
"""
import ctypes.util
import http.server
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

RESOLVE, BYTEPOLL = map(os.path.abspath, sys.argv[1:3])
SOURCE = """
static inline __attribute__((always_inline)) int inside(int a) {
	__asm__ volatile(".globl here\\n.hidden here\\nhere: nop\\n nop");
	return a * 7; }
static __attribute__((noinline)) int hidden(int a) { return inside(a) * 5; }
int main(int count, char **words) { return hidden(count); }
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """What it does is set by the tests; `asked` are the paths."""
    asked, body, mode = [], b"", "whole"

    def log_message(self, *_):
        pass

    def do_GET(self):
        Handler.asked.append(self.path)
        try:
            self.reply()
        except OSError:
            pass

    def reply(self):
        if Handler.mode == "missing":
            self.send_error(404)
            return
        if Handler.mode == "silent":
            time.sleep(20)
            return
        self.send_response(200)
        if Handler.mode == "endless":
            self.end_headers()
            for _ in range(2000):
                self.wfile.write(bytes(65536))
                time.sleep(0.01)
            return
        self.send_header("Content-Length", str(len(Handler.body)))
        self.end_headers()
        self.wfile.write(Handler.body[:len(Handler.body) // 2] if Handler.mode == "half" else Handler.body)


def shell(command, **options):
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True, **options).stdout


class Case:
    """A stripped program whose debug file only the server has."""

    def __init__(self, folder, port):
        self.folder, self.url = folder, f"http://127.0.0.1:{port}"
        (folder / "p.c").write_text(SOURCE)
        shell("gcc -O2 -g -Wl,--build-id p.c -o p && objcopy --only-keep-debug p p.debug", cwd=folder)
        shell("gcc -O2 -g -DOTHER=1 -Wl,--build-id=0x11223344556677889900aabbccddeeff00112233 p.c -o q", cwd=folder)
        self.build_id = re.search("Build ID: ([0-9a-f]+)", shell("readelf -n p", cwd=folder)).group(1)
        self.address = shell("nm p | awk '$3 == \"here\" { print $1 }'", cwd=folder).strip()
        shell("strip p", cwd=folder)
        self.number = 0

    def ask(self, *options, **environment):
        """The innermost function and the seconds it took, with caches of its own."""
        self.number += 1
        cache = self.folder / f"cache{self.number}"
        cache.mkdir(mode=0o700)
        Handler.asked.clear()
        start = time.monotonic()
        output = subprocess.run(
            [RESOLVE, "--build-id", self.build_id, *options, "p"], cwd=self.folder, input=self.address,
            capture_output=True, text=True, timeout=60, check=True,
            env={**os.environ, "XDG_CACHE_HOME": str(cache), **environment}).stdout
        return output.split("\n")[0], time.monotonic() - start


def tests(case):
    unnamed = "p+0x" + case.address.lstrip("0")
    asking = ("--debuginfod", case.url)
    good = (case.folder / "p.debug").read_bytes()

    def serve(mode, body=good):
        Handler.mode, Handler.body = mode, body

    serve("whole")
    yield "nobody is asked unless told to", case.ask(DEBUGINFOD_URLS=case.url)[0] == unnamed and not Handler.asked
    yield "the right file names", case.ask(*asking)[0] == "inside" and \
        Handler.asked == [f"/buildid/{case.build_id}/debuginfo"]
    serve("missing")
    yield "none there", case.ask(*asking)[0] == unnamed and len(Handler.asked) > 0
    yield "no server there", case.ask("--debuginfod", "http://127.0.0.1:9")[0] == unnamed
    yield "a second server", case.ask("--debuginfod", "http://127.0.0.1:9 " + case.url)[0] == unnamed and Handler.asked
    serve("whole", (case.folder / "q").read_bytes())
    yield "another file is not used", case.ask(*asking)[0] == unnamed and len(Handler.asked) > 0
    for name, body in (("garbage", b"\x7fELF" + b"\xff" * 5000), ("nothing", b""),
                       ("a page", b"<script>alert(1)</script>")):
        serve("whole", body)
        yield f"{name} is not used", case.ask(*asking)[0] == unnamed
    serve("half")
    yield "half a file is not used", case.ask(*asking)[0] == unnamed
    serve("silent")
    name, seconds = case.ask(*asking, DEBUGINFOD_TIMEOUT="2")
    yield f"silence ends ({seconds:.1f} s)", name == unnamed and seconds < 15
    serve("endless")
    name, seconds = case.ask(*asking, DEBUGINFOD_MAXTIME="2", DEBUGINFOD_TIMEOUT="2")
    yield f"no end of bytes ends ({seconds:.1f} s)", name == unnamed and seconds < 15
    for words, text in ((["--debuginfod", "ftp://x"], "no URL"), (["--debuginfod", ""], "no server"),
                        (["--debuginfod", "http://a\x1b[31m"], "control"),
                        (["--debuginfod", "environment"], "DEBUGINFOD_URLS is not set")):
        environment = {key: value for key, value in os.environ.items() if key != "DEBUGINFOD_URLS"}
        end = subprocess.run([BYTEPOLL, "report", *words, "none.bpt"], capture_output=True, text=True, env=environment)
        yield f"usage: {text}", end.returncode == 2 and text in end.stderr and end.stderr.count("\n") == 1 \
            and "\x1b" not in end.stderr


def main():
    if ctypes.util.find_library("debuginfod") is None and not pathlib.Path(
            "/usr/lib/x86_64-linux-gnu/libdebuginfod.so.1").exists():
        print("1..0 # SKIP no libdebuginfod")
        return 0
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failed = number = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, good) in enumerate(tests(Case(pathlib.Path(folder), server.server_port)), 1):
            print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
            failed += not good
    print(f"1..{number}")
    return failed != 0


sys.exit(main())
