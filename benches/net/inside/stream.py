"""Runs inside the sandbox: one TCP connection that transfers a number of bytes in one direction.

Prints as JSON the received bytes and the duration in seconds, measured by the receiver from the first chunk, which is not
counted, to the last.

usage: stream.py ADDRESS PORT out|in BYTES
"""

import json
import socket
import sys
import time

CHUNK = 1 << 18


def main(address: str, port: int, direction: str, count: int) -> None:
    with socket.create_connection((address, port)) as sock:
        sock.sendall(direction.encode().ljust(3) + count.to_bytes(8, "big"))
        if direction == "in":
            measured = receive(sock, count)
        else:
            send(sock, count)
            measured = json.loads(sock.makefile().readline())
    print(json.dumps(measured))


def send(sock: socket.socket, count: int) -> None:
    chunk = memoryview(bytes(CHUNK))
    while count > 0:
        sent = sock.send(chunk[: min(count, CHUNK)])
        count -= sent


def receive(sock: socket.socket, count: int) -> dict:
    buffer = memoryview(bytearray(CHUNK))
    before = sock.recv_into(buffer[: min(count, CHUNK)])
    started = time.perf_counter()
    left = count - before
    while left > 0:
        received = sock.recv_into(buffer[: min(left, CHUNK)])
        if received == 0:
            raise ConnectionError(f"the connection ended {left} bytes early")
        left -= received
    return {"seconds": time.perf_counter() - started, "bytes": count - before}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
