"""A run that is killed at a random time and resumed has the same result as an uninterrupted run."""

import json
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Optional

from menace import Workplace, command, variables_with, workplace

SHOP = '''"""A small shop."""


def mean_price(prices: list[float]) -> float:
    """The mean of prices."""
    return sum(prices) / len(prices)


def surname(full_name: str) -> str:
    """The last name of a person."""
    return full_name.split(" ")[1]


def page_of(index: int, per_page: int) -> int:
    """The page on which a row is, counted from 1."""
    return index // per_page + 1
'''
MORE = ["--seed", "2", "--preset-count", "1", "--max-iterations", "2"]


def ended(place: Workplace, report: dict[str, Any]) -> dict[str, Any]:
    """Result of a run: its ledger without times, and its branch."""
    tree = place.tree(report["run"])
    git = ["git", "-C", str(tree), "-c", "safe.directory=*"]
    content = subprocess.run([*git, "rev-parse", "HEAD^{tree}"], capture_output=True, text=True, check=True).stdout.strip()
    titles = subprocess.run([*git, "log", "--format=%s"], capture_output=True, text=True, check=True).stdout.splitlines()
    ledger = [[patch["number"], patch["proposal"], patch["state"], patch["proposer"]] for patch in report["patches"]]
    return {"ledger": ledger, "tree": content, "titles": titles}


def killed(binary: Path, place: Workplace, after: float) -> bool:
    """Starts a run and kills it after a delay. Returns whether it was still running."""
    process = subprocess.Popen(
        command(binary, place.repository, *MORE),
        cwd=place.work,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=variables_with(None),
    )
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    return False


def recovered(binary: Path, place: Workplace) -> Optional[dict[str, Any]]:
    """Resumes the run to its end. Returns None if the run had not started."""
    done = subprocess.run(
        [str(binary), "auto", "--recover", "--json"], cwd=place.work, capture_output=True, text=True, check=False, env=variables_with(None)
    )
    # Exit code 2: there is no run to resume.
    if done.returncode == 2:
        return None
    if done.returncode != 0:
        return {"broken": done.stderr[-800:]}
    return json.loads(done.stdout)


def measure(binary: Path, count: int) -> dict[str, Any]:
    import tempfile

    with tempfile.TemporaryDirectory() as source:
        Path(source, "shop.py").write_text(SHOP, encoding="utf-8")
        with workplace(Path(source)) as place:
            began = time.monotonic()
            done = subprocess.run(
                command(binary, place.repository, *MORE), cwd=place.work, capture_output=True, text=True, check=True, env=variables_with(None)
            )
            seconds = time.monotonic() - began
            expected = ended(place, json.loads(done.stdout))
        chance = random.Random(7)
        same, different, not_begun = 0, [], 0
        # Kills before the start or after the end do not count.
        for number in range(2 * count):
            if same + len(different) == count:
                break
            with workplace(Path(source)) as place:
                after = chance.uniform(0.05, seconds * 0.98)
                if not killed(binary, place, after):
                    not_begun += 1
                    continue
                report = recovered(binary, place)
                if report is None:
                    not_begun += 1
                elif "broken" in report:
                    different.append(f"{number}, killed after {after:.2f} s: {report['broken']}")
                elif ended(place, report) == expected:
                    same += 1
                else:
                    different.append(f"{number}, killed after {after:.2f} s: {json.dumps(ended(place, report))[:600]}")
    return {
        "kills": count,
        "same": same,
        "ended_before_or_not_begun": not_begun,
        "different": different,
        "expected": expected,
        "seconds_without_a_kill": seconds,
    }
