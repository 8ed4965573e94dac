"""Streams a gigabyte of output over a connection that is closed repeatedly. The received data must be identical."""

import base64
import hashlib
import json
import random
import socket
import struct
import time
from typing import Any

from calls import Connection
from failed import PartFailed
from server import serving

SEED = 20240521
BYTES, QUICK_BYTES = 1 << 30, 64 << 20
CUTS = 100
# Binary data, text, and text with multi-byte characters, split at arbitrary positions.
PROGRAM = """
import hashlib, random, sys
chance, left, number, seen = random.Random(int(sys.argv[1])), int(sys.argv[2]), 0, hashlib.sha256()
while left:
    block = chance.randbytes(chance.randrange(1, 60000))
    if number % 3 == 1:
        block = block.hex().encode()
    if number % 3 == 2:
        block = block.decode("latin-1").encode()
    block = block[:left]
    left, number = left - len(block), number + 1
    seen.update(block)
    sys.stdout.buffer.write(block)
sys.stdout.buffer.flush()
print(seen.hexdigest(), file=sys.stderr)
"""


def measure(menace: str, options: Any) -> dict[str, Any]:
    length = QUICK_BYTES if options.quick else BYTES
    with serving(menace) as server, server.connection() as connection:
        sandbox = connection.call("POST", "/api/sandboxes", {})[1]["sandbox_id"]
        listener = Listener(server.port, sandbox, length)
        began = time.monotonic()
        listener.listen()
        seconds = time.monotonic() - began
    return {
        "bytes": length,
        "received": listener.received,
        "cuts": listener.cuts,
        "cut_with_reset": listener.resets,
        "events": listener.events,
        "events_in_base64": listener.encoded,
        "sha256_printed": listener.stderr.strip(),
        "sha256_received": listener.hash.hexdigest(),
        "numbers_out_of_order": listener.out_of_order,
        "end": listener.end,
        "seconds": round(seconds, 2),
        "mib_per_second": round(listener.received / seconds / (1 << 20), 1),
    }


def figures(measured: dict[str, Any]) -> dict[str, float]:
    is_same = measured["sha256_printed"] == measured["sha256_received"] and measured["received"] == measured["bytes"]
    is_well = measured["end"].get("exit_code") == 0 and measured["numbers_out_of_order"] == 0
    return {
        "stream_identical": float(is_same and is_well),
        "stream_bytes": measured["bytes"],
        "stream_cuts": measured["cuts"],
    }


class Listener:
    """Receives the output of a command to its end, reconnecting as often as necessary."""

    def __init__(self, port: int, sandbox: str, length: int) -> None:
        self.port, self.sandbox, self.length = port, sandbox, length
        self.chance = random.Random(SEED)
        self.places = sorted(self.chance.randrange(length) for _ in range(CUTS))
        self.hash = hashlib.sha256()
        self.received = self.cuts = self.resets = self.events = self.encoded = self.out_of_order = 0
        self.process = self.last = ""
        self.stderr = ""
        self.end: dict[str, Any] = {}

    def listen(self) -> None:
        command = ["python3", "-c", PROGRAM, str(SEED), str(self.length)]
        with Connection(self.port) as connection:
            connection.send("POST", f"/api/sandboxes/{self.sandbox}/exec", {"command": command, "timeout": 1800})
            is_over = self.hear(connection)
        while not is_over:
            with Connection(self.port) as connection:
                path = f"/api/sandboxes/{self.sandbox}/processes/{self.process}/events"
                connection.send("GET", path, headers=f"Last-Event-ID: {self.last}\r\n" if self.last else "")
                is_over = self.hear(connection)

    def hear(self, connection: Connection) -> bool:
        """Receives events until the last one or the next cut. Returns whether it was the last one."""
        status, headers = connection.head()
        if status != 200:
            raise PartFailed(f"failed to open the event stream: {status} {connection.body(headers).decode()}")
        rest = b""
        for chunk in connection.chunks():
            *whole, rest = (rest + chunk).split(b"\n\n")
            for event in whole:
                if self.take(event):
                    return True
                if self.process and self.places and self.received >= self.places[0]:
                    self.places.pop(0)
                    self.cut(connection)
                    return False
        raise PartFailed(f"the stream ended without a last event, after event {self.last or 0}")

    def cut(self, connection: Connection) -> None:
        """Closes the connection, half of the time with a reset that discards unread data."""
        self.cuts += 1
        assert connection.socket is not None
        if self.chance.random() < 0.5:
            self.resets += 1
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    def take(self, event: bytes) -> bool:
        """Processes an event. Returns whether it is the last one."""
        fields = dict(line.split(b": ", 1) for line in event.split(b"\n") if b": " in line)
        name, data = fields[b"event"].decode(), json.loads(fields[b"data"])
        if name == "init":
            self.process = data["process_id"]
        elif name in ("stdout", "stderr"):
            self.take_printed(name, data, fields[b"id"].decode())
        elif name in ("exit", "error"):
            self.end = data
            return True
        return False

    def take_printed(self, name: str, data: dict[str, str], number: str) -> None:
        self.events += 1
        self.out_of_order += int(number) != int(self.last or 0) + 1
        self.last = number
        is_encoded = data.get("encoding") == "base64"
        self.encoded += is_encoded
        content = base64.b64decode(data["data"]) if is_encoded else data["data"].encode()
        if name == "stderr":
            self.stderr += content.decode()
            return
        self.received += len(content)
        self.hash.update(content)
