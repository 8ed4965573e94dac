"""Wall time and peak memory of menace and its peers, in alternating runs."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from corpora import say

GRIMP = "import grimp; grimp.build_graph('django', cache_dir=None)"


def measure(menace: str, places: dict, runs: int) -> dict:
    return {"django": django(menace, places, runs), "sympy": sympy(menace, places, runs)}


def django(menace: str, places: dict, runs: int) -> dict:
    tools, root = places["tools"], places["django"]
    say("django: menace and ruff, alternating")
    ours, ruff = in_turn(
        [menace, "scan", root, "--no-cache", "--json"],
        [tools / "ruff", "check", "--select", "F401", "--no-cache", "--isolated", "--quiet", root],
        runs,
    )
    peers = {"ruff": statistics.median(ruff)}
    slow = {
        "grimp": [tools / "python", "-c", GRIMP],
        "radon": [tools / "radon", "cc", "--json", root],
        "bandit": [tools / "bandit", "--recursive", "--quiet", "--exit-zero", "--format", "json", root],
        "vulture": [tools / "vulture", root],
    }
    for name, command in slow.items():
        say(f"django: {name}")
        peers[name] = run(command, cwd=root)[0]
    rescan = rescans(menace, root, runs, [])
    rescan_json = rescans(menace, root, runs, ["--json"])
    return {
        "menace_seconds": statistics.median(ours),
        "menace_seconds_all": rounded(ours),
        "ruff_seconds_all": rounded(ruff),
        "peers_seconds": {name: round(seconds, 4) for name, seconds in peers.items()},
        "rescan_seconds": statistics.median(rescan),
        "rescan_seconds_all": rounded(rescan),
        "rescan_json_seconds": statistics.median(rescan_json),
        "rescan_json_seconds_all": rounded(rescan_json),
    }


def sympy(menace: str, places: dict, runs: int) -> dict:
    tools, root = places["tools"], places["sympy"]
    say("sympy: menace and ruff, alternating")
    commands = (
        [menace, "scan", root, "--no-cache", "--json"],
        [tools / "ruff", "check", "--select", "F401", "--no-cache", "--isolated", "--quiet", root],
    )
    ours, ruff = in_turn(*commands, max(runs // 3, 3))
    return {
        "menace_seconds": statistics.median(ours),
        "ruff_seconds": statistics.median(ruff),
        "menace_peak_mb": run(commands[0])[1],
        "ruff_peak_mb": run(commands[1])[1],
    }


def rescans(menace: str, root: Path, runs: int, output: list) -> list:
    """Scans a copy twice, then again after each edit of one file."""
    say("django: second scan after one edit")
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "django"
        shutil.copytree(root, copy)
        environment = os.environ | {"XDG_CACHE_HOME": str(Path(scratch) / "cache")}
        command = [menace, "scan", copy, *output]
        run(command, environment)
        # The cache ignores timestamps younger than a second; a user's second scan is also later.
        time.sleep(1.1)
        run(command, environment)
        edited = copy / "django" / "db" / "models" / "query.py"
        times = []
        for edit in range(runs):
            with edited.open("a") as file:
                file.write(f"\n\ndef added_by_bench_{edit}():\n    return {edit}\n")
            times.append(run(command, environment)[0])
        return times


def in_turn(first: list, second: list, runs: int) -> tuple:
    run(first), run(second)
    pairs = [(run(first)[0], run(second)[0]) for _ in range(runs)]
    return tuple(zip(*pairs))


def run(command: list, environment: dict | None = None, cwd: Path | None = None) -> tuple:
    """Returns seconds and peak megabytes of one run. Peers exit with 1 if they have findings."""
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command], stdout=output, stderr=subprocess.DEVNULL, env=environment, cwd=cwd
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    # vulture exits with 3 if it finds dead code.
    if process.returncode not in (0, 1, 3):
        raise SystemExit(f"{command[0]} failed with exit code {process.returncode}")
    return seconds, usage.ru_maxrss / 1024


def rounded(seconds) -> list:
    return [round(value, 4) for value in seconds]
