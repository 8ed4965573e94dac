"""Runs `menace auto` on a copy of a repository."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional


# Modules of the fixture whose failures occur quickly.
MODULES = ["--modules", "defects/normal.py,defects/hostile.py,defects/drift.py,defects/misuse.py"]


@dataclass
class Workplace:
    """A copy of a repository, and the working directory with the data directory."""

    repository: Path
    work: Path

    def tree(self, run: str) -> Path:
        """Worktree of a run. A repository without git has its branch there."""
        return self.work / "sandbox_data" / "auto" / run / "tree"


@contextmanager
def workplace(source: Path) -> Iterator[Workplace]:
    with tempfile.TemporaryDirectory() as place:
        repository = Path(place, "repository")
        shutil.copytree(source, repository, ignore=shutil.ignore_patterns("__pycache__", ".ruff_cache"))
        yield Workplace(repository, Path(place))


def command(binary: Path, repository: Optional[Path], *more: str) -> list[str]:
    which = [str(repository), "--python", "/usr/bin/python3"] if repository else []
    return [str(binary), "auto", *which, "--json", *more]


def variables_with(more: Optional[dict[str, str]]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SANDBOX_", "OPENAI_"))}
    return {**kept, **(more or {})}


def improved(
    binary: Path, repository: Path, work: Path, *more: str, variables: Optional[dict[str, str]] = None
) -> tuple[dict[str, Any], float]:
    """Runs `menace auto`. Returns its report and its duration in seconds."""
    began = time.monotonic()
    done = subprocess.run(
        command(binary, repository, *more),
        cwd=work,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env=variables_with(variables),
    )
    seconds = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f"menace auto failed with exit code {done.returncode}")
    return json.loads(done.stdout), seconds
