#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ClickHouse's HTTP interface in front of chdb, which is the engine as a library; for tests.

    clickhouse_server.py DATABASE SQL_FILE

It makes the database by SQL_FILE, prints its port, and answers until its standard input ends. All sessions share one
of chdb; a client's temporary tables are dropped when another session begins. User and password must be those of the
environment, BYTEPOLL_TEST_USER and BYTEPOLL_TEST_PASSWORD, where they are set. A body of Parquet is given to the engine
as a file, since the library has no `input`.
"""
import http.server
import os
import re
import sys
import tempfile
import threading
import urllib.parse

from chdb import session

ENGINE = session.Session()
LOCK = threading.Lock()
NOT_SETTINGS = {"database", "query", "session_id", "session_timeout", "wait_end_of_query", "default_format"}


class Peer(http.server.BaseHTTPRequestHandler):
    """One connection."""
    protocol_version = "HTTP/1.1"
    current = None  # the session whose temporary tables there are

    def log_message(self, *_):
        """Nothing is logged."""

    def answer(self, status, body, code=0):
        self.send_response(status)
        if code:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def allowed(self):
        return all(self.headers.get(header) == os.environ[name] for header, name in
                   (("X-ClickHouse-User", "BYTEPOLL_TEST_USER"), ("X-ClickHouse-Key", "BYTEPOLL_TEST_PASSWORD"))
                   if name in os.environ)

    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        parameters = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query, keep_blank_values=True))
        if len(body) != int(self.headers["Content-Length"]):
            return
        if not self.allowed():
            self.answer(403, b"Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)\n", 516)
            return
        with LOCK:
            self.run(parameters, body)

    def run(self, parameters, body):
        with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
            sql = parameters.get("query")
            if sql is None:
                sql = body.decode()
            else:
                file.write(body)
                file.flush()
                sql, found = re.subn(r"input\('([^']*)'\) FORMAT Parquet$", "file('%s', 'Parquet', '\\1')" % file.name, sql)
                assert found == 1, sql
            try:
                self.begin(parameters)
                result = ENGINE.query(sql, parameters["default_format"])
                self.answer(200, result.bytes() if result else b"")
            except Exception as failure:  # pylint: disable=broad-exception-caught
                if isinstance(failure, OSError):
                    raise
                code = re.search(r"Code: (\d+)", str(failure))
                number = int(code[1]) if code else 1
                self.answer(404 if number in (60, 81) else 500, (str(failure) + "\n").encode(), number)

    def begin(self, parameters):
        ENGINE.query("USE " + parameters["database"])
        for name, value in parameters.items():
            if name not in NOT_SETTINGS:
                ENGINE.query("SET %s = %s" % (name, value if value.isdigit() else "'%s'" % value))
        if parameters.get("session_id") != Peer.current:
            Peer.current = parameters.get("session_id")
            for name in ("every", "runs", "lives", "spans", "p", "bases", "g", "k", "f", "chosen"):
                ENGINE.query("DROP TEMPORARY TABLE IF EXISTS " + name)


class Server(http.server.ThreadingHTTPServer):
    """A client that is killed is no error."""
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (BrokenPipeError, ConnectionResetError)):
            super().handle_error(request, client_address)


def main():
    database, path = sys.argv[1:3]
    with open(path, encoding="utf-8") as file:
        script = re.sub(r"^--.*$", "", file.read(), flags=re.M)
    ENGINE.query("CREATE DATABASE IF NOT EXISTS " + database)
    ENGINE.query("USE " + database)
    for statement in script.split(";\n"):
        if statement.strip():
            ENGINE.query(statement)
    server = Server(("127.0.0.1", 0), Peer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
