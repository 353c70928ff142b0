"""The measuring client on the Python SDK:

    python client.py SERVER MEASURE COUNT [AT-ONCE]

bench/README.md has the measures and the line that is printed.
"""

import asyncio
import json
import os
import re
import resource
import sys
import time
from contextlib import AsyncExitStack

from mcp import Client, StdioServerParameters

server, measure, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
at_once = int(sys.argv[4]) if len(sys.argv) > 4 else 1
warm_up = count // 5 + 1


def check(right):
    if not right:
        raise RuntimeError("not the answer that was expected")


async def echo(client):
    result = await client.call_tool("echo", {"text": "hello"})
    check(len(result.content[0].text) == 4)


async def large(client):
    result = await client.call_tool("large", {})
    check(len(result.content[0].text) > 4_000_000)


async def many(client):
    result = await client.call_tool("many", {})
    check(len(result.structured_content["rows"]) > 1000)


def now():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter() * 1e6, (usage.ru_utime + usage.ru_stime) * 1e6


def report(began, counted, each=()):
    wall, cpu = now()
    each = sorted(each)
    with open("/proc/self/status") as status:
        peak = int(re.search(r"VmHWM:\s*(\d+)", status.read()).group(1))
    print(
        json.dumps(
            {
                "measure": measure,
                "count": counted,
                "wall_us": (wall - began[0]) / counted,
                "cpu_us": (cpu - began[1]) / counted,
                "p50_us": each[len(each) // 2] if each else 0,
                "peak_kib": peak,
            }
        ),
        flush=True,
    )


async def in_flight(client, total):
    left = total

    async def work():
        nonlocal left
        while left > 0:
            left -= 1
            await echo(client)

    await asyncio.gather(*(work() for _ in range(at_once)))


async def connect_many():
    left = count
    done = asyncio.Event()
    listed = 0

    # A connection is left where it was entered, so each has a task of its own that stays.
    places = asyncio.Semaphore(at_once)

    async def one():
        nonlocal listed
        async with places:
            stack = AsyncExitStack()
            client = await stack.enter_async_context(Client(StdioServerParameters(command=server)))
            check(len((await client.list_tools()).tools) == 3)
            listed += 1
            if listed == left:
                done.set()
        await asyncio.Event().wait()

    began = now()
    tasks = [asyncio.create_task(one()) for _ in range(count)]
    waiting = asyncio.create_task(done.wait())
    finished, _ = await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
    if waiting not in finished:
        finished.pop().result()
    report(began, 1)


async def main():
    if measure == "connect":
        await connect_many()
    else:
        async with Client(StdioServerParameters(command=server)) as client:
            if measure == "parallel":
                await in_flight(client, warm_up)
                began = now()
                await in_flight(client, count)
                report(began, count)
            else:
                call = {"sequential": echo, "large": large, "many": many}[measure]
                for _ in range(warm_up):
                    await call(client)
                each = []
                began = now()
                for _ in range(count):
                    start = time.perf_counter()
                    await call(client)
                    each.append((time.perf_counter() - start) * 1e6)
                report(began, count, each)
    # The figures are out; closing connections one by one is not among them.
    os._exit(0)


asyncio.run(main())
