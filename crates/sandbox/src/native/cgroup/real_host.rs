//! Groups on the machine that runs the tests, with a unique name and removed at the end.

use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{CgroupHierarchies, CgroupSources, ControlGroup, OwnerCgroup, enter};

pub(super) struct RealCgroupHost {
    pub(super) hierarchies: CgroupHierarchies,
    pub(super) owner: OwnerCgroup,
    pub(super) name: String,
}

impl RealCgroupHost {
    /// `None`, with a message, where this process may not create groups; in CI that is a failure.
    pub(super) fn new() -> Option<Self> {
        Self::with(&CgroupSources::host())
    }

    pub(super) fn with(sources: &CgroupSources) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !rustix::process::geteuid().is_root() {
            assert_ne!(
                std::env::var("CI").as_deref(),
                Ok("true"),
                "this test needs root, and CI must have it"
            );
            eprintln!("SKIPPED: this test needs root to create control groups");
            return None;
        }
        let hierarchies = CgroupHierarchies::discover(sources).unwrap();
        let name = format!("test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let owner = hierarchies.owner_group(&name, None).unwrap();
        Some(Self { hierarchies, owner, name })
    }

    /// Removes the parent and checks that nothing is left in any hierarchy.
    pub(super) fn finish(self) {
        self.owner.remove().unwrap();
        assert_eq!(self.hierarchies.remove_stale_groups(&self.name).unwrap(), 0, "groups were left behind");
    }
}

/// Starts a shell in a group.
pub(super) fn shell(group: &ControlGroup, script: &str) -> Child {
    let descriptors = group.late_join_descriptors().unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec only `write` is called, on descriptors that the closure owns; `enter` allocates
    // nothing and takes no lock, as its documentation promises.
    unsafe {
        command.pre_exec(move || descriptors.iter().try_for_each(|descriptor| enter(&[descriptor.as_fd()])));
    }
    command.spawn().unwrap()
}
