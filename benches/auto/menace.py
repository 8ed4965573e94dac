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


# The modules of the fixture whose failures do not take long to show.
MODULES = ["--modules", "defects/normal.py,defects/hostile.py,defects/drift.py,defects/misuse.py"]


@dataclass
class Workplace:
    """A copy of a repository, and where menace keeps what it knows."""

    repository: Path
    work: Path

    def tree(self, run: str) -> Path:
        """The code as a run left it: a directory that is no repository of git has its branch there."""
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
    """What `menace auto` reports about a directory, and how long it took."""
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
        raise SystemExit(f"menace auto ended with {done.returncode}")
    return json.loads(done.stdout), seconds
