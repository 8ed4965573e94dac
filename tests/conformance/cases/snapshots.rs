//! Snapshots and forks.

use std::sync::Arc;

use menace_sandbox::{Backend, Sandbox};

use crate::directory::HostDirectory;
use crate::harness::{path_exists, read, skip_unclaimed};

fn repository() -> HostDirectory {
    HostDirectory::with(&[
        ("kept", "kept\n"),
        ("deleted", "deleted\n"),
        ("folder/one", "1\n"),
        ("folder/two", "2\n"),
    ])
}

async fn sandbox(backend: &dyn Backend, directory: &HostDirectory) -> Option<Arc<dyn Sandbox>> {
    if !backend.capabilities().snapshot {
        skip_unclaimed(backend, "taking snapshots");
        return None;
    }
    Some(backend.create(directory.copied_on_write()).await.unwrap())
}

pub(crate) async fn a_fork_has_the_files_and_deletions_of_the_snapshot(backend: &dyn Backend) {
    let directory = repository();
    let Some(origin) = sandbox(backend, &directory).await else { return };
    read(&*origin, "echo more >> kept; rm deleted; rm folder/one; mkdir -p new/empty; echo new > new/file")
        .await;
    let snapshot = origin.snapshot().await.unwrap();
    assert_eq!(snapshot.changes, origin.changes().await.unwrap());
    read(&*origin, "echo later > later; echo later >> kept; rm new/file").await;
    let fork = backend.fork(&snapshot).await.unwrap();
    assert_eq!(read(&*fork, "cat kept new/file folder/two").await, "kept\nmore\nnew\n2\n");
    assert!(path_exists(&*fork, "new/empty").await);
    for path in ["deleted", "folder/one", "later"] {
        assert!(!path_exists(&*fork, path).await, "{path}");
    }
}

pub(crate) async fn forks_and_origin_are_independent(backend: &dyn Backend) {
    let directory = repository();
    let Some(origin) = sandbox(backend, &directory).await else { return };
    let before = directory.fingerprint();
    let snapshot = origin.snapshot().await.unwrap();
    let (one, two) = (backend.fork(&snapshot).await.unwrap(), backend.fork(&snapshot).await.unwrap());
    read(&*one, "echo one > kept; rm deleted; echo one > mine").await;
    for other in [&origin, &two] {
        assert_eq!(read(&**other, "cat kept deleted").await, "kept\ndeleted\n");
        assert!(!path_exists(&**other, "mine").await);
    }
    read(&*origin, "echo origin > theirs").await;
    assert!(!path_exists(&*one, "theirs").await && !path_exists(&*two, "theirs").await);
    assert_ne!(one.id(), two.id());
    assert_eq!(directory.fingerprint(), before);
}

pub(crate) async fn a_snapshot_outlives_its_sandbox(backend: &dyn Backend) {
    let directory = repository();
    let Some(origin) = sandbox(backend, &directory).await else { return };
    read(&*origin, "echo new > new; rm deleted").await;
    let snapshot = origin.snapshot().await.unwrap();
    origin.destroy().await.unwrap();
    let fork = backend.fork(&snapshot).await.unwrap();
    assert_eq!(read(&*fork, "cat new").await, "new\n");
    assert!(!path_exists(&*fork, "deleted").await);
}

pub(crate) async fn a_fork_of_a_fork_has_both_changes(backend: &dyn Backend) {
    let directory = repository();
    let Some(origin) = sandbox(backend, &directory).await else { return };
    read(&*origin, "echo first > first; rm deleted").await;
    let child = backend.fork(&origin.snapshot().await.unwrap()).await.unwrap();
    read(&*child, "echo second > second; rm folder/one").await;
    let grandchild = backend.fork(&child.snapshot().await.unwrap()).await.unwrap();
    assert_eq!(read(&*grandchild, "cat first second kept").await, "first\nsecond\nkept\n");
    for path in ["deleted", "folder/one"] {
        assert!(!path_exists(&*grandchild, path).await, "{path}");
    }
}

pub(crate) async fn a_fork_keeps_modes_and_links(backend: &dyn Backend) {
    let directory = repository();
    let Some(origin) = sandbox(backend, &directory).await else { return };
    read(&*origin, "echo run > run; chmod 755 run; echo plain > plain; chmod 755 kept; ln -s plain link")
        .await;
    let fork = backend.fork(&origin.snapshot().await.unwrap()).await.unwrap();
    let text = "test -x run && test -x kept && test -L link && cat link; test -x plain; echo $?";
    assert_eq!(read(&*fork, text).await, "plain\n1\n");
}

pub(crate) async fn a_deleted_directory_is_not_in_the_fork(backend: &dyn Backend) {
    let directory = repository();
    let Some(origin) = sandbox(backend, &directory).await else { return };
    read(&*origin, "rm -r folder").await;
    let without = origin.snapshot().await.unwrap();
    read(&*origin, "mkdir folder; echo new > folder/new").await;
    let again = origin.snapshot().await.unwrap();
    let fork = backend.fork(&without).await.unwrap();
    assert!(!path_exists(&*fork, "folder/two").await && !path_exists(&*fork, "folder").await);
    let fork = backend.fork(&again).await.unwrap();
    assert_eq!(read(&*fork, "ls folder").await, "new\n");
}
