"""Part `mocked`: whether an HTTPS client gets the same response from a mock in every run."""

import json
import sys
from typing import Any

from failed import PartFailed
from menace import Menace
from mocks import BODY, HOST, PATH, written

RUNS = 100
QUICK_RUNS = 5


def measure(menace: Menace, is_quick: bool) -> dict[str, Any]:
    runs = QUICK_RUNS if is_quick else RUNS
    command = [sys.executable, "fetch.py", f"https://{HOST}{PATH}"]
    with written() as rules:
        reports = [menace.sandboxed(["--net", f"mock={rules}"], command) for _ in range(runs)]
    first = reports[0]
    if first["exit_code"] == 0 and json.dumps(BODY, separators=(",", ":")) not in first["stdout"]:
        raise PartFailed(f"the response of the mock does not match its rule: {first['stdout']!r}")
    bad = [report for report in reports if report["exit_code"] != 0]
    return {
        "runs": runs,
        "stdout": first["stdout"],
        "same": sum(report["stdout"] == first["stdout"] for report in reports),
        "exit_0": runs - len(bad),
        "first_complaint": bad[0]["stderr"][-500:] if bad else None,
    }


def figures(measured: dict[str, Any]) -> dict[str, float]:
    return {
        "mocked_same": measured["same"] / measured["runs"],
        "mocked_exit_0": measured["exit_0"] / measured["runs"],
    }
