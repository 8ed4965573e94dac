"""Part `loss`: whether the packet loss in each direction is within the interval of the binomial distribution.

The lost packets derive from the seed and from the name and port of the destination. Both are constant, so the counts are
reproducible.
"""

from typing import Any

import binomial
from failed import PartFailed
from host import Echo
from menace import Menace

PORT = 28_461
SEED = 1
PERCENTS = [1, 10]
PACKETS = 20_000
QUICK_PACKETS = 2_000
CONFIDENCE = 0.99


def measure(menace: Menace, is_quick: bool) -> dict[str, Any]:
    packets = QUICK_PACKETS if is_quick else PACKETS
    with echo_at_port() as echo:
        nothing = lose(menace, echo, 0, packets)
        if nothing["out"]["lost"] or nothing["in"]["lost"]:
            raise PartFailed(f"packets are lost on a link without loss: {nothing}")
        return {f"{percent}_percent": lose(menace, echo, percent, packets) for percent in PERCENTS}


def echo_at_port() -> Echo:
    try:
        return Echo(PORT)
    except OSError as error:
        raise PartFailed(f"port {PORT} of the host is not available: {error}") from None


def lose(menace: Menace, echo: Echo, percent: int, packets: int) -> dict[str, Any]:
    shape = ["--loss", f"{percent}%", "--seed", str(SEED)] if percent else []
    came_back, _ = menace.client(shape, "packets.py", echo.port, packets)
    arrived = echo.take_arrived()
    for numbers in (arrived, came_back):
        if len(set(numbers)) != len(numbers):
            raise PartFailed(f"{len(numbers) - len(set(numbers))} packets arrived twice at a loss of {percent} %")
    return {
        "out": counted(packets, len(arrived), percent / 100),
        "in": counted(len(arrived), len(came_back), percent / 100),
    }


def counted(sent: int, arrived: int, chance: float) -> dict[str, Any]:
    lost = sent - arrived
    low, high = binomial.interval(sent, chance, CONFIDENCE) if chance else (0, 0)
    return {"sent": sent, "lost": lost, "least": low, "most": high, "outside": max(low - lost, lost - high, 0)}


def figures(measured: dict[str, Any]) -> dict[str, float]:
    """Distance of each count to its interval, in packets."""
    return {
        f"loss_{name}_{direction}_outside": counts["outside"]
        for name, directions in measured.items()
        for direction, counts in directions.items()
    }
