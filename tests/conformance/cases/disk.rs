//! The disk limit.

use std::sync::Arc;

use menace_model::sandbox::{SandboxLimits, SandboxSpec};
use menace_sandbox::{Backend, Sandbox};

use crate::directory::HostDirectory;
use crate::harness::{read, sandbox, sh, skip_unclaimed};

const MEBIBYTE: u64 = 1 << 20;

async fn sandbox_of_four_mebibytes(backend: &dyn Backend) -> Arc<dyn Sandbox> {
    let limits = SandboxLimits { disk: Some(4 * MEBIBYTE), ..SandboxLimits::default() };
    backend.create(SandboxSpec { limits, ..SandboxSpec::default() }).await.unwrap()
}

pub(crate) async fn a_full_disk_is_an_error_of_the_program(backend: &dyn Backend) {
    let sandbox = sandbox_of_four_mebibytes(backend).await;
    let fits = sh(&*sandbox, "head -c 2097152 /dev/zero > small").await;
    assert_eq!((fits.exit_code, fits.disk_full), (Some(0), false), "{fits:?}");
    let outcome = sh(&*sandbox, "head -c 8388608 /dev/zero > big").await;
    assert_eq!(outcome.exit_code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("No space left on device"), "{}", outcome.stderr);
    assert!(outcome.disk_full);
}

pub(crate) async fn a_disk_with_freed_space_is_not_full(backend: &dyn Backend) {
    let sandbox = sandbox_of_four_mebibytes(backend).await;
    assert!(sh(&*sandbox, "head -c 8388608 /dev/zero > big").await.disk_full);
    assert!(sh(&*sandbox, "true").await.disk_full, "the disk must still be full");
    assert!(!sh(&*sandbox, "rm big").await.disk_full);
    let again = sh(&*sandbox, "head -c 2097152 /dev/zero > small").await;
    assert_eq!((again.exit_code, again.disk_full), (Some(0), false), "{again:?}");
}

pub(crate) async fn host_files_do_not_count_against_the_disk_limit(backend: &dyn Backend) {
    let directory = HostDirectory::with(&[("large", &"x".repeat(6 << 20))]);
    let limits = SandboxLimits { disk: Some(4 * MEBIBYTE), ..SandboxLimits::default() };
    let sandbox = backend.create(SandboxSpec { limits, ..directory.copied_on_write() }).await.unwrap();
    let outcome = sh(&*sandbox, "head -c 5 large; head -c 1048576 /dev/zero > small; rm large").await;
    assert_eq!((outcome.stdout.as_str(), outcome.exit_code, outcome.disk_full), ("xxxxx", Some(0), false));
}

pub(crate) async fn stats_count_written_bytes(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let Some(before) = sandbox.stats().await.unwrap().disk_bytes else {
        return skip_unclaimed(backend, "counting bytes of files");
    };
    read(&*sandbox, "head -c 1048576 /dev/zero > file").await;
    let after = sandbox.stats().await.unwrap().disk_bytes.unwrap();
    assert!((MEBIBYTE..2 * MEBIBYTE).contains(&(after - before)), "{before} bytes before, {after} after");
    read(&*sandbox, "rm file").await;
    let end = sandbox.stats().await.unwrap().disk_bytes.unwrap();
    assert!(end < after - MEBIBYTE / 2, "{after} bytes before, {end} after rm");
}
