"""Runs `menace serve` with separate directories, and detects leaks of the server and of its sandbox daemon.

This process is a subreaper, so every living process that a server has started is a descendant of it. Names of cgroups
contain the process id of the sandbox daemon, so other menace processes on this machine do not interfere.
"""

import ctypes
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from calls import Broken, Connection
from failed import PartFailed

PR_SET_CHILD_SUBREAPER = 36
LONGEST_START_SECONDS = 30.0
LONGEST_END_SECONDS = 60.0
# The kernel needs a moment to empty cgroups and to remove processes.
LONGEST_CLEANING_SECONDS = 10.0
SANDBOX = "menace: sandbox"


class Server:
    """Server of one data directory, with the process ids of all its sandbox daemons."""

    def __init__(self, binary: str, place: Path, variables: dict[str, str] | None = None) -> None:
        self.binary = os.path.abspath(binary)
        self.variables = variables or {}
        self.data, self.runtime = place / "data", place / "run"
        for directory in (self.data, self.runtime):
            directory.mkdir(mode=0o700)
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        self.keepers: set[int] = set()

    def start(self) -> None:
        """Starts the server, on its previous port if it was restarted, and waits until it listens."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SANDBOX_")}
        self.process = subprocess.Popen(
            [self.binary, "serve", "--port", str(self.port), "--data-dir", str(self.data), "--ephemeral"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=kept | {"XDG_RUNTIME_DIR": str(self.runtime)} | self.variables,
        )
        self.port = self.address(self.process)
        self.keeper()

    def address(self, process: subprocess.Popen[str]) -> int:
        """Reads the port from stderr. Drains stderr afterwards, so that the pipe does not fill up."""
        assert process.stderr is not None
        impatient = threading.Timer(LONGEST_START_SECONDS, process.kill)
        impatient.start()
        said = []
        for line in process.stderr:
            said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                impatient.cancel()
                threading.Thread(target=process.stderr.read, daemon=True).start()
                return int(found[1])
        impatient.cancel()
        raise PartFailed(f"menace serve failed to start: {' '.join(said).strip()}")

    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def keeper(self) -> int:
        """Process id of the current sandbox daemon: the topmost one."""
        ours = {pid: process for pid, process in processes().items() if self.is_keeper(process)}
        for pid, process in ours.items():
            if process["parent"] not in ours and process["name"] != SANDBOX:
                self.keepers.add(pid)
                return pid
        raise PartFailed("no sandbox daemon is running")

    def is_keeper(self, process: dict[str, Any]) -> bool:
        return "__keep" in process["command"] and str(self.data) in process["command"]

    def kill(self) -> None:
        """Kills the gateway with SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Stops the server and all sandboxes. Kills processes that do not exit."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(LONGEST_END_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
        for pid, process in processes().items():
            if self.is_keeper(process) and pid in below(os.getpid()):
                wait_until(lambda: pid not in processes())
                if pid in processes():
                    os.kill(pid, signal.SIGKILL)
        reap()

    def connection(self) -> Connection:
        return Connection(self.port)

    def sandboxes(self) -> list[str]:
        """Lists all sandboxes, over all pages."""
        found: list[str] = []
        cursor = ""
        with self.connection() as connection:
            while True:
                status, page = connection.call("GET", f"/api/sandboxes?limit=1000{cursor}")
                if status != 200:
                    raise PartFailed(f"failed to list sandboxes: {status} {page}")
                found += [sandbox["sandbox_id"] for sandbox in page["sandboxes"]]
                if not page.get("next_cursor"):
                    return found
                cursor = f"&cursor={page['next_cursor']}"

    def wait_until_it_answers(self) -> float:
        """Waits for a successful response. Returns the duration in seconds."""
        began = time.monotonic()
        while time.monotonic() - began < LONGEST_START_SECONDS:
            try:
                with self.connection() as connection:
                    if connection.call("GET", "/readyz")[0] == 200:
                        return time.monotonic() - began
            except Broken:
                pass
            time.sleep(0.01)
        raise PartFailed(f"the server did not respond within {LONGEST_START_SECONDS:.0f} s")

    def left(self) -> dict[str, list[str]]:
        """Leaks of destroyed sandboxes, after waiting for teardown."""
        wait_until(lambda: not any(self.left_now().values()))
        return self.left_now()

    def left_now(self) -> dict[str, list[str]]:
        known = processes()
        inside = [f"{pid} {known[pid]['name']}" for pid in below(os.getpid()) if is_inside(known, pid)]
        return {"processes": inside, "cgroups": [str(path) for path in self.groups() if is_below_ours(path)]}

    def held_by(self, keeper: int) -> set[tuple[int, int]]:
        """A sandbox daemon and its descendants, by process id and start time, because ids are reused."""
        known = processes()
        return {(pid, known[pid]["start"]) for pid in below(keeper) | {keeper} if pid in known}

    def left_of(self, keeper: int, held: set[tuple[int, int]]) -> dict[str, list[str]]:
        """Leaks of a killed sandbox daemon, after waiting for teardown."""

        def now() -> dict[str, list[str]]:
            known = processes()
            alive = [f"{pid} {known[pid]['name']}" for pid, start in held if known.get(pid, {}).get("start") == start]
            groups = [str(path) for path in self.groups() if f"menace-{keeper}-" in str(path)]
            directories = [str(path) for path in self.runtime.glob(f"menace/{keeper}-*")]
            return {"processes": alive, "cgroups": groups, "directories": directories}

        wait_until(lambda: not any(now().values()))
        return now()

    def groups(self) -> list[Path]:
        """Cgroups of all sandbox daemons of this server, and their descendants."""
        found = []
        for directory, _, _ in os.walk("/sys/fs/cgroup"):
            words = [part.split("-") for part in Path(directory).parts if part.startswith("menace-")]
            if any(len(word) > 1 and word[1].isdigit() and int(word[1]) in self.keepers for word in words):
                found.append(Path(directory))
        return found


