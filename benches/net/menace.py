"""Runs commands in sandboxes with a network and returns their reports."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from failed import PartFailed
from host import LOOPBACK

INSIDE = Path(__file__).resolve().parent / "inside"
HOST_NAME = "host.menace.internal"
LONGEST_SECONDS = 120.0


class Menace:
    """The menace binary with a separate data directory."""

    def __init__(self, binary: str, data: Path) -> None:
        self.binary = binary
        self.data = data
        self.host_address: str | None = None

    def version(self) -> str:
        done = subprocess.run([self.binary, "--version"], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def sandboxed(self, network: list[str], command: list[str]) -> dict[str, Any]:
        """Runs a command in a sandbox with the working directory `inside`. Returns the report."""
        return self.json(["sandbox", "run", "--json", "--workdir", INSIDE.name, *network, "--", *command])

    def python(self, network: list[str], program: str, *arguments: object) -> dict[str, Any]:
        """Runs a program of `inside` that must succeed. Returns the report."""
        report = self.sandboxed(network, [sys.executable, program, *map(str, arguments)])
        if report["exit_code"] != 0 or report["truncated"]:
            said = " ".join(report["stderr"].strip().splitlines()[-3:])
            raise PartFailed(f"{program} failed with exit code {report['exit_code']} in a sandbox: {said}")
        return report

    def client(self, shape: list[str], program: str, port: int, *arguments: object) -> tuple[Any, dict[str, Any]]:
        """Runs a client of a loopback port of the host. Returns its output and the report."""
        network = ["--net", f"allow={LOOPBACK}:{port}", *shape]
        report = self.python(network, program, self.host(), port, *arguments)
        return json.loads(report["stdout"]), report

    def host(self) -> str:
        """Address of the host, resolved once, because DNS queries over a lossy link can take seconds."""
        if self.host_address is None:
            script = f"import socket; print(socket.gethostbyname({HOST_NAME!r}))"
            report = self.sandboxed(["--net", f"allow={LOOPBACK}"], [sys.executable, "-c", script])
            if report["exit_code"] != 0:
                raise PartFailed(f"{HOST_NAME} could not be resolved: {report['stderr'].strip()}")
            self.host_address = report["stdout"].strip()
        return self.host_address

    def json(self, arguments: list[str]) -> dict[str, Any]:
        """Returns the JSON output of a command. Ignores its exit code, which can be that of the program in the sandbox."""
        command = [os.path.abspath(self.binary), *arguments]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LONGEST_SECONDS,
                cwd=INSIDE.parent,
                env=self.environment(),
            )
        except subprocess.TimeoutExpired:
            raise PartFailed(f"`{shown(command)}` timed out after {LONGEST_SECONDS:.0f} s") from None
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            said = " ".join(done.stderr.split())
            raise PartFailed(f"`{shown(command)}` failed with exit code {done.returncode}: {said}") from None
        if not isinstance(answer, dict):
            raise PartFailed(f"`{shown(command)}` printed JSON that is not an object")
        return answer

    def environment(self) -> dict[str, str]:
        """The environment without settings of menace, which would change the measurement."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SANDBOX_")}
        return kept | {"SANDBOX_DATA_DIR": str(self.data)}


def shown(command: list[str]) -> str:
    text = " ".join(["menace", *command[1:]])
    return text if len(text) <= 200 else text[:199] + "…"
