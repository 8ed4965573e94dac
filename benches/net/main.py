"""Bench `net`: correctness, speed and cost of the network of a sandbox.

Servers run on the loopback of this host, clients in sandboxes. Installs slirp4netns with apt if it is missing. Prints one
JSON document and writes it to benches/results/net.json, or to net-PART.json for one part. Several parts, or small counts
with --quick, are not written. Prints a summary on stderr. Exits with 1 if a target is not met or a part failed. The
machine should be idle.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import bandwidth
import connections
import delay
import loss
import mocked
import seed
import startup
import throughput
from failed import PartFailed
from menace import Menace
from say import say

# The first word of each name is its part.
TARGETS = {
    # One millisecond, or two percent if that is more.
    "delay_5_ms_error_ms": ("<=", 1.0),
    "delay_50_ms_error_ms": ("<=", 1.0),
    "delay_200_ms_error_ms": ("<=", 4.0),
    # Distance to the 99 % interval, in packets.
    "loss_1_percent_out_outside": ("<=", 0.0),
    "loss_1_percent_in_outside": ("<=", 0.0),
    "loss_10_percent_out_outside": ("<=", 0.0),
    "loss_10_percent_in_outside": ("<=", 0.0),
    "bandwidth_1_mbit_out_error": ("<=", 0.05),
    "bandwidth_1_mbit_in_error": ("<=", 0.05),
    "bandwidth_10_mbit_out_error": ("<=", 0.05),
    "bandwidth_10_mbit_in_error": ("<=", 0.05),
    "bandwidth_100_mbit_out_error": ("<=", 0.05),
    "bandwidth_100_mbit_in_error": ("<=", 0.05),
    "throughput_out_gbit": (">=", 3.0),
    "throughput_in_gbit": (">=", 1.4),
    "throughput_out_over_slirp4netns": (">=", 2.0),
    "throughput_in_over_slirp4netns": (">=", 2.0),
    "connections_requests_per_second": (">=", 3_000.0),
    "connections_right": (">=", 1.0),
    "startup_added_p50_ms": ("<=", 3.0),
    "seed_same": (">=", 1.0),
    "seed_other_differs": (">=", 1.0),
    "mocked_same": (">=", 1.0),
    "mocked_exit_0": (">=", 1.0),
}

# Each part has `measure` and `figures`, which selects the figures with a target.
PARTS: dict[str, ModuleType] = {
    "delay": delay,
    "loss": loss,
    "bandwidth": bandwidth,
    "throughput": throughput,
    "connections": connections,
    "startup": startup,
    "seed": seed,
    "mocked": mocked,
}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", type=parts, default=list(PARTS), metavar="NAME,…", help=", ".join(PARTS))
    arguments.add_argument("--quick", action="store_true", help="small counts, to test the bench itself")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="menace-bench-net-") as data:
        menace = Menace(os.environ["MENACE"], Path(data))
        result: dict[str, Any] = {"bench": "net", "machine": machine(), "versions": {"menace": menace.version()}}
        result["failed"] = measure(menace, options, result)
    result["targets"] = judge(figures(result), options.only)
    text = json.dumps(result, indent=2)
    print(text)
    if not options.quick:
        write(text, options.only)
    summarise(result)
    return 1 if result["failed"] or not all(target["met"] for target in result["targets"].values()) else 0


def parts(text: str) -> list[str]:
    """Parses the names of parts, in the order of measurement."""
    named = text.split(",")
    if unknown := [name for name in named if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"unknown part {', '.join(unknown)}")
    return [name for name in PARTS if name in named]


def measure(menace: Menace, options: argparse.Namespace, result: dict[str, Any]) -> dict[str, str]:
    """Measures each part. Returns the errors of failed parts."""
    failed = {}
    for name in options.only:
        say(name)
        try:
            result[name] = PARTS[name].measure(menace, options.quick)
        except PartFailed as error:
            failed[name] = str(error)
    return failed


def figures(result: dict[str, Any]) -> dict[str, float]:
    """Measured figures by target."""
    found: dict[str, float] = {}
    for name, part in PARTS.items():
        if name in result:
            found |= part.figures(result[name])
    return found


def judge(found: dict[str, float], measured: list[str]) -> dict[str, Any]:
    """Compares the targets of the selected parts with their figures. A target without a figure is not met."""
    judged = {}
    for name, (relation, bound) in TARGETS.items():
        if name.partition("_")[0] not in measured:
            continue
        value = found.get(name)
        met = value is not None and (value <= bound if relation == "<=" else value >= bound)
        shown = None if value is None else round(value, 4)
        judged[name] = {"value": shown, "target": f"{relation} {bound:g}", "met": met}
    return judged


def write(text: str, measured: list[str]) -> None:
    is_whole = measured == list(PARTS)
    if not is_whole and len(measured) != 1:
        return
    name = "net.json" if is_whole else f"net-{measured[0]}.json"
    path = Path(__file__).resolve().parent.parent / "results" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + "\n")


def summarise(result: dict[str, Any]) -> None:
    """Prints a summary."""
    for name, target in result["targets"].items():
        value = "not measured" if target["value"] is None else f"{target['value']:g}"
        say(f"{'met   ' if target['met'] else 'NOT MET'} {name} {value} ({target['target']})")
    for name, reason in result["failed"].items():
        say(f"FAILED {name}: {reason}")


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "user": "root" if os.geteuid() == 0 else "unprivileged",
        "load_average_before": os.getloadavg()[0],
    }


if __name__ == "__main__":
    sys.exit(main())
