"""One call: import a module from the workspace, call an attribute of it, say what came of it."""

import importlib
import json
import marshal
import os
import sys
import traceback

WORKSPACE = "/workspace"
# A longer text of one value says no more about the call.
LONGEST_TEXT = 100_000


def perform(request):
    """Makes the call and describes its end. Only what ends the process itself is not described here."""
    stage = "import"
    try:
        target = importlib.import_module(request["module"])
        stage = "lookup"
        for name in request["function"].split("."):
            target = getattr(target, name)
        stage = "call"
        value = target(*request["arguments"], **request["keywords"])
    except BaseException as error:  # SystemExit and KeyboardInterrupt of the code under test are its results too.
        return describe(stage, error)
    return {"stage": "done", "value": to_json(value), "repr": shorten(safe_repr(value))}


def describe(stage, error):
    return {
        "stage": stage,
        "exception": type(error).__name__,
        "message": shorten(safe_text(error)),
        "traceback": shorten("".join(traceback.format_exception(type(error), error, error.__traceback__))),
    }


def to_json(value):
    """The value, if it survives a trip through JSON unchanged; otherwise only its repr is reported."""
    try:
        text = json.dumps(value, allow_nan=False)
        return value if len(text) <= LONGEST_TEXT and json.loads(text) == value else None
    except (TypeError, ValueError, RecursionError, OverflowError):
        return None


def safe_repr(value):
    try:
        return repr(value)
    except BaseException as error:
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"


def safe_text(error):
    try:
        return str(error)
    except BaseException as second:
        return f"<{type(error).__name__} whose text raises {type(second).__name__}>"


def shorten(text):
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"


def receive(stream):
    """What is to be called: its length as four bytes, then the format in which the interpreter keeps its own code."""
    length = int.from_bytes(read_exactly(stream, 4), "little")
    return marshal.loads(read_exactly(stream, length))


def send(stream, message):
    """The result: its length as four bytes, then JSON."""
    body = json.dumps(message).encode("utf-8", "surrogatepass")
    data = len(body).to_bytes(4, "little") + body
    while data:
        data = data[os.write(stream, data) :]


def read_exactly(stream, length):
    parts = []
    while length:
        part = os.read(stream, min(length, 1 << 20))
        if not part:
            raise EOFError("menace closed the stream of a call")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
