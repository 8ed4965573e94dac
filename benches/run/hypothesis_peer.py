"""Smallest failing inputs by Hypothesis: defects as JSON on stdin, `{section: {"size", "input"}}` on stdout.

Runs in an environment with Hypothesis. Strategies are derived only from type hints, so that Hypothesis has the same
information as menace. Functions with unsupported hints, such as `Any`, have no result.
"""

import copy
import importlib
import inspect
import json
import sys
import traceback
import typing
from pathlib import Path
from typing import Any, Callable, Optional

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

EXAMPLES = 1_000


def main() -> int:
    repository = Path(sys.argv[1])
    sys.path.insert(0, str(repository))
    found = {}
    for defect in json.load(sys.stdin):
        module, _, name = defect["section"].partition(":")
        smallest = smallest_failure(bound(importlib.import_module(module), name), defect, repository)
        if smallest is not None:
            text = repr((smallest, {}))
            found[defect["section"]] = {"size": len(text), "input": text[:100]}
    json.dump(found, sys.stdout)
    return 0


def bound(module: Any, name: str) -> Callable[..., Any]:
    """The function, or the method of an object constructed without arguments."""
    owner, _, method = name.rpartition(".")
    return getattr(getattr(module, owner)(), method) if owner else getattr(module, method)


Arguments = tuple[Any, ...]


def smallest_failure(function: Callable[..., Any], defect: dict[str, Any], repository: Path) -> Optional[Arguments]:
    """Arguments of the last failing call, which is the smallest one of Hypothesis."""
    hints = typing.get_type_hints(function)
    strategies = [st.from_type(hints.get(name, str)) for name in inspect.signature(function).parameters]
    failing: list[Arguments] = []

    @settings(
        database=None,
        derandomize=True,
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(st.tuples(*strategies))
    def calls(arguments: Arguments) -> None:
        before = copy.deepcopy(arguments)
        try:
            function(*arguments)
        except Exception as error:
            if place(error, repository) == (defect["exception"], defect["line"]):
                failing.append(before)
                raise

    try:
        calls()
    except InvalidArgument as error:
        print(f"{defect['section']}: {error}", file=sys.stderr)
    except Exception:  # The expected failure.
        if not failing:
            raise
    return failing[-1] if failing else None


def place(error: BaseException, repository: Path) -> tuple[str, Optional[int]]:
    """Exception and innermost line in the repository."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if repository in Path(frame.filename).parents]
    return type(error).__name__, ours[-1].lineno if ours else None


if __name__ == "__main__":
    sys.exit(main())
