"""Reached functions of well-known packages, and calls per second."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import corpora
from failed import PartFailed
from menace import Made, Menace

SEED = ("--seed", "1")
MOST_REASONS = 10


def measure(menace: Menace, cache: Path) -> dict[str, Any]:
    """Share of called sections for each package, and the reasons for the others."""
    measured = {}
    for name, corpus in corpora.CORPORA.items():
        report = made(menace, cache, name).report
        reasons = Counter(without_names(error["reason"]) for error in report["harness_errors"])
        measured[name] = {
            "requirement": corpus.requirement,
            "folder": corpus.folder,
            "sections": report["sections"],
            "reached": report["reached"],
            "share_reached": report["reached"] / report["sections"],
            "failures": len(report["failures"]),
            "harness_errors": len(report["harness_errors"]),
            "reasons": [{"count": count, "reason": reason} for reason, count in reasons.most_common(MOST_REASONS)],
        }
    return measured


def throughput(menace: Menace, cache: Path) -> dict[str, Any]:
    """Calls per second on boltons, whose functions are small, so that the overhead of calls dominates."""
    run = made(menace, cache, "boltons")
    return {
        "corpus": corpora.CORPORA["boltons"].requirement,
        "calls": run.report["calls"],
        "seconds": run.seconds,
        "wall_seconds_of_the_command": run.wall_seconds,
        "calls_per_second": run.report["calls"] / run.seconds,
    }


def made(menace: Menace, cache: Path, name: str) -> Made:
    """Run over the measured folder, without ignored files such as generated ones."""
    corpus, root = corpora.CORPORA[name], corpora.root(cache, name)
    modules = [module["path"] for module in menace.json("scan", str(root), "--json")["modules"]]
    measured = ",".join(path for path in modules if path.startswith(corpus.folder + "/"))
    if not measured:
        raise PartFailed(f"menace finds no modules in {corpus.folder} of {corpus.requirement}")
    run = menace.run(root, *SEED, "--modules", measured, *corpora.interpreter(cache, name))
    if run.report["sections"] == 0:
        raise PartFailed(f"menace finds no sections in {corpus.folder} of {corpus.requirement}")
    return run


def without_names(reason: str) -> str:
    """A reason without its details, for grouping."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\b[\w.]+:[\w.]+|\b\w+(\.\w+)+|\d+", "…", reason)
