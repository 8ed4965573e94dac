//! Images: built by the engine from our Dockerfile, or imported from files of this machine where no registry is in reach.

use std::path::Path;

use bollard::body_full;
use bollard::query_parameters::{BuildImageOptions, CreateImageOptions};
use futures_util::StreamExt;

use super::engine::Engine;
use super::options::DockerOptions;
use crate::SandboxError;

/// What sandboxes are made of when nobody names an image.
pub const DEFAULT_IMAGE: &str = "menace-sandbox:latest";

/// How the default image is made.
const DOCKERFILE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docker/Dockerfile.sandbox"));

/// Has the engine build our image under a name, and returns what it said meanwhile. It needs a registry and a network.
pub async fn build_image(options: &DockerOptions, name: &str) -> Result<String, SandboxError> {
    let engine = Engine::connect(options).await?;
    let context = context().map_err(SandboxError::io("pack a Dockerfile"))?;
    let build = BuildImageOptions {
        dockerfile: "Dockerfile".into(),
        t: Some(name.to_owned()),
        rm: true,
        forcerm: true,
        ..BuildImageOptions::default()
    };
    let mut said = String::new();
    let mut answers = Box::pin(engine.docker.build_image(build, None, Some(body_full(context.into()))));
    while let Some(answer) = answers.next().await {
        let answer = answer.map_err(|error| engine.failed("build an image", error))?;
        said.push_str(answer.stream.as_deref().unwrap_or_default());
    }
    Ok(said)
}

fn context() -> std::io::Result<Vec<u8>> {
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
    let archive =
        std::fs::read(root).map_err(|source| SandboxError::HostPath { path: root.to_owned(), source })?;
    let create = CreateImageOptions {
        from_src: Some("-".into()),
        repo: Some(repository.to_owned()),
        tag: Some(tag.to_owned()),
        ..CreateImageOptions::default()
    };
    let mut answers =
        Box::pin(engine.docker.create_image(Some(create), Some(body_full(archive.into())), None));
    while let Some(answer) = answers.next().await {
        answer.map_err(|error| engine.failed("import an image", error))?;
    }
    Ok(())
}
