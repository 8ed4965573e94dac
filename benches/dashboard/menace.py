"""Runs menace with and without a dashboard, and browser measurements."""

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
    """Runs a command to its end. Results are in the data directory; exit code 1 means findings."""
    done = subprocess.run(
        [menace, *arguments], cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, env=variables()
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"menace {' '.join(arguments)} failed with exit code {done.returncode}:\n{done.stderr}")


def start(menace: str, work: Path, *arguments: str) -> tuple["subprocess.Popen[str]", str]:
    """Starts a command with a dashboard. Returns the process and the address."""
    process = subprocess.Popen(
        [menace, *arguments], cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=variables()
    )
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"dashboard: (http://\S+)", line):
            # Drain stderr, so that the pipe does not fill up.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, found[1]
    raise SystemExit(f"menace {' '.join(arguments)} did not start a dashboard:\n{''.join(said)}")


@contextmanager
def dashboard(menace: str, work: Path) -> Iterator[str]:
    """Runs the dashboard of a data directory until the end of the block."""
    process, address = start(menace, work, "dashboard", "--port", "0")
    try:
        yield address
    finally:
        process.terminate()
        process.wait()


def look(kind: str, address: str) -> Any:
    """Runs a browser measurement of look.mjs."""
    done = subprocess.run(["node", str(LOOK), kind, address], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)
