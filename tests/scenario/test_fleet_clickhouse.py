#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll push --to clickhouse://` and `bytepoll fleet` of it: the figures are those of `report` on the recordings.

The server is clickhouse_server.py in front of chdb, the engine as a library, if Python has it: BYTEPOLL_CHDB_PYTHON,
or this one. The recordings and random questions (BYTEPOLL_FLEET_QUESTIONS, 6; seeded) are those of test_fleet.py.
Pushers that are killed at random moments (BYTEPOLL_PUSH_KILLS, 4; seeded), several at a time, a server that breaks off
and rows of attempts that were cut short lose nothing and double nothing. What a scripted server answers, errors in the
middle of an answer among them, is always tested.
"""
import http.server
import json
import os
import random
import re
import shutil
import signal
import socketserver
import subprocess
import sys
import threading
import time
import urllib.parse

os.environ.setdefault("BYTEPOLL_FLEET_QUESTIONS", "6")
import clickhouse_engine  # noqa: E402
import profiled  # noqa: E402
import test_compact  # noqa: E402
import test_fleet  # noqa: E402
import test_fleet_dates  # noqa: E402
import test_fleet_origins  # noqa: E402
from profiled import expect  # noqa: E402
from test_fleet import ask  # noqa: E402

PYTHON = os.environ.get("BYTEPOLL_CHDB_PYTHON", sys.executable)
KILLS = int(os.environ.get("BYTEPOLL_PUSH_KILLS", "4"))
SEED = 37
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
USER, PASSWORD = "us&er", "pass w/ord"
WHO = {"CLICKHOUSE_USER": USER, "CLICKHOUSE_PASSWORD": PASSWORD}
TABLES = ("samples", "stacks", "frames", "threads", "counters", "readings", "intervals", "pauses", "processes")


class Scripted(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """A server whose every answer is `script(number, handler, parameters, body)`."""
    daemon_threads = True

    def __init__(self, script):
        self.seen = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One connection."""
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                """Nothing is logged."""

            def do_POST(self):  # pylint: disable=invalid-name
                parameters = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.seen.append((self.path, dict(self.headers), body))
                script(len(server.seen) - 1, self, parameters, body)
                self.close_connection = True

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    @property
    def address(self):
        return "clickhouse://127.0.0.1:%d/db" % self.server_address[1]


def reply(handler, status=200, body=b"", headers=(), length=None):
    handler.send_response(status)
    for name, value in headers:
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    handler.wfile.write(body)


EXCEPTION = b"Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)\n"
BROKEN = b"S\t1\t2\n__exception__\r\nabcdefghabcdefgh\r\n" + EXCEPTION + b"77 abcdefghabcdefgh\r\n__exception__\r\n"


