"""A scripted model with an OpenAI-compatible endpoint on loopback."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Optional, Union


@dataclass
class Question:
    """A prompt of menace about a section."""

    section: str
    path: str
    snippet: str
    prompt: str

    @property
    def function(self) -> str:
        """Source of the function or class of the prompt."""
        name = self.section.partition(":")[2].partition(".")[0]
        lines = self.snippet.splitlines()
        start = next((i for i, line in enumerate(lines) if re.match(rf"(async def|def|class) {re.escape(name)}\b", line)), None)
        if start is None:
            return ""
        end = start + 1
        while start > 0 and lines[start - 1].startswith("@"):
            start -= 1
        while end < len(lines) and (not lines[end].strip() or lines[end][0] in " )#"):
            end += 1
        return "\n".join(lines[start:end]).rstrip()


@dataclass
class Raw:
    """A raw HTTP response instead of an answer."""

    status: int = 200
    body: bytes = b""
    kind: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)
    """Delay in seconds before the response, and whether the body is repeated without end."""
    wait: float = 0.0
    endless: bool = False


Answer = Union[str, Raw]


def question(body: dict[str, Any]) -> Question:
    prompt = body["messages"][-1]["content"]
    section = re.search(r"^section: (\S+)$", prompt, re.MULTILINE)
    snippet = re.search(r"### Snippet context\n`([^`]+)`\n(.*?)\n\n### Cause\n", prompt, re.DOTALL)
    found = (section.group(1) if section else "", snippet.group(1) if snippet else "", snippet.group(2) if snippet else "")
    return Question(*found, prompt)


def replaced(path: str, before: str, after: str) -> str:
    """Answer that replaces one text with another."""
    return f"{path}\n<<<<<<< SEARCH\n{before}\n=======\n{after}\n>>>>>>> REPLACE\n"


class Served:
    """Address of the server, and counters of its requests."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.questions = 0
        self.tokens = 0
        self.broken: list[str] = []


@contextmanager
def serving(script: Callable[[Question], Answer], tokens: tuple[int, int] = (100, 50)) -> Iterator[Served]:
    """Serves answers of a script until the end of the block."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
            pass

        def do_POST(self) -> None:  # noqa: N802
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                served.questions += 1
                try:
                    answer = script(question(body))
                except Exception as error:  # noqa: BLE001
                    # An exception in the script is a bug of the bench, and makes it fail at its end.
                    served.broken.append(repr(error))
                    answer = "I have nothing to change."
            try:
                self.send(answer)
            except (BrokenPipeError, ConnectionResetError):
                pass

        def send(self, answer: Answer) -> None:
            if isinstance(answer, str):
                with lock:
                    served.tokens += sum(tokens)
                answer = Raw(body=stream(answer, tokens))
            time.sleep(answer.wait)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Connection", "close")
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)
            began = time.monotonic()
            while answer.endless and time.monotonic() - began < 60:
                self.wfile.write(answer.body)
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served = Served(f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
    if served.broken:
        raise SystemExit(f"the script raised {len(served.broken)} exceptions: {served.broken[:3]}")


def stream(text: str, tokens: tuple[int, int]) -> bytes:
    """Streams a text as server-sent events."""
    parts = [text[start : start + 40] for start in range(0, len(text), 40)] or [""]
    events = [{"choices": [{"delta": {"content": part}}]} for part in parts]
    events.append({"choices": [], "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}})
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode() + b"data: [DONE]\n\n"


def environment(served: Optional[Served], **more: str) -> dict[str, str]:
    """Variables that select this model as the only proposer."""
    variables = {
        "SANDBOX_PROPOSERS": "llm",
        "SANDBOX_MODEL": "scripted",
        "SANDBOX_MODEL_PRICES": "scripted=1/2",
        "SANDBOX_MODEL_REQUESTS_PER_MINUTE": "0",
        **more,
    }
    return {**variables, "OPENAI_BASE_URL": served.address} if served else variables
