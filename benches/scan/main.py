"""Bench `scan`: speed of scans, and agreement with peer tools.

Corpora are source distributions from the package index and the standard library. Corpora and the virtual environment of
the peers are cached in $BENCH_CACHE. Prints one JSON document and writes it to benches/results/scan.json, or to
scan-timing.json or scan-agreement.json with --only.
"""

import argparse
import json
import os
import platform
import sys
from pathlib import Path

import agreement
import corpora
import timing

TARGETS = {
    "django_seconds_over_ruff": ("<=", 2.0),
    "django_speedup_over_grimp_radon_bandit_vulture": (">=", 10.0),
    "django_rescan_ms": ("<=", 150.0),
    "django_rescan_with_20_mb_of_json_ms": ("<=", 150.0),
    "sympy_peak_mb": ("<=", 150.0),
    "import_edge_recall": (">=", 0.99),
    "import_edge_precision": (">=", 0.98),
    "complexity_identical": (">=", 0.99),
    "security_recall": (">=", 0.97),
    "security_precision": (">=", 0.97),
}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=11, help="number of timed runs of fast commands")
    arguments.add_argument("--only", choices=["timing", "agreement"], help="measure one half")
    options = arguments.parse_args()
    places = corpora.prepare(Path(os.environ["BENCH_CACHE"]))
    menace = os.environ["MENACE"]
    result: dict = {"bench": "scan", "machine": machine(), "versions": corpora.versions(places)}
    if options.only != "agreement":
        result["timing"] = timing.measure(menace, places, options.runs)
    if options.only != "timing":
        result["agreement"] = agreement.measure(menace, places)
    result["targets"] = judge(result)
    text = json.dumps(result, indent=2)
    print(text)
    name = "scan.json" if options.only is None else f"scan-{options.only}.json"
    path = Path(__file__).parent.parent / "results" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + "\n")
    return 0 if all(target["met"] for target in result["targets"].values()) else 1


def machine() -> dict:
    return {"cores": os.cpu_count(), "kernel": platform.release(), "python": platform.python_version()}


def judge(result: dict) -> dict:
    """Compares targets with their figures, except those that were not measured."""
    figures = {}
    times = result.get("timing", {})
    if times:
        peers = times["django"]["peers_seconds"]
        ours = times["django"]["menace_seconds"]
        figures["django_seconds_over_ruff"] = ours / peers["ruff"]
        slow = sum(peers[name] for name in ("grimp", "radon", "bandit", "vulture"))
        figures["django_speedup_over_grimp_radon_bandit_vulture"] = slow / ours
        figures["django_rescan_ms"] = times["django"]["rescan_seconds"] * 1000
        figures["django_rescan_with_20_mb_of_json_ms"] = times["django"]["rescan_json_seconds"] * 1000
        figures["sympy_peak_mb"] = times["sympy"]["menace_peak_mb"]
    found = result.get("agreement", {})
    if found:
        figures["import_edge_recall"] = found["imports"]["recall"]
        figures["import_edge_precision"] = found["imports"]["precision"]
        figures["complexity_identical"] = min(it["identical"] for it in found["complexity"].values())
        figures["security_recall"] = min(it["recall"] for it in found["security"].values())
        figures["security_precision"] = min(it["precision"] for it in found["security"].values())
    judged = {}
    for name, value in figures.items():
        relation, bound = TARGETS[name]
        met = value <= bound if relation == "<=" else value >= bound
        judged[name] = {"value": round(value, 4), "target": f"{relation} {bound:g}", "met": met}
    return judged


if __name__ == "__main__":
    sys.exit(main())
