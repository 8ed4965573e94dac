"""Inside the sandbox: requests over HTTP, each on a connection of its own, from many processes at once.

Prints, as JSON, the first answer and how many of the others were the same, byte for byte, in how many seconds.

usage: ask.py HOST PATH REQUESTS PROCESSES
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable

PATIENCE_SECONDS = 30.0


def main(host: str, path: str, requests: int, processes: int) -> None:
    # Each process has one connection under way; a loop over many sockets would take more time of its own.
    address = socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM)[0]
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    expected = answer(address, request)
    each = requests // processes
    started = time.perf_counter()
    children = [fork(lambda: sum(answer(address, request) == expected for _ in range(each))) for _ in range(processes)]
    same = sum(map(wait, children))
    seconds = time.perf_counter() - started
    print(json.dumps({"answer": expected.decode(), "asked": each * processes, "same": same, "seconds": seconds}))


def answer(address: tuple, request: bytes) -> bytes:
    """All that comes until the end of a new connection; nothing if it breaks."""
    family, kind, _, _, where = address
    received = b""
    with socket.socket(family, kind) as sock:
        sock.settimeout(PATIENCE_SECONDS)
        try:
            sock.connect(where)
            sock.sendall(request)
            while chunk := sock.recv(1 << 16):
                received += chunk
        except OSError:
            return b""
    return received


def fork(count: Callable[[], int]) -> tuple[int, int]:
    """Counts in another process: its id, and where it says the count."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, str(count()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    return pid, reading


def wait(process: tuple[int, int]) -> int:
    """The count of such a process; none if it ended without one."""
    pid, reading = process
    said = os.read(reading, 64)
    os.waitpid(pid, 0)
    return int(said or 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
