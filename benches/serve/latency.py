"""Latency from the creation of a sandbox to the result of `true` in it."""

import json
import time
from typing import Any

import containers
from calls import Connection
from failed import PartFailed
from figures import spread
from server import serving

ROUNDS, QUICK_ROUNDS = 300, 30
WARM_UP_ROUNDS = 5


def measure(menace: str, options: Any) -> dict[str, Any]:
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    with serving(menace) as server, server.connection() as connection:
        for _ in range(WARM_UP_ROUNDS):
            one_round(connection, {})
        native = [one_round(connection, {}) for _ in range(rounds)]
    return {
        "native": spread([create + execute for create, execute in native]),
        "of_that_create": spread([create for create, _ in native]),
        "of_that_execute": spread([execute for _, execute in native]),
        "docker": containers.measure(menace, options.quick, one_round),
    }


def figures(measured: dict[str, Any]) -> dict[str, float]:
    native = measured["native"]
    return {
        "latency_rounds": native["count"],
        "latency_p50_ms": native["p50_ms"],
        "latency_p99_ms": native["p99_ms"],
        **containers.figures(measured["docker"]),
    }


def one_round(connection: Connection, wanted: dict[str, Any]) -> tuple[float, float]:
    """Durations of both requests in seconds. Destroys the sandbox."""
    began = time.perf_counter()
    status, sandbox = connection.call("POST", "/api/sandboxes", wanted)
    made = time.perf_counter()
    if status != 201:
        raise PartFailed(f"failed to create a sandbox: {status} {json.dumps(sandbox)}")
    path = f"/api/sandboxes/{sandbox['sandbox_id']}"
    status, executed = connection.call("POST", f"{path}/execute", {"command": ["true"]})
    ended = time.perf_counter()
    if status != 200 or executed["exit_code"] != 0:
        raise PartFailed(f"`true` failed: {status} {json.dumps(executed)}")
    status, answer = connection.call("DELETE", path)
    if status != 204:
        raise PartFailed(f"failed to destroy a sandbox: {status} {json.dumps(answer)}")
    return made - began, ended - made