def check_scripted_question(_):
    """An answer counts only whole; a server's words are shown in one line; values of an option are no SQL."""
    for status, body, headers, length, wanted in (
            (500, EXCEPTION, [("X-ClickHouse-Exception-Code", "241")], None, b"Memory limit exceeded"),
            (200, EXCEPTION, [], None, b"Memory limit exceeded"),
            (200, BROKEN, [], None, b""),
            (200, b"", [("X-ClickHouse-Exception-Code", "159")], None, b"the server failed"),
            (200, b"P\t1", [], 1000, b""),
            (404, b"Code: 60. DB::Exception: Unknown table. (UNKNOWN_TABLE)\n", [], None, b"clickhouse.sql"),
            (502, b"", [], None, b"HTTP status 502"),
            (302, b"", [("Location", "http://127.0.0.1:1/")], None, b"HTTP status 302"),
            (403, b"\x1b[31mno\n", [], None, b"?[31mno")):
        with Scripted(lambda _n, handler, _p, _b, a=(status, body, headers, length): reply(handler, *a)) as server:
            line = ask("fleet", "top", server.address, status=1, environment=WHO).stderr
            expect(wanted in line and PASSWORD.encode() not in line and b"\x1b" not in line, "%s: %s" % (body, line))
    value = "x'); DROP TABLE samples; --"
    with Scripted(lambda _n, handler, _p, _b: reply(handler)) as server:
        ask("fleet", "top", server.address, "--service", value, "--release", value, "--host", value, "--tag", value,
            status=1, environment=WHO)
        asked = b"".join(body for _, _, body in server.seen)
        expect(value.encode().hex().upper().encode() in asked and b"DROP" not in asked, "a value as SQL")
        for path, headers, _ in server.seen:
            expect(headers["X-ClickHouse-User"] == USER and headers["X-ClickHouse-Key"] == PASSWORD, "who asks")
            expect("pass" not in path.replace("session", ""), path)
        expect(len({re.search("session_id=([0-9a-f]+)", path)[1] for path, _, _ in server.seen}) == 1, "one session")
    for broken in (EXCEPTION, b"P\t1\tzz\n", b"P\n", b"S\t1\t2\t3\n", b"?\n", b"\t\n", b"S\t" + b"9" * 40 + b"\n"):
        with Scripted(lambda n, handler, _p, _b, a=broken: reply(handler, 200, a if n == 2 else b"")) as server:
            ask("fleet", "top", server.address, status=1)


def check_gone(_):
    """What was selected is there no more when the last rows have come: an answer of which a part may be missing."""
    with Scripted(lambda _n, handler, _p, body: reply(handler, 200, b"G\t2\n" if b"'G'" in body else b"")) as server:
        line = ask("fleet", "top", server.address, status=1).stderr
        expect(b"ask again" in line, line)


def check_addresses(recordings):
    for address in ("clickhouse://", "clickhouse://h", "clickhouse://h/", "clickhouse://h:0/d", "clickhouse://h:99999/d",
                    "clickhouse://u:p@h/d", "clickhouse://h/d;x", "clickhouse://h/d/e", "clickhouse://h/d?x=1",
                    "clickhouse:///d", "clickhouses://h:x/d", "clickhouse://[::1/d", "clickhouse://h/" + "d" * 65):
        expect(b"clickhouse" in ask("fleet", "top", address, status=1).stderr.lower(), address)
        ask("push", recordings.traces[0], "--to", address, status=2)
    for both in (("clickhouse://h/d", recordings.store), (recordings.store, "clickhouse://h/d"), ("clickhouse://h/d",) * 2):
        expect(b"alone" in ask("fleet", "top", *both, status=1).stderr, both)
    expect(b"control" in ask("fleet", "top", "clickhouse://h/d", status=1, environment={"CLICKHOUSE_USER": "a\nb"}).stderr,
           "a user of two lines")


def check_scripted_push(recordings):
    """A server that fails for a while gets every run in the end, by attempts of their own; one that refuses is asked
    once; the last table is processes."""
    trace = recordings.traces[0]

    def flaky(number, handler, parameters, _):
        if "query" not in parameters:
            reply(handler, 200, b"0\n")
        elif number < 8:
            reply(handler, (503, 500)[number % 2], EXCEPTION)
        else:
            reply(handler)
    with Scripted(flaky) as server:
        ask("push", "-q", trace, "--to", server.address, environment=WHO)
        queries = [urllib.parse.unquote(path) for path, _, _ in server.seen if "&query=" in path]
        attempts = [re.search("SELECT \\*,'([0-9a-f]{32})'", query)[1] for query in queries]
        expect(len(set(attempts)) == len(attempts) - 8 > 1, "an attempt was used again: %s" % attempts)
        inserted = [re.search("INSERT INTO (\\w+)", query)[1] for query in queries[-9:]]
        expect(sorted(inserted) == sorted(TABLES) and inserted[-1] == "processes", inserted)
        expect(all(body[:4] == body[-4:] == b"PAR1" for path, _, body in server.seen if "&query=" in path), "no Parquet")
    for status, requests in ((403, 1), (400, 1), (404, 1)):
        with Scripted(lambda _n, handler, _p, _b, s=status: reply(handler, s, b"Code: 1. DB::Exception: no\n")) as server:
            ask("push", trace, "--to", server.address, status=1, environment=WHO)
            expect(len(server.seen) == requests, "asked %d times" % len(server.seen))


