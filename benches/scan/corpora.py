"""Repositories to scan, and peer tools."""

import json
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

PEERS = ["ruff", "grimp", "radon", "bandit", "vulture"]
SDISTS = {"django": "django==5.2.19", "sympy": "sympy==1.14.0"}


def prepare(cache: Path) -> dict:
    """Downloads missing corpora and tools. Returns their paths."""
    cache.mkdir(parents=True, exist_ok=True)
    places = {"tools": peers(cache), "django": sdist(cache, "django"), "sympy": sdist(cache, "sympy")}
    places["stdlib"] = Path(sysconfig.get_paths()["stdlib"])
    places["cache"] = cache
    return places


def peers(cache: Path) -> Path:
    environment = cache / "peers"
    tools = environment / "bin"
    if not all((tools / name).exists() for name in PEERS if name != "grimp"):
        say(f"installing {', '.join(PEERS)} in a virtual environment")
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([tools / "pip", "install", "--quiet", *PEERS], check=True)
    return tools


def sdist(cache: Path, name: str) -> Path:
    place = cache / "corpora" / name
    if not place.exists():
        say(f"downloading {SDISTS[name]}")
        downloads = cache / "downloads" / name
        downloads.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*command, SDISTS[name], "-d", downloads], check=True)
        [archive] = downloads.glob("*.tar.gz")
        unpacked = cache / "corpora" / f"{name}.partial"
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked, filter="data")
        [top] = unpacked.iterdir()
        top.rename(place)
        unpacked.rmdir()
    return place


def versions(places: dict) -> dict:
    listed = subprocess.run(
        [places["tools"] / "pip", "list", "--format", "json"], check=True, capture_output=True, text=True
    )
    installed = {entry["name"].lower(): entry["version"] for entry in json.loads(listed.stdout)}
    return {name: installed[name] for name in PEERS} | SDISTS


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr)
