"""Requests of menace and their replies. Their types are in crates/model/src/harness."""

import json
import marshal
import os


def answer(request):
    """Handles a request. Exceptions of the code under test are part of the response, never raised."""
    if request["kind"] == "describe":
        from menace_harness import describe

        return describe.answer(request)
    from menace_harness import perform

    if request["kind"] == "build":
        return perform.try_to_build(request)
    if request["kind"] == "examples":
        from menace_harness import examples

        return examples.answer(request)
    if request["kind"] == "workflow":
        from menace_harness import workflow

        return workflow.answer(request)
    if request["kind"] == "plugin":
        from menace_harness import plugin

        return plugin.answer(request)
    if request["kind"] == "metrics_plugin":
        from menace_harness import metrics_plugin

        return metrics_plugin.answer(request)
    return perform.perform(request)


def receive(stream):
    """Reads a request: its length as four bytes, then the marshal format of the interpreter."""
    length = int.from_bytes(read_exactly(stream, 4), "little")
    return marshal.loads(read_exactly(stream, length))


def receive_if_any(stream):
    """Reads a request, or returns None if menace has closed the stream."""
    first = os.read(stream, 4)
    if not first:
        return None
    length = int.from_bytes(first + read_exactly(stream, 4 - len(first)), "little")
    return marshal.loads(read_exactly(stream, length))


def send(stream, message):
    """Writes a response: its length as four bytes, then JSON."""
    # UTF-8 cannot represent lone surrogates; the repr of values still shows them.
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
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
