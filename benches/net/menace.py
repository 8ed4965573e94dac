"""Commands in sandboxes with a network, and what menace reports about them."""

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
    """The binary, with a data directory of its own."""

    def __init__(self, binary: str, data: Path) -> None:
        self.binary = binary
        self.data = data
        self.host_address: str | None = None

    def version(self) -> str:
        done = subprocess.run([self.binary, "--version"], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def sandboxed(self, network: list[str], command: list[str]) -> dict[str, Any]:
        """The report of a command in a sandbox, whose working directory is `inside`."""
        return self.json(["sandbox", "run", "--json", "--workdir", INSIDE.name, *network, "--", *command])

    def python(self, network: list[str], program: str, *arguments: object) -> dict[str, Any]:
        """The same of a program of `inside`, which has to end well."""
        report = self.sandboxed(network, [sys.executable, program, *map(str, arguments)])
        if report["exit_code"] != 0 or report["truncated"]:
            said = " ".join(report["stderr"].strip().splitlines()[-3:])
            raise PartFailed(f"{program} failed with exit code {report['exit_code']} in a sandbox: {said}")
        return report

    def client(self, shape: list[str], program: str, port: int, *arguments: object) -> tuple[Any, dict[str, Any]]:
        """What a program prints that talks to a port of the host's loopback over this link, and the report."""
        network = ["--net", f"allow={LOOPBACK}:{port}", *shape]
        report = self.python(network, program, self.host(), port, *arguments)
        return json.loads(report["stdout"]), report

    def host(self) -> str:
        """The host's address, looked up once: on a link that loses packets a look-up can take seconds."""
        if self.host_address is None:
            script = f"import socket; print(socket.gethostbyname({HOST_NAME!r}))"
            report = self.sandboxed(["--net", f"allow={LOOPBACK}"], [sys.executable, "-c", script])
            if report["exit_code"] != 0:
                raise PartFailed(f"{HOST_NAME} could not be looked up: {report['stderr'].strip()}")
            self.host_address = report["stdout"].strip()
        return self.host_address

    def json(self, arguments: list[str]) -> dict[str, Any]:
        """What a command prints. Its exit code is not looked at, as it can be that of a program inside."""
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
            raise PartFailed(f"`{shown(command)}` did not end within {LONGEST_SECONDS:.0f} s") from None
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            said = " ".join(done.stderr.split())
            raise PartFailed(f"`{shown(command)}` failed with exit code {done.returncode}: {said}") from None
        if not isinstance(answer, dict):
            raise PartFailed(f"`{shown(command)}` printed JSON that is no object")
        return answer

    def environment(self) -> dict[str, str]:
        """The environment of the caller without settings of menace, which would change what is measured."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SANDBOX_")}
        return kept | {"SANDBOX_DATA_DIR": str(self.data)}


def shown(command: list[str]) -> str:
    text = " ".join(["menace", *command[1:]])
    return text if len(text) <= 200 else text[:199] + "…"
