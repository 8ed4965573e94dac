"""Load generator in a separate process, so that it does not slow down the measuring process.

usage: load.py KIND PORT OPTIONS, where the options are JSON. Prints the result as one JSON document. Each caller is a
thread with a separate connection. Callers without a duration run until the end of stdin.
"""

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from calls import Broken, Connection

TRUE = {"command": ["true"]}
MOST_EXAMPLES = 10
# Maximum number of sandboxes of a caller of `churn`.
MOST_SANDBOXES = 8


def main() -> None:
    kind, port, options = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    print(json.dumps({"execute": execute, "create": create, "churn": churn, "delete": delete}[kind](port, options)))


class Load:
    """Handle of a load generator process."""

    def __init__(self, kind: str, port: int, **options: Any) -> None:
        command = [sys.executable, str(Path(__file__).resolve()), kind, str(port), json.dumps(options)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "Load":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def result(self) -> Any:
        """Stops the callers and returns their result."""
        return json.loads(self.process.communicate()[0])


class Errors:
    """Number of errors, and examples."""

    def __init__(self) -> None:
        self.count = 0
        self.examples: list[str] = []
        self.lock = threading.Lock()

    def add(self, text: str) -> None:
        with self.lock:
            self.count += 1
            if len(self.examples) < MOST_EXAMPLES:
                self.examples.append(text[:500])

    def told(self) -> dict[str, Any]:
        return {"errors": self.count, "examples": self.examples}


def at_once(callers: int, work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def execute(port: int, options: dict[str, Any]) -> dict[str, Any]:
    """Runs `true` in these sandboxes for a duration."""
    ids, errors, times = options["ids"], Errors(), []
    end = time.monotonic() + options["seconds"]

    def caller(number: int) -> None:
        chance = random.Random(number)
        with Connection(port) as connection:
            while (began := time.monotonic()) < end:
                path = f"/api/sandboxes/{chance.choice(ids)}/execute"
                if is_well(connection, errors, "POST", path, TRUE, lambda answer: answer["exit_code"] == 0):
                    times.append(time.monotonic() - began)

    began = time.monotonic()
    at_once(options["callers"], caller)
    return {**errors.told(), "seconds": time.monotonic() - began, "times": times}


def create(port: int, options: dict[str, Any]) -> dict[str, Any]:
    """Creates sandboxes, concurrently if there are enough callers. Times start when all callers are released."""
    ids: list[str] = []
    errors, times = Errors(), []
    released = [0.0]
    barrier = threading.Barrier(options["callers"], action=lambda: released.__setitem__(0, time.monotonic()))
    left = iter(range(1, options["count"] + 1))
    lock = threading.Lock()

    def caller(_: int) -> None:
        with Connection(port) as connection:
            connection.open()
            barrier.wait()
            began = released[0]
            while take(left, lock):
                made = is_well(connection, errors, "POST", "/api/sandboxes", {}, lambda answer: True)
                times.append(time.monotonic() - began)
                began = time.monotonic()
                if made:
                    ids.append(made["sandbox_id"])

    at_once(options["callers"], caller)
    return {**errors.told(), "ids": ids, "times": times}


def delete(port: int, options: dict[str, Any]) -> dict[str, Any]:
    """Destroys these sandboxes."""
    errors, times = Errors(), []
    left, lock = iter(options["ids"]), threading.Lock()

    def caller(_: int) -> None:
        with Connection(port) as connection:
            while identifier := take(left, lock):
                began = time.monotonic()
                is_well(connection, errors, "DELETE", f"/api/sandboxes/{identifier}", None, lambda _: True)
                times.append(time.monotonic() - began)

    at_once(options["callers"], caller)
    return {**errors.told(), "times": times}


def take(left: Any, lock: threading.Lock) -> Any:
    """The next item, or None."""
    with lock:
        return next(left, None)


def is_well(
    connection: Connection, errors: Errors, method: str, path: str, body: Any, right: Callable[[Any], bool]
) -> Any:
    """Returns the response if it has the expected status."""
    try:
        status, answer = connection.call(method, path, body)
    except Broken as error:
        errors.add(str(error))
        return None
    if status >= 300 or not right(answer):
        errors.add(f"{method} {path}: {status} {json.dumps(answer)}")
        return None
    return answer or True


def churn(port: int, options: dict[str, Any]) -> dict[str, Any]:
    """Creates, uses and destroys sandboxes until the end of stdin, across connection failures.

    Error responses count as errors. Broken connections do not, because the server is killed.
    """
    errors, over = Errors(), threading.Event()
    counts = {"created": 0, "executed": 0, "deleted": 0, "broken": 0}
    live: dict[str, str] = {}
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()

    def caller(number: int) -> None:
        chance = random.Random(number)
        mine: list[str] = []
        with Connection(port, longest_seconds=20.0) as connection:
            while not over.is_set():
                try:
                    churn_once(connection, chance, mine, live, counts, errors)
                except Broken:
                    counts["broken"] += 1
                    time.sleep(0.01)

    at_once(options["callers"], caller)
    return {**errors.told(), **counts, "live": live}


def churn_once(
    connection: Connection,
    chance: random.Random,
    mine: list[str],
    live: dict[str, str],
    counts: dict[str, int],
    errors: Errors,
) -> None:
    """Sends one request. `live` records for each known sandbox whether it must exist or may be gone."""
    wish = chance.random()
    if not mine or (wish < 0.3 and len(mine) < MOST_SANDBOXES):
        status, answer = connection.call("POST", "/api/sandboxes", {})
        if status == 201:
            mine.append(answer["sandbox_id"])
            live[mine[-1]] = "there"
            counts["created"] += 1
        else:
            errors.add(f"POST /api/sandboxes: {status} {json.dumps(answer)}")
    elif wish < 0.7:
        identifier = chance.choice(mine)
        status, answer = connection.call("POST", f"/api/sandboxes/{identifier}/execute", TRUE)
        if status == 200 and answer["exit_code"] == 0:
            counts["executed"] += 1
        else:
            errors.add(f"POST /api/sandboxes/{identifier}/execute: {status} {json.dumps(answer)}")
    else:
        identifier = mine.pop(chance.randrange(len(mine)))
        # It may be destroyed although the response was lost.
        live[identifier] = "may be gone"
        status, answer = connection.call("DELETE", f"/api/sandboxes/{identifier}")
        if status == 204:
            live.pop(identifier)
            counts["deleted"] += 1
        else:
            errors.add(f"DELETE /api/sandboxes/{identifier}: {status} {json.dumps(answer)}")


if __name__ == "__main__":
    main()
