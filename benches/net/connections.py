"""Part `connections`: requests per second to a mock, each over a new connection.

The client counts only responses that are identical byte for byte. With more processes the rate does not increase.
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
        raise PartFailed(f"the response of the mock does not match its rule: {measured['answer']!r}")
    return measured | {"requests_per_second": measured["same"] / measured["seconds"]}


def figures(measured: dict[str, Any]) -> dict[str, float]:
    return {
        "connections_requests_per_second": measured["requests_per_second"],
        "connections_right": measured["same"] / measured["asked"],
    }
