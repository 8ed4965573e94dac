//! Images: built by the engine from our Dockerfile, or imported from files of this machine where no registry is in reach.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use bollard::query_parameters::{BuildImageOptions, CreateImageOptions};
use bollard::{Docker, body_full, body_try_stream};
use futures_util::StreamExt;
use futures_util::stream::{self, Stream};

use super::engine::Engine;
use super::options::DockerOptions;
use crate::SandboxError;

/// What sandboxes are made of when nobody names an image.
pub const DEFAULT_IMAGE: &str = "menace-sandbox:latest";

/// How long an engine may take to say anything about an image.
const PATIENCE: Duration = Duration::from_mins(30);

/// How much of an archive is read at once.
const CHUNK: u64 = 1 << 20;

/// How the default image is made.
const DOCKERFILE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docker/Dockerfile.sandbox"));

/// Has the engine build our image under a name, and returns what it said meanwhile. It needs a registry and a network.
pub async fn build_image(options: &DockerOptions, name: &str) -> Result<String, SandboxError> {
    let engine = Engine::connect(options).await?;
    let docker = patient(&engine);
    let context = context().map_err(SandboxError::io("pack a Dockerfile"))?;
    let build = BuildImageOptions {
        dockerfile: "Dockerfile".into(),
        t: Some(name.to_owned()),
        rm: true,
        forcerm: true,
        ..BuildImageOptions::default()
    };
    let mut said = String::new();
    let mut answers = Box::pin(docker.build_image(build, None, Some(body_full(context.into()))));
    while let Some(answer) = answers.next().await {
        let answer = answer.map_err(|error| engine.failed("build an image", error))?;
        said.push_str(answer.stream.as_deref().unwrap_or_default());
    }
    Ok(said)
}

fn context() -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(DOCKERFILE.len() as u64);
    builder.append_data(&mut header, "Dockerfile", DOCKERFILE.as_bytes())?;
    builder.into_inner()
}

/// Makes an image of a tar archive with a root directory.
pub async fn import_image(options: &DockerOptions, root: &Path, name: &str) -> Result<(), SandboxError> {
    let (repository, tag) = name.split_once(':').unwrap_or((name, "latest"));
    let engine = Engine::connect(options).await?;
    let docker = patient(&engine);
    let archive =
        File::open(root).map_err(|source| SandboxError::HostPath { path: root.to_owned(), source })?;
    let create = CreateImageOptions {
        from_src: Some("-".into()),
        repo: Some(repository.to_owned()),
        tag: Some(tag.to_owned()),
        ..CreateImageOptions::default()
    };
    let mut answers =
        Box::pin(docker.create_image(Some(create), Some(body_try_stream(chunks(archive))), None));
    while let Some(answer) = answers.next().await {
        answer.map_err(|error| engine.failed("import an image", error))?;
    }
    Ok(())
}

fn patient(engine: &Engine) -> Docker {
    let mut docker = engine.docker.clone();
    docker.set_timeout(PATIENCE);
    docker
}

/// A file as it is sent. Nobody else waits for what is read from the disk.
fn chunks<T: From<Vec<u8>> + Send + 'static>(
    mut file: File,
) -> impl Stream<Item = io::Result<T>> + Send + 'static {
    stream::iter(std::iter::from_fn(move || {
        let mut chunk = Vec::new();
        match file.by_ref().take(CHUNK).read_to_end(&mut chunk) {
            Ok(0) => None,
            Ok(_) => Some(Ok(T::from(chunk))),
            Err(error) => Some(Err(error)),
        }
    }))
}
