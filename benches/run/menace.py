"""Runs `menace run`. Reports are cached, so that parts of the bench share runs."""

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failed import PartFailed
from say import say

# Exit code 1 means that the run found failures.
GOOD_EXIT_CODES = (0, 1)


@dataclass(frozen=True)
class Made:
    """Report of a run, and its duration in seconds."""

    report: dict[str, Any]
    wall_seconds: float

    @property
    def seconds(self) -> float:
        """Duration of the calls, measured by menace; missing in older versions."""
        return float(self.report.get("seconds") or self.wall_seconds)


class Menace:
    """The menace binary with a separate data directory, so that replays find only the runs of this bench."""

    def __init__(self, binary: str, data: Path) -> None:
        self.binary = binary
        self.data = data
        self.made: dict[tuple[str, ...], Made] = {}

    def version(self) -> str:
        done = subprocess.run([self.binary, "--version"], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def run(self, repository: Path, *arguments: str, repeat: int = 0) -> Made:
        """Report of a run. `repeat` distinguishes several runs with the same arguments."""
        key = (str(repository), *arguments, str(repeat))
        if key not in self.made:
            again = f", time {repeat + 1}" if repeat else ""
            say(f"menace run {repository.name}{again}")
            started = time.monotonic()
            report = self.json("run", str(repository), "--json", *arguments)
            self.made[key] = Made(report, time.monotonic() - started)
        return self.made[key]

    def json(self, *arguments: str, longest: float = 3_600.0) -> dict[str, Any]:
        """Returns the JSON output of a command."""
        command = [self.binary, *arguments, "--data-dir", str(self.data)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=longest, stdin=subprocess.DEVNULL, env=environment()
            )
        except subprocess.TimeoutExpired:
            raise PartFailed(f"`{shown(command)}` timed out after {longest:.0f} s") from None
        if done.returncode not in GOOD_EXIT_CODES:
            said = done.stderr.strip().splitlines()[-3:]
            raise PartFailed(f"`{shown(command)}` failed with exit code {done.returncode}: {' '.join(said)}")
        try:
            answer = json.loads(done.stdout)
        except ValueError as error:
            said = done.stderr.strip().splitlines()[-3:]
            raise PartFailed(f"`{shown(command)}` did not print JSON ({error}): {' '.join(said)}") from None
        if not isinstance(answer, dict):
            raise PartFailed(f"`{shown(command)}` printed JSON that is not an object")
        return answer


def environment() -> dict[str, str]:
    """The environment without settings of menace, which would change the measurement."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SANDBOX_")}


def shown(command: list[str]) -> str:
    text = " ".join(["menace", *command[1:]])
    return text if len(text) <= 200 else text[:199] + "…"
