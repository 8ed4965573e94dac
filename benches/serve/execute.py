"""Commands in an existing sandbox: sequential, and from concurrent clients."""

import json
import time
from typing import Any

from failed import PartFailed
from figures import spread
from load import TRUE, Load
from server import serving

COMMANDS, QUICK_COMMANDS = 1000, 100
WARM_UP_COMMANDS = 20
CALLERS = 4
SECONDS, QUICK_SECONDS = 20.0, 5.0


def measure(menace: str, options: Any) -> dict[str, Any]:
    commands = QUICK_COMMANDS if options.quick else COMMANDS
    seconds = QUICK_SECONDS if options.quick else SECONDS
    with serving(menace) as server:
        with server.connection() as connection:
            identifier = connection.call("POST", "/api/sandboxes", {})[1]["sandbox_id"]
            path = f"/api/sandboxes/{identifier}/execute"
            times = [run(connection, path) for _ in range(WARM_UP_COMMANDS + commands)][WARM_UP_COMMANDS:]
        with Load("execute", server.port, ids=[identifier], callers=CALLERS, seconds=seconds) as load:
            sustained = load.result()
    per_second = len(sustained["times"]) / sustained["seconds"]
    return {
        "one_connection": spread(times),
        "sustained": {
            "callers": CALLERS,
            "seconds": round(sustained["seconds"], 2),
            "per_second": round(per_second, 1),
            "errors": sustained["errors"],
            "examples": sustained["examples"],
            **spread(sustained["times"]),
        },
    }


def figures(measured: dict[str, Any]) -> dict[str, float]:
    return {
        "execute_p50_ms": measured["one_connection"]["p50_ms"],
        "execute_per_second": measured["sustained"]["per_second"],
        "execute_errors": measured["sustained"]["errors"],
    }


def run(connection: Any, path: str) -> float:
    began = time.perf_counter()
    status, answer = connection.call("POST", path, TRUE)
    if status != 200 or answer["exit_code"] != 0:
        raise PartFailed(f"`true` failed: {status} {json.dumps(answer)}")
    return time.perf_counter() - began
