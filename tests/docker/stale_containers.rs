//! Containers that outlive the process that created them: adopted, or removed.

use std::collections::BTreeSet;
use std::process::Command;

use menace_model::sandbox::{SandboxSpec, WorkspaceContent};
use menace_sandbox::Backend;
use menace_sandbox::docker::{DockerOptions, clean_up};

use crate::{connect, read, with_engine};

/// Environment variable for a process that creates a sandbox and exits without cleaning up.
const OWNER_VARIABLE: &str = "MENACE_TESTS_LEFT_BY";

#[test]
fn a_sandbox_is_adopted() {
    with_engine(|options| async move {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("of_the_host"), "text").unwrap();
        std::fs::write(directory.path().join("deleted"), "text").unwrap();
        let workspace = WorkspaceContent::CopyOnWrite(directory.path().to_owned());
        let spec = SandboxSpec { workspace, ..SandboxSpec::default() };
        let first = connect(&options).await.create(spec.clone()).await.unwrap();
        read(&*first, "echo new > new; rm deleted").await;
        let changes = first.changes().await.unwrap();
        let id = first.id().to_owned();
        // A killed process runs no destructors.
        std::mem::forget(first);
        let backend = connect(&options).await;
        let second = backend.adopt(&id, &spec).await.unwrap().expect("the container still exists");
        assert_eq!(second.id(), id);
        assert_eq!(read(&*second, "cat new").await, "new\n");
        assert_eq!(second.changes().await.unwrap(), changes);
        assert_eq!(
            (changes.written, changes.deleted),
            (vec!["/workspace/new".into()], vec!["/workspace/deleted".into()])
        );
        let other = DockerOptions { owner: "somebody-else".into(), ..options.clone() };
        assert!(
            connect(&other).await.adopt(&id, &spec).await.unwrap().is_none(),
            "it belongs to another owner"
        );
        second.destroy().await.unwrap();
        assert!(backend.adopt(&id, &spec).await.unwrap().is_none());
    });
}

#[test]
fn only_containers_of_dead_processes_are_removed() {
    let owner = format!("left-{}", std::process::id());
    let test = std::thread::current().name().expect("the test runner names threads after tests").to_owned();
    with_engine(|options| async move {
        if let Ok(owner) = std::env::var(OWNER_VARIABLE) {
            return leave_stale_sandbox(DockerOptions { owner, ..options }).await;
        }
        let of_the_gone = DockerOptions { owner: owner.clone(), ..options.clone() };
        for _ in 0..2 {
            let mut command = Command::new(std::env::current_exe().unwrap());
            let left = command.args(["--exact", &test]).env(OWNER_VARIABLE, &owner).status().unwrap();
            assert_eq!(left.code(), Some(7), "it exited without cleaning up");
        }
        let living = connect(&of_the_gone).await.create(SandboxSpec::default()).await.unwrap();
        let kept = BTreeSet::from([living.id().to_owned()]);
        let removed = clean_up(&of_the_gone, &kept).await.unwrap();
        assert_eq!((removed.containers.len(), removed.volumes.len()), (2, 2), "{removed:?}");
        let again = clean_up(&of_the_gone, &BTreeSet::new()).await.unwrap();
        assert_eq!(
            again,
            menace_sandbox::docker::DockerCleanUp::default(),
            "the process that created the other one is alive"
        );
        assert_eq!(read(&*living, "echo alive").await, "alive\n");
    });
}

#[expect(clippy::exit, reason = "a process that is killed does not get to the end of a test")]
async fn leave_stale_sandbox(options: DockerOptions) {
    let sandbox = connect(&options).await.create(SandboxSpec::default()).await.unwrap();
    std::mem::forget(sandbox);
    std::process::exit(7);
}
