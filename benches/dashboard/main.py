"""Bench `dashboard`: load time and input latency of pages with a large run, delay of live events, and the cost of watchers for a
run.

Uses Chromium on this machine. Prints one JSON document and writes it to benches/results/dashboard.json, or to
dashboard-PART.json for one part. Prints a summary on stderr. Exits with 1 if a target is not met. The machine should be idle.
"""

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import large
import live
import watched

# The first word of each name is its part.
TARGETS = {
    "large_cells": (">=", 10_000.0),
    "large_first_paint_ms": ("<=", 1500.0),
    "large_rows_seen_ms": ("<=", 1500.0),
    "large_interaction_ms": ("<=", 100.0),
    "large_modules": (">=", 3000.0),
    "large_modules_seen_ms": ("<=", 1500.0),
    "large_modules_interaction_ms": ("<=", 100.0),
    "live_events": (">=", 10.0),
    "live_latest_ms": ("<=", 500.0),
    "watched_dashboards": (">=", 50.0),
    "watched_cost_share": ("<=", 0.05),
}

PARTS: dict[str, ModuleType] = {"large": large, "live": live, "watched": watched}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", choices=list(PARTS), help="measure one part")
    arguments.add_argument("--pairs", type=int, default=8, help="pairs of runs with and without watchers in the part watched")
    options = arguments.parse_args()
    menace = os.environ["MENACE"]
    build = os.environ.get("MENACE_BUILD", "unknown: the binary was given by MENACE")
    machine = {"cores": os.cpu_count(), "system": platform.platform(), "load_average_before": os.getloadavg()[0]}
    result: dict[str, Any] = {"bench": "dashboard", "machine": machine, "build": build}
    measured = [options.only] if options.only else list(PARTS)
    found: dict[str, float] = {}
    for name in measured:
        print(f"bench: {name}", file=sys.stderr, flush=True)
        result[name] = PARTS[name].measure(menace, options)
        found |= PARTS[name].figures(result[name])
    result["targets"] = judge(found, measured)
    text = json.dumps(result, indent=2)
    print(text)
    name = f"dashboard-{options.only}.json" if options.only else "dashboard.json"
    (Path(__file__).resolve().parents[1] / "results" / name).write_text(text + "\n", encoding="utf-8")
    for name, target in result["targets"].items():
        print(f"{'met    ' if target['met'] else 'NOT MET'} {name} {target['value']:g} ({target['target']})", file=sys.stderr)
    return 0 if all(target["met"] for target in result["targets"].values()) else 1


def judge(found: dict[str, float], measured: list[str]) -> dict[str, Any]:
    """Compares the targets of the measured parts with their figures."""
    judged = {}
    for name, (relation, bound) in TARGETS.items():
        if name.partition("_")[0] in measured:
            met = found[name] <= bound if relation == "<=" else found[name] >= bound
            judged[name] = {"value": found[name], "target": f"{relation} {bound:g}", "met": met}
    return judged


if __name__ == "__main__":
    sys.exit(main())
