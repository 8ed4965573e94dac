"""Kills menace with SIGKILL at random times, and detects leaks after its next start.

This process is a subreaper, so every living process that menace has started is a descendant of it. Runtime and temporary
directories belong to this bench, and names of cgroups contain the process id of menace, so other menace processes on this
machine do not interfere.
"""

import ctypes
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
SEED = 20240521
LONGEST_DELAY_SECONDS = 0.030
# A zygote needs time to start Python before its calls can be killed.
LONGEST_DELAY_OF_ZYGOTE_SECONDS = 0.300


def measure(menace: str, times: int) -> dict:
    adopt_orphans(True)
    try:
        with tempfile.TemporaryDirectory(prefix="menace-bench-kills-") as scratch:
            return Kills(menace, Path(scratch)).run(times)
    finally:
        adopt_orphans(False)


class Kills:
    def __init__(self, menace: str, scratch: Path) -> None:
        self.menace = menace
        self.runtime, self.temporary, self.work = (scratch / name for name in ("runtime", "tmp", "work"))
        for directory in (self.runtime, self.temporary, self.work):
            directory.mkdir()
        (self.work / "given").write_text("by the user\n")
        self.environment = os.environ | {"XDG_RUNTIME_DIR": str(self.runtime), "TMPDIR": str(self.temporary)}
        self.pids: set = set()
        self.processes_before = descendants()
        self.mounts_before = mounts()
        self.leaks: dict = {"processes": set(), "cgroups": set(), "mounts": set(), "directories": set()}

    def run(self, times: int) -> dict:
        chance = random.Random(SEED)
        starts, cleaners = self.starts(), self.cleaners()
        phases = {"no launcher yet": 0, "launcher": 0, "sandboxes": 0, "ended by itself": 0}
        for number in range(times):
            name = list(starts)[number % len(starts)]
            longest = LONGEST_DELAY_OF_ZYGOTE_SECONDS if name == "a zygote" else LONGEST_DELAY_SECONDS
            phases[self.kill(starts[name], chance.uniform(0, longest))] += 1
            self.clean_up(cleaners[number // len(starts) % len(cleaners)])
            self.look()
        return {
            "kills": times,
            "seed": SEED,
            "longest_delay_ms": LONGEST_DELAY_SECONDS * 1000,
            "longest_delay_of_zygote_ms": LONGEST_DELAY_OF_ZYGOTE_SECONDS * 1000,
            "starts": list(starts),
            "next_start": [" ".join(["menace", *cleaner]) for cleaner in cleaners],
            "killed_at": phases,
            "leaked": {kind: len(found) for kind, found in self.leaks.items()},
            "examples": [str(leak) for found in self.leaks.values() for leak in sorted(map(str, found))[:5]],
        }

    def starts(self) -> dict:
        run, bench = [self.menace, "sandbox", "run"], [os.environ["MENACE_BENCH"], "--menace", self.menace]
        background = ["--", "sh", "-c", "sleep 5 & sleep 5"]
        writes = ["--", "sh", "-c", "echo changed >given; mkdir new; sleep 5 & sleep 5"]
        return {
            "one command": [*run, *background],
            "with --workdir": [*run, "--workdir", str(self.work), *writes],
            "with --json and limits": [*run, "--json", "--memory", "64m", "--pids", "16", "--timeout", "5s", *background],
            "one sandbox after the other": [*bench, "--only", "idle", "--runs", "50"],
            "a zygote": [*bench, "--only", "zygote", "--runs", "1000"],
            "concurrent sandboxes": [*bench, "--only", "concurrent-creates", "--runs", "50"],
        }

    def cleaners(self) -> list:
        """Commands that clean up: the next start, and `menace --cleanup` if this version has it."""
        known = subprocess.run([self.menace, "--cleanup"], env=self.environment, capture_output=True)
        return [["sandbox", "run", "--", "/bin/true"]] + ([["--cleanup"]] if known.returncode == 0 else [])

    def kill(self, command: list, delay: float) -> str:
        """Starts a command and kills it after a delay. Returns its phase at that time."""
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, env=self.environment, stdin=quiet, stdout=quiet, stderr=quiet)
        self.pids.add(process.pid)
        time.sleep(delay)
        phase = phase_of(process)
        process.kill()
        process.wait()
        return phase

    def clean_up(self, arguments: list) -> None:
        process = subprocess.Popen(
            [self.menace, *arguments], env=self.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self.pids.add(process.pid)
        said = process.communicate()[1].decode(errors="replace")
        if process.returncode != 0:
            raise SystemExit(f"menace {' '.join(arguments)} failed with exit code {process.returncode}: {said}")

    def look(self) -> None:
        self.leaks["processes"] |= descendants() - self.processes_before
        self.leaks["cgroups"] |= cgroups(self.pids)
        self.leaks["mounts"] |= mounts() - self.mounts_before
        entries = [*self.runtime.glob("*/*"), *self.temporary.iterdir(), *self.work.iterdir()]
        kept = {self.runtime / "menace" / "lock", self.work / "given"}
        self.leaks["directories"] |= {entry for entry in entries if entry not in kept}
        if (self.work / "given").read_text() != "by the user\n":
            self.leaks["directories"].add("the working directory was changed")


def phase_of(process: subprocess.Popen) -> str:
    if process.poll() is not None:
        return "ended by itself"
    launchers = children(process.pid)
    if not launchers:
        return "no launcher yet"
    return "sandboxes" if any(children(launcher) for launcher in launchers) else "launcher"


def children(pid: int) -> list:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def descendants() -> set:
    """Living descendants of this process, with start times. Reaps dead ones, because this process is their parent."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass
    parents, identities = {}, {}
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
        parents[int(entry.name)] = int(fields[1])
        identities[int(entry.name)] = (int(entry.name), int(fields[19]), line.replace(b"\0", b" ").decode(errors="replace"))
    return {identities[pid] for pid in parents if is_below(pid, parents)}


def is_below(pid: int, parents: dict) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == os.getpid():
            return True
    return False


def cgroups(pids: set) -> set:
    """Cgroups of these menace processes in all hierarchies."""
    found = set()
    for directory, names, _ in os.walk("/sys/fs/cgroup"):
        for name in names:
            words = name.split("-")
            if words[0] == "menace" and len(words) > 1 and words[1].isdigit() and int(words[1]) in pids:
                found.add(os.path.join(directory, name))
    return found


def mounts() -> set:
    return set(Path("/proc/1/mountinfo").read_text().splitlines())


def adopt_orphans(yes: bool) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
