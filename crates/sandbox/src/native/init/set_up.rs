//! Set-up of a sandbox from inside, step by step. A step that fails ends the sandbox before a program ran in it.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use menace_isolation::mount::{BindAccess, pivot};
use menace_isolation::rlimits::ProcessRlimits;
use menace_isolation::root::{
    ScratchOptions, ScratchSpace, SkeletonEntry, build_skeleton, mount_full_process_view, mount_host_path,
    mount_process_view, mount_terminals, mount_trust,
};
use menace_isolation::{
    StepContext, StepError, StepKind, capabilities, landlock, loopback, name_step, seccomp, tun,
    user_namespace,
};
use menace_model::sandbox::{HostMount, MountAccess};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal};
use rustix::thread::{Gid, Uid, UnshareFlags, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::inspect::own_cpu_us;
use crate::native::cgroup;
use crate::native::launch::HOST_NAME;
use crate::native::launcher::STAGE;
use crate::native::protocol::{SandboxOrder, SandboxPurpose};

/// Resources of the init process after set-up.
pub(super) struct InitResources {
    /// Writable layer.
    pub(super) scratch: ScratchSpace,
    /// Seccomp listener that receives denied system calls.
    pub(super) refusals: Option<OwnedFd>,
    /// `/proc/self/io`, the kernel's count of bytes that this process and its reaped children read from and wrote to
    /// devices. It is opened while this process may still read its own files in `/proc`.
    pub(super) io_counts: File,
    /// Landlock ABI version in force; 0 without Landlock.
    pub(super) landlock_abi: u32,
    /// Host's end of the interface.
    pub(super) interface: Option<OwnedFd>,
    /// CPU time of this process when it joined its control groups, in microseconds: later time is counted there.
    pub(super) cpu_when_joined_us: u64,
}

/// Whether the first part of the set-up is the one of almost all sandboxes, so that it can be done before the order.
pub(in crate::native) fn has_standard_start(order: &SandboxOrder) -> bool {
    order.kind == SandboxPurpose::Final && order.own_skeleton.is_none() && !order.born_in_cgroup
}

/// First part of the set-up.
pub(super) fn begin(kind: SandboxPurpose, own_skeleton: Option<&[SkeletonEntry]>) -> Result<(), StepError> {
    // If the launcher dies, this process dies, and with it everything in its process namespace.
    set_parent_process_death_signal(Some(Signal::KILL)).step(|| "tie this process to the launcher")?;
    rustix::system::sethostname(HOST_NAME.as_bytes()).step(|| "set the host name")?;
    rustix::system::setdomainname(b"(none)").step(|| "set the domain name")?;
    loopback::bring_up()?;
    let stage = Path::new(STAGE);
    if let Some(entries) = own_skeleton {
        // On top of the common skeleton, which is unreachable after the root has changed.
        build_skeleton(stage, entries)?;
    }
    match kind {
        SandboxPurpose::Final => mount_process_view(stage)?,
        SandboxPurpose::Base => mount_full_process_view(stage)?,
    }
    mount_terminals(stage)
}

/// Second part of the set-up, after [`begin`].
pub(super) fn enter(order: &SandboxOrder, joined: &[OwnedFd]) -> Result<InitResources, StepError> {
    let cpu_when_joined_us = if order.born_in_cgroup { 0 } else { own_cpu_us() };
    join_cgroups(joined)?;
    let interface = order.interface.as_ref().map(tun::make).transpose()?;
    let scratch = build_root(order)?;
    switch_user(order)?;
    let io_counts = File::open("/proc/self/io").step_of(StepKind::Open, || "open /proc/self/io")?;
    let mut inside =
        InitResources { scratch, refusals: None, io_counts, landlock_abi: 0, interface, cpu_when_joined_us };
    name_step(capabilities::drop_all(), "give up all capabilities")?;
    name_step(capabilities::no_new_privileges(), "refuse new privileges")?;
    match order.kind {
        SandboxPurpose::Final => {
            inside.landlock_abi = restrict_files(order, &inside)?;
            inside.refusals = Some(
                seccomp::install_with_listener(&order.asked)
                    .step_of(StepKind::FilterSyscalls, || "filter system calls")?,
            );
        }
        // A process restricted by Landlock cannot mount, and the forks of the interpreter have to.
        SandboxPurpose::Base => {
            seccomp::install_for_zygote().step_of(StepKind::FilterSyscalls, || "filter system calls")?;
        }
    }
    // No process in the sandbox may trace this process or read its files in /proc.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).step(|| "become undumpable")?;
    Ok(inside)
}

fn join_cgroups(joined: &[OwnedFd]) -> Result<(), StepError> {
    let descriptors: Vec<_> = joined.iter().map(AsFd::as_fd).collect();
    cgroup::enter(&descriptors).step_of(StepKind::JoinCgroup, || "join the cgroup")?;
    // SAFETY: a cgroup namespace only changes how this process sees paths of cgroups.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWCGROUP) }
        .step_of(StepKind::Namespace, || "create a cgroup namespace")
}

fn build_root(order: &SandboxOrder) -> Result<ScratchSpace, StepError> {
    let stage = Path::new(STAGE);
    // SAFETY: this process has one thread: it was forked by the launcher, which has one.
    let scratch = unsafe { ScratchSpace::mount(stage, &order.scratch)? };
    if let Some(certificate) = &order.trusted {
        mount_trust(stage, certificate)?;
    }
    for mount in &order.mounts {
        mount_user_path(stage, mount, &order.scratch)?;
    }
    pivot(stage)?;
    Ok(scratch)
}

fn mount_user_path(stage: &Path, mount: &HostMount, options: &ScratchOptions) -> Result<(), StepError> {
    let access = match mount.access {
        MountAccess::ReadOnly => BindAccess::ReadOnly,
        MountAccess::ReadWrite => BindAccess::ReadWrite,
    };
    // SAFETY: this process has one thread, as above.
    unsafe { mount_host_path(stage, &mount.source, &mount.target, access, options) }
}

/// Switches to the user of the sandbox: first on the host, then as the only user of a user namespace.
fn switch_user(order: &SandboxOrder) -> Result<(), StepError> {
    let (uid, gid) = order.scratch.owner;
    if order.scratch.privileged {
        set_thread_groups(&[]).step(|| "leave all groups")?;
        let gid = Gid::from_raw(gid);
        set_thread_res_gid(gid, gid, gid).step(|| "become an unprivileged group")?;
        let uid = Uid::from_raw(uid);
        set_thread_res_uid(uid, uid, uid).step(|| "become an unprivileged user")?;
        // A change of user resets this.
        set_parent_process_death_signal(Some(Signal::KILL)).step(|| "tie this process to the launcher")?;
    }
    // Processes are counted per user and namespace: set before the namespace, the limit is that of this sandbox alone.
    let limits = ProcessRlimits {
        open_files: order.open_files,
        processes: order.processes,
        cpu_seconds: None,
        data_bytes: order.data_bytes,
    };
    name_step(limits.apply(), "set resource limits")?;
    user_namespace::enter(order.user.uid, order.user.gid)
}

fn restrict_files(order: &SandboxOrder, inside: &InitResources) -> Result<u32, StepError> {
    let mut paths = vec![PathBuf::from("/dev"), "/proc".into(), "/tmp".into(), "/workspace".into()];
    let writable = order.mounts.iter().filter(|mount| mount.access == MountAccess::ReadWrite);
    paths.extend(writable.map(|mount| mount.target.clone()));
    let mut opened = Vec::new();
    for path in &paths {
        opened.push(
            openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
                .step_of(StepKind::Open, || format!("open {}", path.display()))?,
        );
    }
    let mut descriptors: Vec<_> = opened.iter().map(AsFd::as_fd).collect();
    descriptors.push(inside.scratch.directory.as_fd());
    name_step(landlock::restrict(&descriptors), "restrict files with Landlock")
}
