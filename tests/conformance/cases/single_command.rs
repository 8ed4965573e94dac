//! One command in a sandbox that is created for it.

use std::time::Duration;

use menace_model::sandbox::{ExecRequest, SandboxLimits, SandboxSpec};
use menace_sandbox::{Backend, SandboxError};

use crate::harness::{error, script};

pub(crate) async fn a_single_command_returns_its_outcome(backend: &dyn Backend) {
    let mut request = script("cat; echo to stderr >&2; exit 3");
    request.stdin = b"from stdin\n".to_vec();
    let outcome = backend.run(SandboxSpec::default(), request).await.unwrap();
    assert_eq!(outcome.exit_code, Some(3), "{outcome:?}");
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("from stdin\n", "to stderr\n"));
    assert!(!outcome.truncated && !outcome.timed_out);
}

pub(crate) async fn single_commands_are_isolated_from_each_other(backend: &dyn Backend) {
    for _ in 0..4 {
        let outcome = backend
            .run(SandboxSpec::default(), script("cat /tmp/file; echo text > /tmp/file"))
            .await
            .unwrap();
        assert_eq!((outcome.exit_code, outcome.stdout.as_str()), (Some(0), ""), "{outcome:?}");
    }
}

pub(crate) async fn a_single_command_is_limited(backend: &dyn Backend) {
    let mut request = script("echo before; sleep 100");
    request.timeout = Some(Duration::from_millis(300));
    let outcome = backend.run(SandboxSpec::default(), request).await.unwrap();
    assert!(outcome.timed_out && outcome.exit_code.is_none(), "{outcome:?}");
    assert_eq!(outcome.stdout, "before\n");
    assert!((300.0..2_000.0).contains(&outcome.wall_ms), "{} ms", outcome.wall_ms);

    let limits = SandboxLimits { output: 4, ..SandboxLimits::default() };
    let outcome =
        backend.run(SandboxSpec { limits, ..SandboxSpec::default() }, script("echo 123456")).await.unwrap();
    assert!(outcome.truncated && outcome.stdout == "1234", "{outcome:?}");
}

pub(crate) async fn a_single_command_that_cannot_be_started_is_an_error(backend: &dyn Backend) {
    let missing = backend.run(SandboxSpec::default(), ExecRequest::new(["no-such-program"])).await;
    assert!(matches!(missing, Err(SandboxError::Start { .. })), "{missing:?}");
    error(backend.run(SandboxSpec::default(), ExecRequest::default()).await);
    let outcome = backend.run(SandboxSpec::default(), script("echo fine")).await.unwrap();
    assert_eq!(outcome.stdout, "fine\n");
}
