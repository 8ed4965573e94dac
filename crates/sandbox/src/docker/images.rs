//! Images: built by the engine from menace's Dockerfile, or imported from local files where no registry is reachable.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use bollard::query_parameters::{BuildImageOptions, CreateImageOptions};
use bollard::{Docker, body_full, body_try_stream};
use futures_util::StreamExt;
use futures_util::stream::{self, Stream};

use super::engine::DockerEngine;
use super::options::DockerOptions;
use crate::SandboxError;

/// Default image of sandboxes.
pub const DEFAULT_IMAGE: &str = "menace-sandbox:latest";

/// Timeout between two progress messages of the engine about an image.
const IMAGE_TIMEOUT: Duration = Duration::from_mins(30);

/// Bytes of an archive per read.
const CHUNK: u64 = 1 << 20;

/// Dockerfile of the default image.
const DOCKERFILE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docker/Dockerfile.sandbox"));

/// Makes the engine build menace's image under a name and returns the build log. Needs a registry and a network.
pub async fn build_image(options: &DockerOptions, name: &str) -> Result<String, SandboxError> {
    let engine = DockerEngine::connect(options).await?;
    let docker = with_image_timeout(&engine);
    let context = context().map_err(SandboxError::io("pack a Dockerfile"))?;
    let build = BuildImageOptions {
        dockerfile: "Dockerfile".into(),
        t: Some(name.to_owned()),
        rm: true,
        forcerm: true,
        ..BuildImageOptions::default()
    };
    let mut log = String::new();
    let mut answers = Box::pin(docker.build_image(build, None, Some(body_full(context.into()))));
    while let Some(answer) = answers.next().await {
        let answer = answer.map_err(|error| engine.failed("build an image", error))?;
        log.push_str(answer.stream.as_deref().unwrap_or_default());
    }
    Ok(log)
}

fn context() -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(DOCKERFILE.len() as u64);
    builder.append_data(&mut header, "Dockerfile", DOCKERFILE.as_bytes())?;
    builder.into_inner()
}

/// Creates an image from a tar archive of a root directory.
pub async fn import_image(options: &DockerOptions, root: &Path, name: &str) -> Result<(), SandboxError> {
    let (repository, tag) = name.split_once(':').unwrap_or((name, "latest"));
    let engine = DockerEngine::connect(options).await?;
    let docker = with_image_timeout(&engine);
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

fn with_image_timeout(engine: &DockerEngine) -> Docker {
    let mut docker = engine.docker.clone();
    docker.set_timeout(IMAGE_TIMEOUT);
    docker
}

/// Streams a file in chunks. The reads are synchronous; no other work of the task waits for them.
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
