"""Part `bandwidth`: whether the goodput of a TCP connection matches the requested rate."""

from typing import Any

from host import Stream
from menace import Menace

MEGABITS = [1, 10, 100]
DIRECTIONS = ["out", "in"]
SECONDS = 4
QUICK_SECONDS = 1


def measure(menace: Menace, is_quick: bool) -> dict[str, Any]:
    seconds = QUICK_SECONDS if is_quick else SECONDS
    with Stream() as stream:
        return {
            f"{rate}_mbit_{direction}": carry(menace, stream, rate, direction, seconds)
            for rate in MEGABITS
            for direction in DIRECTIONS
        }


def carry(menace: Menace, stream: Stream, rate: int, direction: str, seconds: int) -> dict[str, Any]:
    count = rate * 1_000_000 // 8 * seconds
    measured, _ = menace.client(["--bandwidth", f"{rate}mbit"], "stream.py", stream.port, direction, count)
    goodput = measured["bytes"] * 8 / measured["seconds"] / 1e6
    return measured | {"goodput_mbit": goodput, "error": abs(goodput - rate) / rate}


def figures(measured: dict[str, Any]) -> dict[str, float]:
    return {f"bandwidth_{name}_error": one["error"] for name, one in measured.items()}
