"""Delay between an event of a real run and its appearance in a browser."""

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

from menace import look, start

SHOP = Path(__file__).resolve().parents[2] / "examples" / "shop"


def measure(menace: str, _: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        shutil.copytree(SHOP, work / "shop", ignore=shutil.ignore_patterns("__pycache__", "sandbox_data"))
        process, address = start(
            menace, work, "auto", "shop", "--python", "/usr/bin/python3", "--max-iterations", "1", "--dashboard-port", "0"
        )
        try:
            late = look("live", address)
        finally:
            process.terminate()
            process.wait()
    times = sorted(one["ms"] for one in late)
    return {"events": late, "p50_ms": times[len(times) // 2], "latest_ms": times[-1]}


def figures(found: dict[str, Any]) -> dict[str, float]:
    return {"live_events": len(found["events"]), "live_latest_ms": found["latest_ms"]}
