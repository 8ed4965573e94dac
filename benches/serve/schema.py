"""Tests the API with schemathesis: responses must conform to the OpenAPI document."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from failed import PartFailed
from say import say
from server import Server, serving

SCHEMATHESIS = "schemathesis==4.32.5"
EXAMPLES, QUICK_EXAMPLES = 30, 5
SEED = 1
LONGEST_SECONDS = 900.0
LONGEST_REQUEST_SECONDS = 20.0
MOST_LINES = 200
# Endless streams, and a WebSocket.
ENDLESS = r"/(events|watch|terminal|exec)$"
STATES = r"/(pause|resume|stop|start)$"
# Operations that would remove the sandbox or the command that other operations need.
DESTROYING = [
    "DELETE /api/sandboxes/{id}",
    "PATCH /api/sandboxes/{id}",
    "DELETE /api/sandboxes/{id}/processes/{process}",
    "POST /api/sandboxes/{id}/processes/{process}/signal",
    "POST /api/sandboxes/cleanup",
]
# Operations whose schema cannot describe all constraints, because they depend on the host or on the state of a sandbox.
# Rejected valid requests count as violations here as well; these notes only help to interpret them.
HOST_DECIDES = {
    "GET /api/capabilities": "whether there is such a backend on this host",
    "GET /api/sandboxes": "whether a cursor is one of ours",
    "POST /api/sandboxes": "how much this host can give, whether there is such an image or snapshot",
    "PATCH /api/sandboxes/{id}": "how much this host can give",
    "POST /api/sandboxes/{id}/execute": "whether there is such a program inside",
    "POST /api/sandboxes/{id}/processes": "whether there is such a program inside",
    "PUT /api/sandboxes/{id}/network": "whether the sandbox has a network",
    "GET /api/sandboxes/{id}/files/{path}": "what is at a path inside",
    "PUT /api/sandboxes/{id}/files/{path}": "what is at a path inside, whether the body is an archive",
    "PATCH /api/sandboxes/{id}/files/{path}": "what is at a path inside",
    "DELETE /api/sandboxes/{id}/files/{path}": "what is at a path inside",
}


def measure(menace: str, options: Any) -> dict[str, Any]:
    program = installed()
    examples = QUICK_EXAMPLES if options.quick else EXAMPLES
    with serving(menace) as server:
        runs = {
            "of_anything": run(program, server, examples, {}, ["--exclude-path-regex", ENDLESS]),
            "of_a_live_sandbox": run(program, server, examples, live(server), of_a_live_sandbox()),
            "of_its_states": run(program, server, examples, live(server), ["--include-path-regex", STATES]),
        }
        panics = [line for line in server_log(server) if "panicked at" in line]
    return {"program": SCHEMATHESIS, "examples": examples, "seed": SEED, **runs, "panics": panics}


def figures(measured: dict[str, Any]) -> dict[str, float]:
    runs = [measured[name] for name in ("of_anything", "of_a_live_sandbox", "of_its_states")]
    return {
        "schema_requests": sum(run["requests"] for run in runs),
        "schema_server_errors": sum(run["server_errors"] for run in runs),
        "schema_violations": sum(run["violations"] for run in runs),
        "schema_panics": len(measured["panics"]),
    }


def installed() -> Path:
    """Path of schemathesis, installed in a cached virtual environment."""
    cache = Path(os.environ.get("BENCH_CACHE", Path.home() / ".cache" / "menace-bench"))
    place = cache / SCHEMATHESIS.replace("==", "-")
    program = place / "bin" / "schemathesis"
    if not program.exists():
        say(f"schema: installing {SCHEMATHESIS}")
        for command in (
            [sys.executable, "-m", "venv", str(place)],
            [str(place / "bin" / "pip"), "install", "--quiet", SCHEMATHESIS],
        ):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise PartFailed(f"`{' '.join(command)}` failed: {done.stderr.strip()[-500:]}")
    return program


def live(server: Server) -> dict[str, str]:
    """Creates a sandbox with a background process, so that requests reach more than a 404 response."""
    with server.connection() as connection:
        sandbox = connection.call("POST", "/api/sandboxes", {"network": "deny"})[1]["sandbox_id"]
        path = f"/api/sandboxes/{sandbox}/processes"
        status, process = connection.call("POST", path, {"command": ["sleep", "3600"]})
    if status != 201:
        raise PartFailed(f"failed to start a background process: {status} {process}")
    return {"path.id": sandbox, "path.process": process["process_id"], "path.path": "workspace/file"}


def of_a_live_sandbox() -> list[str]:
    left_out = [word for name in DESTROYING for word in ("--exclude-name", name)]
    streams_and_states = f"{ENDLESS}|{STATES}"
    return ["--exclude-path-regex", streams_and_states, *left_out, "--phases", "examples,coverage,fuzzing"]


def run(program: Path, server: Server, examples: int, parameters: dict[str, str], more: list[str]) -> dict[str, Any]:
    """Runs schemathesis with these values for path parameters. Returns its violations."""
    place = server.data.parent / "schema"
    place.mkdir(exist_ok=True)
    settings, report = place / "schemathesis.toml", place / "report.json"
    lines = [f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in parameters.items()]
    settings.write_text("".join(["[parameters]\n", *lines] if lines else []))
    report.unlink(missing_ok=True)
    done = subprocess.run(
        [str(program), "--config-file", str(settings), "run", f"http://127.0.0.1:{server.port}/api/openapi.json"]
        + ["--checks", "all", "--workers", "1", "--continue-on-failure", "--no-color", "--seed", str(SEED)]
        + ["--max-examples", str(examples), "--request-timeout", str(LONGEST_REQUEST_SECONDS)]
        + ["--report", "json", "--report-json-path", str(report), *more],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        env=os.environ | {"NO_PROXY": "127.0.0.1", "COLUMNS": "200"},
    )
    if not report.exists():
        raise PartFailed(f"schemathesis failed with exit code {done.returncode}: {(done.stdout + done.stderr)[-1000:]}")
    return judged(json.loads(report.read_text()), done.stdout)


def judged(report: dict[str, Any], said: str) -> dict[str, Any]:
    """Parses violations by kind and operation, including errors of the document itself."""
    server_errors, violations = [], []
    for failure in report["failures"]:
        found = server_errors if failure["type"] == "ServerError" else violations
        found += [described(failure, operation) for operation in failure["operations"]]
    references = report["warnings"].get("unresolvable_reference", [])
    violations += [f"unresolvable reference: {operation}" for operation in references]
    for error in report["errors"]:
        violations += [error["title"]] * error["count"]
    details = said.partition("= ERRORS =" if "= ERRORS =" in said else "= FAILURES =")[2].partition("= WARNINGS =")[0]
    return {
        "requests": report["test_cases"]["generated"],
        "operations": report["operations"]["tested"],
        "server_errors": len(server_errors),
        "violations": len(violations),
        "found": server_errors + violations,
        "met_nothing_but_404": report["warnings"].get("missing_test_data", []),
        "details": [line for line in details.splitlines() if line.strip()][:MOST_LINES],
    }


def described(failure: dict[str, Any], operation: str) -> str:
    text = f"{failure['title']}: {operation}"
    if failure["type"] == "RejectedPositiveData" and operation in HOST_DECIDES:
        return f"{text} (the host decides {HOST_DECIDES[operation]})"
    return text


def server_log(server: Server) -> list[str]:
    log = server.data / "keeper.log"
    return log.read_text(errors="replace").splitlines() if log.exists() else []
