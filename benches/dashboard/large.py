"""A run over 3,000 modules with 10,000 cells, shown in a browser."""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from menace import dashboard, look, run

MODULES = 3000
# Number of modules with a function that is called.
CALLED = 1000
# It has no failures to shrink: this bench measures the display.
FUNCTION = '''

def label_{number}(text: str) -> str:
    """A label."""
    return str(text).strip()
'''


def repository(root: Path) -> None:
    """Writes packages of 50 modules. Each module imports the previous one, and every seventh one a module of another package."""
    for number in range(MODULES):
        package = root / f"package_{number // 50:02}"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        lines = [f'"""Module {number}."""', ""]
        if number % 50:
            lines.append(f"import package_{number // 50:02}.module_{number - 1}")
        if number % 7 == 0 and number >= 50:
            lines.append(f"import package_{number // 100:02}.module_{number // 100 * 50}")
        text = "\n".join(lines) + "\n"
        if number < CALLED:
            text += FUNCTION.format(number=number)
        (package / f"module_{number}.py").write_text(text, encoding="utf-8")


def measure(menace: str, _: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        repository(work / "repository")
        run(menace, work, "run", "repository", "--python", "/usr/bin/python3", "--preset-count", "0", "--top", "1")
        with dashboard(menace, work) as address:
            return {"cells": cells(address), "matrix": look("matrix", address), "modules": look("modules", address)}


def cells(address: str) -> int:
    import json
    from urllib.request import ProxyHandler, build_opener

    ask = build_opener(ProxyHandler({})).open
    newest = json.load(ask(f"{address}/api/dashboard/runs"))["runs"][0]["id"]
    return len(json.load(ask(f"{address}/api/dashboard/runs/{newest}/matrix"))["cells"])


def figures(found: dict[str, Any]) -> dict[str, float]:
    """Maximum of each figure."""

    def slowest(part: str, name: str) -> float:
        return max(load[name] for load in found[part]["loads"])

    def hands(part: str) -> float:
        return max(one[name] for one in found[part]["hands"].values() for name in ("slowest_event_ms", "slowest_frame_ms"))

    return {
        "large_cells": found["cells"],
        "large_first_paint_ms": slowest("matrix", "first_paint_ms"),
        "large_rows_seen_ms": slowest("matrix", "seen_ms"),
        "large_interaction_ms": hands("matrix"),
        "large_modules": found["modules"]["modules"],
        "large_modules_seen_ms": slowest("modules", "seen_ms"),
        "large_modules_interaction_ms": hands("modules"),
    }
