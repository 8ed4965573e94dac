#!/usr/bin/env python3
"""Groups related modules and writes module_map.json: `menace map`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from _menace import run

run("map")
