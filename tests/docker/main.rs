//! Tests specific to the Docker backend: an engine that becomes unreachable, containers that outlive menace, images.
#![expect(
    clippy::unwrap_used,
    reason = "clippy allows it in test functions, and their helpers are no different"
)]

mod engine;
mod engine_queries;
mod latency;
mod packaging;
mod pool;
mod preset_containers;
mod proxy;
mod running_container;
mod stale_containers;

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use menace_model::sandbox::ExecRequest;
use menace_sandbox::Sandbox;
use menace_sandbox::docker::{DockerBackend, DockerOptions};
use menace_tests::docker_options;

/// Deadline for things that should happen immediately.
const PROMPT: Duration = Duration::from_secs(20);

/// Runs a test if an engine is available.
fn with_engine<F: Future<Output = ()>>(test: impl FnOnce(DockerOptions) -> F) {
    let Some(options) = docker_options() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(PROMPT * 3, test(options)).await.expect("the test finishes in time");
    });
}

async fn connect(options: &DockerOptions) -> DockerBackend {
    DockerBackend::connect(options).await.unwrap()
}

/// Runs a script that has to succeed and returns its stdout.
async fn read(sandbox: &dyn Sandbox, text: &str) -> String {
    let outcome = sandbox.exec(ExecRequest::new(["sh", "-c", text])).await.unwrap();
    assert_eq!(outcome.exit_code, Some(0), "{text}: {outcome:?}");
    outcome.stdout
}

/// Puts a file into a sandbox.
async fn put(sandbox: &dyn Sandbox, directory: &str, name: &str, text: &str) {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(text.len() as u64);
    builder.append_data(&mut header, name, text.as_bytes()).unwrap();
    let archive = builder.into_inner().unwrap();
    sandbox.put(Path::new(directory), &mut archive.as_slice()).await.unwrap();
}
