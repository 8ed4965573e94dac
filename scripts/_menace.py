"""Runs the `menace` binary for the scripts in this directory."""

import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def binary() -> str:
    """Returns $MENACE, else the release build of this checkout, else `menace` on PATH."""
    built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "menace"
    candidates = [os.environ.get("MENACE"), str(built) if built.exists() else None, shutil.which("menace")]
    for candidate in candidates:
        if candidate:
            return candidate
    sys.exit("error: menace is not built\nhint: run ./setup_env.sh, or set MENACE to the binary")


def run(*command: str) -> None:
    """Replaces this process with `menace COMMAND`, followed by the arguments of the script."""
    menace = binary()
    os.execv(menace, [menace, *command, *sys.argv[1:]])
