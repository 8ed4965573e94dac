"""Calls per second of a run with fifty watching pages and without, in alternating order.

Both runs make the calls of the first cycle, which are deterministic, and are stopped then: later cycles differ between runs.
"""

import argparse
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Optional

from menace import look, start

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "examples" / "shop"
WATCHERS = Path(__file__).resolve().parent / "watchers.py"
PAGES = 50
LOOK_SECONDS = 0.5
LONGEST_SECONDS = 300.0
# Duration of the comparison of request rates between a real page and one without a browser.
COMPARED_SECONDS = 12


def measure(menace: str, options: argparse.Namespace) -> dict[str, Any]:
    pairs = []
    for number in range(options.pairs):
        # Alternate the order, so that a drift of the machine's speed affects both.
        order = [0, PAGES] if number % 2 == 0 else [PAGES, 0]
        one, other = (loop(menace, count) for count in order)
        alone, watched = (one, other) if order[0] == 0 else (other, one)
        pairs.append({"alone": alone, "watched": watched})
        rates = (alone["calls_per_second"], watched["calls_per_second"])
        print(f"bench: {rates[0]:.1f} calls/s without watchers, {rates[1]:.1f} with watchers", file=sys.stderr, flush=True)
    costs = [1 - pair["watched"]["calls_per_second"] / pair["alone"]["calls_per_second"] for pair in pairs]
    # Rates vary by 10 % on a shared machine; the CPU time varies little.
    cores = os.cpu_count() or 1
    taken = [
        (pair["watched"]["menace_cpu_seconds"] - pair["alone"]["menace_cpu_seconds"]) / pair["alone"]["seconds"] / cores
        for pair in pairs
    ]
    return {
        "pairs": pairs,
        "cpu_share_median": statistics.median(taken),
        "cost_share_median": statistics.median(costs),
        "cost_share_mean": statistics.fmean(costs),
        "cost_share_standard_error": statistics.stdev(costs) / len(costs) ** 0.5 if len(costs) > 1 else None,
        "page": compared(menace),
    }


def begin(menace: str, work: Path) -> tuple["subprocess.Popen[str]", str]:
    shutil.copytree(SHOP, work / "shop", ignore=shutil.ignore_patterns("__pycache__", "sandbox_data"))
    arguments = ["--python", "/usr/bin/python3", "--max-iterations", "1", "--dashboard-port", "0"]
    return start(menace, work, "auto", "shop", *arguments)


def loop(menace: str, pages: int) -> dict[str, Any]:
    """Measures the calls of the first cycle of a run."""
    with tempfile.TemporaryDirectory() as place:
        process, address = begin(menace, Path(place))
        watchers: Optional[subprocess.Popen[str]] = None
        if pages:
            watchers = subprocess.Popen([sys.executable, str(WATCHERS), address, str(pages)], stdout=subprocess.PIPE, text=True)
        seconds, calls = measured(Path(place, "sandbox_data", "menace.db"), process)
        cpu = cpu_seconds(process.pid)
        process.terminate()
        process.wait()
        seen = json.loads(watchers.communicate()[0]) if watchers else None
    if seen and (seen["pages"] != pages or seen["errors"]):
        raise SystemExit(f"watchers failed: {seen}")
    return {"seconds": seconds, "calls": calls, "calls_per_second": calls / seconds, "menace_cpu_seconds": cpu, "watchers": seen}


def cpu_seconds(pid: int) -> float:
    """CPU time of the process of the run and its dashboard, without sandboxes."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(database: Path, process: "subprocess.Popen[str]") -> tuple[float, int]:
    """Waits for the end of all calls. Returns their duration and number."""
    end = time.monotonic() + LONGEST_SECONDS
    while process.poll() is None and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
        known = events(database)
        if "cycle:measured" in known:
            at_ms, detail = known["cycle:measured"]
            return (at_ms - known["cycle:began"][0]) / 1e3, json.loads(detail)["calls"]
    raise SystemExit("the run ended without a measured cycle")


def events(database: Path) -> dict[str, tuple[int, str]]:
    if not database.exists():
        return {}
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        rows = connection.execute("SELECT kind, at_ms, detail FROM events").fetchall()
        return {kind: (at_ms, detail) for kind, at_ms, detail in rows}
    except sqlite3.OperationalError:
        # The tables do not exist yet.
        return {}
    finally:
        connection.close()


def compared(menace: str) -> dict[str, Any]:
    """Compares the requests of a browser page with those of a watcher, for the same run at the same time."""
    with tempfile.TemporaryDirectory() as place:
        process, address = begin(menace, Path(place))
        watchers = subprocess.Popen([sys.executable, str(WATCHERS), address, "1"], stdout=subprocess.PIPE, text=True)
        browser = look("asked", f"{address} {COMPARED_SECONDS}")
        process.terminate()
        process.wait()
        ours = json.loads(watchers.communicate()[0])
    rates = {
        path: {
            "browser_per_second": browser.get(path, 0) / COMPARED_SECONDS,
            "ours_per_second": ours["asked"].get(path, 0) / ours["seconds"],
        }
        for path in sorted({*browser, *ours["asked"]})
    }
    return {"rates": rates}


def figures(found: dict[str, Any]) -> dict[str, float]:
    return {
        "watched_dashboards": min(pair["watched"]["watchers"]["pages"] for pair in found["pairs"]),
        "watched_cost_share": found["cost_share_median"],
    }
