//! Resolves a path as the kernel would inside a sandbox that has only a view.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::plan::HostView;
use menace_isolation::root::SkeletonEntry;

/// Path on the host that a path inside resolves to.
pub(super) fn resolve_inside(view: &HostView, path: &Path) -> Option<PathBuf> {
    let mut pending: VecDeque<OsString> = components(path);
    let mut reached = PathBuf::from("/");
    let mut source = None;
    for _ in 0..200 {
        let Some(component) = pending.pop_front() else { return source };
        if component == "/" {
            reached = PathBuf::from("/");
        } else if component == ".." {
            reached.pop();
        } else {
            reached.push(component);
            let node = node_at(view, &reached)?;
            if let HostViewNode::Link(to) = node {
                reached.pop();
                components(&to).into_iter().rev().for_each(|component| pending.push_front(component));
            } else if let HostViewNode::Host(path) = node {
                source = Some(path);
            } else {
                source = None;
            }
        }
    }
    None
}

enum HostViewNode {
    Host(PathBuf),
    Link(PathBuf),
    Made,
}

fn node_at(view: &HostView, path: &Path) -> Option<HostViewNode> {
    view.entries.iter().find_map(|entry| match entry {
        SkeletonEntry::Bind { source, target } => {
            let rest = path.strip_prefix(target).ok()?;
            let source = if rest.as_os_str().is_empty() { source.clone() } else { source.join(rest) };
            let kind = fs::symlink_metadata(&source).ok()?.file_type();
            Some(if kind.is_symlink() {
                HostViewNode::Link(fs::read_link(source).unwrap())
            } else {
                HostViewNode::Host(source)
            })
        }
        SkeletonEntry::Link { target, to } => (target == path).then(|| HostViewNode::Link(to.clone())),
        SkeletonEntry::File { target, .. } | SkeletonEntry::Directory { target } => {
            (target == path).then_some(HostViewNode::Made)
        }
    })
}

fn components(path: &Path) -> VecDeque<OsString> {
    path.components()
        .map(|component| component.as_os_str().to_owned())
        .filter(|component| component != ".")
        .collect()
}
