"""Simulates dashboard pages without browsers: sends the requests of the page of a run. usage: watchers.py ADDRESS COUNT

Exits with the server and prints the number of requests by path as JSON. Each page has a connection for events and one for
requests. It is written for low CPU usage, because real browsers would run on other machines.
"""

import asyncio
import json
import random
import re
import resource
import sys
import time
from collections import Counter
from typing import Optional
from urllib.parse import urlsplit

# As in ui/src: a page polls once a second while a run is in progress, and reloads at most once a second after events.
BETWEEN_SECONDS = 1.0


class Page:
    """A simulated page."""

    def __init__(self, host: str, port: int, counts: Counter[str]) -> None:
        self.host, self.port, self.counts = host, port, counts
        self.run: Optional[str] = None
        self.has_history = False
        self.happened = asyncio.Event()
        self.kinds: set[str] = set()
        self.events = 0
        self.errors = 0

    async def open(self) -> None:
        """Sends requests until the server exits."""
        # Spread the starts of the pages.
        await asyncio.sleep(random.random() * BETWEEN_SECONDS)
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        await self.look_around()
        try:
            await asyncio.gather(self.follow(), self.poll(), self.react())
        except (OSError, asyncio.IncompleteReadError):
            return

    async def ask(self, path: str) -> bytes:
        self.counts[re.sub("r_[0-9a-z]+", "RUN", path)] += 1
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n\r\n".encode())
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length, head
        body = await self.reader.readexactly(int(length[1]))
        self.errors += not head.startswith(b"HTTP/1.1 200")
        return body

    async def look_around(self) -> None:
        missing = json.loads(await self.ask("/api/dashboard/about"))["missing"]
        self.has_history = missing["history"] is None
        runs = json.loads(await self.ask("/api/dashboard/runs"))["runs"]
        own = [run for run in runs if run["parent"] is None]
        self.run = own[0]["id"]

    async def view(self) -> None:
        await self.ask(f"/api/dashboard/runs/{self.run}/progress")
        await self.ask(f"/api/dashboard/runs/{self.run}")

    async def poll(self) -> None:
        self.lock = asyncio.Lock()
        while True:
            await asyncio.sleep(BETWEEN_SECONDS)
            async with self.lock:
                await self.view()

    async def react(self) -> None:
        while True:
            await self.happened.wait()
            self.happened.clear()
            kinds, self.kinds = self.kinds, set()
            async with self.lock:
                if any(kind.startswith(("cycle:", "run:")) for kind in kinds):
                    await self.look_around()
                await self.view()
                if self.has_history:
                    await self.ask("/api/dashboard/roi")
            await asyncio.sleep(BETWEEN_SECONDS)

    async def follow(self) -> None:
        path = "/api/dashboard/events/stream"
        self.counts[path] += 1
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n\r\n".encode())
        while line := await reader.readline():
            if line.startswith(b"data:"):
                self.events += 1
                self.kinds.add(json.loads(line[5:])["kind"])
                self.happened.set()
        raise ConnectionResetError


async def main() -> None:
    address, count = urlsplit(sys.argv[1]), int(sys.argv[2])
    counts: Counter[str] = Counter()
    pages = [Page(address.hostname or "", address.port or 0, counts) for _ in range(count)]
    began = time.monotonic()
    await asyncio.gather(*(page.open() for page in pages))
    seconds = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "pages": sum(page.events > 0 for page in pages),
                "seconds": seconds,
                "asked": dict(counts),
                "events": sum(page.events for page in pages),
                "errors": sum(page.errors for page in pages),
                "own_cpu_seconds": used.ru_utime + used.ru_stime,
            }
        )
    )


asyncio.run(main())
