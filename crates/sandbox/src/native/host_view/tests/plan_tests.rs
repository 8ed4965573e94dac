//! Tests of the order of a plan.

use std::collections::HashSet;
use std::path::Path;

use super::fabricated::FabricatedHost;
use menace_isolation::root::SkeletonEntry;

#[test]
fn parents_come_before_children_without_duplicates() {
    let host = FabricatedHost::new();
    host.file("/etc/ssl/certs/a.pem", "").file("/etc/ssl/openssl.cnf", "").link("/bin", "usr/bin");
    host.directory("/srv/tools-b/bin").directory("/srv/tools/a/bin").directory("/srv/tools/b/bin");
    let view = host.view("/bin:/srv/tools/a/bin:/srv/tools-b/bin:/srv/tools/b/bin");
    let mut made: HashSet<&Path> = HashSet::from([Path::new("/")]);
    for entry in &view.entries {
        let parent = entry.target().parent().unwrap();
        assert!(made.contains(parent), "{} is made before {}", entry.target().display(), parent.display());
        if let SkeletonEntry::Directory { target } = entry {
            made.insert(target);
        }
    }
    let targets: HashSet<&Path> = view.entries.iter().map(SkeletonEntry::target).collect();
    assert_eq!(targets.len(), view.entries.len());
}

#[test]
fn nothing_is_bound_below_a_bind() {
    let host = FabricatedHost::new();
    host.directory("/srv/a/bin").directory("/srv/a/b").directory("/srv/a/b-c").directory("/srv/a/b/d");
    let view = host.view("/srv/a/b/d:/srv/a/b-c:/srv/a/b:/srv/a/bin");
    let binds: Vec<&Path> = view
        .entries
        .iter()
        .filter(|entry| matches!(entry, SkeletonEntry::Bind { .. }))
        .map(SkeletonEntry::target)
        .filter(|target| target.starts_with("/srv"))
        .collect();
    assert_eq!(binds, ["/srv/a/b", "/srv/a/b-c", "/srv/a/bin"].map(Path::new));
}
