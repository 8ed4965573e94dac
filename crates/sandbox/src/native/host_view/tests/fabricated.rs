//! Fabricated hosts for tests.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use menace_model::sandbox::SandboxUser;
use tempfile::TempDir;

use super::super::plan::HostView;
use super::super::{HostDescription, host_view};
use super::path_resolution::resolve_inside;
use menace_isolation::root::SkeletonEntry;

/// Directory tree with `/usr/bin/python3.11` and `/home/ada`.
pub(super) struct FabricatedHost {
    root: TempDir,
}

impl FabricatedHost {
    pub(super) fn new() -> Self {
        let host = Self { root: tempfile::tempdir().unwrap() };
        host.directory("/etc").directory("/home/ada").program("/usr/bin/python3.11");
        host
    }

    pub(super) fn directory(&self, path: &str) -> &Self {
        fs::create_dir_all(self.on_host(path)).unwrap();
        self
    }

    pub(super) fn file(&self, path: &str, content: &str) -> &Self {
        let path = self.on_host(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(super) fn program(&self, path: &str) -> &Self {
        self.file(path, "#!/bin/sh\n").mode(path, 0o755)
    }

    pub(super) fn link(&self, at: &str, to: &str) -> &Self {
        let at = self.on_host(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(to, at).unwrap();
        self
    }

    pub(super) fn mode(&self, path: &str, mode: u32) -> &Self {
        fs::set_permissions(self.on_host(path), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    pub(super) fn on_host(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    pub(super) fn host(&self, path: &str) -> HostDescription {
        HostDescription {
            root: self.root.path().to_path_buf(),
            path: path.into(),
            home: Some(PathBuf::from("/home/ada")),
            user: SandboxUser::default(),
            hostname: "sandbox-7".to_owned(),
        }
    }

    pub(super) fn view(&self, path: &str) -> HostView {
        host_view(&self.host(path))
    }

    /// Whether a path inside leads to the same file or directory of the host as another path does outside.
    pub(super) fn leads_to(&self, view: &HostView, path: &str, to: &str) -> bool {
        resolve_inside(view, Path::new(path)) == Some(self.on_host(to))
    }

    /// Whether a path inside leads to the same path on the host.
    pub(super) fn sees(&self, view: &HostView, path: &str) -> bool {
        self.leads_to(view, path, path)
    }
}

/// Bind targets outside the system directories and `/etc`.
pub(super) fn toolchains(view: &HostView) -> Vec<&str> {
    let targets = view.entries.iter().filter_map(|entry| match entry {
        SkeletonEntry::Bind { target, .. } => target.to_str(),
        _ => None,
    });
    targets.filter(|target| !target.starts_with("/usr") && !target.starts_with("/etc/")).collect()
}

/// `PATH` inside without the standard directories at its end.
pub(super) fn own_path(view: &HostView) -> &str {
    let standard = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    view.path.strip_suffix(standard).unwrap().trim_end_matches(':')
}
