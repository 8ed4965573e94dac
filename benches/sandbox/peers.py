"""The peers bubblewrap and docker: installs missing packages and runs a separate docker engine."""

import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

from say import say

PACKAGES = {"bwrap": "bubblewrap", "dockerd": "docker.io", "docker": "docker.io"}
PROGRAMS = ["true", "sh", "sleep"]
PATIENCE_SECONDS = 60


def install() -> None:
    missing = sorted({package for command, package in PACKAGES.items() if not shutil.which(command)})
    if not missing:
        return
    say(f"installing {', '.join(missing)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    # Keep the package from starting its service, which would be a second engine on this machine.
    command = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", *missing]
    subprocess.run(["apt-get", "-qq", "update"], check=True, env=environment, stdout=subprocess.DEVNULL)
    subprocess.run(command, check=True, env=environment | {"RUNLEVEL": "1"}, stdout=subprocess.DEVNULL)


class Engine:
    """A dockerd with all data in a temporary directory. Stopped and removed at the end."""

    def __enter__(self) -> "Engine":
        self.directory = Path(tempfile.mkdtemp(prefix="menace-bench-docker-"))
        self.cgroup = f"bench-docker-{os.getpid()}"
        socket = f"unix://{self.directory}/docker.sock"
        self.environment = os.environ | {"DOCKER_HOST": socket, "DOCKER_CONFIG": str(self.directory / "client")}
        self.log = (self.directory / "dockerd.log").open("w+")
        command = [
            "dockerd", "--host", socket, "--data-root", self.directory / "data", "--exec-root", self.directory / "exec",
            "--pidfile", self.directory / "dockerd.pid", "--config-file", self.configuration(),
            "--cgroup-parent", self.cgroup, "--bridge", "none", "--iptables=false", "--ip6tables=false",
            "--ip-forward=false", "--ip-masq=false",
        ]  # fmt: skip
        say("starting dockerd")
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log
        )
        try:
            self.wait_until_ready()
            self.docker("import", "-", "menace-bench-peer:latest", stdin=image())
        except BaseException:
            self.__exit__()
            raise
        return self

    def configuration(self) -> Path:
        """Configuration file, used instead of that of the host's engine. Engines before version 24 would write a key to
        /etc/docker; later ones accept this option and have no key."""
        path = self.directory / "daemon.json"
        path.write_text(json.dumps({"deprecated-key-path": str(self.directory / "key.json")}))
        return path

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = subprocess.run(["docker", "version"], env=self.environment, capture_output=True)
            if answer.returncode == 0:
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                raise SystemExit(f"dockerd does not respond:\n{self.log.read()[-3000:]}")
            time.sleep(0.1)

    def docker(self, *arguments: str, stdin: bytes | None = None) -> str:
        command = ["docker", *arguments]
        done = subprocess.run(command, env=self.environment, check=True, input=stdin, stdout=subprocess.PIPE)
        return done.stdout.decode().strip()

    def version(self) -> str:
        return self.docker("info", "--format", "{{.ServerVersion}}, {{.Driver}}, runtime {{.DefaultRuntime}}")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            say("dockerd does not exit; killing it")
            self.process.kill()
            self.process.wait()
        self.log.close()
        for mount in reversed(mounts_below(self.directory)):
            subprocess.run(["umount", "--lazy", mount], check=True)
        shutil.rmtree(self.directory)
        for directory in Path("/sys/fs/cgroup").glob(f"**/{self.cgroup}"):
            directory.rmdir()


def mounts_below(directory: Path) -> list:
    with open("/proc/self/mountinfo") as file:
        points = [line.split()[4] for line in file]
    return [point for point in points if point.startswith(f"{directory}/")]


def image() -> bytes:
    """Tar archive with a few programs of this host and their libraries."""
    files = {f"/bin/{name}": Path(shutil.which(name, path="/bin:/usr/bin")).resolve() for name in PROGRAMS}
    for program in list(files.values()):
        for library in libraries(program):
            files[library] = Path(library).resolve()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, path in sorted(files.items()):
            tar.add(path, arcname=name.lstrip("/"))
    return buffer.getvalue()


def libraries(program: Path) -> list:
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    words = [word for line in listed.splitlines() for word in line.split()]
    return [word for word in words if word.startswith("/")]
