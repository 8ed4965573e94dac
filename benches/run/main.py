"""Bench `run`: defects found by `menace run`, its determinism, reach, speed and robustness.

Packages and virtual environments are cached in $BENCH_CACHE. Prints one JSON document and writes it to
benches/results/run.json, or to run-PART.json for one part. Several parts, or another number of --functions, are not
written. Prints a summary on stderr. Exits with 1 if a target is not met or a part failed.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import defects
import determinism
import hostile
import reach
import replay
import shrink
from failed import PartFailed
from menace import Menace
from say import say

HOSTILE_FUNCTIONS = 1_000

TARGETS = {
    "defects_found": (">=", 0.95),
    "false_alarms_per_alike": ("<=", 0.0),
    "cells_equal": (">=", 1.0),
    "failures_equal": (">=", 1.0),
    "replays_same": (">=", 1.0),
    "least_reached": (">=", 0.85),
    "calls_per_second": (">=", 300.0),
    "hostile_run_ended": (">=", 1.0),
    "hostile_classified": (">=", 1.0),
    "hostile_not_mentioned": ("<=", 0.0),
    "hostile_left_over": ("<=", 0.0),
    "median_size_over_hypothesis": ("<=", 1.0),
}

Measure = Callable[[Menace, Path, int], dict[str, Any]]

PARTS: dict[str, Measure] = {
    "defects": lambda menace, cache, functions: defects.measure(menace),
    "determinism": lambda menace, cache, functions: determinism.measure(menace),
    "replay": lambda menace, cache, functions: replay.measure(menace),
    "reach": lambda menace, cache, functions: reach.measure(menace, cache),
    "throughput": lambda menace, cache, functions: reach.throughput(menace, cache),
    "hostile": lambda menace, cache, functions: hostile.measure(menace.binary, functions),
    "shrink": lambda menace, cache, functions: shrink.measure(menace, cache),
}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", type=parts, default=list(PARTS), metavar="NAME,…", help=", ".join(PARTS))
    arguments.add_argument("--functions", type=int, default=HOSTILE_FUNCTIONS, help="number of hostile functions")
    options = arguments.parse_args()
    cache = Path(os.environ["BENCH_CACHE"])
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="menace-bench-run-") as data:
        menace = Menace(os.environ["MENACE"], Path(data))
        result: dict[str, Any] = {"bench": "run", "machine": machine(), "versions": {"menace": menace.version()}}
        result["failed"] = measure(menace, cache, options, result)
    is_whole = list(options.only) == list(PARTS)
    result["targets"] = judge(figures(result), is_whole)
    text = json.dumps(result, indent=2)
    print(text)
    if options.functions == HOSTILE_FUNCTIONS and (is_whole or len(options.only) == 1):
        name = "run.json" if is_whole else f"run-{options.only[0]}.json"
        path = Path(__file__).resolve().parent.parent / "results" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n")
    summarise(result)
    return 1 if result["failed"] or not all(target["met"] for target in result["targets"].values()) else 0


def parts(text: str) -> list[str]:
    """Parses the names of parts, in the order of measurement."""
    named = text.split(",")
    if unknown := [name for name in named if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"unknown part {', '.join(unknown)}")
    return [name for name in PARTS if name in named]


def measure(menace: Menace, cache: Path, options: argparse.Namespace, result: dict[str, Any]) -> dict[str, str]:
    """Measures each part. Returns the errors of failed parts."""
    failed = {}
    for name in options.only:
        say(name)
        try:
            result[name] = PARTS[name](menace, cache, options.functions)
        except PartFailed as error:
            failed[name] = str(error)
    return failed


def figures(result: dict[str, Any]) -> dict[str, float]:
    """Measured figures by target."""
    found: dict[str, float] = {}
    if planted := result.get("defects"):
        found["defects_found"] = planted["share_found"]
        found["false_alarms_per_alike"] = planted["false_alarms"] / planted["alike"]
    if compared := result.get("determinism"):
        found["cells_equal"] = min(one["cells"]["share_equal"] for one in compared.values())
        found["failures_equal"] = min(one["failures"]["share_equal"] for one in compared.values())
    if again := result.get("replay"):
        found["replays_same"] = again["share_same"]
    if reached := result.get("reach"):
        found["least_reached"] = min(one["share_reached"] for one in reached.values())
    if calls := result.get("throughput"):
        found["calls_per_second"] = calls["calls_per_second"]
    if attacked := result.get("hostile"):
        found["hostile_run_ended"] = float(attacked["ended"])
        left_over = attacked["left_over"]
        found["hostile_left_over"] = left_over["processes"] + left_over["cgroups"] + left_over["mounts"]
    if attacked and attacked["ended"]:
        found["hostile_classified"] = attacked["share_classified"]
        found["hostile_not_mentioned"] = len(attacked["not_mentioned"])
    if sizes := result.get("shrink"):
        found["median_size_over_hypothesis"] = sizes["median_size_menace"] / sizes["median_size_hypothesis"]
    return found


def judge(found: dict[str, float], is_whole: bool) -> dict[str, Any]:
    """Compares targets with their figures. If all parts were selected, a target without a figure is not met."""
    judged = {}
    for name, (relation, bound) in TARGETS.items():
        value = found.get(name)
        if value is None and not is_whole:
            continue
        met = value is not None and (value <= bound if relation == "<=" else value >= bound)
        shown = None if value is None else round(value, 4)
        judged[name] = {"value": shown, "target": f"{relation} {bound:g}", "met": met}
    return judged


def summarise(result: dict[str, Any]) -> None:
    """Prints a summary."""
    for name, target in result["targets"].items():
        value = "not measured" if target["value"] is None else f"{target['value']:g}"
        say(f"{'met   ' if target['met'] else 'NOT MET'} {name} {value} ({target['target']})")
    for name, reason in result["failed"].items():
        say(f"FAILED {name}: {reason}")


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
