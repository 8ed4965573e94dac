//! The public part of `/etc`, by an allow-list: what is not named here is not there.
//!
//! Directories are bound whole and not looked through. A secret that somebody put into one of them stays unreadable by
//! its mode: whoever runs in a sandbox is an unprivileged user on the host too, and files in `/etc` are not theirs.
//! Leaving out a directory because of one such file would let `chmod` on a key take the certificates away from every
//! program, and looking for it would cost more than the rest of the plan (`/etc/alternatives` and `/etc/ssl/certs` have
//! hundreds of files each). The same mode protects a file that is named here. Only a directory that is closed to others
//! is left out: whoever closed it uses it for something else than its name says.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::plan::Plan;
use super::tree::Link;

/// The dynamic linker, names and numbers, certificates, time, terminal, and what the distribution is called. Not here:
/// everything with passwords, keys or identity in it, what the host does (cron, systemd, docker), settings of package
/// managers (an index URL can hold a password), and the files that [`super::identity`] writes instead. It is sorted.
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

/// Public entries of directories that have others too.
const PUBLIC_DEEPER: [&str; 7] = [
    "pki/ca-trust/extracted",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
];

/// Shows the public entries that are there.
pub(super) fn show_etc(plan: &mut Plan) {
    let etc = Path::new("/etc");
    let mut links = Vec::new();
    for (name, kind) in plan.tree.list(etc, |name, _| name.to_str().is_some_and(is_public)) {
        show_entry(plan, &etc.join(name), kind, &mut links);
    }
    for name in PUBLIC_DEEPER {
        show_entry(plan, &etc.join(name), FileType::Unknown, &mut links);
    }
    // Some links lead to other entries, which are all known only now.
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

/// Shows an entry of which the directory told the kind, or not.
fn show_entry(plan: &mut Plan, path: &Path, kind: FileType, links: &mut Vec<PathBuf>) {
    let has_status = matches!(kind, FileType::Directory | FileType::Unknown);
    let status = if has_status { plan.tree.status(path) } else { None };
    match status.map_or(kind, |status| status.kind) {
        FileType::Symlink => links.push(path.to_path_buf()),
        FileType::RegularFile => bind(plan, path),
        FileType::Directory if status.is_some_and(|status| status.mode & 0o005 == 0o005) => bind(plan, path),
        _ => {}
    }
}

/// Binds what is no link itself but may be in a directory that is one.
fn bind(plan: &mut Plan, path: &Path) {
    let Some((directory, name)) = path.parent().zip(path.file_name()) else { return };
    if let Some(directory) = plan.tree.resolve(directory) {
        plan.bind_public(&directory.path.join(name), path);
    }
}

/// A link stays a link, and one that leads to something invisible is left out. What it says is kept where that works
/// inside, because programs read the time zone from it; a way over further links that are not there is cut short.
fn show_link(plan: &mut Plan, path: &Path) {
    let Some(resolved) = plan.tree.resolve(path) else { return };
    if !plan.shows(&resolved.path) {
        return;
    }
    let is_whole = resolved.links.iter().all(|link| link.at == path || plan.shows(&link.at));
    let said = resolved.links.into_iter().find(|link| link.at == path).filter(|_| is_whole);
    let to = said.map_or(resolved.path, |link| link.to);
    plan.link(Link { at: path.to_path_buf(), to });
}
