//! The files of sandboxes and those of the host.

use std::path::PathBuf;

use menace_model::sandbox::{FileChanges, HostMount, MountAccess, SandboxSpec, WorkspaceContent};
use menace_sandbox::{Backend, SandboxError};

use crate::directory::HostDirectory;
use crate::harness::{error, path_exists, read, sandbox, sh, skip_unclaimed};

fn repository() -> HostDirectory {
    HostDirectory::with(&[
        ("kept.txt", "kept\n"),
        ("executed.sh", "a change of the mode is a change\n"),
        ("modified.txt", "before\n"),
        ("deleted.txt", "deleted\n"),
        ("gone/deep/one.txt", "1\n"),
        ("gone/two.txt", "2\n"),
        ("again/old.txt", "old\n"),
        ("again/both.txt", "before\n"),
    ])
}

const CHANGE_EVERYTHING: &str = "cat kept.txt && echo after >> modified.txt && rm deleted.txt && rm -r gone && \
     rm -r again && mkdir again && echo new > again/new.txt && echo after > again/both.txt && \
     mkdir -p fresh/deep && echo fresh > fresh/deep/file.txt && mkdir empty && chmod 700 executed.sh";

fn paths(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| format!("/workspace/{path}")).collect()
}

pub(crate) async fn sandboxes_do_not_see_each_other(backend: &dyn Backend) {
    let (one, other) = (sandbox(backend).await, sandbox(backend).await);
    read(&*one, "echo secret > file; echo secret > /tmp/file").await;
    assert!(path_exists(&*one, "file").await && path_exists(&*one, "/tmp/file").await);
    assert!(!path_exists(&*other, "file").await && !path_exists(&*other, "/tmp/file").await);
}

pub(crate) async fn the_host_directory_is_unchanged(backend: &dyn Backend) {
    let directory = repository();
    let before = directory.fingerprint();
    let sandbox = backend.create(directory.copied_on_write()).await.unwrap();
    assert_eq!(read(&*sandbox, CHANGE_EVERYTHING).await, "kept\n");
    assert_eq!(read(&*sandbox, "cat modified.txt again/both.txt").await, "before\nafter\nafter\n");
    assert!(!path_exists(&*sandbox, "deleted.txt").await && !path_exists(&*sandbox, "again/old.txt").await);
    assert_eq!(directory.fingerprint(), before, "while the sandbox lives");
    sandbox.destroy().await.unwrap();
    assert_eq!(directory.fingerprint(), before, "after its end");
}

pub(crate) async fn a_new_sandbox_has_no_changes(backend: &dyn Backend) {
    let directory = repository();
    let sandbox = backend.create(directory.copied_on_write()).await.unwrap();
    read(&*sandbox, "cat kept.txt; ls gone").await;
    assert_eq!(sandbox.changes().await.unwrap(), FileChanges::default(), "reading changes nothing");
}

pub(crate) async fn changes_list_what_was_written_and_deleted(backend: &dyn Backend) {
    let directory = repository();
    let sandbox = backend.create(directory.copied_on_write()).await.unwrap();
    read(&*sandbox, CHANGE_EVERYTHING).await;
    let changes = sandbox.changes().await.unwrap();
    assert_eq!(
        changes.written,
        paths(&["again/both.txt", "again/new.txt", "executed.sh", "fresh/deep/file.txt", "modified.txt"])
    );
    assert_eq!(
        changes.deleted,
        paths(&["again/old.txt", "deleted.txt", "gone/deep/one.txt", "gone/two.txt"])
    );
}

pub(crate) async fn a_file_created_and_deleted_is_not_a_change(backend: &dyn Backend) {
    let directory = repository();
    let sandbox = backend.create(directory.copied_on_write()).await.unwrap();
    read(&*sandbox, "echo short > lived; mkdir -p for/a/while; rm lived; rm -r for").await;
    assert_eq!(sandbox.changes().await.unwrap(), FileChanges::default());
}

pub(crate) async fn changes_of_an_empty_workspace_are_listed(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    read(&*sandbox, "mkdir one; echo 1 > one/file; ln -s one/file link").await;
    let changes = sandbox.changes().await.unwrap();
    assert_eq!((changes.written, changes.deleted), (paths(&["link", "one/file"]), Vec::new()));
}

pub(crate) async fn mounts_are_read_and_not_written(backend: &dyn Backend) {
    let directory = HostDirectory::with(&[("file", "from the host\n")]);
    let before = directory.fingerprint();
    let mount = |source: PathBuf, target: &str| HostMount {
        source,
        target: PathBuf::from(target),
        access: MountAccess::ReadOnly,
    };
    let mounts =
        vec![mount(directory.path(), "/data/deep"), mount(directory.path().join("file"), "/data/one")];
    let sandbox = backend.create(SandboxSpec { mounts, ..SandboxSpec::default() }).await.unwrap();
    assert_eq!(read(&*sandbox, "cat /data/deep/file /data/one").await, "from the host\nfrom the host\n");
    for attempt in [
        "echo x > /data/deep/file",
        "echo x > /data/deep/new",
        "rm -f /data/deep/file",
        "echo x >> /data/one",
    ] {
        let outcome = sh(&*sandbox, attempt).await;
        assert_ne!(outcome.exit_code, Some(0), "{attempt}");
    }
    assert_eq!(directory.fingerprint(), before);
}

pub(crate) async fn a_shared_workspace_is_written_where_that_is_possible(backend: &dyn Backend) {
    let directory = HostDirectory::with(&[("file", "before\n")]);
    let workspace = WorkspaceContent::ReadWrite(directory.path());
    let made = backend.create(SandboxSpec { workspace, ..SandboxSpec::default() }).await;
    if !backend.capabilities().read_write {
        skip_unclaimed(backend, "writing to the host");
        assert!(matches!(error(made), SandboxError::Refused { .. }));
        return;
    }
    let sandbox = made.unwrap();
    read(&*sandbox, "echo after > file; echo new > new").await;
    assert_eq!((directory.read("file"), directory.read("new")), ("after\n".to_owned(), "new\n".to_owned()));
}

pub(crate) async fn a_shared_mount_is_written_where_that_is_possible(backend: &dyn Backend) {
    let directory = HostDirectory::with(&[]);
    let mount = HostMount {
        source: directory.path(),
        target: PathBuf::from("/data"),
        access: MountAccess::ReadWrite,
    };
    let made = backend.create(SandboxSpec { mounts: vec![mount], ..SandboxSpec::default() }).await;
    if !backend.capabilities().read_write {
        skip_unclaimed(backend, "writing to the host");
        assert!(matches!(error(made), SandboxError::Refused { .. }));
        return;
    }
    read(&*made.unwrap(), "echo new > /data/new").await;
    assert_eq!(directory.read("new"), "new\n");
}
