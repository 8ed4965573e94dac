//! Public part of `/etc`, by an allow-list: other entries are not visible.
//!
//! Directories are bound whole and not searched. A secret that a user put into one of them stays unreadable by its
//! mode: the user of a sandbox is unprivileged on the host too and does not own files in `/etc`. Leaving out a
//! directory because of one such file would let `chmod` on a key take the certificates away from every program, and
//! searching for it would cost more than the rest of the plan (`/etc/alternatives` and `/etc/ssl/certs` have hundreds
//! of files each). The same mode protects a file that is listed here. Only a directory that is closed to others is
//! left out: its owner uses it for another purpose than its name says.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::plan::HostViewPlan;
use super::tree::HostSymlink;

/// Public entries: dynamic linker, names and numbers, certificates, time, terminal, and the name of the distribution.
/// Not here: files with passwords, keys or identity, the host's services (cron, systemd, docker), settings of package
/// managers (an index URL can hold a password), and the files that [`super::identity`] generates instead. Sorted.
const PUBLIC: [&str; 36] = [
    "alpine-release",
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "ethertypes",
    "fedora-release",
    "fonts",
    "gai.conf",
    "host.conf",
    "inputrc",
    "ld-musl-aarch64.path",
    "ld-musl-x86_64.path",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "magic.mime",
    "mime.types",
    "networks",
    "os-release",
    "protocols",
    "python3",
    "redhat-release",
    "rpc",
    "services",
    "system-release",
    "terminfo",
    "timezone",
    "xattr.conf",
];

/// Public entries of directories that also have private ones.
const PUBLIC_DEEPER: [&str; 7] = [
    "pki/ca-trust/extracted",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
];

/// Shows the public entries that exist.
pub(super) fn show_etc(plan: &mut HostViewPlan) {
    let etc = Path::new("/etc");
    let mut links = Vec::new();
    for (name, kind) in plan.tree.list(etc, |name, _| name.to_str().is_some_and(is_public)) {
        show_entry(plan, &etc.join(name), kind, &mut links);
    }
    for name in PUBLIC_DEEPER {
        show_entry(plan, &etc.join(name), FileType::Unknown, &mut links);
    }
    // Some links lead to other entries, so they are resolved after all entries are known.
    for path in links {
        show_link(plan, &path);
    }
}

/// Whether an entry is on the list, or is a directory with a version in its name.
fn is_public(name: &str) -> bool {
    PUBLIC.binary_search(&name).is_ok()
        || name.starts_with("python3.")
        || (name.starts_with("java") && name.ends_with("-openjdk"))
}

/// Shows an entry; `kind` is the type from the directory listing, or unknown.
fn show_entry(plan: &mut HostViewPlan, path: &Path, kind: FileType, links: &mut Vec<PathBuf>) {
    let has_status = matches!(kind, FileType::Directory | FileType::Unknown);
    let status = if has_status { plan.tree.status(path) } else { None };
    match status.map_or(kind, |status| status.kind) {
        FileType::Symlink => links.push(path.to_path_buf()),
        FileType::RegularFile => bind(plan, path),
        FileType::Directory if status.is_some_and(|status| status.mode & 0o005 == 0o005) => bind(plan, path),
        _ => {}
    }
}

/// Binds an entry that is not a link itself but may be in a linked directory.
fn bind(plan: &mut HostViewPlan, path: &Path) {
    let Some((directory, name)) = path.parent().zip(path.file_name()) else { return };
    if let Some(directory) = plan.tree.resolve(directory) {
        plan.bind_public(&directory.path.join(name), path);
    }
}

/// Repeats a link; one with an invisible target is left out. Its text is kept where that works inside, because programs
/// read the time zone from it; a chain over links that are missing inside is shortened.
fn show_link(plan: &mut HostViewPlan, path: &Path) {
    let Some(resolved) = plan.tree.resolve(path) else { return };
    if !plan.shows(&resolved.path) {
        return;
    }
    let is_complete = resolved.links.iter().all(|link| link.at == path || plan.shows(&link.at));
    let unchanged = resolved.links.into_iter().find(|link| link.at == path).filter(|_| is_complete);
    let to = unchanged.map_or(resolved.path, |link| link.to);
    plan.link(HostSymlink { at: path.to_path_buf(), to });
}
