"""Runs inside the sandbox: HTTP requests from concurrent processes, each over a new connection.

Prints as JSON the first response, the number of other responses that are identical byte for byte, and the duration in seconds.

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
    # One connection at a time per process; a loop over many sockets would have more overhead.
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
    """Sends a request over a new connection. Returns the response, or nothing on an error."""
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
    """Counts in a child process. Returns its id and the pipe for the count."""
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
    """Count of a child process, or 0 if it exited without one."""
    pid, reading = process
    said = os.read(reading, 64)
    os.waitpid(pid, 0)
    return int(said or 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
