"""Cache of compiled modules: forks of the interpreter import them without reading or compiling files.

Compiling executes no code of a module. A file that has changed since is compiled again.
"""

import importlib.machinery
import marshal
import os
import sys

# Memory of the zygote makes every fork slower, so modules beyond this size are compiled in each call.
MOST_BYTES = 24_000_000


class Loader(importlib.machinery.SourceFileLoader):
    """Loads compiled code from the cache if the file has not changed."""

    compiled = {}

    def get_code(self, fullname):
        known = self.compiled.get(self.path)
        if known is not None and known[0] == stamp(self.path):
            return marshal.loads(known[1])
        return super().get_code(fullname)


def install(workspace, paths):
    """Compiles files, and installs an import hook for the workspace that uses the cache."""
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
            raise ImportError("not in the workspace")
        return usual(path)

    sys.path_hooks.insert(0, hook)


def compile_file(path):
    try:
        with open(path, "rb") as file:
            source = file.read()
        before = stamp(path)
        return before, marshal.dumps(compile(source, path, "exec", dont_inherit=True))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        # The import raises the same error.
        return None


def stamp(path):
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size