class OneRecording:
    """What a scripted server needs of test_fleet.Recordings."""
    def __init__(self, folder):
        self.traces, self.store = [os.path.join(folder, "t.bpt")], os.path.join(folder, "store")
        profiled.run([profiled.program("churn"), "2", "3000"], self.traces[0], 1024, SEED)
        ask("push", "-q", self.traces[0], "--to", self.store)


class Pushed(clickhouse_engine.Engine):
    """The server in front of chdb, with the recordings that are pushed to it."""
    def push(self, recordings, i, status=0):
        service, release = recordings.runs[i]
        return ask("push", recordings.traces[i], "--to", self.address, "--service", service, "--release", release,
                   "--host", "h%d" % i, "--tag", "number=%d" % i, status=status).stdout


def check_columns(engine):
    """The tables have the columns of the tables of Parquet, and no others but those of attempts."""
    done = subprocess.run([os.path.join(profiled.BUILD, "tests/unit/fleet/list_columns")], capture_output=True, check=True)
    types = {"number": "Int64", "flag": "Bool", "text": "String"}
    wanted = []
    for line in done.stdout.decode().splitlines():
        table, column, kind = line.split()
        name = types[kind.rstrip("?")]
        wanted.append([table, column, "Nullable(%s)" % name if kind.endswith("?") else name])
    got = engine.sql("SELECT table, name, type FROM system.columns WHERE database = 'db' AND table IN (%s)" %
                     ",".join("'%s'" % name for name in TABLES))
    added = [[table, "push", "String"] for table in TABLES] + [["processes", "push_rows", "Int64"]]
    expect(sorted(got) == sorted(wanted + added), "columns differ: %s" %
           [row for row in got + wanted + added if (row in got) != (row in wanted + added)])


def check_wrong_password(engine):
    line = ask("fleet", "top", engine.address, status=1, environment={"CLICKHOUSE_PASSWORD": "secret"}).stderr
    expect(b"Authentication failed" in line and b"secret" not in line, line)


def check_pushed_once(engine, recordings):
    for i in range(len(recordings.traces)):
        expect(b"1 pushed, 0 there already" in engine.push(recordings, i), "not pushed")
    before = engine.sql("SELECT count() FROM samples")
    for i in range(len(recordings.traces)):
        expect(b"0 pushed, 1 there already" in engine.push(recordings, i), "pushed again")
    expect(engine.sql("SELECT count() FROM samples") == before and int(before[0][0]) > 1000, "rows came twice")


def check_cut_short(engine, recordings):
    """Pushers that are killed, and four at a time: in the end every run is there once, and an attempt that is not whole
    is not seen."""
    draw = random.Random(SEED)
    whole = json.loads(ask("fleet", "top", engine.address, "--json").stdout)
    for table in TABLES:
        engine.sql("TRUNCATE TABLE " + table)
    words = [profiled.BYTEPOLL, "push", "-q", *recordings.traces, "--to", engine.address]
    killed = 0
    for _ in range(KILLS):
        pusher = subprocess.Popen(words)
        time.sleep(draw.uniform(.02, .6))
        killed += pusher.poll() is None
        pusher.send_signal(signal.SIGKILL)
        pusher.wait()
    expect(killed > 0 or not KILLS, "nobody was killed")
    pushers = [subprocess.Popen(words) for _ in range(4)]
    expect(all(pusher.wait() == 0 for pusher in pushers), "a pusher failed")
    # Another attempt of a run, of which one of the rows of processes is missing, and one without any.
    some = engine.sql("SELECT push FROM processes WHERE push_rows > 1 LIMIT 1")[0][0]
    engine.sql("INSERT INTO samples SELECT * REPLACE('00cut' AS push) FROM samples WHERE push = '%s'" % some)
    engine.sql("INSERT INTO processes SELECT * REPLACE('00cut' AS push) FROM processes WHERE push = '%s' LIMIT 1" % some)
    engine.sql("INSERT INTO samples SELECT * REPLACE('00none' AS push) FROM samples")
    again = json.loads(ask("fleet", "top", engine.address, "--json").stdout)
    found = list(test_fleet.differences(again, whole))
    expect(not found, "; ".join(found[:4]))
    view = engine.sql("SELECT sum(samples) FROM bytepoll_samples")
    expect(int(view[0][0]) == whole["samples"], "the view has %s samples, not %d" % (view, whole["samples"]))


