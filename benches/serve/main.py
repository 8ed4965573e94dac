"""Bench `serve`: latency and robustness of `menace serve`, and conformance to its OpenAPI document.

Server, clients and sandboxes run on this host. The part `schema` installs schemathesis below $BENCH_CACHE. Prints one JSON
document and writes it to benches/results/serve.json, or to serve-PART.json for one part. With --quick the counts are small
and nothing is written. Prints a summary on stderr. Exits with 1 if a target is not met or a part failed. The machine
should be idle.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import burst
import execute
import kills
import latency
import schema
import soak
import stream
from failed import PartFailed
from say import say

# The first word of each name is its part.
TARGETS = {
    "latency_rounds": (">=", 300.0),
    "latency_p50_ms": ("<=", 12.0),
    "latency_p99_ms": ("<=", 40.0),
    "latency_warm_share_of_docker_run": ("<=", 0.2),
    "execute_p50_ms": ("<=", 4.0),
    "execute_per_second": (">=", 300.0),
    "execute_errors": ("<=", 0.0),
    "burst_made_share": (">=", 1.0),
    "burst_p99_ms": ("<=", 600.0),
    "soak_sandboxes": (">=", 500.0),
    "soak_errors": ("<=", 0.0),
    "soak_leaks": ("<=", 0.0),
    "soak_server_resident_change": ("<=", 0.10),
    "soak_keeper_resident_change": ("<=", 0.10),
    "stream_bytes": (">=", float(1 << 30)),
    "stream_cuts": (">=", 100.0),
    "stream_identical": (">=", 1.0),
    "kills_of_server": (">=", 100.0),
    "kills_of_server_unusable": ("<=", 0.0),
    "kills_of_server_vanished": ("<=", 0.0),
    "kills_of_server_other_answers": ("<=", 0.0),
    "kills_of_server_left": ("<=", 0.0),
    "kills_of_keeper": (">=", 10.0),
    "kills_of_keeper_left": ("<=", 0.0),
    "kills_of_keeper_still_known": ("<=", 0.0),
    "kills_left_at_the_end": ("<=", 0.0),
    "schema_requests": (">=", 1000.0),
    "schema_server_errors": ("<=", 0.0),
    "schema_violations": ("<=", 0.0),
    "schema_panics": ("<=", 0.0),
}

# These need an engine with the image $BENCH_IMAGE; otherwise the result has the reason why they were not measured.
WHERE_THERE_IS_AN_ENGINE = {"latency_warm_share_of_docker_run"}

# Each part has `measure` and `figures`, which selects the figures with a target.
PARTS: dict[str, ModuleType] = {
    "latency": latency,
    "execute": execute,
    "burst": burst,
    "soak": soak,
    "stream": stream,
    "kills": kills,
    "schema": schema,
}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", choices=list(PARTS), help="measure one part")
    arguments.add_argument("--minutes", type=float, default=10.0, help="duration of the part soak in minutes")
    arguments.add_argument("--sandboxes", type=int, default=500, help="number of sandboxes in the part soak")
    arguments.add_argument("--quick", action="store_true", help="small counts, to test the bench itself")
    options = arguments.parse_args()
    measured = [options.only] if options.only else list(PARTS)
    menace = os.environ["MENACE"]
    build = os.environ.get("MENACE_BUILD", "unknown: the binary was given by MENACE")
    result: dict[str, Any] = {"bench": "serve", "machine": machine(), "menace": version(menace), "build": build}
    result["failed"] = measure(menace, options, measured, result)
    result["targets"] = judge(figures(result), measured)
    text = json.dumps(result, indent=2)
    print(text)
    if not options.quick:
        write(text, options.only)
    summarise(result)
    return 1 if result["failed"] or not all(target["met"] for target in result["targets"].values()) else 0


def measure(
    menace: str, options: argparse.Namespace, measured: list[str], result: dict[str, Any]
) -> dict[str, str]:
    """Measures each part. Returns the errors of failed parts."""
    failed = {}
    for name in measured:
        say(name)
        try:
            result[name] = PARTS[name].measure(menace, options)
        except PartFailed as error:
            failed[name] = str(error)
    return failed


def figures(result: dict[str, Any]) -> dict[str, float]:
    """Measured figures by target."""
    found: dict[str, float] = {}
    for name, part in PARTS.items():
        if name in result:
            found |= part.figures(result[name])
    return found


def judge(found: dict[str, float], measured: list[str]) -> dict[str, Any]:
    """Compares the targets of the selected parts with their figures. A target without a figure is not met."""
    judged = {}
    for name, (relation, bound) in TARGETS.items():
        if name.partition("_")[0] not in measured:
            continue
        value = found.get(name)
        if value is None and name in WHERE_THERE_IS_AN_ENGINE:
            continue
        met = value is not None and (value <= bound if relation == "<=" else value >= bound)
        judged[name] = {"value": value, "target": f"{relation} {bound:g}", "met": met}
    return judged


def write(text: str, only: str | None) -> None:
    name = f"serve-{only}.json" if only else "serve.json"
    path = Path(__file__).resolve().parent.parent / "results" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


def summarise(result: dict[str, Any]) -> None:
    """Prints a summary."""
    for name, target in result["targets"].items():
        value = "not measured" if target["value"] is None else f"{target['value']:g}"
        say(f"{'met   ' if target['met'] else 'NOT MET'} {name} {value} ({target['target']})")
    for name, reason in result["failed"].items():
        say(f"FAILED {name}: {reason}")


def version(menace: str) -> str:
    return subprocess.run([menace, "--version"], check=True, capture_output=True, text=True).stdout.strip()


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "user": "root" if os.geteuid() == 0 else "unprivileged",
        "load_average_before": os.getloadavg()[0],
    }


if __name__ == "__main__":
    sys.exit(main())
