"""Detects leaked processes, cgroups and mounts of a command.

This process is a subreaper, so every living process that menace has started is a descendant of it. Names of cgroups contain
the process id of menace. Other menace processes on this machine do not interfere.
"""

import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
# Teardown may continue for a moment after menace exits.
LONGEST_SETTLING_SECONDS = 2.0


@contextmanager
def adopting_orphans() -> Iterator[None]:
    adopt_orphans(True)
    try:
        yield
    finally:
        adopt_orphans(False)


class Census:
    """Processes and mounts before the start of the command."""

    def __init__(self) -> None:
        self.processes = descendants()
        self.mounts = mounts()

    def left_over(self, pid: int) -> dict[str, Any]:
        """Leaked resources, after waiting for teardown."""
        end = time.monotonic() + LONGEST_SETTLING_SECONDS
        while any((found := self.look(pid)).values()) and time.monotonic() < end:
            time.sleep(0.05)
        examples = [thing for things in found.values() for thing in sorted(things)[:5]]
        return {kind: len(things) for kind, things in found.items()} | {"examples": examples}

    def look(self, pid: int) -> dict[str, set[str]]:
        return {
            "processes": descendants() - self.processes,
            "cgroups": groups(pid),
            "mounts": mounts() - self.mounts,
        }


def descendants() -> set[str]:
    """Living descendants of this process, with start times. Reaps dead ones, because this process is their parent."""
    reap()
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat, line = (entry / "stat").read_text(), (entry / "cmdline").read_bytes()
        except OSError:
            continue
        fields = stat.rsplit(")", 1)[1].split()
        if fields[0] in "ZX":
            continue
        pid = int(entry.name)
        parents[pid] = int(fields[1])
        names[pid] = f"{pid} started at {fields[19]}: {line.replace(bytes(1), b' ').decode(errors='replace')[:200]}"
    return {names[pid] for pid in parents if is_below(pid, parents)}


def reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def is_below(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == os.getpid():
            return True
    return False


def groups(pid: int) -> set[str]:
    """Cgroups of a menace process in all hierarchies: `menace-PID` and `menace-PID-…`."""
    found = set()
    for directory, names, _ in os.walk("/sys/fs/cgroup"):
        found |= {os.path.join(directory, name) for name in names if name.split("-")[:2] == ["menace", str(pid)]}
    return found


def mounts() -> set[str]:
    """Mounts in the mount namespace of this process."""
    return set(Path("/proc/self/mountinfo").read_text().splitlines())


def adopt_orphans(yes: bool) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
