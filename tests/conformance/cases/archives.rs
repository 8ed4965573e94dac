//! Copying files into and out of a sandbox.

use std::collections::BTreeMap;
use std::path::Path;

use menace_model::sandbox::{SandboxLimits, SandboxSpec};
use menace_sandbox::Backend;

use crate::harness::{error, names, read, sandbox};
use crate::tarball::{ArchiveItem, get, put, tarball};

fn binary() -> Vec<u8> {
    (0..1_u32 << 18).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

pub(crate) async fn put_and_get_give_the_same_files(backend: &dyn Backend) {
    let items = [
        ("empty", ArchiveItem::text("")),
        ("text.txt", ArchiveItem::text("text\n")),
        ("nested", ArchiveItem::Directory),
        ("nested/deep", ArchiveItem::Directory),
        ("nested/deep/file", ArchiveItem::text("deep\n")),
        ("nothing_in_it", ArchiveItem::Directory),
        ("run.sh", ArchiveItem::Executable(b"#!/bin/sh\n".to_vec())),
        ("link", ArchiveItem::Link("nested/deep/file".to_owned())),
        ("dangling", ArchiveItem::Link("/nowhere/at/all".to_owned())),
        ("binary", ArchiveItem::File(binary())),
        ("größe ☃ 文.txt", ArchiveItem::text("unicode\n")),
        (" spaces and 'quotes' ", ArchiveItem::text("odd\n")),
    ];
    let sandbox = sandbox(backend).await;
    put(&*sandbox, "/workspace/in", &items).await.unwrap();
    let mut expected: BTreeMap<String, ArchiveItem> =
        items.into_iter().map(|(name, item)| (format!("in/{name}"), item)).collect();
    expected.insert("in".to_owned(), ArchiveItem::Directory);
    let got = get(&*sandbox, "/workspace/in").await.unwrap();
    assert_eq!(got.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, item) in &expected {
        assert!(got[name] == *item, "{name} is different");
    }
}

pub(crate) async fn commands_see_put_files(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let items = [
        ("file", ArchiveItem::text("text\n")),
        ("run", ArchiveItem::Executable(Vec::new())),
        ("link", ArchiveItem::Link("file".to_owned())),
    ];
    put(&*sandbox, "/workspace", &items).await.unwrap();
    assert_eq!(
        read(&*sandbox, "cat file link; test -x run; echo $?; test -x file; echo $?").await,
        "text\ntext\n0\n1\n"
    );
    read(&*sandbox, "echo more >> file && rm run && mkdir new && echo own > new/file").await;
    assert_eq!(get(&*sandbox, "/workspace/file").await.unwrap()["file"], ArchiveItem::text("text\nmore\n"));
}

pub(crate) async fn put_creates_the_directory(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    put(&*sandbox, "/workspace/not/there/yet", &[("a/b/file", ArchiveItem::text("text\n"))]).await.unwrap();
    assert_eq!(read(&*sandbox, "cat not/there/yet/a/b/file").await, "text\n");
    put(&*sandbox, "/tmp/other", &[("file", ArchiveItem::text("text\n"))]).await.unwrap();
    assert_eq!(read(&*sandbox, "cat /tmp/other/file").await, "text\n");
}

pub(crate) async fn put_replaces_files(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    read(&*sandbox, "mkdir there; echo a long text before > there/file; echo kept > there/kept").await;
    put(
        &*sandbox,
        "/workspace",
        &[("there", ArchiveItem::Directory), ("there/file", ArchiveItem::text("short\n"))],
    )
    .await
    .unwrap();
    assert_eq!(read(&*sandbox, "cat there/file there/kept").await, "short\nkept\n");
}

pub(crate) async fn get_of_a_file_has_its_name(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    read(&*sandbox, "mkdir -p some/where; echo text > some/where/file; ln -s file some/where/link").await;
    let file = get(&*sandbox, "/workspace/some/where/file").await.unwrap();
    assert_eq!(file, BTreeMap::from([("file".to_owned(), ArchiveItem::text("text\n"))]));
    let link = get(&*sandbox, "/workspace/some/where/link").await.unwrap();
    assert_eq!(link, BTreeMap::from([("link".to_owned(), ArchiveItem::Link("file".to_owned()))]));
}

pub(crate) async fn get_of_a_missing_path_is_an_error(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    read(&*sandbox, "echo text > file").await;
    for path in ["/workspace/missing", "/workspace/missing/below", "/workspace/file/below"] {
        names(get(&*sandbox, path).await, Path::new(path));
    }
}

pub(crate) async fn a_broken_archive_is_an_error(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let noise = vec![b'x'; 2048];
    error(sandbox.put(Path::new("/workspace"), &mut noise.as_slice()).await);
    let whole = tarball(&[("file", ArchiveItem::File(vec![b'x'; 4096]))]);
    error(sandbox.put(Path::new("/workspace"), &mut &whole[..1024]).await);
    assert_eq!(read(&*sandbox, "echo alive").await, "alive\n");
}

pub(crate) async fn an_archive_that_does_not_fit_is_an_error(backend: &dyn Backend) {
    let limits = SandboxLimits { disk: Some(512 << 10), ..SandboxLimits::default() };
    let sandbox = backend.create(SandboxSpec { limits, ..SandboxSpec::default() }).await.unwrap();
    let text =
        error(put(&*sandbox, "/workspace", &[("binary", ArchiveItem::File(binary()))]).await).to_string();
    assert!(text.contains("No space left on device"), "{text}");
}
