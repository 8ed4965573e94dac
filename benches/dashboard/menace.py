"""Runs menace, with a dashboard or without, and looks at it with a browser."""

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LOOK = Path(__file__).resolve().parent / "look.mjs"


def variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("SANDBOX_", "OPENAI_"))}


def run(menace: str, work: Path, *arguments: str) -> None:
    """Runs a command to its end. What it found is in the data directory; 1 means that it found something."""
    done = subprocess.run(
        [menace, *arguments], cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, env=variables()
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"menace {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}")


def start(menace: str, work: Path, *arguments: str) -> tuple["subprocess.Popen[str]", str]:
    """Starts a command that has a dashboard: it, and where that is."""
    process = subprocess.Popen(
        [menace, *arguments], cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=variables()
    )
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"dashboard: (http://\S+)", line):
            # What it says later must not fill the pipe.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, found[1]
    raise SystemExit(f"menace {' '.join(arguments)} has no dashboard:\n{''.join(said)}")


@contextmanager
def dashboard(menace: str, work: Path) -> Iterator[str]:
    """The dashboard of a data directory."""
    process, address = start(menace, work, "dashboard", "--port", "0")
    try:
        yield address
    finally:
        process.terminate()
        process.wait()


def look(kind: str, address: str) -> Any:
    """What a browser saw."""
    done = subprocess.run(["node", str(LOOK), kind, address], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)
