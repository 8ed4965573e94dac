//! Rows of Docker: an engine that answers, an existing image, and a container for `docker exec`. No image is pulled.

use async_trait::async_trait;

use crate::arguments::SandboxBenchmark;
use crate::error::BenchmarkError;
use crate::external_command::{ExternalCommand, capture, capture_with_timeout};
use crate::timed_operation::{BenchmarkRow, TimedOperation};

/// Without a network, as the sandboxes; docker is faster without one.
const RUN: [&str; 4] = ["run", "--rm", "--network", "none"];
/// Lifetime of the container, longer than any number of rounds: it ends by itself if this process is killed.
const CONTAINER_SECONDS: &str = "3600";

/// An engine with an image whose `/bin/true` runs.
pub(crate) struct DockerPeer {
    image: String,
}

impl DockerPeer {
    /// Finds the engine of the docker command and an image, or the reason why there is none.
    pub(crate) fn find() -> Result<Self, BenchmarkError> {
        capture_with_timeout(&["docker", "version", "--format", "{{.Server.Version}}"])?;
        let listed = capture(&["docker", "image", "ls", "--format", "{{.Repository}}:{{.Tag}}"])?;
        let mut images = listed.lines().filter(|image| !image.contains("<none>"));
        match images.find(|image| run_command(image).try_once().is_ok()) {
            Some(image) => Ok(Self { image: image.to_owned() }),
            None => Err(BenchmarkError::HostCommand {
                command: "docker".into(),
                reason: "has no image with /bin/true".into(),
            }),
        }
    }

    /// The row of `docker run`.
    pub(crate) fn run_command(&self) -> ExternalCommand {
        run_command(&self.image)
    }

    /// The row of `docker exec`, with a container for it.
    pub(crate) fn start_container(&self) -> Result<RunningContainer, BenchmarkError> {
        RunningContainer::start(&self.image)
    }
}

fn run_command(image: &str) -> ExternalCommand {
    let what = "docker run --rm --network none IMAGE /bin/true";
    let row = BenchmarkRow {
        benchmark: SandboxBenchmark::DockerRun,
        what,
        peer_of: Some(SandboxBenchmark::Create),
    };
    ExternalCommand::docker(row, &[&RUN[..], &[image, "/bin/true"]].concat())
}

/// A running container.
pub(crate) struct RunningContainer {
    name: String,
    command: ExternalCommand,
}

impl RunningContainer {
    fn start(image: &str) -> Result<Self, BenchmarkError> {
        let name = format!("menace-bench-{}", std::process::id());
        let options = ["--detach", "--name", &name, image, "/bin/sleep", CONTAINER_SECONDS];
        capture(&[&["docker"], &RUN[..], &options].concat())?;
        let what = "docker exec CONTAINER /bin/true";
        let row = BenchmarkRow {
            benchmark: SandboxBenchmark::DockerExec,
            what,
            peer_of: Some(SandboxBenchmark::Exec),
        };
        let command = ExternalCommand::docker(row, &["exec", &name, "/bin/true"]);
        Ok(Self { name, command })
    }
}

#[async_trait]
impl TimedOperation for RunningContainer {
    fn row(&self) -> BenchmarkRow {
        self.command.row()
    }

    async fn perform(&mut self) -> anyhow::Result<()> {
        self.command.perform().await
    }

    async fn finish(&mut self) -> anyhow::Result<()> {
        Ok(capture(&["docker", "rm", "--force", "--volumes", &self.name]).map(drop)?)
    }
}
