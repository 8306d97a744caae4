#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll push --to s3://...` and `bytepoll fleet ... s3://...` against a server of our own (object_store.py).

The server checks every signature by its own computation, and fails on purpose: answers 500, 503 and 429, connections that
are cut before or after the work was done, slow and wrong answers. Pushers and servers are killed at random moments
(3; 200 with BYTEPOLL_LONG_TESTS=1; seeded). A run must never have its table of processes before all others, and at the end the
bucket holds each run once, byte by byte as a push into a folder writes it.

With a name of a check only that one runs.
"""
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

import object_store
import profiled
from profiled import expect
from test_push import TAGS, content, record

LONG = os.environ.get("BYTEPOLL_LONG_TESTS") == "1"
KILLS = 200 if LONG else 3
RUNS = 2
TABLES = 9
PLACE = "s3://profiles/of/shop"
SECRETS = (object_store.SECRET, object_store.KEY, object_store.TOKEN)


class Place:
    """A folder with recordings, what a push into a folder makes of them, and servers."""
    def __init__(self, folder):
        self.folder, self.servers = folder, []
        self.traces = record(folder, RUNS)
        self.expected = os.path.join(folder, "expected")
        result = profiled.run([profiled.BYTEPOLL, "push", self.traces, "--to", self.expected, *TAGS])
        expect(result.status == 0, result.stderr)
        self.cache = os.path.join(folder, "cache")

    def serve(self, name, **options):
        store = object_store.Store(os.path.join(self.folder, name), **options)
        self.servers.append(store)
        return store

    def bytepoll(self, store, *words, status=0, limit_s=300, **more):
        environment = store.environment(**{"XDG_CACHE_HOME": self.cache, **more})
        result = subprocess.run([profiled.BYTEPOLL, *words], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=limit_s, check=False)
        said = (result.stdout + result.stderr).decode()
        expect(result.returncode == status, "%s: status %s: %s" % (words, result.returncode, said))
        expect(not any(secret in said for secret in SECRETS), "a secret is shown: %s" % said)
        return said

    def push(self, store, *words, **more):
        return self.bytepoll(store, "push", self.traces, "--to", PLACE, *TAGS, *words, **more)

    def expect_whole(self, store):
        expect(not store.refused, "refused: %s" % store.refused)
        found, wanted = content(os.path.join(store.folder, "of/shop")), content(self.expected)
        expect({name: data for name, data in found.items() if not os.path.basename(name).startswith(".")} == wanted,
               "another store: %s" % sorted(found))

    def expect_spool_empty(self):
        expect(not os.listdir(os.path.join(self.cache, "bytepoll/push")), "something was left in the spool")


def whole_runs(folder):
    """Of each run the names of its tables; one with processes must have all of them."""
    runs = {}
    for name in content(folder):
        run, table = os.path.split(name)
        if not table.startswith("."):
            runs.setdefault(run, set()).add(table)
    for run, tables in runs.items():
        expect("processes.parquet" not in tables or len(tables) == TABLES, "a part of a run that looks whole: %s" % run)
    return [run for run, tables in runs.items() if "processes.parquet" in tables]


def check_once(place):
    for conditions in ("known", "ignored", "refused"):
        store = place.serve("once-" + conditions, conditions=conditions, token=object_store.TOKEN)
        expect("%d pushed, 0 there already" % RUNS in place.push(store), "first")
        place.expect_whole(store)
        expect(all(store.puts[i * TABLES + TABLES - 1].endswith("/processes.parquet") for i in range(RUNS)), store.puts)
        puts = len(store.puts)
        expect("0 pushed, %d there already" % RUNS in place.push(store), "again")
        expect(len(store.puts) == puts, "put again")
    place.expect_spool_empty()


def check_faults(place):
    """Each kind of fault once in a push; at length, every third request fails by each, then a quarter of all by any."""
    store = place.serve("faults", seed=3)
    order = [None, None] + [step for fault in object_store.FAULTS for step in (fault, None)]
    for script in [[None, None, fault] * (RUNS * TABLES) for fault in object_store.FAULTS] if LONG else [order]:
        shutil.rmtree(store.folder)
        store.script.extend(script)
        expect("%d pushed" % RUNS in place.push(store), script)
        store.script.clear()
        place.expect_whole(store)
    expect({fault for _, _, fault in store.requests} == {None, *object_store.FAULTS}, "not every fault")
    if not LONG:
        return
    shutil.rmtree(store.folder)
    store.faults = .25
    for _ in range(20):
        result = subprocess.run([profiled.BYTEPOLL, "push", place.traces, "--to", PLACE, *TAGS], stderr=subprocess.PIPE,
                                stdout=subprocess.PIPE, env=store.environment(XDG_CACHE_HOME=place.cache), check=False)
        whole_runs(os.path.join(store.folder, "of/shop"))
        if result.returncode == 0:
            break
    place.expect_whole(store)
    store.always = "500"
    expect("cannot be looked at: 500" in place.push(store, status=1), "a server that fails for ever")


def check_together(place):
    store = place.serve("together")
    pushers = [subprocess.Popen([profiled.BYTEPOLL, "push", place.traces, "--to", PLACE, *TAGS], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=store.environment(XDG_CACHE_HOME=place.cache))
               for _ in range(4)]
    said = [pusher.communicate()[0].decode() for pusher in pushers]
    expect(all(pusher.returncode == 0 for pusher in pushers), "a pusher failed")
    expect(sum(text.count("pushed %s" % place.traces) for text in said) == RUNS, "not once each: %s" % said)
    place.expect_whole(store)
    place.expect_spool_empty()


def check_other_names(place):
    """A part that another pusher left, whose tables differ, is not mixed with ours, until it is half an hour old."""
    store = place.serve("names")
    place.push(store)
    run = os.path.join(store.folder, "of/shop", sorted(os.listdir(place.expected))[0])
    os.unlink(os.path.join(run, "processes.parquet"))
    other = os.path.join(run, "samples.parquet")
    os.setxattr(other, "user.sha256", b"0" * 64)
    expect("left for later" in place.push(store, status=1), "mixed")
    os.utime(other, (time.time() - 1900, time.time() - 1900))
    expect("1 pushed, %d there already" % (RUNS - 1) in place.push(store), "taken over")
    place.expect_whole(store)
    os.unlink(os.path.join(run, "processes.parquet"))  # the same tables: a push that was cut short goes on at once
    puts = len(store.puts)
    place.push(store)
    expect(len(store.puts) == puts + 1, "tables that are there were put again")
    place.expect_whole(store)


def check_refused(place):
    store = place.serve("refused")
    for environment, message in (({"AWS_SECRET_ACCESS_KEY": "wrong"}, "403 SignatureDoesNotMatch"),
                                 ({"AWS_REGION": "us-east-1"}, "403 AuthorizationHeaderMalformed")):
        expect("cannot be looked at: 403" in place.push(store, status=1, **environment), message)
        expect(message in place.bytepoll(store, "fleet", "top", PLACE, status=1, **environment), message)
    store.script.append("301")
    expect("elsewhere" in place.bytepoll(store, "fleet", "top", PLACE, status=1), "sent elsewhere")
    for words, environment in (
            ([], {"AWS_ACCESS_KEY_ID": ""}), (["--endpoint", "http://example.com"], {}),
            (["--endpoint", "http://127.0.0.1.example.com"], {}), (["--endpoint", "http://127.0.0.1@example.com"], {}),
            (["--endpoint", "ftp://127.0.0.1"], {}), (["--endpoint", "https://"], {}),
            (["--endpoint", "https://host/path"], {}), ([], {"AWS_REGION": "no:where"})):
        place.push(store, *words, status=2, **environment)
    for name in ("s3://", "s3://x", "s3://Profiles/a", "s3://profiles/a//b", "s3://profiles/../b", "s3://profiles/a b",
                 "s3://profiles/a?b", "s3://profiles/%2e"):
        place.bytepoll(store, "push", place.traces, "--to", name, status=2)
    place.bytepoll(store, "push", place.traces, "--to", place.folder, "--endpoint", store.url(), status=2)
    expect("NoSuchBucket" in place.bytepoll(store, "fleet", "top", "s3://another/a", status=1), "no bucket")
    expect("there are no tables" in place.bytepoll(store, "fleet", "top", PLACE, status=1), "empty")
    expect(not list(store.keys()), "something was put")


def check_tls(place):
    certificate = os.path.join(place.folder, "certificate.pem")
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                           "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", certificate + ".key", "-out", certificate],
                          capture_output=True, check=False)
    expect(made.returncode == 0, made.stderr)
    with open(certificate + ".both", "wb") as both:
        for part in (certificate, certificate + ".key"):
            with open(part, "rb") as file:
                both.write(file.read())
    store = place.serve("tls", certificate=certificate + ".both")
    began = time.monotonic()
    expect("ertificate" in place.push(store, status=1) and not list(store.keys()), "a stranger was trusted")
    expect(time.monotonic() - began < 60, "tried again and again")
    place.push(store, AWS_CA_BUNDLE=certificate)
    place.expect_whole(store)
    other = store.url().replace("127.0.0.1", "localhost")  # the certificate is of another name
    expect("bytepoll: " in place.bytepoll(store, "fleet", "top", PLACE, "--endpoint", other, status=1,
                                          AWS_CA_BUNDLE=certificate), "another name")


def check_fetched(place):
    store = place.serve("fetched", page=4)
    place.push(store)
    for name, data in (("of/shop/notes.txt", b"no table"), ("of/shop/..x/processes.parquet", b"x"),
                       ("of/shop/half/samples.parquet", b"x")):  # passed by
        path = os.path.join(store.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        os.setxattr(path, "user.sha256", b"")
    folder = os.path.join(place.folder, "fleet-cache")
    duckdb = shutil.which("duckdb") is not None
    for fault in ("half", "changed"):
        shutil.rmtree(folder, ignore_errors=True)
        store.script.extend([None] * 7 + [fault] * 2)  # behind the pages of the list
        # Without DuckDB the question fails, once everything is there.
        said = place.bytepoll(store, "fleet", "top", PLACE, "--json", status=0 if duckdb else 1, XDG_CACHE_HOME=folder)
        expect("fetching %d runs" % RUNS in said and (duckdb or "duckdb" in said), said)
        found = sorted(content(os.path.join(folder, "bytepoll/fleet")).items())
        wanted = content(place.expected)
        expect(sorted(data for _, data in found) == sorted(wanted.values()), "not what was pushed: %s" % [n for n, _ in found])
    before = len(store.requests)
    said = place.bytepoll(store, "fleet", "top", PLACE, "--json", status=0 if duckdb else 1, XDG_CACHE_HOME=folder)
    expect("fetching" not in said and all(method == "GET" and "list-type" in path for method, path, _ in
                                          store.requests[before:]), store.requests[before:])
    if duckdb:
        here = place.bytepoll(store, "fleet", "top", place.expected, "--json", "--no-pager")
        expect(said == here, "another answer than that of the folder")
    if not LONG:  # (the pauses of six attempts)
        return
    store.script.extend([None] * 6 + ["changed"] * 6)
    shutil.rmtree(folder)
    expect("bytepoll: " in place.bytepoll(store, "fleet", "top", PLACE, status=1, XDG_CACHE_HOME=folder), "changed")
    expect(not content(os.path.join(folder, "bytepoll/fleet")), "something wrong was kept")


def check_versions(place):
    """A run that goes on: its newest version is what a question fetches; those before the last go, where the key may."""
    store, folder = place.serve("versions"), os.path.join(place.folder, "versions-cache")
    trace, there = os.path.join(place.folder, "goes_on.bpt"), os.path.join(store.folder, "of/shop")
    process = subprocess.Popen([profiled.program("churn"), "1", "5000", "pause"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=profiled.environment(trace, 512, 5))
    process.stdout.readline()

    def push(words, every="1"):
        said = place.bytepoll(store, "push", trace, "--to", PLACE, *TAGS, "--running", every)
        expect(words in said, "%s, not %s" % (said, words))
        return said

    def counts(name):
        """Fetched is what was put there under this name, and nothing else."""
        shutil.rmtree(folder, ignore_errors=True)
        said = place.bytepoll(store, "fleet", "top", PLACE, "--json", status=0 if shutil.which("duckdb") else 1,
                              XDG_CACHE_HOME=folder)
        expect("fetching 1 runs" in said, said)
        found = content(os.path.join(folder, "bytepoll/fleet")).values()
        expect(sorted(found) == sorted(content(os.path.join(there, name)).values()), "another version was fetched")

    push("as it is now")
    (first,) = whole_runs(there)
    counts(first)
    push("0 pushed, 0 there already, 1 still running", "1h")
    seen = {first}
    for _ in range(2):
        time.sleep(1.1)
        push("1 pushed")
        (newest,) = set(whole_runs(there)) - seen
        seen.add(newest)
        counts(newest)
    expect(len(whole_runs(there)) == 2 and first not in whole_runs(there), "versions: %s" % whole_runs(there))
    store.removes = False
    process.communicate(b"\n")
    expect("earlier versions stay there" in push("1 pushed") and len(whole_runs(there)) == 3, "not removed, and not said")
    counts(first[:32])
    shutil.rmtree(os.path.join(there, first[:32]))
    store.removes = True
    push("1 pushed")
    expect({name.split("/")[0] for name in content(there)} == {first[:32]}, "left: %s" % sorted(content(there)))
    counts(first[:32])
    expect(not store.refused, store.refused)


def check_watch(place):
    store = place.serve("watched")
    watcher = subprocess.Popen([profiled.BYTEPOLL, "push", place.traces, "--to", PLACE, *TAGS, "--watch", "--every", "0.1"],
                               env=store.environment(XDG_CACHE_HOME=place.cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(300):
        if len(store.puts) == RUNS * TABLES:
            break
        time.sleep(.1)
    time.sleep(.5)
    asked = len(store.requests)
    time.sleep(1)
    expect(len(store.requests) == asked, "what is there is asked about again and again")
    store.always = "500"
    shutil.rmtree(store.folder)
    watcher.send_signal(signal.SIGTERM)
    said = watcher.communicate(timeout=30)[0].decode()
    expect(watcher.returncode == 0 and said.count("pushed") == RUNS, "status %s: %s" % (watcher.returncode, said))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def check_killed(place):
    folder, port, draw = os.path.join(place.folder, "killed"), free_port(), random.Random(11)
    os.makedirs(folder)
    shop = os.path.join(folder, "of/shop")
    server, kills, wholes = None, {"pusher": 0, "server": 0}, 0
    environment = object_store.Store(os.path.join(place.folder, "names-only"))
    environment.close()
    variables = environment.environment(XDG_CACHE_HOME=place.cache, AWS_ENDPOINT_URL="http://127.0.0.1:%d" % port)
    words = [profiled.BYTEPOLL, "push", place.traces, "--to", PLACE, *TAGS]
    started = 0

    def start():
        process = subprocess.Popen([sys.executable, object_store.__file__, folder, str(port), str(started)],
                                   stdout=subprocess.PIPE)
        process.stdout.readline()
        return process
    try:
        server = start()
        while sum(kills.values()) < KILLS:
            pusher = subprocess.Popen(words, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(draw.uniform(0, 2.5 if LONG else 1))
            if draw.random() < .5:
                pusher.kill()
                kills["pusher"] += pusher.wait() == -signal.SIGKILL
            else:
                server.kill()
                server.wait()
                kills["server"] += 1
                started += 1
                server = start()
                pusher.kill()
                pusher.wait()
            for run in whole_runs(shop) if os.path.isdir(shop) else []:
                wholes += 1
                shutil.rmtree(os.path.join(shop, run))  # so that there is something to do for the next ones
        for _ in range(30):
            if subprocess.run(words, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode == 0:
                break
        found = {name: data for name, data in content(shop).items() if not os.path.basename(name).startswith(".")}
        expect(found == content(place.expected), "another store: %s" % sorted(found))
        spool = os.path.join(place.cache, "bytepoll/push")
        for name in os.listdir(spool):
            os.utime(os.path.join(spool, name), (1, 1))
        subprocess.run(words, env=variables, stdout=subprocess.DEVNULL, check=False)
        place.expect_spool_empty()
    finally:
        if server:
            server.kill()
            server.wait()
    print("# %d kills of the pusher, %d of the server, %d runs came in whole" % (kills["pusher"], kills["server"], wholes))


CHECKS = {"once": check_once, "faults": check_faults, "together": check_together, "other names": check_other_names,
          "refused": check_refused, "tls": check_tls, "fetched": check_fetched, "versions": check_versions,
          "watch": check_watch, "killed": check_killed}


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        place = Place(folder)
        for name, check in CHECKS.items():
            if sys.argv[1:] in ([], [name]):
                tap.attempt(name, lambda check=check: check(place))
        for server in place.servers:
            server.close()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
