"""Long-running use of many sandboxes: no errors, no leaks, constant memory."""

import statistics
import time
from typing import Any

from figures import spread
from load import Load
from say import say
from server import Server, resident_kib, serving

CALLERS = 8
BETWEEN_SAMPLES_SECONDS = 5.0
# Minimum number of samples, to compare the first and the last third.
FEWEST_SAMPLES = 30
WARM_UP_SHARE = 0.2


def measure(menace: str, options: Any) -> dict[str, Any]:
    with serving(menace) as server:
        with Load("create", server.port, count=options.sandboxes, callers=CALLERS) as load:
            made = load.result()
        say(f"soak: {len(made['ids'])} sandboxes created")
        seconds = options.minutes * 60.0
        with Load("execute", server.port, ids=made["ids"], callers=CALLERS, seconds=seconds) as load:
            samples = sampled(server, load, seconds)
            used = load.result()
        listed = len(server.sandboxes())
        with Load("delete", server.port, ids=made["ids"], callers=CALLERS) as load:
            deleted = load.result()
        still_listed = server.sandboxes()
        left = server.left()
    at_the_end = {"processes": server.left_now()["processes"], "cgroups": [str(path) for path in server.groups()]}
    return {
        "sandboxes": options.sandboxes,
        "minutes": options.minutes,
        "callers": CALLERS,
        "create": spread(made["times"]),
        "execute": spread(used["times"]),
        "executed_per_second": round(len(used["times"]) / used["seconds"], 1),
        "delete": spread(deleted["times"]),
        "errors": made["errors"] + used["errors"] + deleted["errors"],
        "examples": made["examples"] + used["examples"] + deleted["examples"],
        "listed_before_delete": listed,
        "listed_after_delete": still_listed,
        "left_after_delete": left,
        "left_after_the_server": at_the_end,
        "resident": {name: compared([sample[name] for sample in samples]) for name in ("server", "keeper")},
        "samples_kib": samples,
    }


def figures(measured: dict[str, Any]) -> dict[str, float]:
    lists = [measured["listed_after_delete"], *measured["left_after_delete"].values()]
    lists += measured["left_after_the_server"].values()
    return {
        "soak_sandboxes": measured["listed_before_delete"],
        "soak_errors": measured["errors"],
        "soak_leaks": sum(map(len, lists)),
        **{f"soak_{name}_resident_change": abs(found["change"]) for name, found in measured["resident"].items()},
    }


def sampled(server: Server, load: Load, seconds: float) -> list[dict[str, Any]]:
    """Samples the memory of both processes periodically until the callers finish."""
    between = min(BETWEEN_SAMPLES_SECONDS, seconds / FEWEST_SAMPLES)
    keeper, began, samples = server.keeper(), time.monotonic(), []
    # The callers stop by themselves; their result is read later.
    while (after := time.monotonic() - began) < seconds and load.process.poll() is None:
        resident = {"server": resident_kib(server.pid()), "keeper": resident_kib(keeper)}
        samples.append({"seconds": round(after, 1), **resident})
        time.sleep(between)
    return samples


def compared(values: list[int | None]) -> dict[str, Any]:
    """Compares the last third of the samples with the first one, after the warm-up."""
    known = [value for value in values if value is not None]
    warm = known[int(len(known) * WARM_UP_SHARE) :]
    third = max(1, len(warm) // 3)
    first, last = statistics.median(warm[:third]), statistics.median(warm[-third:])
    return {"first_third_kib": first, "last_third_kib": last, "change": round(last / first - 1.0, 4)}
