//! What must stay invisible whatever `PATH` says.
//!
//! A rootless sandbox runs as the caller on the host, so that the modes of the caller's own files protect nothing from
//! it. Therefore no home directory is ever shown as a whole, and no directory that is known to keep secrets.

use std::path::{Path, PathBuf};

use super::system::{STANDARD_PATH, SYSTEM_DIRECTORIES};
use super::tree::{HostTree, Link, Top, is_within};

/// Directories that are never shown themselves; a toolchain in them may be.
const NEVER_WHOLE: [&str; 12] = [
    "/",
    "/home",
    "/root",
    "/var",
    "/srv",
    "/mnt",
    "/media",
    "/tmp",
    "/var/home",
    "/var/lib",
    "/var/tmp",
    "/nix",
];

/// Directories of which nothing is shown: the sandbox has its own, or they belong to the machine and not to programs.
const NEVER: [&str; 9] =
    ["/boot", "/dev", "/etc", "/lost+found", "/proc", "/run", "/snap", "/sys", "/workspace"];

/// Where a link of the host would be in the way of what the sandbox has there itself.
const NO_LINKS: [&str; 5] = ["/dev", "/etc", "/proc", "/sys", "/workspace"];

/// Directories of which many programs write their own part, so that nobody knows what is in all of them.
const SHARED_IN_HOME: [&str; 5] = [".local", ".local/share", ".local/state", ".cache", ".cargo"];

/// Names of which nothing is shown, wherever they are in a path.
const SECRET_NAMES: [&str; 21] = [
    ".aws",
    ".azure",
    ".claude",
    ".config",
    ".docker",
    ".gcloud",
    ".git",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".mozilla",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pki",
    ".pypirc",
    ".ssh",
    ".terraform.d",
    ".thunderbird",
    ".vault-token",
    "keyrings",
];

/// Names that no installation has at its top: where one of them is, somebody lives or keeps a key.
const SIGNS_OF_PRIVACY: [&str; 17] = [
    ".aws",
    ".azure",
    ".bash_history",
    ".bashrc",
    ".config",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".profile",
    ".pypirc",
    ".ssh",
    "credentials",
    "credentials.toml",
];

/// Names that a checkout has at its top. Its configuration may hold tokens, and it is work rather than a toolchain.
const SIGNS_OF_A_CHECKOUT: [&str; 4] = [".env", ".git", ".hg", ".svn"];

/// Whose home directories are known.
#[derive(Debug)]
pub(super) struct Privacy {
    /// As the caller names it, and what that leads to.
    homes: Vec<PathBuf>,
}

impl Privacy {
    pub(super) fn new(tree: &HostTree, home: Option<&Path>) -> Self {
        let mut homes: Vec<PathBuf> = Vec::new();
        if let Some(home) = home.filter(|home| home.is_absolute()) {
            homes.push(home.components().collect());
            homes.extend(tree.resolve(home).map(|resolved| resolved.path));
        }
        // Old system users have homes such as `/bin` and `/usr/sbin`, where nobody lives.
        homes.retain(|home| !is_system_directory(home));
        Self { homes }
    }

    /// The home directories of the caller that lie in a directory or are it.
    pub(super) fn homes_within(&self, directory: &Path) -> impl Iterator<Item = &Path> {
        self.homes.iter().map(PathBuf::as_path).filter(move |home| is_within(home, directory))
    }

    /// Whether something at a path without links may be shown with all that is in it, as far as its name tells.
    pub(super) fn may_show(&self, path: &Path) -> bool {
        let is_private = NEVER_WHOLE.iter().any(|never| path.as_os_str() == *never)
            || NEVER.iter().any(|never| is_within(path, Path::new(never)))
            || self.homes_within(path).next().is_some()
            || self.is_home(path)
            || self
                .path_in_home(path)
                .is_some_and(|rest| SHARED_IN_HOME.iter().any(|shared| rest == *shared))
            || has_secret_name(path);
        !is_private
    }

    /// Whether a directory on `PATH` that is part of no known installation may be shown. A hidden directory right in a
    /// home belongs to a program that keeps its state there, tokens as likely as commands.
    pub(super) fn may_show_loose(&self, tree: &HostTree, directory: &Path) -> bool {
        let is_hidden_in_home = self.path_in_home(directory).is_some_and(|rest| {
            rest.components().count() == 1 && rest.as_os_str().as_encoded_bytes().starts_with(b".")
        });
        if is_hidden_in_home {
            return false;
        }
        let top = Top::of(tree, directory);
        !looks_private(&top) && !looks_like_a_checkout(&top)
    }

    fn is_home(&self, path: &Path) -> bool {
        self.path_in_home(path).is_some_and(|rest| rest.as_os_str().is_empty())
    }

    /// The part of a path below the home directory that it is in: the caller's, or one at a place where homes are.
    /// A caller with `sudo` has one home and the `PATH` of another.
    fn path_in_home<'path>(&self, path: &'path Path) -> Option<&'path Path> {
        let caller = self.homes.iter().find_map(|home| path.strip_prefix(home).ok());
        caller.or_else(|| path.strip_prefix("/root").ok()).or_else(|| {
            let user = path.strip_prefix("/home").or_else(|_| path.strip_prefix("/var/home")).ok()?;
            let mut components = user.components();
            components.next()?;
            Some(components.as_path())
        })
    }
}

/// Whether a link may be repeated inside. It shows a name and nothing else.
pub(super) fn may_link(link: &Link) -> bool {
    !NO_LINKS.iter().any(|never| is_within(&link.at, Path::new(never)))
}

/// Whether what is at the top of a directory shows that it is more than an installation.
pub(super) fn looks_private(top: &Top) -> bool {
    top.has_any(&SIGNS_OF_PRIVACY)
}

/// Whether what is at the top of a directory shows that somebody works there.
pub(super) fn looks_like_a_checkout(top: &Top) -> bool {
    top.has_any(&SIGNS_OF_A_CHECKOUT)
}

fn has_secret_name(path: &Path) -> bool {
    path.components().any(|component| SECRET_NAMES.iter().any(|name| component.as_os_str() == *name))
}

fn is_system_directory(path: &Path) -> bool {
    SYSTEM_DIRECTORIES.iter().chain(&STANDARD_PATH).any(|directory| path == Path::new(directory))
        || path == Path::new("/")
        || path == Path::new("/usr/games")
}
