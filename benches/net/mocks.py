"""Rules of the mock."""

import contextlib
import json
import tempfile
from collections.abc import Iterator

HOST = "api.example.com"
PATH = "/v1/menace"
BODY = {"id": 7, "name": "menace", "tags": ["a", "b"]}
RULES = [
    {"host": HOST, "path": "/v1/*", "respond": {"status": 200, "headers": {"X-Mocked": "yes"}, "json": BODY}},
]


@contextlib.contextmanager
def written() -> Iterator[str]:
    """Writes the rules to a temporary file. Yields its path."""
    with tempfile.NamedTemporaryFile("w", prefix="menace-bench-net-", suffix=".json") as file:
        json.dump(RULES, file)
        file.flush()
        yield file.name
