"""Minimal HTTP client over a persistent connection."""

import json
import socket
from typing import Any

HOST = "127.0.0.1"
LONGEST_SECONDS = 60.0
JSON = "Content-Type: application/json\r\n"


class Broken(Exception):
    """The connection was closed before the end of the response."""


class Connection:
    """A persistent connection that reconnects after errors."""

    def __init__(self, port: int, longest_seconds: float = LONGEST_SECONDS) -> None:
        self.port = port
        self.longest_seconds = longest_seconds
        self.socket: socket.socket | None = None
        self.file: Any = None

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        if self.socket is not None:
            return
        try:
            self.socket = socket.create_connection((HOST, self.port), self.longest_seconds)
        except OSError as error:
            raise Broken(str(error)) from error
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", buffering=1 << 20)

    def close(self) -> None:
        if self.socket is not None:
            self.file.close()
            self.socket.close()
            self.socket = None

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Sends a request. Returns status and body. Errors close the connection."""
        try:
            self.send(method, path, body)
            status, headers = self.head()
            return status, read_json(self.body(headers))
        except (OSError, ValueError) as error:
            self.close()
            raise Broken(f"{method} {path}: {error}") from error

    def send(self, method: str, path: str, body: Any = None, headers: str = "") -> None:
        self.open()
        assert self.socket is not None
        content = b"" if body is None else json.dumps(body).encode()
        kind = "" if body is None else JSON
        length = f"Content-Length: {len(content)}\r\n" if method != "GET" else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}:{self.port}\r\n{kind}{length}{headers}\r\n"
        self.socket.sendall(head.encode() + content)

    def head(self) -> tuple[int, dict[str, str]]:
        """Reads status and headers of a response, with lowercase names."""
        words = self.line().split(" ", 2)
        headers = {}
        while line := self.line():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return int(words[1]), headers

    def line(self) -> str:
        line = self.file.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the connection ended within an answer")
        return line.rstrip(b"\r\n").decode()

    def body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") == "chunked":
            return b"".join(self.chunks())
        return self.exactly(int(headers.get("content-length", "0")))

    def chunks(self) -> Any:
        """Reads the chunks of a body with chunked encoding."""
        while length := int(self.line(), 16):
            yield self.exactly(length)
            self.line()
        self.line()

    def exactly(self, length: int) -> bytes:
        content = self.file.read(length)
        if len(content) < length:
            raise ConnectionError("the connection ended within an answer")
        return content


def read_json(content: bytes) -> Any:
    return json.loads(content) if content else None
