"""Concurrent creation of many sandboxes, each over a separate connection."""

from typing import Any

from figures import spread
from load import Load
from server import serving

CREATES = 100
ROUNDS = 3


def measure(menace: str, options: Any) -> dict[str, Any]:
    """Measures bursts on one warm server, including the first burst."""
    bursts = []
    with serving(menace) as server:
        with Load("create", server.port, count=1, callers=1) as load:
            before = load.result()["ids"]
        for _ in range(1 if options.quick else ROUNDS):
            with Load("create", server.port, count=CREATES, callers=CREATES) as load:
                bursts.append(load.result())
            with Load("delete", server.port, ids=bursts[-1]["ids"] + before, callers=8) as load:
                deleted = load.result()
            before = []
            bursts[-1]["errors"] += deleted["errors"]
            bursts[-1]["examples"] += deleted["examples"]
        left = server.left()
    times = [seconds for burst in bursts for seconds in burst["times"]]
    made = sum(len(burst["ids"]) for burst in bursts)
    return {
        "at_once": CREATES,
        "bursts": len(bursts),
        "made": made,
        "made_share": made / (CREATES * len(bursts)),
        "errors": [example for burst in bursts for example in burst["examples"]],
        "left": left,
        **spread(times),
    }


def figures(measured: dict[str, Any]) -> dict[str, float]:
    return {"burst_made_share": measured["made_share"], "burst_p99_ms": measured["p99_ms"]}
