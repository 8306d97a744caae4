# SPDX-License-Identifier: MIT
"""A server and clients of aiohttp that exchange JSON."""
import asyncio
import hashlib

import aiohttp
from aiohttp import web


async def answer(request):
    data = await request.json()
    return web.json_response({"sum": sum(data["numbers"]), "text": [str(number) for number in data["numbers"]]})


async def main():
    application = web.Application()
    application.router.add_post("/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = "http://127.0.0.1:%d/" % runner.addresses[0][1]
    async with aiohttp.ClientSession() as session:
        async def ask(place):
            digest = hashlib.sha256()
            for number in range(30):
                async with session.post(url, json={"numbers": list(range(number * place % 301))}) as response:
                    digest.update(await response.read())
            return digest.hexdigest()
        print(await asyncio.gather(*[ask(place) for place in range(12)]))
    await runner.cleanup()


asyncio.run(main())
