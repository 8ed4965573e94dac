"""Whether two runs with the same seed have the same result."""

import re
from pathlib import Path
from typing import Any

import defects
from menace import Menace

SHOP = Path(__file__).resolve().parents[2] / "examples" / "shop"
SEED = ("--seed", "1")

# Ids of runs and calls, and durations, differ between runs.
NEW_EACH_TIME = {"run", "call", "replay", "seconds", "wall_ms", "cpu_ms", "started", "finished", "roi"}
# Messages can contain durations and thread ids, which are addresses.
NEW_IN_MESSAGES = re.compile(r"\d+(\.\d+)? m?s\b|\b\d{12,}\b|0x[0-9a-f]+")


def measure(menace: Menace) -> dict[str, Any]:
    compared = {}
    for repository in (defects.REPOSITORY, SHOP):
        first = menace.run(repository, *SEED).report
        second = menace.run(repository, *SEED, repeat=1).report
        compared[repository.name] = {part: agreement(first[part], second[part]) for part in ("cells", "failures")}
    return compared


def agreement(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> dict[str, Any]:
    """Share of equal entries among the entries of both lists."""
    left, right = by_name(first), by_name(second)
    names = sorted(left.keys() | right.keys())
    different = [name for name in names if left.get(name) != right.get(name)]
    share = 1.0 if not names else 1 - len(different) / len(names)
    examples = [f"{' '.join(name)}: {difference(left.get(name), right.get(name))}" for name in different[:10]]
    return {"entries": len(names), "equal": len(names) - len(different), "share_equal": share, "different": examples}


def by_name(entries: list[dict[str, Any]]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Groups entries by section, scenario and kind."""
    named: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for entry in entries:
        parts = [entry.get(field) for field in ("section", "scenario", "severity", "kind", "exception", "line")]
        named.setdefault(tuple(str(part) for part in parts if part is not None), []).append(without_time(entry))
    return named


def without_time(entry: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in entry.items() if name not in NEW_EACH_TIME}
    if "message" in kept:
        kept["message"] = NEW_IN_MESSAGES.sub("…", kept["message"])
    return kept


def difference(left: Any, right: Any) -> str:
    if left is None or right is None:
        return "only in the first" if right is None else "only in the second"
    fields = {name for one, other in zip(left, right, strict=False) for name in one if one.get(name) != other.get(name)}
    return "differs in " + (", ".join(sorted(fields)) or "number")
