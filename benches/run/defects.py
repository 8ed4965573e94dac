"""Planted defects that are found, and false alarms in functions without defects."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Optional

from menace import Menace

REPOSITORY = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "defects"
SEED = ("--seed", "1")

Failure = dict[str, Any]


def manifest() -> dict[str, Any]:
    return json.loads((REPOSITORY / "manifest.json").read_text(encoding="utf-8"))


def measure(menace: Menace) -> dict[str, Any]:
    report = menace.run(REPOSITORY, *SEED).report
    return compared(report, manifest())


def compared(report: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Compares the report with the manifest."""
    failures, alike = report["failures"], set(known["alike"])
    planted, found, elsewhere = Counter[str](), Counter[str](), []
    missed, near = [], []
    for defect in known["defects"]:
        planted[defect["scenario"]] += 1
        there = [failure for failure in failures if is_there(failure, defect)]
        scenarios = {failure["scenario"] for failure in there if is_the_same(failure, defect)}
        if not scenarios:
            missed.append(f"{defect['scenario']} {defect['section']}")
            near += [f"{defect['section']}: {shown(failure)}, not {shown(defect)}" for failure in there]
            continue
        found[defect["scenario"]] += 1
        if defect["scenario"] not in scenarios:
            elsewhere.append(f"{defect['section']}: {', '.join(sorted(scenarios))}, not {defect['scenario']}")
    false_alarms = [failure for failure in failures if failure["section"] in alike]
    listed = alike | {defect["section"] for defect in known["defects"]}
    return {
        "defects": len(known["defects"]),
        "found": sum(found.values()),
        "share_found": sum(found.values()) / len(known["defects"]),
        "by_scenario": {name: {"planted": planted[name], "found": found[name]} for name in planted},
        "scenarios_without_calls": sorted(set(planted) - {cell["scenario"] for cell in report["cells"] if cell["n"]}),
        "found_under_another_scenario": elsewhere,
        "missed": missed,
        "missed_but_failed_otherwise": near,
        "alike": len(alike),
        "false_alarms": len(false_alarms),
        "accused": [f"{failure['section']}: {shown(failure)} under {failure['scenario']}" for failure in false_alarms],
        "failures_of_other_sections": sorted({f["section"] for f in failures if f["section"] not in listed}),
    }


def is_there(failure: Failure, defect: dict[str, Any]) -> bool:
    """Whether a failure is in the section of a defect, or on its line in a call of another section."""
    at_line = defect["line"] is not None and (failure["path"], failure["line"]) == (path_of(defect), defect["line"])
    return failure["section"] == defect["section"] or at_line


def is_the_same(failure: Failure, defect: dict[str, Any]) -> bool:
    """Whether the failure matches the manifest. Exceeded limits have no exception."""
    expected: Optional[str] = defect["exception"]
    return failure["kind"] == defect["kind"] and (expected is None or failure["exception"] == expected)


def path_of(defect: dict[str, Any]) -> str:
    module, _, _ = defect["section"].partition(":")
    return module.replace(".", "/") + ".py"


def shown(failure: dict[str, Any]) -> str:
    exception = failure["exception"]
    return f"{failure['kind']} {exception}" if exception else str(failure["kind"])
