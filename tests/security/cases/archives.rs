//! Archives for a workspace that is shared with the host, where an unpacking bug would affect the host.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use menace_model::sandbox::{SandboxSpec, WorkspaceContent};
use menace_sandbox::Sandbox;
use tar::{Builder, EntryType, Header};

use crate::directory::HostDirectory;
use crate::harness::{CaseContext, is_alive, read, sh};

/// An entry whose name and link target are written unchecked, which the `tar` crate would refuse.
struct RawArchiveEntry {
    name: &'static str,
    kind: EntryType,
    mode: u32,
    link: String,
}

fn item(name: &'static str, kind: EntryType) -> RawArchiveEntry {
    RawArchiveEntry { name, kind, mode: 0o644, link: String::new() }
}

fn archive(items: &[RawArchiveEntry]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for item in items {
        let content: &[u8] = if item.kind == EntryType::Regular { b"escaped" } else { b"" };
        let mut header = Header::new_gnu();
        header.set_entry_type(item.kind);
        header.set_mode(item.mode);
        header.set_size(content.len() as u64);
        if matches!(item.kind, EntryType::Char | EntryType::Block) {
            header.set_device_major(1).unwrap();
            header.set_device_minor(1).unwrap();
        }
        let old = header.as_old_mut();
        old.name[..item.name.len()].copy_from_slice(item.name.as_bytes());
        old.linkname[..item.link.len()].copy_from_slice(item.link.as_bytes());
        header.set_cksum();
        builder.append(&header, content).unwrap();
    }
    builder.into_inner().unwrap()
}

async fn put(sandbox: &dyn Sandbox, items: &[RawArchiveEntry]) -> bool {
    sandbox.put(Path::new("/workspace/in"), &mut archive(items).as_slice()).await.is_ok()
}

/// Creates a sandbox that shares a part of the directory; a file beside that part is not shared.
async fn shared(context: &CaseContext, directory: &HostDirectory) -> Arc<dyn Sandbox> {
    let workspace = WorkspaceContent::ReadWrite(directory.path().join("shared"));
    context.create(SandboxSpec { workspace, ..SandboxSpec::default() }).await
}

fn outside() -> HostDirectory {
    HostDirectory::with(&[("shared/in/inside", "inside"), ("outside", "outside")])
}

pub(crate) async fn archives_do_not_leave_a_shared_workspace(context: &CaseContext) {
    let directory = outside();
    let before = directory.fingerprint();
    let sandbox = shared(context, &directory).await;
    let host_path = directory.path().join("outside").to_str().unwrap().to_owned();
    let file = |name| item(name, EntryType::Regular);
    let link = |name, to: &str| RawArchiveEntry { link: to.to_owned(), ..item(name, EntryType::Symlink) };
    let hard = |name, to: &str| RawArchiveEntry { link: to.to_owned(), ..item(name, EntryType::Link) };
    for items in [
        vec![file("../../outside")],
        vec![file("../escaped")],
        vec![file("x/../../../outside")],
        vec![file("/outside")],
        vec![link("l", "../.."), file("l/outside")],
        vec![link("l", "/"), file("l/tmp/escaped")],
        vec![link("l", ".."), link("l/m", ".."), file("l/m/outside")],
        vec![hard("h", "../../outside"), file("h")],
        vec![hard("h", &host_path), file("h")],
        vec![hard("h", "/etc/passwd"), file("h")],
    ] {
        let names: Vec<&str> = items.iter().map(|item| item.name).collect();
        assert!(!put(&*sandbox, &items).await, "{names:?} was unpacked");
        read(&*sandbox, "rm -rf in/l in/h in/x").await;
        assert_eq!(directory.fingerprint(), before, "{names:?}");
    }
    assert_eq!(directory.read("outside"), "outside");
    is_alive(&*sandbox).await;
}

pub(crate) async fn archives_make_no_devices(context: &CaseContext) {
    let directory = outside();
    let sandbox = shared(context, &directory).await;
    for kind in [EntryType::Char, EntryType::Block] {
        // Refusing it and skipping it are both correct.
        let _either = put(&*sandbox, &[item("device", kind)]).await;
        let outcome = sh(&*sandbox, "test -b in/device || test -c in/device").await;
        assert_eq!(outcome.exit_code, Some(1), "{kind:?}");
    }
    is_alive(&*sandbox).await;
}

/// A file that the caller of `put` writes to the host keeps its mode except for the setuid and setgid bits.
pub(crate) async fn archives_make_no_setuid_files_on_the_host(context: &CaseContext) {
    let directory = outside();
    let sandbox = shared(context, &directory).await;
    let setuid = RawArchiveEntry { mode: 0o6755, ..item("program", EntryType::Regular) };
    let _either = put(&*sandbox, &[setuid]).await;
    let program = directory.path().join("shared/in/program");
    if let Ok(metadata) = fs::metadata(program) {
        assert_eq!(metadata.permissions().mode() & 0o6000, 0, "{:o}", metadata.permissions().mode());
    }
    is_alive(&*sandbox).await;
}
