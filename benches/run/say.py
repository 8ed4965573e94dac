"""Progress messages on stderr."""

import sys


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)
