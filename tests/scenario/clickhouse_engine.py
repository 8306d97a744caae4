# SPDX-License-Identifier: MIT
"""A ClickHouse for tests and measurements: clickhouse_server.py, run by a Python that has chdb, with the tables of
clickhouse.sql in the database `db`."""
import os
import subprocess
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
SQL = os.path.join(os.path.dirname(os.path.dirname(HERE)), "src/tool/fleet/sql/clickhouse.sql")


class Engine:
    """The server. `user` and `password`: it wants them of who asks."""
    def __init__(self, python, user=None, password=None):
        self.headers, environment = {}, dict(os.environ)
        if user is not None:
            environment.update(BYTEPOLL_TEST_USER=user, BYTEPOLL_TEST_PASSWORD=password)
            self.headers = {"X-ClickHouse-User": user, "X-ClickHouse-Key": password}
        self.process = subprocess.Popen([python, os.path.join(HERE, "clickhouse_server.py"), "db", SQL], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())
        self.address = "clickhouse://127.0.0.1:%d/db" % self.port

    def finish(self):
        self.process.communicate()

    def sql(self, statement):
        """The rows of its answer, of words."""
        request = urllib.request.Request("http://127.0.0.1:%d/?database=db&default_format=TabSeparated" % self.port,
                                         statement.encode(), self.headers)
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as failure:
            raise AssertionError("%s: %s" % (statement, failure.read().decode())) from failure
        with answer:
            return [line.split("\t") for line in answer.read().decode().splitlines()]
