//! The way in, step by step. A step that fails ends the sandbox before anything ran in it.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use menace_enter::mount::{BindAccess, pivot};
use menace_enter::rlimits::ResourceLimits;
use menace_enter::root::{
    Entry, Scratch, ScratchOptions, build_skeleton, mount_full_process_view, mount_host_path,
    mount_process_view, mount_terminals, mount_trust,
};
use menace_enter::{
    Step, StepError, capabilities, landlock, loopback, name_step, seccomp, tun, user_namespace,
};
use menace_model::sandbox::{Access, Mount};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal};
use rustix::thread::{Gid, Uid, UnshareFlags, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::inspect::own_cpu_us;
use crate::native::cgroup;
use crate::native::launch::HOST_NAME;
use crate::native::launcher::STAGE;
use crate::native::protocol::{Kind, Order};

/// What the first process holds when it is inside.
pub(super) struct Inside {
    /// What was written.
    pub(super) scratch: Scratch,
    /// Where refused system calls arrive.
    pub(super) refusals: Option<OwnedFd>,
    /// The kernel's count of what this process and its reaped children read from and wrote to devices. It is opened
    /// while this process may still look at itself.
    pub(super) io_counts: File,
    /// The version of Landlock that is in force; 0 without.
    pub(super) landlock_abi: u32,
    /// The other end of the interface.
    pub(super) interface: Option<OwnedFd>,
    /// CPU time of this process when it joined its control groups, in microseconds: what it takes later is counted there.
    pub(super) cpu_when_joined_us: u64,
}

/// Whether the way in begins as it does for almost all sandboxes, so that this part can be gone before there is an order.
pub(in crate::native) fn begins_as_usual(order: &Order) -> bool {
    order.kind == Kind::Final && order.own_skeleton.is_none() && !order.born_in_cgroup
}

/// The first part of the way in.
pub(super) fn begin(kind: Kind, own_skeleton: Option<&[Entry]>) -> Result<(), StepError> {
    // If the launcher dies, this process dies, and with it everything in its process namespace.
    set_parent_process_death_signal(Some(Signal::KILL)).step(|| "tie this process to the launcher")?;
    rustix::system::sethostname(HOST_NAME.as_bytes()).step(|| "set the host name")?;
    rustix::system::setdomainname(b"(none)").step(|| "set the domain name")?;
    loopback::bring_up()?;
    let stage = Path::new(STAGE);
    if let Some(entries) = own_skeleton {
        // On top of the common one, which nobody can reach any more after the root has changed.
        build_skeleton(stage, entries)?;
    }
    match kind {
        Kind::Final => mount_process_view(stage)?,
        Kind::Base => mount_full_process_view(stage)?,
    }
    mount_terminals(stage)
}

/// Goes the rest of the way, after [`begin`].
pub(super) fn enter(order: &Order, joined: &[OwnedFd]) -> Result<Inside, StepError> {
    let cpu_when_joined_us = if order.born_in_cgroup { 0 } else { own_cpu_us() };
    join_cgroups(joined)?;
    let interface = order.interface.as_ref().map(tun::make).transpose()?;
    let scratch = build_root(order)?;
    become_the_user(order)?;
    let io_counts = File::open("/proc/self/io").step(|| "open /proc/self/io")?;
    let mut inside =
        Inside { scratch, refusals: None, io_counts, landlock_abi: 0, interface, cpu_when_joined_us };
    name_step(capabilities::drop_all(), "give up all capabilities")?;
    name_step(capabilities::no_new_privileges(), "refuse new privileges")?;
    match order.kind {
        Kind::Final => {
            inside.landlock_abi = restrict_files(order, &inside)?;
            inside.refusals =
                Some(seccomp::install_with_listener(&order.asked).step(|| "filter system calls")?);
        }
        // Whoever is restricted by Landlock cannot mount anything, as the copies of the interpreter have to.
        Kind::Base => seccomp::install_for_zygote().step(|| "filter system calls")?,
    }
    // Nothing in the sandbox may look into this process or at its files.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).step(|| "become undumpable")?;
    Ok(inside)
}

fn join_cgroups(joined: &[OwnedFd]) -> Result<(), StepError> {
    let descriptors: Vec<_> = joined.iter().map(AsFd::as_fd).collect();
    cgroup::enter(&descriptors).step(|| "join the cgroup")?;
    // SAFETY: the cgroup namespace is only how this process sees paths of cgroups.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWCGROUP) }.step(|| "create a cgroup namespace")
}

fn build_root(order: &Order) -> Result<Scratch, StepError> {
    let stage = Path::new(STAGE);
    // SAFETY: this process has one thread: it was forked by the launcher, which has one.
    let scratch = unsafe { Scratch::mount(stage, &order.scratch)? };
    if let Some(certificate) = &order.trusted {
        mount_trust(stage, certificate)?;
    }
    for mount in &order.mounts {
        mount_of_the_user(stage, mount, &order.scratch)?;
    }
    pivot(stage)?;
    Ok(scratch)
}

fn mount_of_the_user(stage: &Path, mount: &Mount, options: &ScratchOptions) -> Result<(), StepError> {
    let access = match mount.access {
        Access::ReadOnly => BindAccess::ReadOnly,
        Access::ReadWrite => BindAccess::ReadWrite,
    };
    // SAFETY: this process has one thread, as above.
    unsafe { mount_host_path(stage, &mount.source, &mount.target, access, options) }
}

/// Becomes the user that the sandbox runs as: first outside, then the only one in a user namespace.
fn become_the_user(order: &Order) -> Result<(), StepError> {
    let (uid, gid) = order.scratch.owner;
    if order.scratch.privileged {
        set_thread_groups(&[]).step(|| "leave all groups")?;
        let gid = Gid::from_raw(gid);
        set_thread_res_gid(gid, gid, gid).step(|| "become an unprivileged group")?;
        let uid = Uid::from_raw(uid);
        set_thread_res_uid(uid, uid, uid).step(|| "become an unprivileged user")?;
        // A change of user takes this back.
        set_parent_process_death_signal(Some(Signal::KILL)).step(|| "tie this process to the launcher")?;
    }
    // The number of processes is counted per user and namespace: set before, it is that of this sandbox alone.
    let limits = ResourceLimits {
        open_files: order.open_files,
        processes: order.processes,
        cpu_seconds: None,
        data_bytes: order.data_bytes,
    };
    name_step(limits.apply(), "set resource limits")?;
    user_namespace::enter(order.user.uid, order.user.gid)
}

fn restrict_files(order: &Order, inside: &Inside) -> Result<u32, StepError> {
    let mut paths = vec![PathBuf::from("/dev"), "/proc".into(), "/tmp".into(), "/workspace".into()];
    let writable = order.mounts.iter().filter(|mount| mount.access == Access::ReadWrite);
    paths.extend(writable.map(|mount| mount.target.clone()));
    let mut opened = Vec::new();
    for path in &paths {
        opened.push(
            openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
                .step(|| format!("open {}", path.display()))?,
        );
    }
    let mut descriptors: Vec<_> = opened.iter().map(AsFd::as_fd).collect();
    descriptors.push(inside.scratch.directory.as_fd());
    name_step(landlock::restrict(&descriptors), "restrict files with Landlock")
}
