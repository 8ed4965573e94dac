"""Servers on the loopback of the host, each in its own thread."""

import json
import socket
import threading
from typing import Self

from inside.stream import receive, send

LOOPBACK = "127.0.0.1"
# Length of a numbered datagram in bytes; probes are longer.
NUMBER = 8
LARGEST_BUFFER = 4 << 20


class Server:
    """A loopback socket and the thread that serves it, until the end of the block."""

    def __init__(self, kind: socket.SocketKind, port: int = 0) -> None:
        self.socket = socket.socket(socket.AF_INET, kind)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((LOOPBACK, port))
        self.port: int = self.socket.getsockname()[1]
        self.is_over = False
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over = True
        # Closing a socket does not wake a thread that waits for it.
        self.wake()
        self.thread.join()
        self.socket.close()

    def serve(self) -> None:
        raise NotImplementedError

    def wake(self) -> None:
        raise NotImplementedError


class Echo(Server):
    """Echoes datagrams, and records the numbers that arrived."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(socket.SOCK_DGRAM, port)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LARGEST_BUFFER)
        self.arrived: list[int] = []

    def serve(self) -> None:
        while True:
            datagram, sender = self.socket.recvfrom(64)
            if self.is_over:
                return
            if len(datagram) == NUMBER:
                self.arrived.append(int.from_bytes(datagram, "big"))
            self.socket.sendto(datagram, sender)

    def take_arrived(self) -> list[int]:
        """Returns the numbers that arrived since the last call."""
        taken, self.arrived = self.arrived, []
        return taken

    def wake(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"", (LOOPBACK, self.port))


class Stream(Server):
    """Server for `inside/stream.py`, one connection at a time."""

    def __init__(self) -> None:
        super().__init__(socket.SOCK_STREAM)
        self.socket.listen()

    def serve(self) -> None:
        while True:
            connection, _ = self.socket.accept()
            if self.is_over:
                connection.close()
                return
            with connection:
                try:
                    converse(connection)
                except OSError:
                    # The client is gone and reports the error itself.
                    continue

    def wake(self) -> None:
        socket.create_connection((LOOPBACK, self.port)).close()


def converse(connection: socket.socket) -> None:
    asked = connection.recv(11, socket.MSG_WAITALL)
    direction, count = asked[:3].decode().strip(), int.from_bytes(asked[3:], "big")
    if direction == "in":
        send(connection, count)
    else:
        measured = receive(connection, count)
        connection.sendall(json.dumps(measured).encode() + b"\n")
