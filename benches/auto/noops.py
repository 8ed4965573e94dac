"""Changes without an effect: comments, renamed variables, formatting. None of them is an improvement."""

import ast
import json
import re
from pathlib import Path
from typing import Any

from menace import MODULES, improved, workplace
from scripted_model import Question, environment, replaced, serving

TRIES = 20


class Renamed(ast.NodeTransformer):
    """Renames local variables."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:  # noqa: N802
        node.id = self.names.get(node.id, node.id)
        return node


def local_names(function: ast.AST) -> list[str]:
    parts = [node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    outer = {name for node in ast.walk(function) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    return sorted({node.id for node in parts} - outer)


def commented(text: str, number: int) -> str:
    lines = text.split("\n")
    # Before the last statement, so that it is not inside a docstring.
    last = ast.parse(text).body[0].body[-1].lineno - 1
    indent = re.match(r"\s*", lines[last]).group()
    return "\n".join([*lines[:last], f"{indent}# Reviewed, number {number}.", *lines[last:]])


def renamed(text: str, number: int) -> str:
    tree = ast.parse(text)
    names = {name: f"{name}_{number}" for name in local_names(tree)}
    return ast.unparse(Renamed(names).visit(tree)) if names else commented(text, number)


def reformatted(text: str, number: int) -> str:
    made = ast.unparse(ast.parse(text))
    return commented(made if number % 2 else made.replace("'", '"') if "\"" not in made else made, number)


KINDS = [commented, renamed, reformatted]


def measure(binary: Path, fixture: Path) -> dict[str, Any]:
    counts = {"served": 0}

    def script(question: Question) -> str:
        counts["served"] += 1
        text = question.function
        kind = KINDS[counts["served"] % len(KINDS)]
        try:
            return replaced(question.path, text, kind(text, counts["served"]))
        except (SyntaxError, IndexError, AttributeError):
            return replaced(question.path, text, text + f"\n# {counts['served']}")

    with serving(script) as served, workplace(fixture) as place:
        variables = environment(served, SANDBOX_PATCH_RETRIES=str(TRIES), SANDBOX_CYCLES="1")
        report, seconds = improved(binary, place.repository, place.work, *MODULES, "--seed", "3", variables=variables)
    kept = [patch for patch in report["patches"] if patch["state"] == "kept"]
    return {
        "proposals": len(report["patches"]),
        "kept": len(kept),
        "kept_diffs": [json.dumps(patch["detail"]["diff"]) for patch in kept],
        "seconds": seconds,
    }
