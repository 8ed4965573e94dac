"""Size of the failing inputs of menace, compared with those of Hypothesis for the same functions."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import corpora
import defects
from failed import PartFailed
from menace import Menace

HYPOTHESIS = "hypothesis==6.170.15"
HARNESS = Path(__file__).resolve().parents[2] / "harness"
PEER = Path(__file__).with_name("hypothesis_peer.py")
# Hypothesis uses only types: it makes no misuse, schema drift or concurrent calls.
SCENARIOS = ("normal", "hostile_input")
LONGEST_SECONDS = 1_200.0


def measure(menace: Menace, cache: Path) -> dict[str, Any]:
    failures = menace.run(defects.REPOSITORY, *defects.SEED).report["failures"]
    planted = [
        defect
        for defect in defects.manifest()["defects"]
        if defect["kind"] == "crash" and defect["scenario"] in SCENARIOS
    ]
    ours = {defect["section"]: size for defect in planted if (size := size_of(defect, failures)) is not None}
    theirs = ask_hypothesis(planted, cache)
    both = sorted(ours.keys() & theirs.keys())
    if not both:
        raise PartFailed("no defect was found by both menace and Hypothesis")
    return {
        "hypothesis": HYPOTHESIS,
        "defects": len(planted),
        "found_by_menace": len(ours),
        "found_by_hypothesis": len(theirs),
        "found_by_both": len(both),
        "only_menace": sorted(ours.keys() - theirs.keys()),
        "only_hypothesis": sorted(theirs.keys() - ours.keys()),
        "median_size_menace": median(ours[section] for section in both),
        "median_size_hypothesis": median(theirs[section]["size"] for section in both),
        "menace_not_larger": sum(ours[section] <= theirs[section]["size"] for section in both),
        "larger": [
            f"{section}: {ours[section]} beside {theirs[section]['size']} for {theirs[section]['input']}"
            for section in both
            if ours[section] > theirs[section]["size"]
        ],
    }


def size_of(defect: dict[str, Any], failures: list[dict[str, Any]]) -> int | None:
    """Length of the repr of the arguments of the failure that matches a defect."""
    for failure in failures:
        if defects.is_there(failure, defect) and defects.is_the_same(failure, defect):
            return len(repr(arguments(failure["input"])))
    return None


def arguments(stub: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Values of a stub, built by the harness."""
    for place in (HARNESS, defects.REPOSITORY):
        if str(place) not in sys.path:
            sys.path.append(str(place))
    from menace_harness import values

    pairs = stub["kwargs"].items() if isinstance(stub["kwargs"], dict) else stub["kwargs"]
    by_name = {name: values.build(recipe) for name, recipe in pairs}
    return tuple(values.build_all(stub["args"])), by_name


def ask_hypothesis(planted: list[dict[str, Any]], cache: Path) -> dict[str, dict[str, Any]]:
    """Smallest input and its size, for defects where Hypothesis finds the same exception on the same line."""
    python = corpora.environment(cache, "hypothesis", (HYPOTHESIS,)) / "bin" / "python"
    command = [str(python), "-B", str(PEER), str(defects.REPOSITORY)]
    try:
        done = subprocess.run(
            command, input=json.dumps(planted), capture_output=True, text=True, timeout=LONGEST_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise PartFailed(f"Hypothesis timed out after {LONGEST_SECONDS:.0f} s") from None
    if done.returncode != 0:
        raise PartFailed(f"{PEER.name} failed: {' '.join(done.stderr.strip().splitlines()[-3:])}")
    return json.loads(done.stdout)
