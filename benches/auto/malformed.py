"""Malformed answers of a model: menace does not crash, and the budget is respected."""

import json
import time
from pathlib import Path
from typing import Any

from menace import MODULES, improved, workplace
from scripted_model import Answer, Question, Raw, environment, serving, stream

MAX_TOKENS = 60_000
# Reported prompt and completion tokens of one answer.
COST = (1_500, 500)


def texts(fixture: Path) -> list[tuple[str, str]]:
    """Answers without a valid change."""
    rows = json.loads((fixture.parent / "malformed_answers.json").read_text(encoding="utf-8"))
    made = []
    for row in rows:
        text = row.get("answer")
        if text is None:
            part, count = row["repeat"]
            text = part * count
        made.append((row["name"], text))
    return made


def on_the_wire() -> list[tuple[str, Raw]]:
    """Invalid HTTP responses."""
    json_kind = "application/json"
    half = stream("x.py\n<<<<<<< SEARCH\n", COST)
    error = json.dumps({"error": {"message": "overloaded"}}).encode()
    return [
        ("429, then again", Raw(429, error, json_kind, {"Retry-After": "1"})),
        ("429 without a time", Raw(429, error, json_kind)),
        ("500", Raw(500, error, json_kind)),
        ("502 as HTML", Raw(502, b"<html>Bad gateway</html>", "text/html")),
        ("503", Raw(503, b"", json_kind)),
        ("400", Raw(400, error, json_kind)),
        ("413", Raw(413, error, json_kind)),
        ("422", Raw(422, b"not json", json_kind)),
        ("empty", Raw(200, b"")),
        ("empty JSON", Raw(200, b"{}", json_kind)),
        ("a list", Raw(200, b"[]", json_kind)),
        ("null", Raw(200, b"null", json_kind)),
        ("HTML with 200", Raw(200, b"<html>Sign in</html>", "text/html")),
        ("half a JSON", Raw(200, b'{"choices": [', json_kind)),
        ("choices are no list", Raw(200, b'{"choices": 7}', json_kind)),
        ("content is null", Raw(200, b'{"choices": [{"message": {"content": null}}]}', json_kind)),
        ("content is a number", Raw(200, b'{"choices": [{"message": {"content": 7}}]}', json_kind)),
        ("usage is negative", Raw(200, b'{"choices": [], "usage": {"prompt_tokens": -1, "completion_tokens": -1}}', json_kind)),
        ("usage is huge", Raw(200, b'{"choices": [], "usage": {"prompt_tokens": 99999999999999999999, "completion_tokens": 1}}', json_kind)),
        ("an error in a stream", Raw(200, b"data: " + error + b"\n\n")),
        ("garbage in a stream", Raw(200, b"data: {{{{\n\n")),
        ("bytes that are no UTF-8", Raw(200, b"data: \xff\xfe\n\n")),
        ("NUL", Raw(200, b"\0" * 1000)),
        ("a stream that ends in the middle", Raw(200, half[: len(half) // 2])),
        ("a stream without its end", Raw(200, half.replace(b"data: [DONE]\n\n", b""))),
        ("an endless stream", Raw(200, b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n' * 1000, endless=True)),
        ("an endless line", Raw(200, b"a" * 65536, endless=True)),
        ("10 MB", Raw(200, b'{"choices": [{"message": {"content": "' + b"a" * 10_000_000 + b'"}}]}', json_kind)),
        ("10 MB as a stream", Raw(200, b'data: {"choices":[{"delta":{"content":"' + b"a" * 1000 + b'"}}]}\n\n' * 10_000)),
        ("it takes too long", Raw(200, b"", wait=6.0)),
    ]


def measure(binary: Path, fixture: Path) -> dict[str, Any]:
    kinds: list[tuple[str, Answer]] = [*on_the_wire(), *texts(fixture)]
    turn = {"next": 0}

    def script(question: Question) -> Answer:
        _, said = kinds[turn["next"] % len(kinds)]
        turn["next"] += 1
        return said.replace("{path}", question.path) if isinstance(said, str) else said

    found: dict[str, Any] = {"kinds": len(kinds)}
    with serving(script, COST) as server, workplace(fixture) as place:
        variables = environment(server, SANDBOX_PATCH_RETRIES="4", SANDBOX_CYCLES="1", SANDBOX_MODEL_TIMEOUT="4")
        began = time.monotonic()
        report, _ = improved(binary, place.repository, place.work, *MODULES, "--seed", "5", variables=variables)
        found["all"] = {
            "questions": turn["next"],
            "served_kinds": min(turn["next"], len(kinds)),
            "proposals": len(report["patches"]),
            "kept": sum(patch["state"] == "kept" for patch in report["patches"]),
            "seconds": time.monotonic() - began,
        }
    # Again, with a token budget that is exceeded.
    turn["next"] = len(on_the_wire())
    with serving(script, COST) as server, workplace(fixture) as place:
        variables = environment(server, SANDBOX_PATCH_RETRIES="4", SANDBOX_CYCLES="1", SANDBOX_MODEL_TIMEOUT="4")
        improved(binary, place.repository, place.work, *MODULES, "--seed", "5", "--max-tokens", str(MAX_TOKENS), variables=variables)
        found["budget"] = {"max_tokens": MAX_TOKENS, "spent": server.tokens, "one_call": sum(COST)}
    return found
