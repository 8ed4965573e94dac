//! The end of sandboxes, and many concurrent ones.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::sandbox::ExecRequest;
use menace_sandbox::{Backend, ProcessEvent, Sandbox, SandboxError};

use crate::harness::{PROMPT, all, error, read, read_at_least, sandbox, script};

pub(crate) async fn names_are_unique(backend: &dyn Backend) {
    let (one, other) = (sandbox(backend).await, sandbox(backend).await);
    assert!(!one.id().is_empty());
    assert_ne!(one.id(), other.id());
}

pub(crate) async fn destroying_is_idempotent(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    sandbox.destroy().await.unwrap();
    sandbox.destroy().await.unwrap();
}

pub(crate) async fn every_operation_fails_with_gone_after_destroy(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    sandbox.destroy().await.unwrap();
    let answers = [
        ("exec", error(sandbox.exec(ExecRequest::new(["true"])).await)),
        ("spawn", error(sandbox.spawn(ExecRequest::new(["true"])).await)),
        ("put", error(sandbox.put(Path::new("/workspace"), &mut [0; 1024].as_slice()).await)),
        ("get", error(sandbox.get(Path::new("/workspace"), &mut Vec::new()).await)),
        ("stats", error(sandbox.stats().await)),
        ("changes", error(sandbox.changes().await)),
        ("isolation", error(sandbox.isolation().await)),
        ("pause", error(sandbox.pause().await)),
        ("resume", error(sandbox.resume().await)),
        ("snapshot", error(sandbox.snapshot().await)),
    ];
    for (call, answer) in answers {
        assert!(matches!(&answer, SandboxError::Gone { id } if id == sandbox.id()), "{call}: {answer}");
    }
}

pub(crate) async fn destroying_ends_running_commands(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let mut spawned = sandbox.spawn(script("echo ready; exec sleep 100")).await.unwrap();
    read_at_least(&mut *spawned, "ready\n".len()).await;
    let started = Instant::now();
    let execution = sandbox.exec(ExecRequest::new(["sleep", "100"]));
    let destruction = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        sandbox.destroy().await.unwrap();
    };
    let (executed, ()) = tokio::join!(execution, destruction);
    assert!(started.elapsed() < PROMPT, "{:?}", started.elapsed());
    match executed {
        Ok(outcome) => assert_eq!((outcome.exit_code, outcome.timed_out), (None, false), "{outcome:?}"),
        Err(error) => assert!(matches!(error, SandboxError::Gone { .. }), "{error}"),
    }
    assert_ended(spawned.next().await);
}

pub(crate) async fn dropping_the_last_handle_destroys(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let mut process = sandbox.spawn(script("echo ready; exec sleep 100")).await.unwrap();
    read_at_least(&mut *process, "ready\n".len()).await;
    let second = Arc::clone(&sandbox);
    drop(sandbox);
    assert_eq!(read(&*second, "echo alive").await, "alive\n", "one handle is still held");
    drop(second);
    assert_ended(
        tokio::time::timeout(PROMPT, process.next()).await.expect("the command is killed immediately"),
    );
}

/// Asserts that the command was killed or its sandbox is gone, and that it did not complete.
fn assert_ended(event: Result<ProcessEvent, SandboxError>) {
    match event {
        Ok(ProcessEvent::Exited(outcome)) => assert_eq!(outcome.exit_code, None, "{outcome:?}"),
        Ok(other) => panic!("{other:?}"),
        Err(error) => assert!(matches!(error, SandboxError::Gone { .. }), "{error}"),
    }
}

pub(crate) async fn fifty_concurrent_sandboxes(backend: &dyn Backend) {
    let sandboxes: Vec<Arc<dyn Sandbox>> = all((0..50).map(|_| sandbox(backend))).await;
    let ids: BTreeSet<&str> = sandboxes.iter().map(|sandbox| sandbox.id()).collect();
    assert_eq!(ids.len(), 50);
    let writes = sandboxes.iter().map(|sandbox| async {
        read(&**sandbox, &format!("echo {} > file", sandbox.id())).await;
    });
    all(writes).await;
    let printed = all(sandboxes.iter().map(|sandbox| read(&**sandbox, "cat file"))).await;
    for (sandbox, printed) in sandboxes.iter().zip(printed) {
        assert_eq!(printed, format!("{}\n", sandbox.id()));
    }
    for destroyed in all(sandboxes.iter().map(|sandbox| sandbox.destroy())).await {
        destroyed.unwrap();
    }
}
