//! Captured output of commands.

use std::sync::Arc;

use menace_model::sandbox::{SandboxLimits, SandboxSpec};
use menace_sandbox::{Backend, Sandbox};

use crate::harness::{path_exists, sh};

async fn sandbox_with_output_limit(backend: &dyn Backend, output: u64) -> Arc<dyn Sandbox> {
    let limits = SandboxLimits { output, ..SandboxLimits::default() };
    backend.create(SandboxSpec { limits, ..SandboxSpec::default() }).await.unwrap()
}

fn numbers(last: u32) -> String {
    (1..=last).map(|number| format!("{number}\n")).collect()
}

pub(crate) async fn output_is_kept_up_to_the_limit(backend: &dyn Backend) {
    let sandbox = sandbox_with_output_limit(backend, 1000).await;
    let outcome = sh(&*sandbox, "seq 1 200000; echo done > finished; exit 5").await;
    assert_eq!(outcome.stdout, numbers(1000)[..1000], "the beginning is kept");
    assert!(outcome.truncated);
    assert_eq!(outcome.exit_code, Some(5));
    assert!(path_exists(&*sandbox, "finished").await, "the command must continue after the limit");
}

pub(crate) async fn output_of_exactly_the_limit_is_not_truncated(backend: &dyn Backend) {
    let expected = numbers(100);
    let exact = sandbox_with_output_limit(backend, expected.len() as u64).await;
    let outcome = sh(&*exact, "seq 1 100").await;
    assert_eq!((outcome.stdout.as_str(), outcome.truncated), (expected.as_str(), false));
    let one_less = sandbox_with_output_limit(backend, expected.len() as u64 - 1).await;
    let outcome = sh(&*one_less, "seq 1 100").await;
    assert_eq!((outcome.stdout.as_str(), outcome.truncated), (&expected[..expected.len() - 1], true));
}

pub(crate) async fn each_stream_has_its_own_limit(backend: &dyn Backend) {
    let sandbox = sandbox_with_output_limit(backend, 100).await;
    let outcome = sh(&*sandbox, "echo fine; seq 1 100000 >&2; echo still fine").await;
    assert_eq!(outcome.stdout, "fine\nstill fine\n");
    assert_eq!(outcome.stderr, numbers(100)[..100]);
    assert!(outcome.truncated);
}
