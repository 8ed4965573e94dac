//! Injected system call faults.

use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::sandbox::SandboxSpec;
use menace_sandbox::{Backend, Sandbox, SandboxError};

use crate::harness::{read, sh, skip_unclaimed};

/// Creates a sandbox with these rules; `None` if the backend does not claim fault injection.
async fn faulty(backend: &dyn Backend, rules: &[&str], seed: u64) -> Option<Arc<dyn Sandbox>> {
    let faults = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let made = backend.create(SandboxSpec { faults, fault_seed: seed, ..SandboxSpec::default() }).await;
    if backend.capabilities().faults {
        return Some(made.unwrap());
    }
    assert!(matches!(made.err(), Some(SandboxError::Refused { .. })), "an unclaimed feature must be refused");
    skip_unclaimed(backend, "system call faults");
    None
}

pub(crate) async fn a_rule_applies_to_its_path_and_to_child_processes(backend: &dyn Backend) {
    let Some(sandbox) = faulty(backend, &["write=EIO,path=/workspace/bad*"], 0).await else { return };
    let text = "echo good > /workspace/good && cat /workspace/good; \
                (sh -c 'echo bad > /workspace/bad') 2>&1; echo tmp > /tmp/bad && cat /tmp/bad";
    let printed = read(&*sandbox, text).await;
    assert!(printed.starts_with("good\n") && printed.ends_with("tmp\n"), "{printed}");
    assert!(printed.to_lowercase().contains("i/o error"), "{printed}");
    let counts = sandbox.faults().await.unwrap();
    assert!(counts[0].fired > 0 && counts[0].fired == counts[0].seen, "{counts:?}");
}

pub(crate) async fn a_share_of_calls_fails_deterministically_by_seed(backend: &dyn Backend) {
    let text = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do \
                mkdir /workspace/$n 2>/dev/null && echo $n; done; true";
    let mut printed = Vec::new();
    for seed in [1, 1, 2] {
        let Some(sandbox) = faulty(backend, &["mkdir=ENOSPC,rate=50%"], seed).await else { return };
        printed.push(read(&*sandbox, text).await);
    }
    assert_eq!(printed[0], printed[1]);
    assert_ne!(printed[0], printed[2]);
    assert!((1..20).contains(&printed[0].lines().count()), "{printed:?}");
}

pub(crate) async fn written_bytes_can_be_corrupted(backend: &dyn Backend) {
    let Some(sandbox) = faulty(backend, &["write=corrupt,path=/workspace/*"], 0).await else { return };
    let printed =
        read(&*sandbox, "printf 'precious' > /workspace/a; wc -c < /workspace/a; cat /workspace/a").await;
    let (length, content) = printed.split_once('\n').unwrap();
    assert_eq!(length.trim(), "8");
    assert!(content.ends_with("recious") && !content.starts_with('p'), "{content:?}");
    // Standard output is not affected.
    assert_eq!(read(&*sandbox, "echo whole").await, "whole\n");
}

pub(crate) async fn a_delayed_call_does_not_block_other_calls(backend: &dyn Backend) {
    let Some(sandbox) = faulty(backend, &["rename=300ms"], 0).await else { return };
    let began = Instant::now();
    let text =
        "touch /workspace/a /workspace/b; mv /workspace/a /workspace/c & mv /workspace/b /workspace/d; wait";
    read(&*sandbox, text).await;
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(300) && took < Duration::from_millis(590), "{took:?}");
}

pub(crate) async fn denied_calls_stay_denied_and_are_reported(backend: &dyn Backend) {
    let Some(sandbox) =
        faulty(backend, &["open=EACCES,path=/nowhere/*", "mkdir=EIO,path=/nowhere/*"], 0).await
    else {
        return;
    };
    let outcome = sh(&*sandbox, "mkdir /workspace/a; chmod u+s /workspace/a; unshare -U true; echo $?").await;
    assert_ne!(outcome.stdout.trim(), "0");
    if backend.capabilities().reports_denied {
        assert!(outcome.denied.iter().any(|denial| denial.syscall == "unshare"), "{outcome:?}");
    }
}
