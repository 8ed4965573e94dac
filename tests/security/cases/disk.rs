//! Filling the disk.

use std::sync::Arc;

use menace_model::sandbox::{Limits, SandboxSpec};
use menace_sandbox::Sandbox;
use rustix::fs::statvfs;

use crate::directory::Directory;
use crate::harness::{World, is_alive, read, sh};
use crate::probe::attempts;

const DISK: u64 = 4 << 20;

async fn small(world: &World) -> Arc<dyn Sandbox> {
    let limits = Limits { disk: Some(DISK), ..Limits::default() };
    world.create(SandboxSpec { limits, ..SandboxSpec::default() }).await
}

pub(crate) async fn a_disk_bomb_fills_only_its_own_disk(world: &World) {
    let directory = Directory::with(&[("file", "text")]);
    let before = directory.fingerprint();
    let limits = Limits { disk: Some(DISK), ..Limits::default() };
    let sandbox = world.create(SandboxSpec { limits, ..directory.copied_on_write() }).await;
    for place in ["/workspace", "/tmp", "/dev/shm"] {
        let outcome = sh(&*sandbox, &format!("head -c 64M /dev/zero > {place}/bomb")).await;
        assert_eq!(outcome.exit_code, Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains("No space left on device") && outcome.disk_full, "{outcome:?}");
        let written = sandbox.stats().await.unwrap().disk_bytes.unwrap();
        assert!(written <= DISK, "{written} bytes");
        read(&*sandbox, &format!("rm {place}/bomb")).await;
    }
    // A file with holes takes what is written to it, and one of a size that no disk has takes nothing.
    sh(&*sandbox, "truncate -s 1T sparse; fallocate -l 1T other").await;
    assert!(sandbox.stats().await.unwrap().disk_bytes.unwrap() <= DISK);
    assert_eq!(directory.fingerprint(), before);
    is_alive(&*sandbox).await;
}

/// An empty file takes a kilobyte of the kernel's memory, which no limit in bytes counts.
pub(crate) async fn empty_files_and_directories_are_limited_too(world: &World) {
    let sandbox = small(world).await;
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
    assert!(made > 500, "{made} files are too few for an honest program");
    // It is still good for something when it is empty again.
    read(&*sandbox, "rm -rf /workspace/* /tmp/* /dev/shm/* && echo text > file").await;
}

/// A file in memory without a name is not on any disk. Where no controller counts memory, only its own limits do.
pub(crate) async fn shared_memory_is_part_of_the_disk(world: &World) {
    let sandbox = small(world).await;
    let free = |path| statvfs(path).unwrap().f_bfree;
    let before = free("/dev/shm");
    let outcome = sh(&*sandbox, "head -c 64M /dev/zero > /dev/shm/bomb").await;
    assert_eq!((outcome.exit_code, outcome.disk_full), (Some(1), true), "{outcome:?}");
    let used = before.saturating_sub(free("/dev/shm"));
    assert!(used < DISK / 4096, "{used} pages of the shared memory of the host");
}
