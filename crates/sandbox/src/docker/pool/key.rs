//! Key of interchangeable containers: the properties of a sandbox that cannot be changed after the container's
//! creation.

use std::collections::BTreeMap;

use menace_model::sandbox::{SandboxLimits, SandboxSpec, SandboxUser, WorkspaceContent};

use super::super::configuration::is_read_only;
use super::super::container::ResolvedImage;

/// Kind of interchangeable containers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PoolKey {
    /// Id of the image.
    image: String,
    user: (u32, u32),
    open_files: u64,
    /// Size of the tmpfs mounts if the root is read-only: they cannot grow.
    disk: Option<u64>,
    has_disk_limit: bool,
    /// Whether there is a CPU limit: the engine can change it, but not remove it.
    has_cpu_limit: bool,
    labels: BTreeMap<String, String>,
}

impl PoolKey {
    /// Kind of a sandbox. `None` for sandboxes that share no kind with others: those with host directories, and those
    /// with a disk sized for the files copied into it.
    pub(super) fn of(spec: &SandboxSpec, image: &ResolvedImage) -> Option<Self> {
        let is_shared = matches!(spec.workspace, WorkspaceContent::ReadWrite(_)) || !spec.mounts.is_empty();
        let is_copied = matches!(spec.workspace, WorkspaceContent::CopyOnWrite(_));
        if is_shared || (is_copied && spec.limits.disk.is_some()) {
            return None;
        }
        let SandboxUser { uid, gid } = spec.user;
        Some(Self {
            image: image.id.clone(),
            user: (uid, gid),
            open_files: spec.limits.open_files,
            disk: is_read_only(spec).then(|| spec.limits.effective_disk()),
            has_disk_limit: spec.limits.disk.is_some(),
            has_cpu_limit: spec.limits.cpus.is_some(),
            labels: spec.labels.clone(),
        })
    }

    /// Whether further requests of the same kind are likely. Labels are often unique to one sandbox.
    pub(super) fn is_common(&self) -> bool {
        self.labels.is_empty()
    }

    /// Whether the kind uses this image.
    pub(super) fn is_of(&self, image: &ResolvedImage) -> bool {
        self.image == image.id
    }
}

/// Spec of warm containers for the kind of a requested sandbox: the request without the parts that are added later.
pub(super) fn template(spec: &SandboxSpec, image: &ResolvedImage) -> SandboxSpec {
    SandboxSpec {
        workspace: WorkspaceContent::Empty,
        environment: BTreeMap::new(),
        image: Some(image.name.clone()),
        ..spec.clone()
    }
}

/// Whether a container created with some limits already satisfies the requested ones.
pub(super) fn has_limits(made: &SandboxLimits, requested: &SandboxLimits) -> bool {
    made.effective_memory() == requested.effective_memory()
        && made.effective_pids() == requested.effective_pids()
        && made.cpus == requested.cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(id: &str) -> ResolvedImage {
        ResolvedImage { name: "an-image".into(), id: id.into(), environment: Vec::new() }
    }

    fn limits(change: impl FnOnce(&mut SandboxLimits)) -> SandboxSpec {
        let mut spec = SandboxSpec::default();
        change(&mut spec.limits);
        spec
    }

    #[test]
    fn changeable_properties_do_not_change_the_kind() {
        let usual = PoolKey::of(&SandboxSpec::default(), &image("1"));
        let with_files = SandboxSpec {
            workspace: WorkspaceContent::CopyOnWrite("/files".into()),
            ..SandboxSpec::default()
        };
        let with_variables = SandboxSpec {
            environment: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
            ..SandboxSpec::default()
        };
        for same in [
            limits(|limits| limits.memory = Some(64 << 20)),
            limits(|limits| limits.pids = Some(20)),
            limits(|limits| limits.output = 5),
            with_files,
            with_variables,
        ] {
            assert_eq!(PoolKey::of(&same, &image("1")), usual, "{same:?}");
        }
        let half = PoolKey::of(&limits(|limits| limits.cpus = Some(0.5)), &image("1"));
        assert_eq!(half, PoolKey::of(&limits(|limits| limits.cpus = Some(1.0)), &image("1")));
    }

    #[test]
    fn fixed_properties_change_the_kind() {
        let usual = PoolKey::of(&SandboxSpec::default(), &image("1"));
        let user = SandboxSpec { user: SandboxUser { uid: 7, gid: 7 }, ..SandboxSpec::default() };
        let read_only = SandboxSpec { read_only_root: true, ..SandboxSpec::default() };
        let labels = BTreeMap::from([("session".to_owned(), "1".to_owned())]);
        for other in [
            user,
            read_only.clone(),
            SandboxSpec { labels, ..SandboxSpec::default() },
            limits(|limits| limits.disk = Some(1 << 20)),
            limits(|limits| limits.open_files = 5),
            limits(|limits| limits.cpus = Some(1.0)),
        ] {
            assert_ne!(PoolKey::of(&other, &image("1")), usual, "{other:?}");
        }
        assert_ne!(
            PoolKey::of(&SandboxSpec::default(), &image("2")),
            usual,
            "the name resolves to another image"
        );
        let mut small = read_only.clone();
        small.limits.memory = Some(64 << 20);
        assert_ne!(
            PoolKey::of(&read_only, &image("1")),
            PoolKey::of(&small, &image("1")),
            "its /tmp is smaller"
        );
    }

    #[test]
    fn sandboxes_with_host_files_have_no_kind() {
        let shared =
            SandboxSpec { workspace: WorkspaceContent::ReadWrite("/files".into()), ..SandboxSpec::default() };
        assert_eq!(PoolKey::of(&shared, &image("1")), None);
        let mut copied = limits(|limits| limits.disk = Some(1 << 20));
        copied.workspace = WorkspaceContent::CopyOnWrite("/files".into());
        assert_eq!(PoolKey::of(&copied, &image("1")), None);
    }
}
