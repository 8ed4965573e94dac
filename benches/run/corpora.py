"""Packages of the package index to measure, and interpreters with their dependencies."""

import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from failed import PartFailed
from say import say


@dataclass(frozen=True)
class Corpus:
    """A source distribution, its measured folder, and its dependencies."""

    requirement: str
    folder: str
    needs: tuple[str, ...] = ()


CORPORA = {
    "more-itertools": Corpus("more-itertools==10.7.0", "more_itertools"),
    "boltons": Corpus("boltons==25.0.0", "boltons"),
    "dateutil": Corpus("python-dateutil==2.9.0.post0", "dateutil", ("six==1.17.0",)),
    "django": Corpus("django==5.2.19", "django/utils", ("asgiref==3.8.1", "sqlparse==0.5.3")),
}


def root(cache: Path, name: str) -> Path:
    """Directory of the repository."""
    return root_of(sdist(cache, name), CORPORA[name].folder)


def interpreter(cache: Path, name: str) -> list[str]:
    """Arguments for an interpreter with the dependencies of the package, if it has any."""
    needs = CORPORA[name].needs
    return ["--python", str(environment(cache, name, needs) / "bin" / "python")] if needs else []


def root_of(place: Path, folder: str) -> Path:
    """Import root of the package: the top directory of the distribution, or its `src`."""
    for root in (place, place / "src"):
        if (root / folder / "__init__.py").is_file():
            return root
    raise PartFailed(f"{folder} is neither in {place} nor in its src")


def sdist(cache: Path, name: str) -> Path:
    """Directory of a distribution, downloaded if it is missing. The bench `scan` uses the same cache."""
    place = cache / "corpora" / name
    if place.exists():
        return place
    requirement = CORPORA[name].requirement
    say(f"downloading {requirement}")
    downloads = cache / "downloads" / name
    downloads.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    execute([*command, requirement, "-d", str(downloads)])
    archives = list(downloads.glob("*.tar.gz"))
    if len(archives) != 1:
        raise PartFailed(f"expected one archive in {downloads}, found {len(archives)}")
    unpacked = cache / "corpora" / f"{name}.partial"
    with tarfile.open(archives[0]) as tar:
        tar.extractall(unpacked, filter="data")
    [top] = unpacked.iterdir()
    top.rename(place)
    unpacked.rmdir()
    return place


def environment(cache: Path, name: str, packages: tuple[str, ...]) -> Path:
    """Creates a virtual environment with these packages. Its list of packages is written last and marks it as complete."""
    place = cache / "environments" / name
    listed = place / "installed.txt"
    wanted = "\n".join([sys.version, *packages])
    if not listed.exists() or listed.read_text() != wanted:
        say(f"installing {', '.join(packages)} in a virtual environment")
        execute([sys.executable, "-m", "venv", "--clear", str(place)])
        execute([str(place / "bin" / "pip"), "install", "--quiet", *packages])
        listed.write_text(wanted)
    return place


def execute(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        said = " ".join(done.stderr.strip().splitlines()[-3:])
        raise PartFailed(f"`{' '.join(command[:6])} …` failed with exit code {done.returncode}: {said}")
