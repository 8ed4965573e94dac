"""Writes a repository of hostile functions: each template several times, with different numbers."""

import textwrap
from pathlib import Path
from string import Template as Text

import templates_process
import templates_python

KINDS = ("ok", "rejected", "crash", "timeout", "oom", "disk_full", "denied", "wrong", "flaky", "void", "harness_error")

IMPORTS = """import _imp, asyncio, atexit, builtins, ctypes, gc, itertools, json, math, os, re, resource, shutil, signal
import socket, subprocess, sys, threading, time
from contextlib import suppress

from hostile.support import *
"""

# Modules that are hostile on import. Their functions are harmless and never called.
AT_IMPORT = {
    "loops_at_import": "while True:\n    pass",
    "exits_at_import": "import os\nos._exit(3)",
    "leaves_at_import": "import sys\nsys.exit('not today')",
    "raises_at_import": "raise BaseException('no')",
    "kills_at_import": "import os\nos.killpg(0, 9)",
    "forks_at_import": "import os\nwhile True:\n    os.fork()",
    "eats_at_import": "kept = []\nwhile True:\n    kept.append(bytearray(b'x' * (1 << 20)))",
    "breaks_at_import": "import builtins, os, sys\nos.closerange(0, 4096)\nsys.modules.clear()\nbuiltins.len = None",
}


def write(root: Path, functions: int) -> dict[str, frozenset[str]]:
    """Writes the repository. Returns its hostile sections with the valid outcome kinds under `normal`."""
    package = root / "hostile"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "support.py").write_text(templates_python.SUPPORT)
    expected: dict[str, frozenset[str]] = {}
    for name, body in AT_IMPORT.items():
        (package / f"{name}.py").write_text(f"{body}\n\n\ndef never_called():\n    return 1\n")
        expected[f"hostile.{name}:never_called"] = frozenset()
    templates = templates_process.TEMPLATES | templates_python.TEMPLATES
    wanted = functions - len(expected)
    for index, (name, (body, kinds)) in enumerate(templates.items()):
        count = wanted // len(templates) + (index < wanted % len(templates))
        if count == 0:
            continue
        written = [function(name, number, body) for number in range(1, count + 1)]
        (package / f"{name}.py").write_text("\n\n".join([IMPORTS, *written]))
        expected |= {f"hostile.{name}:{name}_{number}": kinds for number in range(1, count + 1)}
    return expected


def function(name: str, number: int, body: str) -> str:
    keyword = "async def" if name in templates_python.ASYNC else "def"
    return f"{keyword} {name}_{number}():\n{textwrap.indent(Text(body).substitute(n=number), '    ')}\n"


def is_hostile_import(section: str) -> bool:
    module = section.partition(":")[0].rpartition(".")[2]
    return module in AT_IMPORT
