#!/usr/bin/env python3
"""Writes .env with the default settings and creates the data directory: `menace init`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from _menace import run

run("init")
