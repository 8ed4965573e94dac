//! Attacks that fill the disk.

use std::sync::Arc;

use menace_model::sandbox::{SandboxLimits, SandboxSpec};
use menace_sandbox::Sandbox;
use rustix::fs::statvfs;

use crate::directory::HostDirectory;
use crate::harness::{CaseContext, is_alive, read, sh};
use crate::probe::attempts;

const DISK: u64 = 4 << 20;

async fn small(context: &CaseContext) -> Arc<dyn Sandbox> {
    let limits = SandboxLimits { disk: Some(DISK), ..SandboxLimits::default() };
    context.create(SandboxSpec { limits, ..SandboxSpec::default() }).await
}

pub(crate) async fn a_disk_bomb_fills_only_its_own_disk(context: &CaseContext) {
    let directory = HostDirectory::with(&[("file", "text")]);
    let before = directory.fingerprint();
    let limits = SandboxLimits { disk: Some(DISK), ..SandboxLimits::default() };
    let sandbox = context.create(SandboxSpec { limits, ..directory.copied_on_write() }).await;
    for place in ["/workspace", "/tmp", "/dev/shm"] {
        let outcome = sh(&*sandbox, &format!("head -c 64M /dev/zero > {place}/bomb")).await;
        assert_eq!(outcome.exit_code, Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains("No space left on device") && outcome.disk_full, "{outcome:?}");
        let written = sandbox.stats().await.unwrap().disk_bytes.unwrap();
        assert!(written <= DISK, "{written} bytes");
        read(&*sandbox, &format!("rm {place}/bomb")).await;
    }
    // A sparse file takes only the space that is written, and `fallocate` of 1 TiB fails without taking any.
    sh(&*sandbox, "truncate -s 1T sparse; fallocate -l 1T other").await;
    assert!(sandbox.stats().await.unwrap().disk_bytes.unwrap() <= DISK);
    assert_eq!(directory.fingerprint(), before);
    is_alive(&*sandbox).await;
}

/// An empty file takes about a kilobyte of kernel memory, which a limit in bytes does not count.
pub(crate) async fn empty_files_and_directories_are_limited_too(context: &CaseContext) {
    let sandbox = small(context).await;
    let program = "
made = 0
try:
    while made < 50_000:
        for place in ('/workspace', '/tmp', '/dev/shm'):
            os.close(os.open('%s/%d' % (place, made), os.O_CREAT | os.O_WRONLY))
            os.symlink('x', '%s/link%d' % (place, made))
            os.mkdir('%s/directory%d' % (place, made))
        made += 1
    say('end', 'none')
except OSError as error:
    say('end', errno.errorcode[error.errno])
say('made', made * 9)
";
    let tried = attempts(&*sandbox, program).await;
    assert_eq!(tried.get("end"), "ENOSPC", "{} files", tried.get("made"));
    assert!(tried.outcome.disk_full);
    let made: u64 = tried.get("made").parse().unwrap();
    assert!(made <= DISK / 1024, "{made} files, a kilobyte each");
    assert!(made > 500, "{made} files are too few for ordinary programs");
    // The disk is usable again once it was emptied.
    read(&*sandbox, "rm -rf /workspace/* /tmp/* /dev/shm/* && echo text > file").await;
}

/// `/dev/shm` counts as disk. A memfd is on no disk: where no memory controller counts it, only its own limits do.
pub(crate) async fn shared_memory_is_part_of_the_disk(context: &CaseContext) {
    let sandbox = small(context).await;
    let free = |path| statvfs(path).unwrap().f_bfree;
    let before = free("/dev/shm");
    let outcome = sh(&*sandbox, "head -c 64M /dev/zero > /dev/shm/bomb").await;
    assert_eq!((outcome.exit_code, outcome.disk_full), (Some(1), true), "{outcome:?}");
    let used = before.saturating_sub(free("/dev/shm"));
    assert!(used < DISK / 4096, "{used} pages of the shared memory of the host");
}
