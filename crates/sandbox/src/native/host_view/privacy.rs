//! Paths that stay invisible regardless of `PATH`.
//!
//! A rootless sandbox runs as the caller on the host, so the modes of the caller's own files do not protect them. So
//! no home directory is ever shown as a whole, and no directory that is known to hold secrets.

use std::path::{Path, PathBuf};

use super::system::{STANDARD_PATH, SYSTEM_DIRECTORIES};
use super::tree::{HostSymlink, HostTree, TopLevelNames, is_within};

/// Directories that are never shown whole; a toolchain in them may be.
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

/// Directories that are never shown: the sandbox has its own, or they belong to the machine and not to programs.
const NEVER: [&str; 9] =
    ["/boot", "/dev", "/etc", "/lost+found", "/proc", "/run", "/snap", "/sys", "/workspace"];

/// Directories where a link of the host would conflict with the sandbox's own files.
const NO_LINKS: [&str; 5] = ["/dev", "/etc", "/proc", "/sys", "/workspace"];

/// Directories in which many programs write their own part, so that their content is unpredictable.
const SHARED_IN_HOME: [&str; 5] = [".local", ".local/share", ".local/state", ".cache", ".cargo"];

/// Names that are never shown, at any position in a path.
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

/// Names that no installation has at its top: they mark a home directory or stored credentials.
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

/// Names that a checkout has at its top. Its configuration may hold tokens, and it is not a toolchain.
const SIGNS_OF_A_CHECKOUT: [&str; 4] = [".env", ".git", ".hg", ".svn"];

/// Privacy rules with the known home directories.
#[derive(Debug)]
pub(super) struct PrivacyRules {
    /// Home of the caller by its name, and with links resolved.
    homes: Vec<PathBuf>,
}

impl PrivacyRules {
    pub(super) fn new(tree: &HostTree, home: Option<&Path>) -> Self {
        let mut homes: Vec<PathBuf> = Vec::new();
        if let Some(home) = home.filter(|home| home.is_absolute()) {
            homes.push(home.components().collect());
            homes.extend(tree.resolve(home).map(|resolved| resolved.path));
        }
        // Old system users have homes such as `/bin` and `/usr/sbin`, which are not private.
        homes.retain(|home| !is_system_directory(home));
        Self { homes }
    }

    /// Home directories of the caller that are in a directory or equal it.
    pub(super) fn homes_within(&self, directory: &Path) -> impl Iterator<Item = &Path> {
        self.homes.iter().map(PathBuf::as_path).filter(move |home| is_within(home, directory))
    }

    /// Whether a path without links may be shown with all its content, judged by its name.
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

    /// Whether a directory on `PATH` that is part of no known installation may be shown. A hidden directory directly
    /// in a home holds the state of a program, tokens as likely as commands.
    pub(super) fn may_show_loose(&self, tree: &HostTree, directory: &Path) -> bool {
        let is_hidden_in_home = self.path_in_home(directory).is_some_and(|rest| {
            rest.components().count() == 1 && rest.as_os_str().as_encoded_bytes().starts_with(b".")
        });
        if is_hidden_in_home {
            return false;
        }
        let top = TopLevelNames::of(tree, directory);
        !looks_private(&top) && !looks_like_a_checkout(&top)
    }

    fn is_home(&self, path: &Path) -> bool {
        self.path_in_home(path).is_some_and(|rest| rest.as_os_str().is_empty())
    }

    /// Part of a path below the home directory that contains it: the caller's, or one in a standard location of homes.
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

/// Whether a link may be repeated inside. It exposes only a name.
pub(super) fn may_link(link: &HostSymlink) -> bool {
    !NO_LINKS.iter().any(|never| is_within(&link.at, Path::new(never)))
}

/// Whether the top of a directory shows that it is more than an installation.
pub(super) fn looks_private(top: &TopLevelNames) -> bool {
    top.has_any(&SIGNS_OF_PRIVACY)
}

/// Whether the top of a directory shows that it is a checkout.
pub(super) fn looks_like_a_checkout(top: &TopLevelNames) -> bool {
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
