# SPDX-License-Identifier: MIT
"""A server of gevent echoes to 50 greenlets over sockets, with its own stack for each."""
from gevent import monkey

monkey.patch_all()
import gevent  # noqa: E402
from gevent import pool, queue, server, socket  # noqa: E402


def echo(connection, address):
    del address
    with connection, connection.makefile("rwb") as stream:
        for line in stream:
            stream.write(line.upper())
            stream.flush()


listener = server.StreamServer(("127.0.0.1", 0), echo)
listener.start()
answers = queue.Queue()


def client(place):
    with socket.create_connection(("127.0.0.1", listener.server_port)) as connection:
        stream = connection.makefile("rwb")
        for number in range(40):
            stream.write(b"line %d of %d %s\n" % (number, place, b"x" * (number * place % 500)))
            stream.flush()
            answers.put((place, number, len(stream.readline())))


group = pool.Group()
for each in range(50):
    group.spawn(client, each)
gevent.joinall(list(group))
listener.stop()
found = sorted(answers.get() for _ in range(answers.qsize()))
print(len(found), found[:5], sum(length for _, _, length in found))
