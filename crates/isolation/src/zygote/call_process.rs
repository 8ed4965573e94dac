//! The call process: completes its sandbox, waits for its call and returns to the interpreter.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::UnshareFlags;

use super::children;
use super::messages::{CallProcessReport, CallStart, SlotPlan};
use crate::rlimits::ProcessRlimits;
use crate::root::{ScratchOptions, ScratchSpace, WorkspaceBacking, mount_terminals};
use crate::{
    StepContext, StepError, StepKind, capabilities, channel, descriptors, landlock, name_step, seccomp,
};

/// `/workspace` of the base sandbox, over which each call has its own layer.
const WORKSPACE: &str = "/workspace";
/// Descriptor of the stream of a call.
const STREAM: i32 = 3;

/// Enters the sandbox, waits for the call and returns when it has arrived. A call process that is not needed ends
/// here.
///
/// # Safety
///
/// The calling process has one thread, and uses no descriptor afterwards but the standard streams and [`STREAM`].
pub(super) unsafe fn become_call_process(supervisor: &OwnedFd, plan: &SlotPlan, joined: &[BorrowedFd]) {
    // SAFETY: as the caller promises.
    let (scratch, listener) = match unsafe { enter(plan, joined) } {
        Ok(inside) => inside,
        Err(error) => {
            // If sending fails, the slot supervisor is dead, and its death signal kills this process at any moment.
            drop(channel::send(supervisor, &CallProcessReport::Failed(error), &[]));
            end()
        }
    };
    let (cpu_user_us, cpu_system_us) = children::own_cpu_time();
    let inside = CallProcessReport::Inside { cpu_user_us, cpu_system_us };
    let descriptors: Vec<_> =
        [scratch.directory.as_fd()].into_iter().chain(listener.iter().map(AsFd::as_fd)).collect();
    if channel::send(supervisor, &inside, &descriptors).is_err() {
        end();
    }
    match channel::receive::<CallStart>(supervisor) {
        Ok(Some((_, descriptors))) => {
            // SAFETY: as the caller promises.
            if unsafe { take_streams(&descriptors) }.is_err() {
                end();
            }
            std::mem::forget((descriptors, scratch, listener));
        }
        Ok(None) | Err(_) => end(),
    }
}

/// # Safety
///
/// The calling process has one thread.
unsafe fn enter(
    plan: &SlotPlan,
    joined: &[BorrowedFd],
) -> Result<(ScratchSpace, Option<OwnedFd>), StepError> {
    // SAFETY: these namespaces only affect this process's view of mounts and of System V objects; it holds none of
    // the latter.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::NEWIPC) }
        .step_of(StepKind::Namespace, || "create namespaces")?;
    let root = Path::new("/");
    let options = ScratchOptions {
        size: plan.disk,
        owner: plan.user,
        workspace: WorkspaceBacking::CopyOnWrite(WORKSPACE.into()),
        privileged: false,
    };
    // SAFETY: as the caller promises.
    let scratch = unsafe { ScratchSpace::mount(root, &options)? };
    mount_terminals(root)?;
    rustix::process::chdir(WORKSPACE).step(|| "enter the workspace")?;
    rustix::process::setsid().step(|| "create a session")?;
    let limits = ProcessRlimits {
        open_files: plan.open_files,
        processes: Some(plan.processes),
        cpu_seconds: plan.cpu_seconds,
        data_bytes: plan.data_bytes,
    };
    name_step(limits.apply(), "set resource limits")?;
    // As late as possible, so that the setup is not charged to the call.
    for descriptor in joined {
        rustix::io::write(descriptor, b"0").step_of(StepKind::JoinCgroup, || "join the cgroup")?;
    }
    // SAFETY: the cgroup namespace only affects this process's view of cgroup paths.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWCGROUP) }
        .step_of(StepKind::Namespace, || "create a cgroup namespace")?;
    let listener = drop_privileges(&scratch, &plan.asked)?;
    children::unblock_signal();
    // Code can inspect its own process, as it could outside of the sandbox.
    set_dumpable_behavior(DumpableBehavior::Dumpable).step(|| "become dumpable")?;
    Ok((scratch, listener))
}

fn drop_privileges(scratch: &ScratchSpace, asked: &[u32]) -> Result<Option<OwnedFd>, StepError> {
    name_step(capabilities::drop_all(), "drop all capabilities")?;
    name_step(capabilities::no_new_privileges(), "set no_new_privs")?;
    let mut opened = Vec::new();
    for path in ["/dev", "/proc", "/tmp", WORKSPACE] {
        opened.push(File::open(path).step_of(StepKind::Open, || format!("open {path}"))?);
    }
    let mut writable: Vec<_> = opened.iter().map(AsFd::as_fd).collect();
    writable.push(scratch.directory.as_fd());
    name_step(landlock::restrict(&writable), "restrict files with Landlock")?;
    if asked.is_empty() {
        seccomp::install().step_of(StepKind::FilterSyscalls, || "filter system calls").map(|()| None)
    } else {
        seccomp::install_with_listener(asked)
            .step_of(StepKind::FilterSyscalls, || "filter system calls")
            .map(Some)
    }
}

/// Moves the descriptors of the call to their numbers and closes all others.
///
/// # Safety
///
/// No code in this process uses another descriptor afterwards.
unsafe fn take_streams(descriptors: &[OwnedFd]) -> io::Result<()> {
    let [stream, stdout, stderr] = descriptors else { return Err(io::ErrorKind::InvalidData.into()) };
    let null = OwnedFd::from(File::open("/dev/null")?);
    // First duplicates all of them above the final numbers, so that none is overwritten before it was copied.
    let sources = [&null, stdout, stderr, stream].map(|source| fcntl_dupfd_cloexec(source, STREAM + 1));
    for (source, number) in sources.into_iter().zip(0..) {
        let source = ManuallyDrop::new(source?);
        // SAFETY: both are descriptor numbers; the previous descriptor of that number is not used any more, as the
        // caller promises.
        if unsafe { libc::dup2(source.as_raw_fd(), number) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    std::mem::forget(null);
    // SAFETY: as the caller promises.
    unsafe { descriptors::close_all_but(&[0, 1, 2, STREAM]) }
}

fn end() -> ! {
    // SAFETY: ends this process without running code of the interpreter.
    unsafe { libc::_exit(1) }
}
