"""Part `seed`: whether a seed determines the lost and delayed packets, and another seed changes them."""

from dataclasses import dataclass
from typing import Any

from host import Echo
from menace import Menace

SEED, OTHER_SEED = 7, 8
LINK = ["--loss", "10%", "--latency", "20ms", "--jitter", "10ms"]
PACKETS = 1_000
RUNS = 10
QUICK_RUNS = 3


@dataclass(frozen=True)
class Fates:
    """Lost packets of one run."""

    # Numbers of packets lost on the way to the host, and on the way back.
    lost_out: set[int]
    lost_in: set[int]
    # Counters of menace for the flow.
    out_counts: dict[str, int]
    in_counts: dict[str, int]


def measure(menace: Menace, is_quick: bool) -> dict[str, Any]:
    runs = QUICK_RUNS if is_quick else RUNS
    # One port for all runs, because the loss of a packet depends on its destination.
    with Echo() as echo:
        all_fates = [run(menace, echo, SEED) for _ in range(runs)]
        other = run(menace, echo, OTHER_SEED)
    first = all_fates[0]
    return {
        "packets": PACKETS,
        "runs": runs,
        "same": sum(fates == first for fates in all_fates),
        "differences": [differing(first, fates) for fates in all_fates if fates != first],
        "other_differs": other.lost_out != first.lost_out and other.lost_in != first.lost_in,
        "out": first.out_counts,
        "in": first.in_counts,
    }


def run(menace: Menace, echo: Echo, seed: int) -> Fates:
    came_back, report = menace.client([*LINK, "--seed", str(seed)], "packets.py", echo.port, PACKETS)
    arrived = set(echo.take_arrived())
    # Numbered packets are the first flow. The number of probes in the second flow varies.
    flow = next(flow for flow in report["flows"] if flow["protocol"] == "udp")
    return Fates(
        lost_out=set(range(PACKETS)) - arrived,
        lost_in=arrived - set(came_back),
        out_counts=flow["out"],
        in_counts=flow["in"],
    )


def differing(first: Fates, other: Fates) -> dict[str, Any]:
    """Differences between two runs, for debugging."""
    return {
        "lost_out_in_one_of_them": sorted(first.lost_out ^ other.lost_out),
        "lost_in_in_one_of_them": sorted(first.lost_in ^ other.lost_in),
        "out": other.out_counts,
        "in": other.in_counts,
    }


def figures(measured: dict[str, Any]) -> dict[str, float]:
    return {
        "seed_same": measured["same"] / measured["runs"],
        "seed_other_differs": float(measured["other_differs"]),
    }
