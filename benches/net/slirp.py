"""The peer: slirp4netns, installed where it is missing, and programs in a network that it serves."""

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

# Where the loopback of the host is in such a network.
HOST_ADDRESS = "10.0.2.2"
# The largest packets that it can do, as menace's are large, too.
OPTIONS = ["--configure", "--mtu=65520"]
PATIENCE_SECONDS = 120.0
# Says that it is in its namespaces, and waits until it has a network.
WAIT = 'echo ready; read -r go; exec "$@"'


def install() -> None:
    if shutil.which("slirp4netns"):
        return
    say("installing slirp4netns")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "slirp4netns"]):
        done = subprocess.run(["apt-get", "-qq", *command], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise PartFailed(f"slirp4netns cannot be installed: {done.stderr.strip()}")


def version() -> str:
    done = subprocess.run(["slirp4netns", "--version"], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[0]


def client(program: str, port: int, *arguments: object) -> Any:
    """What a program of `inside` prints that talks to a port of the host's loopback."""
    unshare = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", WAIT, "sh"]
    command = [sys.executable, str(INSIDE / program), HOST_ADDRESS, str(port), *map(str, arguments)]
    with ended([*unshare, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        if process.stdout.readline() != "ready\n":
            raise PartFailed(f"there is no namespace for slirp4netns: {process.stderr.read().strip()}")
        with network(process.pid):
            try:
                said, complaint = process.communicate("go\n", timeout=PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                raise PartFailed(f"{program} did not end within {PATIENCE_SECONDS:.0f} s in slirp4netns") from None
    if process.returncode != 0:
        raise PartFailed(f"{program} failed with exit code {process.returncode} in slirp4netns: {complaint.strip()}")
    return json.loads(said)


@contextlib.contextmanager
def network(pid: int) -> Iterator[None]:
    """A slirp4netns for the namespaces of a process, until the end of the block."""
    reading, writing = os.pipe()
    try:
        command = ["slirp4netns", *OPTIONS, f"--ready-fd={writing}", str(pid), "tap0"]
        with ended(command, pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            os.close(writing)
            # One byte when it is ready, and none if it ends before.
            if os.read(reading, 1) != b"1":
                raise PartFailed(f"slirp4netns does not start: {process.stderr.read().strip()}")
            yield
    finally:
        os.close(reading)


@contextlib.contextmanager
def ended(command: list[str], **options: Any) -> Iterator[subprocess.Popen]:
    """A process that is over at the end of the block, whatever happens."""
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
