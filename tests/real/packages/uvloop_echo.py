# SPDX-License-Identifier: MIT
"""asyncio over uvloop: streams, tasks, queues, a subprocess and an executor."""
import asyncio
import sys

import uvloop


async def echo(reader, writer):
    while line := await reader.readline():
        writer.write(line.swapcase())
        await writer.drain()
    writer.close()


async def client(port, place):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    total = 0
    for number in range(60):
        writer.write(b"Line %d of %d\n" % (number, place))
        total += len(await reader.readline())
    writer.close()
    return total


async def main():
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(sorted(await asyncio.gather(*[client(port, place) for place in range(40)])))
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(sum(map(len, map(str, range(100000)))))",
                                                 stdout=asyncio.subprocess.PIPE)
    print((await child.communicate())[0])
    print(await asyncio.get_running_loop().run_in_executor(None, lambda: len([str(number) for number in range(50_000)])))
    server.close()


uvloop.run(main())
