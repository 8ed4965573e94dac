"""Part `connections`: how many requests to a mock are answered in a second, each on a connection of its own.

The client counts only answers that are right, byte for byte. There are as many processes as it takes until more do not
get more answers.
"""

import json
from typing import Any

from failed import PartFailed
from menace import Menace
from mocks import BODY, HOST, PATH, written

REQUESTS = 20_000
QUICK_REQUESTS = 3_000
PROCESSES = 16


def measure(menace: Menace, is_quick: bool) -> dict[str, Any]:
    requests = QUICK_REQUESTS if is_quick else REQUESTS
    with written() as rules:
        report = menace.python(["--net", f"mock={rules}"], "ask.py", HOST, PATH, requests, PROCESSES)
    measured = json.loads(report["stdout"])
    head, _, body = measured["answer"].partition("\r\n\r\n")
    if not head.startswith("HTTP/1.1 200 ") or json.loads(body) != BODY:
        raise PartFailed(f"the mock does not answer as its rule says: {measured['answer']!r}")
    return measured | {"requests_per_second": measured["same"] / measured["seconds"]}


def figures(measured: dict[str, Any]) -> dict[str, float]:
    return {
        "connections_requests_per_second": measured["requests_per_second"],
        "connections_right": measured["same"] / measured["asked"],
    }