@contextmanager
def serving(binary: str, variables: dict[str, str] | None = None) -> Iterator[Server]:
    """Runs a server until the end of the block, then stops it with all of its sandboxes."""
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="menace-bench-serve-") as place:
        server = Server(binary, Path(place), variables)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def is_below_ours(path: Path) -> bool:
    """Whether a cgroup belongs to a sandbox. The group of the sandbox daemon exists as long as the daemon."""
    return not path.name.startswith("menace-")


def is_inside(known: dict[int, dict[str, Any]], pid: int) -> bool:
    """Whether a process belongs to a sandbox: its init process, which has a known name, or a descendant."""
    while pid in known:
        if known[pid]["name"] == SANDBOX:
            return True
        pid = known[pid]["parent"]
    return False


def processes() -> dict[int, dict[str, Any]]:
    """All processes on this machine, with parent, start time, name and command."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat, command = (entry / "stat").read_text(), (entry / "cmdline").read_bytes()
        except OSError:
            continue
        head, _, tail = stat.rpartition(")")
        fields = tail.split()
        if fields[0] in "ZX":
            continue
        words = command.decode(errors="replace").split("\0")
        found[int(entry.name)] = {
            "parent": int(fields[1]),
            "start": int(fields[19]),
            "name": head.split("(", 1)[1],
            "command": words,
        }
    return found


def below(top: int) -> set[int]:
    """Descendants of a process."""
    known = processes()
    found: set[int] = set()
    for pid in known:
        path = [pid]
        while path[-1] in known:
            path.append(known[path[-1]]["parent"])
        if top in path[1:]:
            found.add(pid)
    return found


def resident_kib(pid: int) -> int | None:
    """Resident memory of a process."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) if found else None


def wait_until(is_so: Callable[[], bool]) -> None:
    """Waits for a condition, with a timeout."""
    end = time.monotonic() + LONGEST_CLEANING_SECONDS
    while not is_so() and time.monotonic() < end:
        time.sleep(0.1)


def adopt_orphans() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def reap() -> None:
    """Reaps adopted orphans."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass
