"""Reading and writing single files."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Union

PathLike = Union[str, Path]


class StorageError(Exception):
    """A file that cannot be read, written, or understood."""


def ensure_directory(path: Path) -> Path:
    """Make sure that a directory is there, and return it."""
    if not path.exists():
        path.mkdir(parents=True)
    return path


def read_json(path: PathLike, default: Any = None) -> Any:
    """The content of a JSON file; ``default`` when there is no such file.

    Raises:
        StorageError: when it cannot be read, or is not JSON.
    """
    try:
        with open(path, "rb") as stream:
            return json.loads(stream.read())
    except FileNotFoundError:
        return default
    except (OSError, ValueError, RecursionError) as error:
        raise StorageError(f"cannot read {os.fspath(path)!r}") from error


def write_json(path: PathLike, value: Any) -> None:
    """Replace a JSON file as a whole: a reader sees the old content or the new one.

    Raises:
        StorageError: when the value is not JSON, or the file cannot be written.
    """
    try:
        data = json.dumps(value, indent=1, sort_keys=True, allow_nan=False).encode()
        folder = os.path.dirname(os.path.abspath(path))
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=folder)
    except (TypeError, ValueError, RecursionError, OSError) as error:
        raise StorageError(f"cannot write {os.fspath(path)!r}") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise StorageError(f"cannot write {os.fspath(path)!r}") from error
