"""Inside the sandbox: numbered datagrams that are echoed. Prints the numbers of those that came back as JSON.

Whatever is lost is to be lost on purpose, so there are never more under way than every buffer has room for: after each
batch a second socket asks whether the echo has got so far, again and again, as its datagrams can be lost, too. It is
another flow, so how often it asks does not change what becomes of those that count.

usage: packets.py ADDRESS PORT COUNT
"""

import json
import socket
import sys
import time

BATCH = 64
# For how long an answer is waited for, and for how long nothing may come before the rest is lost for good. Both are
# longer than any latency that the bench asks for.
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
    """Asks until it is answered. Questions are longer than numbers, which is how the echo tells them apart."""
    question = b"question" + batch.to_bytes(8, "big")
    for _ in range(MOST_QUESTIONS):
        asking.send(question)
        deadline = time.monotonic() + ANSWER_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            asking.settimeout(left)
            try:
                # Answers to earlier questions may come late.
                if asking.recv(64) == question:
                    return
            except TimeoutError:
                break
    raise SystemExit(f"{MOST_QUESTIONS} questions were not answered")


def collect(numbered: socket.socket, came_back: list[int], quiet_seconds: float) -> None:
    """Takes what has come back, until nothing comes for so long."""
    numbered.settimeout(quiet_seconds)
    while True:
        try:
            came_back.append(int.from_bytes(numbered.recv(64), "big"))
        except (TimeoutError, BlockingIOError):
            return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
