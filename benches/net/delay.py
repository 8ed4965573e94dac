"""Part `delay`: whether the round-trip time matches the requested latency."""

import statistics
from typing import Any

from host import Echo
from menace import Menace

# Number of sequential round trips for each latency in milliseconds.
PINGS = {5: 200, 50: 100, 200: 50}
QUICK_PINGS = 10


def measure(menace: Menace, is_quick: bool) -> dict[str, Any]:
    with Echo() as echo:
        unshaped, _ = menace.client([], "ping.py", echo.port, QUICK_PINGS if is_quick else max(PINGS.values()))
        delays = {}
        for latency, pings in PINGS.items():
            shape = ["--latency", f"{latency}ms"]
            times, _ = menace.client(shape, "ping.py", echo.port, QUICK_PINGS if is_quick else pings)
            delays[f"{latency}_ms"] = described(times) | {"error_ms": abs(statistics.median(times) - latency)}
    return {"unshaped": described(unshaped), "shaped": delays}


def described(times: list[float]) -> dict[str, Any]:
    return {"pings": len(times), "median_ms": statistics.median(times), "min_ms": min(times), "max_ms": max(times)}


def figures(measured: dict[str, Any]) -> dict[str, float]:
    return {f"delay_{name}_error_ms": one["error_ms"] for name, one in measured["shaped"].items()}
