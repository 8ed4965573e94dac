//! Commands that attack their supervisor. Only a backend that isolates has to withstand them.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use menace_model::sandbox::{HostMount, MountAccess, SandboxSpec, WorkspaceContent};
use menace_sandbox::Backend;

use crate::directory::HostDirectory;
use crate::harness::{PROMPT, error, path_exists, read, read_at_least, sandbox, script, sh, skip_unclaimed};

/// Long enough for a command to act, and shorter than what it tries to outlive.
const SHORT: Duration = Duration::from_millis(200);

pub(crate) async fn signalling_its_parent_does_not_save_a_command_from_its_timeout(backend: &dyn Backend) {
    if !backend.capabilities().isolates {
        return skip_unclaimed(backend, "processes that can be signalled");
    }
    for signal in ["STOP", "KILL"] {
        let sandbox = sandbox(backend).await;
        let text = format!("kill -{signal} $PPID; sleep 0.7; echo late > late; true");
        let outcome = sandbox.exec(script(&text).timeout(SHORT)).await.unwrap();
        assert_ne!(outcome.exit_code, Some(0), "{signal}: {outcome:?}");
        read(&*sandbox, "sleep 1").await;
        assert!(!path_exists(&*sandbox, "late").await, "{signal} saved the command");
    }
}

pub(crate) async fn nothing_outlives_an_exclusive_command(backend: &dyn Backend) {
    if !backend.capabilities().isolates {
        return skip_unclaimed(backend, "processes in the background");
    }
    let sandbox = sandbox(backend).await;
    let text = "(setsid sh -c 'sleep 0.7; echo late > late' &) ; exit 3";
    assert_eq!(sandbox.exec(script(text).exclusive()).await.unwrap().exit_code, Some(3));
    let text = "(setsid sh -c 'sleep 0.7; echo late > late' &) ; sleep 100";
    assert!(sandbox.exec(script(text).exclusive().timeout(SHORT)).await.unwrap().timed_out);
    read(&*sandbox, "sleep 1").await;
    assert!(!path_exists(&*sandbox, "late").await, "a process outlived the command");
}

pub(crate) async fn a_command_that_stops_all_processes_does_not_hang_the_caller(backend: &dyn Backend) {
    if !backend.capabilities().isolates {
        return skip_unclaimed(backend, "processes that can be signalled");
    }
    let sandbox = sandbox(backend).await;
    let text = "echo ready; while :; do kill -STOP -- -1 2> /dev/null; done";
    let mut process = sandbox.spawn(script(text)).await.unwrap();
    read_at_least(&mut *process, "ready\n".len()).await;
    for _ in 0..10 {
        // Success depends on a race, so both a result and an error are accepted.
        let _either = tokio::time::timeout(PROMPT, sandbox.changes())
            .await
            .expect("the stopped worker was not noticed");
    }
}

pub(crate) async fn invalid_names_and_unreadable_directories_are_listed(backend: &dyn Backend) {
    if !backend.capabilities().isolates {
        return skip_unclaimed(backend, "names that are not UTF-8");
    }
    let sandbox = sandbox(backend).await;
    read(&*sandbox, "touch \"$(printf 'a\\377')\"; mkdir b; touch b/c; chmod 000 b/c b").await;
    let changes = sandbox.changes().await.unwrap();
    assert_eq!(changes.written, ["/workspace/a\u{fffd}", "/workspace/b/c"]);
    assert_eq!(read(&*sandbox, "stat -c %a b").await, "0\n", "listing changed a mode");
    read(&*sandbox, "chmod 700 b").await;
    let fork = backend.fork(&sandbox.snapshot().await.unwrap()).await.unwrap();
    assert_eq!(read(&*fork, "stat -c %a b/c; ls").await, "0\na\u{fffd}\nb\n");
}

pub(crate) async fn no_program_on_the_host_runs_as_its_owner(backend: &dyn Backend) {
    if !backend.capabilities().isolates || !backend.capabilities().read_write {
        return skip_unclaimed(backend, "writing to the host");
    }
    let directory = HostDirectory::with(&[("program", "")]);
    let workspace = WorkspaceContent::ReadWrite(directory.path());
    let sandbox = backend.create(SandboxSpec { workspace, ..SandboxSpec::default() }).await.unwrap();
    for mode in ["4755", "2755", "u+s", "g+s"] {
        assert_ne!(sh(&*sandbox, &format!("chmod {mode} program")).await.exit_code, Some(0), "{mode}");
    }
    let mode = directory.path().join("program").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o6000, 0, "{mode:o}");
}

pub(crate) async fn mount_points_are_never_created_on_the_host(backend: &dyn Backend) {
    if !backend.capabilities().isolates {
        return skip_unclaimed(backend, "links in the root of a sandbox");
    }
    // Inside, /var/tmp leads to /tmp.
    let host = tempfile::Builder::new().prefix("menace-place-").tempdir_in("/tmp").unwrap();
    std::fs::write(host.path().join("file"), "precious").unwrap();
    let source = HostDirectory::with(&[("file", "other\n")]);
    let behind_the_link = std::path::Path::new("/var").join(host.path().strip_prefix("/").unwrap());
    for (source, target) in [(source.path().join("file"), "file"), (source.path(), "directory")] {
        let mount = HostMount { source, target: behind_the_link.join(target), access: MountAccess::ReadOnly };
        error(backend.create(SandboxSpec { mounts: vec![mount], ..SandboxSpec::default() }).await);
    }
    assert_eq!(std::fs::read_to_string(host.path().join("file")).unwrap(), "precious");
    assert!(!host.path().join("directory").exists());
}

pub(crate) async fn hard_links_do_not_make_a_snapshot_larger(backend: &dyn Backend) {
    if !backend.capabilities().isolates {
        return skip_unclaimed(backend, "hard links");
    }
    let sandbox = sandbox(backend).await;
    let text = "yes | head -c 4M > one; for i in $(seq 20); do ln one $i; done; truncate -s 1T sparse";
    read(&*sandbox, text).await;
    let snapshot = sandbox.snapshot().await.unwrap();
    let size = snapshot.archive.metadata().unwrap().len();
    assert!(size < 8 << 20, "{size} bytes of the host for 4 MiB of the sandbox");
    let fork = backend.fork(&snapshot).await.unwrap();
    assert_eq!(
        read(&*fork, "stat -c %h one 7; cmp one 20; stat -c %s sparse").await,
        "21\n21\n1099511627776\n"
    );
}
