"""From nothing to the result of a command: one request makes a sandbox, the next runs `true` in it."""

import json
import os
import subprocess
import time
from typing import Any

from calls import Connection
from failed import PartFailed
from figures import spread
from server import serving

ROUNDS, QUICK_ROUNDS = 300, 30
WARM_UP_ROUNDS = 5
DOCKER_ROUNDS = 30
IMAGE = os.environ.get("BENCH_IMAGE", "menace-bench-peer:latest")


def measure(menace: str, options: Any) -> dict[str, Any]:
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    with serving(menace) as server, server.connection() as connection:
        for _ in range(WARM_UP_ROUNDS):
            one_round(connection, {})
        native = [one_round(connection, {}) for _ in range(rounds)]
        beside = docker(connection)
    return {
        "native": spread([create + execute for create, execute in native]),
        "of_that_create": spread([create for create, _ in native]),
        "of_that_execute": spread([execute for _, execute in native]),
        "docker": beside,
    }


def figures(measured: dict[str, Any]) -> dict[str, float]:
    native = measured["native"]
    return {
        "latency_rounds": native["count"],
        "latency_p50_ms": native["p50_ms"],
        "latency_p99_ms": native["p99_ms"],
    }


def one_round(connection: Connection, wanted: dict[str, Any]) -> tuple[float, float]:
    """The seconds of both requests. The sandbox is destroyed after that."""
    began = time.perf_counter()
    status, sandbox = connection.call("POST", "/api/sandboxes", wanted)
    made = time.perf_counter()
    if status != 201:
        raise PartFailed(f"a sandbox was not made: {status} {json.dumps(sandbox)}")
    path = f"/api/sandboxes/{sandbox['sandbox_id']}"
    status, executed = connection.call("POST", f"{path}/execute", {"command": ["true"]})
    ended = time.perf_counter()
    if status != 200 or executed["exit_code"] != 0:
        raise PartFailed(f"`true` did not run: {status} {json.dumps(executed)}")
    status, answer = connection.call("DELETE", path)
    if status != 204:
        raise PartFailed(f"a sandbox was not destroyed: {status} {json.dumps(answer)}")
    return made - began, ended - made


def docker(connection: Connection) -> dict[str, Any]:
    """The same with containers, by menace and by docker's own command; or why that was not measured."""
    if reason := no_docker():
        return {"measured": False, "why": reason}
    found: dict[str, Any] = {"measured": True, "image": IMAGE}
    try:
        rounds = [one_round(connection, {"backend": "docker", "image": IMAGE}) for _ in range(DOCKER_ROUNDS)]
        found["backend"] = spread([sum(seconds) for seconds in rounds])
    except PartFailed as error:
        found["backend"] = {"measured": False, "why": str(error)}
    found["cli"] = spread([docker_run() for _ in range(DOCKER_ROUNDS)])
    return found


def no_docker() -> str | None:
    """Why containers cannot be measured, if they cannot."""
    for command in (["docker", "version"], ["docker", "image", "inspect", IMAGE]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=10.0)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"`{' '.join(command)}` failed: {error}"
        if done.returncode != 0:
            return f"`{' '.join(command)}` failed: {' '.join(done.stderr.split())}"
    return None


def docker_run() -> float:
    began = time.perf_counter()
    done = subprocess.run(["docker", "run", "--rm", IMAGE, "true"], capture_output=True, text=True)
    if done.returncode != 0:
        raise PartFailed(f"docker run failed: {done.stderr.strip()}")
    return time.perf_counter() - began
