"""A run over 1,000 hostile functions has to end, report each of them, and leak nothing."""

import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Optional

import hostile_repository
from census import Census, adopting_orphans
from failed import PartFailed
from menace import GOOD_EXIT_CODES, environment
from say import say

# A call ends at most one second after its limit. A function without parameters has one or two calls under each of about ten
# scenarios, and menace makes two concurrent calls per core.
SECONDS_PER_CALL = 2.0
CALLS_PER_FUNCTION = 12
CALLS_AT_ONCE = 2 * (os.cpu_count() or 1)


def measure(binary: str, functions: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="menace-bench-hostile-") as scratch, adopting_orphans():
        repository, data = Path(scratch, "repository"), Path(scratch, "data")
        expected = hostile_repository.write(repository, functions)
        longest = SECONDS_PER_CALL * CALLS_PER_FUNCTION * functions / CALLS_AT_ONCE
        say(f"menace run over {functions} hostile functions, time limit {longest / 60:.0f} minutes")
        census = Census()
        started = time.monotonic()
        report, pid, why = run(binary, repository, data, longest)
        seconds = time.monotonic() - started
        left_over = census.left_over(pid)
    measured = {
        "functions": functions,
        "sections": len(expected),
        "ended": report is not None,
        "why_not": why,
        "seconds": seconds,
        "longest_seconds": longest,
        "left_over": left_over,
    }
    return measured | (judged(report, expected) if report is not None else {})


def run(binary: str, repository: Path, data: Path, longest: float) -> tuple[Optional[dict[str, Any]], int, str]:
    """Returns the report if the run succeeded, its process id, and the error."""
    command = [binary, "run", str(repository), "--json", "--timeout", "1s", "--seed", "1", "--data-dir", str(data)]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    try:
        said, complaints = process.communicate(timeout=longest)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, process.pid, f"timeout after {longest:.0f} s"
    if process.returncode not in GOOD_EXIT_CODES:
        last = complaints.decode(errors="replace").strip().splitlines()[-3:]
        return None, process.pid, f"exit code {process.returncode}: {' '.join(last)}"
    try:
        return json.loads(said), process.pid, ""
    except ValueError as error:
        return None, process.pid, f"the report is not JSON: {error}"


def judged(report: dict[str, Any], expected: dict[str, frozenset[str]]) -> dict[str, Any]:
    """Compares the report with the expected outcome of each function."""
    unreached = {error["section"]: error["reason"] for error in report["harness_errors"]}
    kinds: dict[str, Counter[str]] = {}
    under_normal: dict[str, set[str]] = {}
    for cell in report["cells"]:
        seen = Counter({kind: cell[kind] for kind in hostile_repository.KINDS if cell.get(kind)})
        kinds.setdefault(cell["section"], Counter()).update(seen)
        if cell["scenario"] == "normal":
            under_normal[cell["section"]] = set(seen)
    classified = {section for section in expected if set(kinds.get(section, ())) - {"harness_error", "void"}}
    missing = [section for section in expected if section not in kinds and section not in unreached]
    importable = [section for section in expected if not hostile_repository.is_hostile_import(section)]
    if not importable:
        raise PartFailed("no hostile function could be imported")
    unexpected = [
        f"{section}: {', '.join(sorted(ends)) or 'nothing'}, not {' or '.join(sorted(expected[section]))}"
        for section in importable
        if expected[section] and not (ends := under_normal.get(section, set())) <= expected[section]
    ]
    silent = [section for section in importable if section not in classified]
    return {
        "calls": report["calls"],
        "classified": len(classified),
        "share_classified": len(classified & set(importable)) / len(importable),
        "kinds": dict(sum(kinds.values(), Counter[str]()).most_common()),
        "not_mentioned": missing,
        "not_classified": [f"{section}: {unreached.get(section, '')}" for section in silent[:20]],
        "unexpected": len(unexpected),
        "unexpected_examples": unexpected[:20],
    }
