//! Archives that try to write outside their target directory.

use menace_sandbox::{Backend, Sandbox};

use crate::harness::{error, path_exists, read, sandbox};
use crate::tarball::{ArchiveItem, put};

/// Asserts that unpacking into `/workspace/in` fails and writes nothing outside.
async fn refuses(sandbox: &dyn Sandbox, items: &[(&str, ArchiveItem)]) {
    error(put(sandbox, "/workspace/in", items).await);
    for outside in ["/workspace/x", "/tmp/x", "/x", "/tmp/elsewhere/x"] {
        assert!(!path_exists(sandbox, outside).await, "{outside} was written");
    }
    assert_eq!(read(sandbox, "echo alive").await, "alive\n");
}

fn link(target: &str) -> ArchiveItem {
    ArchiveItem::Link(target.to_owned())
}

pub(crate) async fn put_refuses_to_go_up(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    for name in ["../x", "../../tmp/x", "down/../../x", "./../x"] {
        refuses(&*sandbox, &[(name, ArchiveItem::text("escaped\n"))]).await;
    }
}

pub(crate) async fn put_refuses_absolute_paths(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    for name in ["/tmp/x", "/workspace/x", "//tmp/x"] {
        refuses(&*sandbox, &[(name, ArchiveItem::text("escaped\n"))]).await;
    }
}

pub(crate) async fn put_refuses_to_follow_a_link_of_the_archive(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    for target in ["/tmp", "..", "../../tmp", "down/../.."] {
        let items = [
            ("down", ArchiveItem::Directory),
            ("link", link(target)),
            ("link/x", ArchiveItem::text("escaped\n")),
        ];
        refuses(&*sandbox, &items).await;
        read(&*sandbox, "rm -rf in").await;
    }
}

pub(crate) async fn put_refuses_to_follow_a_link_of_the_sandbox(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    read(&*sandbox, "mkdir in; mkdir /tmp/elsewhere; ln -s /tmp/elsewhere in/trap").await;
    refuses(&*sandbox, &[("trap/x", ArchiveItem::text("escaped\n"))]).await;
}

pub(crate) async fn put_does_not_write_through_a_link(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    read(&*sandbox, "echo before > /tmp/victim; mkdir in; ln -s /tmp/victim in/old").await;
    let items = [
        ("new", link("/tmp/victim")),
        ("new", ArchiveItem::text("after\n")),
        ("old", ArchiveItem::text("after\n")),
    ];
    // Replacing the link is as good as refusing it.
    let _either = put(&*sandbox, "/workspace/in", &items).await;
    assert_eq!(read(&*sandbox, "cat /tmp/victim").await, "before\n");
}

pub(crate) async fn put_refuses_a_hard_link_to_the_outside(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    read(&*sandbox, "echo secret > secret; echo secret > /tmp/secret").await;
    for target in ["../secret", "/tmp/secret", "/workspace/secret"] {
        refuses(&*sandbox, &[("x", ArchiveItem::HardLink(target.to_owned()))]).await;
    }
}
