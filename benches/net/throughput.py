"""Part `throughput`: TCP throughput over an unshaped link, compared with slirp4netns in alternating runs."""

import statistics
from collections.abc import Callable
from typing import Any

import slirp
from host import Stream
from menace import Menace

DIRECTIONS = ["out", "in"]
TIMES = 5
BYTES = 1 << 30
QUICK_TIMES = 1
QUICK_BYTES = 1 << 28

Carry = Callable[[int, str, int], dict[str, Any]]


def measure(menace: Menace, is_quick: bool) -> dict[str, Any]:
    slirp.install()
    times, count = (QUICK_TIMES, QUICK_BYTES) if is_quick else (TIMES, BYTES)
    peers: dict[str, Carry] = {
        "menace": lambda port, *arguments: menace.client([], "stream.py", port, *arguments)[0],
        "slirp4netns": lambda port, *arguments: slirp.client("stream.py", port, *arguments),
    }
    gbits: dict[str, dict[str, list[float]]] = {name: {way: [] for way in DIRECTIONS} for name in peers}
    with Stream() as stream:
        for _ in range(times):
            for direction in DIRECTIONS:
                for name, carry in peers.items():
                    measured = carry(stream.port, direction, count)
                    gbits[name][direction].append(measured["bytes"] * 8 / measured["seconds"] / 1e9)
    medians = {name: {way: statistics.median(one) for way, one in ways.items()} for name, ways in gbits.items()}
    return {"bytes": count, "slirp4netns": slirp.version(), "gbit": gbits, "median_gbit": medians}


def figures(measured: dict[str, Any]) -> dict[str, float]:
    ours, theirs = measured["median_gbit"]["menace"], measured["median_gbit"]["slirp4netns"]
    return {f"throughput_{way}_gbit": ours[way] for way in DIRECTIONS} | {
        f"throughput_{way}_over_slirp4netns": ours[way] / theirs[way] for way in DIRECTIONS
    }
