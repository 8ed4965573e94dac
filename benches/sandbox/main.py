"""Bench `sandbox`: cost of native sandboxes compared with bubblewrap and docker, and reliability of timeouts and clean-up.

Installs bubblewrap and docker.io with apt if they are missing, and starts a separate docker engine. The
benchmark binary of this directory, built by script/bench, makes the measurements. Prints one JSON document
and writes it to benches/results/sandbox.json, or to sandbox-PART.json for one part. With --quick the counts are small and
nothing is written. Ratios are measured in one run; the machine should be idle.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import kills
import peers
from say import say

TARGETS = {
    "create_p50_over_bwrap": ("<=", 0.7),
    "create_p50_over_docker_run": ("<=", 1 / 50),
    "zygote_p50_ms": ("<=", 3.0),
    "zygote_p99_ms": ("<=", 10.0),
    "python_over_zygote": (">=", 8.0),
    "zygote_calls_per_second": (">=", 500.0),
    "exec_p50_ms": ("<=", 3.0),
    "creates_at_once_succeeded": (">=", 1.0),
    "creates_at_once_p99_ms": ("<=", 400.0),
    "idle_mib_each": ("<=", 1.5),
    "kill_leaks": ("<=", 0.0),
    "timeout_trees_dead": (">=", 1.0),
    "timeout_late_p99_ms": ("<=", 100.0),
}

# Repetitions of each part: default, and with --quick.
COUNTS = {
    "latency": (200, 5),
    "at-once": (5, 1),
    "idle": (1000, 50),
    "throughput": (60, 3),
    "timeouts": (500, 20),
    "kills": (200, 20),
}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", choices=list(COUNTS), help="measure one part")
    arguments.add_argument("--quick", action="store_true", help="small counts, to test the bench itself")
    options = arguments.parse_args()
    menace = os.environ["MENACE"]
    result: dict = {"bench": "sandbox", "machine": machine(), "versions": {"menace": version([menace, "--version"])}}
    for part, (usual, quick) in COUNTS.items():
        if options.only in (None, part):
            say(f"{part}: {quick if options.quick else usual}")
            result[part] = MEASURES[part](menace, quick if options.quick else usual, result)
    result["targets"] = judge(result, options.only is None)
    text = json.dumps(result, indent=2)
    print(text)
    if not options.quick:
        name = "sandbox.json" if options.only is None else f"sandbox-{options.only}.json"
        path = Path(__file__).parent.parent / "results" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n")
    return 0 if all(target["met"] for target in result["targets"].values()) else 1


def latency(menace: str, runs: int, result: dict) -> dict:
    """Runs the latency table with a separate docker engine."""
    peers.install()
    with peers.Engine() as engine:
        result["versions"] |= {"bwrap": version(["bwrap", "--version"]), "docker": engine.version()}
        report = bench(menace, ["--runs", str(runs)], engine.environment)
    missing = {row["name"]: row["reason"] for row in report["left_out"]}
    if missing:
        raise SystemExit(f"peers were left out: {missing}")
    return report


def at_once(menace: str, times: int, result: dict) -> list:
    """Creates a hundred sandboxes concurrently, each time in a new process, so that cold starts are included."""
    return [bench(menace, ["--only", "concurrent-creates"]) for _ in range(times)]


def idle(menace: str, sandboxes: int, result: dict) -> dict:
    return bench(menace, ["--only", "idle", "--runs", str(sandboxes)])


def throughput(menace: str, seconds: int, result: dict) -> dict:
    return bench(menace, ["--only", "zygote-throughput", "--runs", str(seconds)])


def timeouts(menace: str, trees: int, result: dict) -> dict:
    return bench(menace, ["--only", "timeout-tree", "--runs", str(trees)])


def kill(menace: str, times: int, result: dict) -> dict:
    return kills.measure(menace, times)


MEASURES = {"latency": latency, "at-once": at_once, "idle": idle, "throughput": throughput, "timeouts": timeouts, "kills": kill}


def bench(menace: str, arguments: list, environment: dict | None = None) -> dict:
    command = [os.environ["MENACE_BENCH"], "--menace", menace, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed with exit code {done.returncode}")
    return json.loads(done.stdout)


def judge(result: dict, is_whole: bool) -> dict:
    """Compares targets with their figures. If all parts were measured, a target without a figure is not met."""
    figures = collect(result)
    judged = {}
    for name, (relation, bound) in TARGETS.items():
        value = figures.get(name)
        if value is None and not is_whole:
            continue
        met = value is not None and (value <= bound if relation == "<=" else value >= bound)
        shown = None if value is None else round(value, 4)
        judged[name] = {"value": shown, "target": f"{relation} {bound:g}", "met": met}
    return judged


def collect(result: dict) -> dict:
    figures = {}
    rows = {row["name"]: row for row in result.get("latency", {}).get("rows", [])}
    if rows:
        create = rows["create"]["p50_ms"]
        figures["create_p50_over_bwrap"] = create / rows["bwrap"]["p50_ms"]
        figures["create_p50_over_docker_run"] = create / rows["docker-run"]["p50_ms"]
        figures["exec_p50_ms"] = rows["exec"]["p50_ms"]
    if "zygote" in rows:
        figures["zygote_p50_ms"] = rows["zygote"]["p50_ms"]
        figures["zygote_p99_ms"] = rows["zygote"]["p99_ms"]
        figures["python_over_zygote"] = rows["python"]["p50_ms"] / rows["zygote"]["p50_ms"]
    if calls := result.get("throughput"):
        figures["zygote_calls_per_second"] = calls["calls_per_second"]
    if bursts := result.get("at-once"):
        figures["creates_at_once_succeeded"] = min(burst["succeeded"] / burst["asked"] for burst in bursts)
        slowest = [burst["create"]["p99_ms"] for burst in bursts if burst["create"]]
        figures["creates_at_once_p99_ms"] = max(slowest, default=None)
    if quiet := result.get("idle"):
        figures["idle_mib_each"] = quiet["pss_bytes_each"] / 2**20
    if trees := result.get("timeouts"):
        figures["timeout_trees_dead"] = trees["dead"] / trees["trees"]
        figures["timeout_late_p99_ms"] = trees["late"]["p99_ms"] if trees["late"] else None
    if killed := result.get("kills"):
        figures["kill_leaks"] = sum(killed["leaked"].values())
    return figures


def machine() -> dict:
    with open("/proc/meminfo") as file:
        memory = int(file.readline().split()[1]) // 1024
    return {
        "cores": os.cpu_count(),
        "memory_mib": memory,
        "kernel": platform.release(),
        "cgroups": cgroups(),
        "user": "root" if os.geteuid() == 0 else "unprivileged",
        "python": platform.python_version(),
        "load_average_before": os.getloadavg()[0],
    }


def cgroups() -> str:
    with open("/proc/mounts") as file:
        kinds = {line.split()[2] for line in file}
    found = kinds & {"cgroup", "cgroup2"}
    return "hybrid" if len(found) == 2 else {"cgroup": "v1", "cgroup2": "v2"}.get(next(iter(found), ""), "none")


def version(command: list) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
