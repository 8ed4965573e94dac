"""Containers: cold starts, warm starts from the pool, and `docker run` for comparison."""

import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable
from typing import Any

from calls import Connection
from failed import PartFailed
from figures import spread
from server import Server, serving

ROUNDS, QUICK_ROUNDS = 30, 5
LONGEST_WAIT_SECONDS = 60.0
POOL_SIZE = 2
IMAGE = os.environ.get("BENCH_IMAGE", "menace-bench-peer:latest")

Round = Callable[[Connection, dict[str, Any]], tuple[float, float]]


def measure(menace: str, quick: bool, one_round: Round) -> dict[str, Any]:
    """Measures all variants in alternating order, so that other load affects all of them. Otherwise returns the reason."""
    if reason := no_docker():
        return {"measured": False, "why": reason}
    rounds = QUICK_ROUNDS if quick else ROUNDS
    wanted = {"backend": "docker", "image": IMAGE}
    cold, warm, busy, run = [], [], [], []
    with serving(menace, {"SANDBOX_POOL_SIZE": "0"}) as unpooled, unpooled.connection() as to_unpooled:
        with serving(menace, {"SANDBOX_POOL_SIZE": str(POOL_SIZE)}) as pooled, pooled.connection() as to_pooled:
            one_round(to_pooled, wanted)
            for _ in range(rounds):
                wait_until_full(pooled)
                warm.append(one_round(to_pooled, wanted))
                wait_until_full(pooled)
                cold.append(one_round(to_unpooled, wanted))
                run.append(docker_run())
            # Without pauses, some requests find an empty pool.
            for _ in range(rounds):
                busy.append(one_round(to_pooled, wanted))
    return {
        "measured": True,
        "image": IMAGE,
        "pool_size": POOL_SIZE,
        "warm": both(warm),
        "cold": both(cold),
        "one_after_another": both(busy),
        "docker_run": spread(run),
    }


def figures(measured: dict[str, Any]) -> dict[str, float]:
    if not measured["measured"]:
        return {}
    return {"latency_warm_share_of_docker_run": measured["warm"]["create"]["p50_ms"] / measured["docker_run"]["p50_ms"]}


def both(rounds: list[tuple[float, float]]) -> dict[str, Any]:
    return {
        "create": spread([create for create, _ in rounds]),
        "create_and_execute": spread([create + execute for create, execute in rounds]),
    }


def wait_until_full(server: Server) -> None:
    began = time.monotonic()
    while time.monotonic() - began < LONGEST_WAIT_SECONDS:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=10.0) as answer:
            waiting = re.search(r"^pooled_container_count\{[^}]*\} (\d+)$", answer.read().decode(), re.MULTILINE)
        if waiting and int(waiting[1]) >= POOL_SIZE:
            return
        time.sleep(0.02)
    raise PartFailed("the pool was not filled")


def no_docker() -> str | None:
    """Reason why containers cannot be measured, or None."""
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
    command = ["docker", "run", "--rm", "--network", "none", IMAGE, "true"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise PartFailed(f"docker run failed: {done.stderr.strip()}")
    return time.perf_counter() - began
