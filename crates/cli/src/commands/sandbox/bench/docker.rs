//! Docker beside us: an engine that answers, an image that is there or made from nothing, a container for `docker exec`.
//! Nothing is ever pulled.

use std::path::Path;

use async_trait::async_trait;

use super::contender::{Contender, Row};
use super::error::BenchError;
use super::program::{Program, capture, capture_in_time, capture_with_input};
use crate::arguments::SandboxBenchmark;

/// Sandboxes have no network either, and without one docker is faster.
const RUN: [&str; 4] = ["run", "--rm", "--network", "none"];
/// Long enough for any number of rounds; if we are killed, the container ends by itself.
const CONTAINER_SECONDS: &str = "3600";

/// An engine with an image whose `/bin/true` runs.
pub(super) struct Docker {
    image: String,
    /// It was made here and has to go.
    is_ours: bool,
}

impl Docker {
    /// The engine that the docker command talks to, or why there is none.
    pub(super) fn find() -> Result<Self, BenchError> {
        capture_in_time(&["docker", "version", "--format", "{{.Server.Version}}"])?;
        let listed = capture(&["docker", "image", "ls", "--format", "{{.Repository}}:{{.Tag}}"])?;
        let mut images = listed.lines().filter(|image| !image.contains("<none>"));
        match images.find(|image| run_row(image).try_once().is_ok()) {
            Some(image) => Ok(Self { image: image.to_owned(), is_ours: false }),
            None => Self::import(),
        }
    }

    /// Makes an image of a static busybox alone.
    fn import() -> Result<Self, BenchError> {
        let image = format!("menace-bench:{}", std::process::id());
        let missing = |reason: String| BenchError::Program { command: "docker".into(), reason };
        let busybox = ["/bin/busybox", "/usr/bin/busybox", "/usr/local/bin/busybox"]
            .into_iter()
            .find(|path| Path::new(path).exists())
            .ok_or_else(|| {
                missing("has no image with /bin/true, and there is no busybox to make one".into())
            })?;
        let archive = archive_of(Path::new(busybox))
            .map_err(|error| missing(format!("cannot be given an image of {busybox}: {error}")))?;
        capture_with_input(&["docker", "import", "-", &image], &archive)?;
        let docker = Self { image, is_ours: true };
        if let Err(error) = run_row(&docker.image).try_once() {
            docker.finish()?;
            return Err(error);
        }
        Ok(docker)
    }

    /// The row of `docker run`.
    pub(super) fn run_row(&self) -> Program {
        run_row(&self.image)
    }

    /// The row of `docker exec`, with a container for it.
    pub(super) fn exec_row(&self) -> Result<RunningContainer, BenchError> {
        RunningContainer::start(&self.image)
    }

    /// Removes the image if it was made here.
    pub(super) fn finish(&self) -> Result<(), BenchError> {
        if self.is_ours {
            capture(&["docker", "image", "rm", "--force", &self.image]).map(drop)
        } else {
            Ok(())
        }
    }
}

fn run_row(image: &str) -> Program {
    let what = "docker run --rm --network none IMAGE /bin/true";
    let row = Row { measure: SandboxBenchmark::DockerRun, what, peer_of: Some(SandboxBenchmark::Create) };
    Program::docker(row, &[&RUN[..], &[image, "/bin/true"]].concat())
}

/// A container that stays.
pub(super) struct RunningContainer {
    name: String,
    program: Program,
}

impl RunningContainer {
    fn start(image: &str) -> Result<Self, BenchError> {
        let name = format!("menace-bench-{}", std::process::id());
        let options = ["--detach", "--name", &name, image, "/bin/sleep", CONTAINER_SECONDS];
        capture(&[&["docker"], &RUN[..], &options].concat())?;
        let what = "docker exec CONTAINER /bin/true";
        let row = Row { measure: SandboxBenchmark::DockerExec, what, peer_of: Some(SandboxBenchmark::Exec) };
        let program = Program::docker(row, &["exec", &name, "/bin/true"]);
        Ok(Self { name, program })
    }
}

#[async_trait]
impl Contender for RunningContainer {
    fn row(&self) -> Row {
        self.program.row()
    }

    async fn once(&mut self) -> anyhow::Result<()> {
        self.program.once().await
    }

    async fn finish(&mut self) -> anyhow::Result<()> {
        Ok(capture(&["docker", "rm", "--force", "--volumes", &self.name]).map(drop)?)
    }
}

/// `/bin/busybox` and the names by which it is called here.
fn archive_of(busybox: &Path) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_path_with_name(busybox, "bin/busybox")?;
    for name in ["bin/true", "bin/sleep", "bin/sh"] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        header.set_mode(0o777);
        archive.append_link(&mut header, name, "busybox")?;
    }
    archive.into_inner()
}
