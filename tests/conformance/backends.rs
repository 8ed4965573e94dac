//! The backends that the suite runs against.

use std::sync::Arc;

use menace_fake_sandbox::FakeBackend;
use menace_sandbox::Backend;
use menace_sandbox::docker::DockerBackend;
use menace_sandbox::native::{NativeBackend, NativeOptions};
use menace_tests::{docker_options, menace_binary};

/// The in-memory backend.
pub(crate) async fn fake() -> Arc<dyn Backend> {
    Arc::new(FakeBackend)
}

/// The native backend, with the rights of the current user.
pub(crate) async fn native() -> Arc<dyn Backend> {
    let options = NativeOptions { executable: menace_binary().to_owned(), ..NativeOptions::default() };
    Arc::new(NativeBackend::start(&options).await.expect("this host can isolate"))
}

/// Containers of a dockerd that was started for tests.
pub(crate) async fn docker() -> Arc<dyn Backend> {
    let options = docker_options().expect("with_docker checked that a daemon is available");
    Arc::new(DockerBackend::connect(&options).await.expect("the daemon answers"))
}

/// The native backend without privileges: these tests run as the user `nobody`.
pub(crate) async fn native_rootless() -> Arc<dyn Backend> {
    native().await
}
