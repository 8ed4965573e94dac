"""Runs inside the sandbox: sequential datagrams to an echo server. Prints the time of each round trip as JSON.

usage: ping.py ADDRESS PORT COUNT
"""

import json
import socket
import sys
import time

# There is no injected loss here, so a timeout is an error.
PATIENCE_SECONDS = 5.0


def main(address: str, port: int, count: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(PATIENCE_SECONDS)
        sock.connect((address, port))
        print(json.dumps([round_trip(sock, number) for number in range(count)]))


def round_trip(sock: socket.socket, number: int) -> float:
    """Round-trip time of this datagram in milliseconds."""
    sent = number.to_bytes(8, "big")
    started = time.perf_counter()
    sock.send(sent)
    received = sock.recv(64)
    elapsed = time.perf_counter() - started
    if received != sent:
        raise SystemExit(f"{sent!r} was echoed as {received!r}")
    return elapsed * 1e3


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
