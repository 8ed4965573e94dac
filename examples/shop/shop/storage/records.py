"""Records by key, one JSON file each; sessions; running numbers."""

from __future__ import annotations

import pickle
import re
import threading
from pathlib import Path
from typing import Any, Dict, Iterator, Tuple, Union

from .files import StorageError, ensure_directory, read_json, write_json

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


class JsonStore:
    """A directory of records. Keys are plain names, so they cannot leave the directory."""

    def __init__(self, root: Union[str, Path]) -> None:
        self.root = Path(root)
        self._lock = threading.RLock()

    def put(self, key: str, record: Dict[str, Any]) -> None:
        """Store ``record``, replacing the one under the same key."""
        path = self._path(key)
        with self._lock:
            try:
                ensure_directory(self.root)
            except (OSError, ValueError) as error:
                raise StorageError(f"cannot make {str(self.root)!r}") from error
            write_json(path, record)

    def get(self, key: str) -> Any:
        """The record under ``key``, or ``None``."""
        return read_json(self._path(key))

    def delete(self, key: str) -> bool:
        """Remove a record; return whether there was one."""
        try:
            self._path(key).unlink()
        except FileNotFoundError:
            return False
        except (OSError, ValueError) as error:
            raise StorageError(f"cannot delete {key!r}") from error
        return True

    def keys(self) -> Iterator[str]:
        """The keys, sorted."""
        try:
            names = sorted(path.name for path in self.root.iterdir())
        except (OSError, ValueError):
            return
        for name in names:
            stem = name[: -len(".json")]
            if name.endswith(".json") and KEY.fullmatch(stem):
                yield stem

    def items(self) -> Iterator[Tuple[str, Any]]:
        """The keys with their records; a record that vanished meanwhile is left out."""
        for key in self.keys():
            record = self.get(key)
            if record is not None:
                yield key, record

    def _path(self, key: str) -> Path:
        if not isinstance(key, str) or not KEY.fullmatch(key):
            raise StorageError(f"not a key: {key!r}")
        return self.root / f"{key}.json"


def next_number(path: Path) -> int:
    """The next running number of a sequence, such as the invoices of a year, kept in a file."""
    current = int(path.read_text()) if path.exists() else 0
    with open(path, "w") as stream:
        stream.write(str(current + 1))
    return current + 1


def load_session(blob: bytes) -> Dict[str, Any]:
    """The session that a browser sent back in its cookie."""
    session = pickle.loads(blob)
    return dict(session)


def dump_session(session: Dict[str, Any]) -> bytes:
    """A session as the value of a cookie."""
    return pickle.dumps(dict(session), protocol=4)
