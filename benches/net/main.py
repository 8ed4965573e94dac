"""Bench `net`: whether the network of a sandbox does what it was asked to, how fast it is, and what it costs.

Servers run on the loopback of this host, clients in sandboxes. Installs slirp4netns through apt where it is missing.
Prints one JSON document and writes it to benches/results/net.json, or to net-PART.json if one part is measured; a
summary is on stderr. With --quick the counts are small and nothing is written, nor is it with several parts. Exit code
1 if a target is not met or a part failed. The machine should be idle.
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

# By part, which is the first word of each name.
TARGETS = {
    # A millisecond, or two percent where that is more.
    "delay_5_ms_error_ms": ("<=", 1.0),
    "delay_50_ms_error_ms": ("<=", 1.0),
    "delay_200_ms_error_ms": ("<=", 4.0),
    # By how many packets a count is outside of what chance does in 99 of 100 cases.
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

# Each part measures, and says which figures of it have a target.
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
    arguments.add_argument("--quick", action="store_true", help="small counts, to see that it works")
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
    """The named parts, in the order in which they are measured."""
    named = text.split(",")
    if unknown := [name for name in named if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"there is no part {', '.join(unknown)}")
    return [name for name in PARTS if name in named]


def measure(menace: Menace, options: argparse.Namespace, result: dict[str, Any]) -> dict[str, str]:
    """Measures each part; the reasons of those that failed."""
    failed = {}
    for name in options.only:
        say(name)
        try:
            result[name] = PARTS[name].measure(menace, options.quick)
        except PartFailed as error:
            failed[name] = str(error)
    return failed


def figures(result: dict[str, Any]) -> dict[str, float]:
    """The figure of each target, where there is one."""
    found: dict[str, float] = {}
    for name, part in PARTS.items():
        if name in result:
            found |= part.figures(result[name])
    return found


def judge(found: dict[str, float], measured: list[str]) -> dict[str, Any]:
    """Each target of the parts that were to be measured, with its figure. One without a figure is not met."""
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
    """What people want to know, in a few lines."""
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
