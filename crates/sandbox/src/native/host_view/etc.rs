//! The public part of `/etc`, by an allow-list: what is not named here is not there.
//!
//! Directories are bound whole and not looked through. A secret that somebody put into one of them stays unreadable by
//! its mode: whoever runs in a sandbox is an unprivileged user on the host too, and files in `/etc` are not theirs.
//! Leaving out a directory because of one such file would let `chmod` on a key take the certificates away from every
//! program, and looking for it would cost more than the rest of the plan (`/etc/alternatives` and `/etc/ssl/certs` have
//! hundreds of files each). Only the entry itself is checked: one that is not readable for everybody is not public,
//! whatever its name says.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::plan::Plan;
use super::tree::Link;

/// The dynamic linker, names and numbers, certificates, time, terminal, and what the distribution is called. Not here:
/// everything with passwords, keys or identity in it, what the host does (cron, systemd, docker), settings of package
/// managers (an index URL can hold a password), and the files that [`super::identity`] writes instead.
const PUBLIC: [&str; 43] = [
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
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld-musl-aarch64.path",
    "ld-musl-x86_64.path",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "magic.mime",
    "mime.types",
    "networks",
    "os-release",
    "pki/ca-trust/extracted",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "protocols",
    "python3",
    "redhat-release",
    "rpc",
    "services",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "system-release",
    "terminfo",
    "timezone",
    "xattr.conf",
];

/// Shows the public entries that are there.
pub(super) fn show_etc(plan: &mut Plan) {
    let etc = Path::new("/etc");
    let mut links = Vec::new();
    for name in PUBLIC {
        show_entry(plan, &etc.join(name), &mut links);
    }
    for name in plan.tree.names_in(etc, usize::MAX) {
        if name.to_str().is_some_and(has_public_pattern) {
            show_entry(plan, &etc.join(name), &mut links);
        }
    }
    // Some links lead to other entries, which are all known only now.
    for path in links {
        show_link(plan, &path);
    }
}

/// Directories with a version in their names.
fn has_public_pattern(name: &str) -> bool {
    name.starts_with("python3.") || (name.starts_with("java") && name.ends_with("-openjdk"))
}

fn show_entry(plan: &mut Plan, path: &Path, links: &mut Vec<PathBuf>) {
    let Some(status) = plan.tree.status(path) else { return };
    match status.kind {
        FileType::Symlink => links.push(path.to_path_buf()),
        FileType::RegularFile if status.mode & 0o004 == 0o004 => bind(plan, path),
        FileType::Directory if status.mode & 0o005 == 0o005 => bind(plan, path),
        _ => {}
    }
}

fn bind(plan: &mut Plan, path: &Path) {
    if let Some(resolved) = plan.tree.resolve(path) {
        plan.bind_public(&resolved.path, path);
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
