"""Part `startup`: additional start time of a sandbox with a network."""

from typing import Any

from failed import PartFailed
from menace import Menace

RUNS = 200
QUICK_RUNS = 10
PLAIN, NETWORKED = "create", "create-network"


def measure(menace: Menace, is_quick: bool) -> dict[str, Any]:
    runs = QUICK_RUNS if is_quick else RUNS
    only = f"{PLAIN},{NETWORKED}"
    report = menace.json(["sandbox", "bench", "--json", "--only", only, "--runs", str(runs)])
    rows = {row["name"]: row for row in report["rows"]}
    if missing := {PLAIN, NETWORKED} - rows.keys():
        raise PartFailed(f"not measured: {', '.join(sorted(missing))}; left out: {report['left_out']}")
    return {"runs": runs, **rows, "added_p50_ms": rows[NETWORKED]["p50_ms"] - rows[PLAIN]["p50_ms"]}


def figures(measured: dict[str, Any]) -> dict[str, float]:
    return {"startup_added_p50_ms": measured["added_p50_ms"]}
