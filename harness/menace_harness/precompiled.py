"""Modules of the repository, compiled once: copies of the interpreter import them without reading or compiling them.

Compiling runs nothing of a module. A file that was changed since is compiled as it is then.
"""

import importlib.machinery
import marshal
import os
import sys

# What a copy of the interpreter holds makes every call dearer; what is beyond this is compiled in each call.
MOST_BYTES = 24_000_000


class Loader(importlib.machinery.SourceFileLoader):
    """Loads what was compiled before, if the file is still the same."""

    compiled = {}

    def get_code(self, fullname):
        known = self.compiled.get(self.path)
        if known is not None and known[0] == stamp(self.path):
            return marshal.loads(known[1])
        return super().get_code(fullname)


def install(workspace, paths):
    """Compiles these files and lets everything below the workspace be loaded from there."""
    size = 0
    for path in paths:
        compiled = compile_file(path)
        if compiled is None:
            continue
        size += len(compiled[1])
        if size > MOST_BYTES:
            break
        Loader.compiled[path] = compiled
    details = [
        (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
        (Loader, importlib.machinery.SOURCE_SUFFIXES),
        (importlib.machinery.SourcelessFileLoader, importlib.machinery.BYTECODE_SUFFIXES),
    ]
    usual = importlib.machinery.FileFinder.path_hook(*details)

    def hook(path):
        if path != workspace and not path.startswith(workspace + "/"):
            raise ImportError("not of the repository")
        return usual(path)

    sys.path_hooks.insert(0, hook)


def compile_file(path):
    try:
        with open(path, "rb") as file:
            source = file.read()
        before = stamp(path)
        return before, marshal.dumps(compile(source, path, "exec", dont_inherit=True))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        # Whoever imports it gets the same error.
        return None


def stamp(path):
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size
