#!/usr/bin/env python3
"""Starts the autonomous run and its services: `menace up`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from _menace import run

run("up")
