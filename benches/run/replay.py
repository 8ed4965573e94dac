"""Whether `menace replay` reproduces failures."""

from typing import Any

import defects
import determinism
from failed import PartFailed
from menace import Menace


def measure(menace: Menace) -> dict[str, Any]:
    replayed: list[dict[str, Any]] = []
    for repository in (defects.REPOSITORY, determinism.SHOP):
        failures = menace.run(repository, *determinism.SEED).report["failures"]
        replayed += [replay(menace, failure) for failure in failures]
    if not replayed:
        raise PartFailed("there are no failures to replay")
    same = [one for one in replayed if one["same_kind"] and one["same_frame"]]
    return {
        "failures": len(replayed),
        "same": len(same),
        "share_same": len(same) / len(replayed),
        "same_says_menace": sum(one["menace_says_same"] for one in replayed),
        "different": [one["text"] for one in replayed if one not in same][:20],
    }


def replay(menace: Menace, failure: dict[str, Any]) -> dict[str, Any]:
    call = failure.get("call")
    if not call:
        raise PartFailed("failures of this version have no `call` and cannot be replayed")
    now = menace.json("replay", str(call), "--json", longest=120.0)
    before = f"{failure['section']} under {failure['scenario']}: {defects.shown(failure)}"
    return {
        "same_kind": now["kind"] == failure["kind"],
        "same_frame": is_same_frame(now, failure),
        "menace_says_same": now.get("same") is True,
        "text": f"{before} at {place(failure)}, now {defects.shown(now)} at {place(now)}",
    }


def place(outcome: dict[str, Any]) -> str:
    return f"{outcome['path']}:{outcome['line']}"


def is_same_frame(now: dict[str, Any], failure: dict[str, Any]) -> bool:
    """Whether exception and line are equal. A failure without frames has the line of its section, and null in a replay."""
    if now["exception"] != failure["exception"]:
        return False
    if now["path"] is None:
        return failure["exception"] is None
    return (now["path"], now["line"]) == (failure["path"], failure["line"])
