"""Runs inside the sandbox: numbered datagrams to an echo server. Prints the numbers of those that came back as JSON.

Only injected loss may occur, so the datagrams in flight must fit into every buffer: after each batch a second socket sends
probes until the echo server has caught up; probes can be lost, too. They are another flow, so their number does not
influence the numbered datagrams.

usage: packets.py ADDRESS PORT COUNT
"""

import json
import socket
import sys
import time

BATCH = 64
# Timeout of a probe, and the silence after which remaining datagrams count as lost. Both exceed every latency of the bench.
ANSWER_SECONDS = 0.05
QUIET_SECONDS = 0.5
MOST_QUESTIONS = 200


def main(address: str, port: int, count: int) -> None:
    came_back: list[int] = []
    with datagrams(address, port) as numbered, datagrams(address, port) as asking:
        for first in range(0, count, BATCH):
            for number in range(first, min(first + BATCH, count)):
                numbered.send(number.to_bytes(8, "big"))
            wait_for_echo(asking, first)
            collect(numbered, came_back, 0.0)
        collect(numbered, came_back, QUIET_SECONDS)
    print(json.dumps(came_back))


def datagrams(address: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((address, port))
    return sock


def wait_for_echo(asking: socket.socket, batch: int) -> None:
    """Sends probes until one is answered. The echo server recognises them by their length."""
    question = b"question" + batch.to_bytes(8, "big")
    for _ in range(MOST_QUESTIONS):
        asking.send(question)
        deadline = time.monotonic() + ANSWER_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            asking.settimeout(left)
            try:
                # Answers to earlier probes may arrive late.
                if asking.recv(64) == question:
                    return
            except TimeoutError:
                break
    raise SystemExit(f"{MOST_QUESTIONS} probes were not answered")


def collect(numbered: socket.socket, came_back: list[int], quiet_seconds: float) -> None:
    """Receives datagrams until a timeout."""
    numbered.settimeout(quiet_seconds)
    while True:
        try:
            came_back.append(int.from_bytes(numbered.recv(64), "big"))
        except (TimeoutError, BlockingIOError):
            return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
