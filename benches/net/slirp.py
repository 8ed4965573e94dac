"""The peer slirp4netns: installs it if it is missing, and runs programs in its network."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from failed import PartFailed
from menace import INSIDE
from say import say

# Address of the host's loopback in the network of slirp4netns.
HOST_ADDRESS = "10.0.2.2"
# The largest MTU that it supports, because menace also uses a large one.
OPTIONS = ["--configure", "--mtu=65520"]
PATIENCE_SECONDS = 120.0
# Reports that the namespaces exist, and waits for the network.
WAIT = 'echo ready; read -r go; exec "$@"'


def install() -> None:
    if shutil.which("slirp4netns"):
        return
    say("installing slirp4netns")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "slirp4netns"]):
        done = subprocess.run(["apt-get", "-qq", *command], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise PartFailed(f"failed to install slirp4netns: {done.stderr.strip()}")


def version() -> str:
    done = subprocess.run(["slirp4netns", "--version"], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[0]


def client(program: str, port: int, *arguments: object) -> Any:
    """Runs a client of a loopback port of the host. Returns its output."""
    unshare = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", WAIT, "sh"]
    command = [sys.executable, str(INSIDE / program), HOST_ADDRESS, str(port), *map(str, arguments)]
    with ended([*unshare, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        if process.stdout.readline() != "ready\n":
            raise PartFailed(f"failed to create namespaces for slirp4netns: {process.stderr.read().strip()}")
        with network(process.pid):
            try:
                said, complaint = process.communicate("go\n", timeout=PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                raise PartFailed(f"{program} timed out after {PATIENCE_SECONDS:.0f} s in slirp4netns") from None
    if process.returncode != 0:
        raise PartFailed(f"{program} failed with exit code {process.returncode} in slirp4netns: {complaint.strip()}")
    return json.loads(said)


@contextlib.contextmanager
def network(pid: int) -> Iterator[None]:
    """Runs slirp4netns for the namespaces of a process until the end of the block."""
    reading, writing = os.pipe()
    try:
        command = ["slirp4netns", *OPTIONS, f"--ready-fd={writing}", str(pid), "tap0"]
        with ended(command, pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            os.close(writing)
            # One byte when it is ready; end of file if it exits.
            if os.read(reading, 1) != b"1":
                raise PartFailed(f"slirp4netns failed to start: {process.stderr.read().strip()}")
            yield
    finally:
        os.close(reading)


@contextlib.contextmanager
def ended(command: list[str], **options: Any) -> Iterator[subprocess.Popen]:
    """Starts a process, and kills it at the end of the block."""
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
