"""Storage in JSON files."""

from .files import StorageError, read_json, write_json
from .records import JsonStore

__all__ = ["JsonStore", "StorageError", "read_json", "write_json"]
