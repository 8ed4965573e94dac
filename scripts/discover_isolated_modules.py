#!/usr/bin/env python3
"""Lists modules that nothing imports: `menace orphans`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from _menace import run

run("orphans")
