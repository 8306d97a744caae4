# SPDX-License-Identifier: MIT
"""Tasks of asyncio that hand items through queues."""
import asyncio


async def produce(queue, count):
    for i in range(count):
        await queue.put({"number": i, "payload": "x" * (i % 300)})
    await queue.put(None)


async def consume(queue):
    kept = {}
    while True:
        item = await queue.get()
        if item is None:
            return len(kept)
        kept[item["number"] % 5000] = item


async def main():
    total = 0
    for _ in range(85):
        queues = [asyncio.Queue(100) for _ in range(8)]
        done = await asyncio.gather(*(produce(queue, 12000) for queue in queues), *(consume(queue) for queue in queues))
        total += sum(number for number in done if number)
    print(total)


asyncio.run(main())
