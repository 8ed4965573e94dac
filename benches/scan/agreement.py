"""Agreement of menace with grimp, radon and bandit."""

import json
import subprocess
from collections import Counter
from pathlib import Path

from corpora import say

GRIMP = """
import json, grimp
graph = grimp.build_graph("django", cache_dir=None)
print(json.dumps([[a, b] for a in graph.modules for b in graph.find_modules_directly_imported_by(a)]))
"""


def measure(menace: str, places: dict) -> dict:
    scans = {name: scan(menace, places[name]) for name in ("django", "sympy", "stdlib")}
    return {
        "imports": imports(scans["django"], places),
        "complexity": {name: complexity(scans[name], places[name], places) for name in ("django", "sympy", "stdlib")},
        "security": {name: security(scans[name], places[name], places) for name in ("django", "sympy", "stdlib")},
    }


def scan(menace: str, root: Path) -> dict:
    command = [menace, "scan", root, "--no-cache", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def imports(scanned: dict, places: dict) -> dict:
    say("django: comparing import edges with grimp")
    output = subprocess.run(
        [places["tools"] / "python", "-c", GRIMP], check=True, capture_output=True, cwd=places["django"]
    ).stdout
    theirs = {tuple(edge) for edge in json.loads(output)}
    ours = {
        (module["name"], imported)
        for module in scanned["modules"]
        if module["path"].startswith("django/")
        for imported in module["imports"]
        if imported.split(".")[0] == "django"
    }
    return shares(Counter(ours), Counter(theirs))


def complexity(scanned: dict, root: Path, places: dict) -> dict:
    """Compares the complexity of every function that radon reports, by file, line and name."""
    say(f"{root.name}: comparing complexity with radon")
    output = subprocess.run(
        [places["tools"] / "radon", "cc", "--json", "--show-closures", root], check=True, capture_output=True
    ).stdout
    theirs = {}
    for path, blocks in json.loads(output).items():
        if isinstance(blocks, list):
            relative = str(Path(path).relative_to(root))
            collect_functions(relative, blocks, theirs)
    ours = {
        (module["path"], section["line"], section["name"].split(".")[-1]): section["complexity"]
        for module in scanned["modules"]
        for section in module["sections"]
        if section["kind"] != "module"
    }
    read = {module["path"] for module in scanned["modules"]}
    compared = {key: value for key, value in theirs.items() if key[0] in read}
    different = [(key, value, ours.get(key)) for key, value in compared.items() if ours.get(key) != value]
    return {
        "functions": len(compared),
        "identical": 1 - len(different) / max(len(compared), 1),
        "examples": [str(it) for it in different[:5]],
    }


def collect_functions(path: str, blocks: list, found: dict) -> None:
    for block in blocks:
        if block["type"] == "class":
            collect_functions(path, block.get("methods", []), found)
        else:
            found[path, block["lineno"], block["name"].split(".")[-1]] = block["complexity"]
            collect_functions(path, block.get("closures", []), found)


def security(scanned: dict, root: Path, places: dict) -> dict:
    say(f"{root.name}: comparing findings with bandit")
    report = places["cache"] / f"bandit-{root.name}.json"
    excluded = str(root / "site-packages")
    subprocess.run(
        [places["tools"] / "bandit", "--recursive", "--quiet", "--exit-zero", "--format", "json"]
        + ["--exclude", excluded, "--output", report, root],
        check=True,
    )
    document = json.loads(report.read_text())
    unread = {str(Path(error["filename"]).relative_to(root)) for error in document["errors"]}
    read = {module["path"] for module in scanned["modules"]} - unread
    theirs = Counter(
        (path, entry["line_number"], entry["test_id"])
        for entry in document["results"]
        if (path := str(Path(entry["filename"]).relative_to(root))) in read
    )
    ours = Counter(
        (module["path"], finding["line"], finding["id"])
        for module in scanned["modules"]
        if module["path"] in read
        for finding in module["findings"]
    )
    return shares(ours, theirs) | {"ids": len({key[2] for key in ours})}


def shares(ours: Counter, theirs: Counter) -> dict:
    common = (ours & theirs).total()
    return {
        "ours": ours.total(),
        "theirs": theirs.total(),
        "recall": common / max(theirs.total(), 1),
        "precision": common / max(ours.total(), 1),
        "missing": [str(key) for key in list(theirs - ours)[:5]],
        "extra": [str(key) for key in list(ours - theirs)[:5]],
    }
