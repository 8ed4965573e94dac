"""Bench `fuzz`: analyses 100,000 random and mutated Python files with a release build.

Fails if a file causes a panic or takes longer than five seconds. Prints one JSON document.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

FILES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000


def main() -> int:
    command = ["cargo", "test", "--release", "--quiet", "--package", "menace-analysis", "--lib"]
    started = time.monotonic()
    subprocess.run([*command, "--no-run"], check=True)
    built = time.monotonic()
    outcome = subprocess.run(
        [*command, "--", "random_and_mutated_files"], env=os.environ | {"MENACE_FUZZ_FILES": str(FILES)}, timeout=1800,
        stdout=sys.stderr,
    )
    result = {
        "bench": "fuzz",
        "files": FILES,
        "passed": outcome.returncode == 0,
        "build_seconds": round(built - started, 1),
        "seconds": round(time.monotonic() - built, 1),
    }
    text = json.dumps(result, indent=2)
    print(text)
    if FILES >= 100_000:
        (Path(__file__).parent.parent / "results" / "fuzz.json").write_text(text + "\n")
    return outcome.returncode


if __name__ == "__main__":
    sys.exit(main())
