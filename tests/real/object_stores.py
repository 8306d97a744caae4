#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll push` and `bytepoll fleet` with real servers of the S3 protocol, those of these that are on PATH:

    s3s-fs        cargo install s3s-fs --features binary (it checks signatures)
    moto_server   pip install 'moto[server]' (it does not)

Recordings are pushed by pushers that are killed (20 times, seeded) and then by one that is not, and fetched. The bytes
that arrive must be those of a push into a folder. s3s-fs must refuse a wrong secret.

Usage: object_stores.py BUILD
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)
os.environ["BYTEPOLL_BUILD"] = BUILD
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenario"))
import profiled  # noqa: E402
from profiled import expect  # noqa: E402
from test_push import TAGS, content, record  # noqa: E402
from test_push_bucket import free_port  # noqa: E402

KILLS, RUNS, PLACE = 20, 3, "s3://profiles/of/shop"
SERVERS = {"s3s-fs": ["--host", "127.0.0.1", "--port", "PORT", "--access-key", "key", "--secret-key", "secret", "ROOT"],
           "moto_server": ["-H", "127.0.0.1", "-p", "PORT"]}


def start(name, folder):
    """The server and its address, once it answers; its bucket is there."""
    root, port = os.path.join(folder, name), free_port()
    os.makedirs(os.path.join(root, "profiles"))
    words = [{"PORT": str(port), "ROOT": root}.get(word, word) for word in SERVERS[name]]
    server = subprocess.Popen([name, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            urllib.request.urlopen("http://127.0.0.1:%d/profiles" % port, timeout=5).close()
            break
        except urllib.error.HTTPError:
            break
        except OSError:
            time.sleep(.1)
    if name == "moto_server":
        urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:%d/profiles" % port, method="PUT"), timeout=30).close()
    return server, "http://127.0.0.1:%d" % port


def check(name, folder, traces, expected):
    server, url = start(name, folder)
    cache = os.path.join(folder, "cache-" + name)
    variables = dict(os.environ, AWS_ENDPOINT_URL=url, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="key",
                     AWS_SECRET_ACCESS_KEY="secret", XDG_CACHE_HOME=cache)

    def bytepoll(*words, **more):
        result = subprocess.run([profiled.BYTEPOLL, *words], env=variables | more, capture_output=True, timeout=300, check=False)
        return result.returncode, (result.stdout + result.stderr).decode()
    push = ["push", traces, "--to", PLACE, *TAGS]
    draw, killed = random.Random(5), 0
    try:
        if name == "s3s-fs":
            status, said = bytepoll(*push, AWS_SECRET_ACCESS_KEY="wrong")
            expect(status == 1 and "403" in said, "a wrong secret: %s" % said)
        for _ in range(KILLS):
            pusher = subprocess.Popen([profiled.BYTEPOLL, *push], env=variables, stdout=subprocess.DEVNULL)
            time.sleep(draw.uniform(0, .2))
            pusher.kill()
            killed += pusher.wait() != 0
        status, said = bytepoll(*push)
        expect(status == 0, said)
        status, said = bytepoll(*push)
        expect(status == 0 and "0 pushed, %d there already" % RUNS in said, said)
        status, said = bytepoll("fleet", "top", PLACE, "--json")
        expect("fetching %d runs" % RUNS in said and (status == 0 or "duckdb" in said), said)
        found = content(os.path.join(cache, "bytepoll/fleet")).values()
        expect(sorted(found) == sorted(content(expected).values()), "what arrived is not what was pushed")
    finally:
        server.kill()
        server.wait()
    print("%s: %d runs, byte by byte, after %d kills" % (name, RUNS, killed))


def main():
    names = [name for name in SERVERS if shutil.which(name)]
    if not names:
        sys.exit("no server is on PATH: see the beginning of this file")
    with tempfile.TemporaryDirectory() as folder:
        traces, expected = record(folder, RUNS), os.path.join(folder, "expected")
        result = profiled.run([profiled.BYTEPOLL, "push", traces, "--to", expected, *TAGS])
        expect(result.status == 0, result.stderr)
        for name in names:
            check(name, folder, traces, expected)
    return 0


if __name__ == "__main__":
    sys.exit(main())