def check_versions(engine, folder):
    """A run that goes on: its newest version counts, and then the run as it ended."""
    trace = os.path.join(folder, "goes_on.bpt")
    process = subprocess.Popen([profiled.program("churn"), "1", "5000", "pause"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=profiled.environment(trace, 512, SEED))
    process.stdout.readline()

    def pushed(words, running="1"):
        line = ask("push", trace, "--to", engine.address, "--service", "goes_on", "--running", running).stdout
        expect(words in line, line)

    def attempts():
        return [row[0] for row in engine.sql("SELECT DISTINCT push FROM processes WHERE service = 'goes_on' ORDER BY push")]

    def counts():
        plain, got = profiled.report(trace), json.loads(
            ask("fleet", "top", engine.address, "--service", "goes_on", "--json").stdout)
        found = list(test_fleet.differences(got, plain))
        expect(not found and got["samples"] > 1000, "; ".join(found[:4]))

    pushed(b"pushed %s as it is now" % trace.encode())
    counts()
    pushed(b"0 pushed, 0 there already, 1 still running", "1h")
    (first,) = attempts()
    time.sleep(1.1)
    pushed(b"1 pushed")
    second, again = attempts()
    expect(again == first and second < first and first[0] == "r", attempts())
    counts()
    whole = engine.sql("SELECT push FROM bytepoll_pushes WHERE push IN (SELECT push FROM processes WHERE service = 'goes_on')")
    expect(whole == [[second]], whole)
    process.communicate(b"\n")
    pushed(b"1 pushed")
    expect(len(attempts()) == 3 and attempts()[0][0] != "r", attempts())
    counts()
    pushed(b"1 there already")
    # What docs/fleet.md says of removing what nothing reads.
    for table in ("processes", *TABLES):
        engine.sql("ALTER TABLE %s DELETE WHERE push NOT IN (SELECT push FROM bytepoll_pushes) "
                   "SETTINGS mutations_sync = 2" % table)
    expect(len(attempts()) == 1, attempts())
    counts()


def check_compacted(engine, recordings):
    """`bytepoll compact`: the same figures, also when it is killed; one command at a time."""
    questions = [words for words in test_compact.QUESTIONS if "--service" not in words]
    before = test_compact.answers(engine.address, questions)

    def pushes():
        return [row[0] for row in engine.sql("SELECT DISTINCT push FROM bytepoll_pushes ORDER BY push")]

    def rows():
        return [int(engine.sql("SELECT count() FROM " + table)[0][0]) for table in TABLES]

    kept, draw = [pushes(), rows()], random.Random(SEED + 1)
    traces = [*recordings.traces, os.path.join(recordings.folder, "goes_on.bpt")]
    expect(b"would be summed" in test_compact.compact(engine.address, "--dry-run").stdout and kept == [pushes(), rows()],
           "a dry run changed something")
    engine.sql("CREATE TABLE compacting (nothing Int64) ENGINE = Memory COMMENT 'elsewhere 1'")
    expect(b"DROP TABLE compacting" in test_compact.compact(engine.address, status=1).stderr, "two at a time")
    engine.sql("DROP TABLE compacting")
    began, stopped = time.monotonic(), 0
    test_compact.compact(engine.address)
    whole_s, states = time.monotonic() - began, set()
    for _ in range(KILLS):
        for table in TABLES:
            engine.sql("TRUNCATE TABLE " + table)
        ask("push", "-q", *traces, "--to", engine.address)
        command = subprocess.Popen([profiled.BYTEPOLL, "compact", engine.address, "--older-than", test_compact.LATER, "-q"])
        time.sleep(draw.uniform(.01, 1.2) * whole_s)
        stopped += command.poll() is None
        command.kill()
        command.wait()
        states.add((any(push[0] == "+" for push in pushes()), len(pushes())))
        test_compact.expect_same(engine.address, before[:2], questions[:2])
        test_compact.compact(engine.address)
        test_compact.expect_same(engine.address, before[:2], questions[:2])
    print("# %d of %d commands killed within %.1f s; states (a sum, attempts): %s" % (stopped, KILLS, whole_s, sorted(states)))
    expect(all(push[0] == "+" for push in pushes()) and len(pushes()) <= 3, pushes())
    now = dict(zip(TABLES, rows()))
    expect(now["samples"] < kept[1][0] and now["readings"] == 0 and now["processes"] == kept[1][-1], now)
    test_compact.expect_same(engine.address, before, questions)
    expect(b"0 runs in 0 pushes" in test_compact.compact(engine.address).stdout, "again")
    for words in (["top", "--at", "0.1"], ["top", "--from", "0.1"], ["growth", "--from", "0.001", "--until", "0.002"]):
        said = ask("fleet", words[0], engine.address, *words[1:], status=1).stderr
        expect(b"sums" in said and b"bytepoll compact" in said, said)
    expect(b"0 pushed, 1 there already" in engine.push(recordings, 0), "a run of a sum was pushed again")
    # A machine whose clock is ahead has made the sums.
    for table in TABLES:
        engine.sql("INSERT INTO %s SELECT * REPLACE(concat('+0000000001', substring(push, 12)) AS push) FROM %s" % (table, table))
    # A run more joins the sum of its month; one whose sum is void by it is removed with all rows.
    trace = os.path.join(recordings.folder, "one_more.bpt")
    profiled.run([profiled.program("churn"), "2", "3000"], trace, 1024, SEED)
    ask("push", "-q", trace, "--to", engine.address, "--service", "one_more")
    before = test_compact.answers(engine.address, questions)
    test_compact.compact(engine.address)
    expect(len(pushes()) <= 3 and all(push[0] == "+" for push in pushes()), pushes())
    test_compact.expect_same(engine.address, before, questions)
    test_compact.compact(engine.address, "--remove")
    expect(not any(rows()), rows())
    # An older version of a run that is removed must not take its place.
    ask("push", "-q", trace, "--to", engine.address)
    for table in TABLES:
        engine.sql("INSERT INTO %s SELECT * REPLACE('r9' AS push) FROM %s" % (table, table))
    test_compact.compact(engine.address, "--remove")
    expect(not any(rows()), rows())
    expect(not engine.sql("SELECT name FROM system.tables WHERE name = 'compacting'"), "its table stays")


def check_diff(engine, recordings):
    words = ["diff", "--json", "--metric", "allocated"]
    plain = json.loads(ask("fleet", *words, recordings.tables, "--base", "0.0", "--new", "1.0").stdout) \
        if shutil.which("duckdb") else None
    got = json.loads(ask("fleet", *words, engine.address, "--base", "0.0", "--new", "1.0").stdout)
    expect(got["rows"], "nothing changed")
    if plain is not None:
        found = list(test_fleet.differences(got, plain))
        expect(not found, "; ".join(found[:5]))


def check_view(engine, recordings):
    """Estimates of the view are those of report, and limits, too."""
    hosts = [i for i, run in enumerate(recordings.runs) if run == ("even", "0.0")]
    plain = json.loads(ask("report", "--json", "--estimator", "ht", "--allocators", "none", "--metric", "live",
                           *[recordings.traces[i] for i in hosts]).stdout)
    rows = engine.sql("SELECT function, samples, bytes, objects, bytes_least, bytes_high FROM bytepoll_top "
                      "WHERE service = 'even' AND release = '0.0'")
    got = {row[0]: [float(value) if value != "\\N" else None for value in row[1:]] for row in rows}
    expect(set(got) == {row["name"] for row in plain["rows"]} and got, "functions: %s" % sorted(got))
    compared = 0
    for row in plain["rows"]:
        samples, size, objects, least, high = got[row["name"]]
        bytes_, deviation = row["bytes"], (row["bytes"]["high"] - row["bytes"]["estimate"]) / 1.5
        expect(samples == row["samples"] and abs(size - bytes_["estimate"]) <= 1e-9 * size and
               abs(objects - row["objects"]["estimate"]) <= 1e-9 * objects, "%s: %s" % (row, got[row["name"]]))
        expect(least <= bytes_["low"] * (1 + 1e-9), "%s: not below %s" % (row["name"], least))
        if not bytes_.get("exact"):
            expect(abs(high - bytes_["high"]) <= 7e-6 * deviation + 1e-9 * high, "%s: at most %s" % (row["name"], high))
            compared += 1
    expect(compared >= 2, "too few limits: %d" % compared)


def check_live_view(engine, recordings):
    test_fleet_dates.check_live(recordings, lambda service, release, moment: engine.sql(
        "SELECT %s FROM bytepoll_live(moment = %s) WHERE service = %s AND release = %s" % (
            test_fleet_dates.COLUMNS, *map(test_fleet_dates.quoted, (moment, service, release)))))


def dashboard():
    with open(os.path.join(ROOT, "packaging", "grafana", "bytepoll-stores.json"), encoding="utf-8") as file:
        return json.load(file)


def check_dashboard_form(_):
    """What names of services could say stands in its SQL as percent signs, letters and digits alone."""
    data = dashboard()
    names = {variable["name"] for variable in data["templating"]["list"]}
    scripts = [variable["query"] for variable in data["templating"]["list"] if variable["type"] == "query"]
    for panel in data["panels"]:
        expect(panel["title"] and panel["description"] and panel["datasource"]["uid"] == "${datasource}", panel["title"])
        scripts += [target["rawSql"] for target in panel["targets"]]
    for script in scripts:
        used = re.findall(r"decodeURLComponent\('\$\{(\w+):percentencode\}'\)", script)
        expect(set(used) <= names and script.count("$") == len(used), script)
    places = [panel["gridPos"] for panel in data["panels"]]
    expect(all(a["y"] + a["h"] <= b["y"] for a, b in zip(places, places[1:])), places)


def check_dashboard(engine, recordings):
    """Its figures are those of the view, and what grew by them grew by `report`, too."""
    data = dashboard()

    def rows(script, **values):
        return engine.sql(re.sub(r"\$\{(\w+):percentencode\}", lambda match: urllib.parse.quote(values[match[1]], safe=""), script))

    service, release, base = (variable["query"] for variable in data["templating"]["list"][1:])
    services = {row[0] for row in rows(service)}
    expect({"even", "odd", "go"} <= services and len(services) == 4, services)
    expect({row[0] for row in rows(release, service="even")} == {run[1] for run in recordings.runs if run[0] == "even"}, "releases")
    expect(len(rows(base, service="even")) == len(rows(release, service="even")) - 1, "the newest release is no base")
    grew, functions, averages = (panel["targets"][0]["rawSql"] for panel in data["panels"])
    expect(rows(functions, service=test_fleet.HOSTILE, release=test_fleet.HOSTILE), "a hostile service has no rows")
    whole = rows(functions, service="even", release="0.0")
    view = engine.sql("SELECT function, bytes_least, bytes, bytes_high, objects, samples FROM bytepoll_top WHERE service = 'even' AND "
                      "release = '0.0' ORDER BY bytes DESC")
    expect(whole == view and view, "%s, not %s" % (whole, view))
    runs = {run: recordings.runs.count(run) for run in recordings.runs}
    for name, version, count, live, *_ in rows(averages):
        if (name, version) in runs:
            told = sum(float(row[2]) for row in rows(functions, service=name, release=version))
            expect(int(count) == runs[name, version] and abs(float(live) * int(count) - told) <= 1e-9 * told, "%s %s" % (name, version))
    # Of two releases: each function's averages, and what it grew by at least.
    both = {version: {row[0]: row for row in rows(functions, service="even", release=version)} for version in ("0.0", "2.0")}
    changes, limits = rows(grew, service="even", release="2.0", base="0.0"), 0
    expect({row[0] for row in changes} == set(both["2.0"]), "%s" % changes)
    counts = [runs["even", version] for version in ("0.0", "2.0")]
    for name, before, after, change, least in changes:
        old, new = both["0.0"].get(name), both["2.0"][name]
        wanted = [float(old[2]) / counts[0] if old else 0, float(new[2]) / counts[1]]
        expect(all(abs(float(got) - value) <= 1e-9 * max(1, value) for got, value in zip((before, after), wanted)), "%s: %s" % (name, wanted))
        expect(abs(float(change) - wanted[1] + wanted[0]) <= 1e-6 * max(1, *wanted), change)
        if old and old[3] != "\\N":
            expect(abs(float(least) - float(new[1]) / counts[1] + float(old[3]) / counts[0]) <= 1e-6 * max(1, float(old[3])), "%s: %s" % (name, least))
            limits += 1
        elif not old:
            expect(float(least) < float(new[1]) / counts[1], "%s: what no sample tells of is taken for nothing" % name)
            limits += 1
    expect(limits >= 1, "no limit")


def with_engine(tap, recordings):
    os.environ.update(WHO)
    engine = Pushed(PYTHON, USER, PASSWORD)
    recordings.store = engine.address
    try:
        tap.attempt("columns", lambda: check_columns(engine))
        tap.attempt("a wrong password", lambda: check_wrong_password(engine))
        tap.attempt("pushed once", lambda: check_pushed_once(engine, recordings))
        for name in ("questions", "selection", "tree", "windows", "growth", "html", "check"):
            tap.attempt(name, lambda name=name: getattr(test_fleet, "check_" + name)(recordings))
        tap.attempt("rows of runs", lambda: test_fleet_origins.check_origins(recordings))
        tap.attempt("dates", lambda: test_fleet_dates.check_dates(recordings))
        tap.attempt("diff", lambda: check_diff(engine, recordings))
        tap.attempt("view", lambda: check_view(engine, recordings))
        tap.attempt("dashboard", lambda: check_dashboard(engine, recordings))
        tap.attempt("view of a moment", lambda: check_live_view(engine, recordings))
        tap.attempt("cut short", lambda: check_cut_short(engine, recordings))
        tap.attempt("a run that goes on", lambda: check_versions(engine, recordings.folder))
        tap.attempt("compacted", lambda: check_compacted(engine, recordings))
    finally:
        engine.finish()


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        has_engine = subprocess.run([PYTHON, "-c", "import chdb"], capture_output=True, check=False).returncode == 0
        recordings = test_fleet.Recordings(folder) if has_engine else OneRecording(folder)
        tap.attempt("the dashboard's form", lambda: check_dashboard_form(recordings))
        tap.attempt("a scripted server's answers", lambda: check_scripted_question(recordings))
        tap.attempt("an answer that lost a part", lambda: check_gone(recordings))
        tap.attempt("addresses", lambda: check_addresses(recordings))
        tap.attempt("a scripted server and push", lambda: check_scripted_push(recordings))
        if has_engine:
            with_engine(tap, recordings)
        else:
            tap.skip("figures", "Python has no module chdb (pip install chdb)")
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
