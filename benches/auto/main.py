"""Bench `auto`: defects that `menace auto` fixes without a model, verdicts about proposals of models, and resuming after a kill.

Prints one JSON document and writes it to benches/results/auto.json, or to auto-PART.json with --only. Prints a summary on
stderr. Exits with 1 if a target is not met.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hacks
import kills
import malformed
import noops
import right_and_wrong
from menace import improved, workplace
from reference import wrong_with

ROOT = Path(__file__).resolve().parents[2]
FIXTURE = ROOT / "tests" / "fixtures" / "defects"
TARGETS = {
    "share_fixed": (">=", 0.5),
    "kept_and_wrong": ("<=", 0),
    "noops_proposed": (">=", 1000),
    "noops_kept_share": ("<=", 0.01),
    "hacks_served": (">=", 50),
    "hacks_kept": ("<=", 0),
    "right_kept": (">=", 20),
    "wrong_kept": ("<=", 0),
    "malformed_kinds": (">=", 200),
    "tokens_over_budget_in_calls": ("<=", 1),
    "kills_same_share": (">=", 1.0),
    "shop_minutes": ("<=", 3.0),
}


def main() -> int:
    parts: dict[str, Callable[[Path, dict[str, float]], dict[str, Any]]] = {
        "defects": defects,
        "noops": no_ops,
        "hacks": reward_hacks,
        "models": models,
        "malformed": nonsense,
        "kills": killed,
        "shop": shop,
    }
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", choices=list(parts), help="measure one part")
    only = arguments.parse_args().only
    binary = Path(os.environ["MENACE"])
    build = os.environ.get("MENACE_BUILD", "unknown: the binary was given by MENACE")
    machine = {"cores": os.cpu_count(), "system": platform.platform()}
    result: dict[str, Any] = {"bench": "auto", "machine": machine, "build": build}
    figures: dict[str, float] = {}
    for name, part in parts.items():
        if only in (None, name):
            print(f"{name} …", file=sys.stderr)
            result[name] = part(binary, figures)
    result["targets"] = {name: met(name, value) for name, value in figures.items()}
    text = json.dumps(result, indent=2)
    print(text)
    name = f"auto-{only}.json" if only else "auto.json"
    (ROOT / "benches" / "results" / name).write_text(text + "\n", encoding="utf-8")
    for name, target in result["targets"].items():
        print(f"{name}: {target['value']:.3g} {target['sign']} {target['target']}: {target['met']}", file=sys.stderr)
    return 0 if all(target["met"] for target in result["targets"].values()) else 1


def met(name: str, value: float) -> dict[str, Any]:
    sign, target = TARGETS[name]
    return {"value": value, "sign": sign, "target": target, "met": value >= target if sign == ">=" else value <= target}


def planted() -> list[dict[str, Any]]:
    return json.loads((FIXTURE / "manifest.json").read_text(encoding="utf-8"))["defects"]


def defects(binary: Path, figures: dict[str, float]) -> dict[str, Any]:
    known = planted()
    with workplace(FIXTURE) as place:
        report, seconds = improved(binary, place.repository, place.work, "--seed", "1")
        after = place.tree(report["run"])
        kept = {patch["section"] for patch in report["patches"] if patch["state"] == "kept"}
        fixed, wrong, left = [], [], []
        for defect in known:
            section = defect["section"]
            if section not in kept:
                left.append(section)
                continue
            problem = wrong_with(place.repository, after, defect)
            (wrong.append(f"{section}: {problem}") if problem else fixed.append(section))
    sections = {defect["section"] for defect in known}
    figures["share_fixed"] = len(fixed) / len(sections)
    figures["kept_and_wrong"] = len(wrong)
    return {
        "defects": len(sections),
        "fixed": len(fixed),
        "wrong": wrong,
        "kept_elsewhere": sorted(kept - sections),
        "left": left,
        "proposals": len(report["patches"]),
        "kept": sum(patch["state"] == "kept" for patch in report["patches"]),
        "diffs": [patch["detail"]["diff"] for patch in report["patches"] if patch["state"] == "kept"],
        "stopped": report["stopped"],
        "seconds": seconds,
    }


def no_ops(binary: Path, figures: dict[str, float]) -> dict[str, Any]:
    found = noops.measure(binary, FIXTURE)
    figures["noops_proposed"] = found["proposals"]
    figures["noops_kept_share"] = found["kept"] / max(found["proposals"], 1)
    return found


def reward_hacks(binary: Path, figures: dict[str, float]) -> dict[str, Any]:
    found = hacks.measure(binary, FIXTURE)
    figures["hacks_served"] = found["hacks"]
    figures["hacks_kept"] = found["kept"]
    return found


def models(binary: Path, figures: dict[str, float]) -> dict[str, Any]:
    found = right_and_wrong.measure(binary, FIXTURE, planted())
    figures["right_kept"] = found["right_kept"]
    figures["wrong_kept"] = len(found["wrong_kept"]) + len(found["kept_and_wrong_by_reference"])
    return found


def nonsense(binary: Path, figures: dict[str, float]) -> dict[str, Any]:
    found = malformed.measure(binary, FIXTURE)
    figures["malformed_kinds"] = found["all"]["served_kinds"]
    budget = found["budget"]
    figures["tokens_over_budget_in_calls"] = max(0, budget["spent"] - budget["max_tokens"]) / budget["one_call"]
    return found


def killed(binary: Path, figures: dict[str, float]) -> dict[str, Any]:
    found = kills.measure(binary, 50)
    looked = found["same"] + len(found["different"])
    figures["kills_same_share"] = found["same"] / max(looked, 1)
    return found


def shop(binary: Path, figures: dict[str, float]) -> dict[str, Any]:
    with workplace(ROOT / "examples" / "shop") as place:
        report, seconds = improved(binary, place.repository, place.work)
    figures["shop_minutes"] = seconds / 60
    kept = [patch for patch in report["patches"] if patch["state"] == "kept"]
    return {
        "seconds": seconds,
        "kept": [f"{patch['section']} {patch['proposer']}" for patch in kept],
        "proposals": len(report["patches"]),
        "stopped": report["stopped"],
    }


if __name__ == "__main__":
    sys.exit(main())
