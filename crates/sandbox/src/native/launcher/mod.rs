//! `menace __init`: the single-threaded process that clones sandboxes for a multi-threaded caller.
//!
//! A child that is cloned from a process with several threads may use almost nothing that it inherits. So the caller
//! starts itself again, once, and sends orders; each sandbox is then a fork of a small process that has prepared the
//! state that sandboxes share. The launcher ends with its caller, and the sandboxes end with the launcher.

mod spare_process;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

use menace_isolation::clone::{ForkResult, NAMESPACES, fork_into};
use menace_isolation::root::build_skeleton;
use menace_isolation::{StepContext, StepError, StepKind, mount, seccomp, user_namespace};
use rustix::thread::UnshareFlags;

use self::spare_process::{LauncherAction, SpareProcessHolder};
use super::init;
use super::protocol::{InitReport, LauncherPreparation, SandboxOrder};
use menace_isolation::channel::{receive, send};

/// Directory where the launcher builds the root that all sandboxes share. No user mounts paths below `/sys`, and it
/// exists on every system.
pub(crate) const STAGE: &str = "/sys";

/// Main function of a launcher that was started as a program. Its channel is its standard input.
pub fn main() -> ExitCode {
    let channel = io::stdin().as_fd().try_clone_to_owned();
    match channel.and_then(|channel| serve(&channel)) {
        Ok(()) => ExitCode::SUCCESS,
        // The caller, to whom the error would be reported, has closed the channel.
        Err(_) => ExitCode::FAILURE,
    }
}

/// Main function of a forked launcher: the same, after closing the descriptors of the parent.
pub(super) fn forked_main(channel: &OwnedFd) -> ! {
    let served = init::close_other_descriptors(channel, &[]).and_then(|()| serve(channel));
    // SAFETY: _exit(2) ends the process immediately, without running the parent's exit handlers and destructors.
    unsafe { libc::_exit(i32::from(served.is_err())) }
}

fn serve(channel: &OwnedFd) -> io::Result<()> {
    // Ctrl-C in a terminal is for the caller, which then ends the launcher.
    rustix::process::setsid().map(drop)?;
    init::forget_handlers();
    let Some((preparation, _)) = receive::<LauncherPreparation>(channel)? else { return Ok(()) };
    match prepare(&preparation) {
        Ok(()) => send(channel, &InitReport::Ready { left_out: Vec::new() }, &[])?,
        Err(error) => return send(channel, &InitReport::Failed(error), &[]),
    }
    let namespaces = namespaces();
    forget_children();
    let mut spares = SpareProcessHolder::new(namespaces);
    loop {
        // Creating the next spare earlier would compete for CPU with the last sandbox until that one is ready.
        if spares.wait_for_order(channel)? == LauncherAction::Spare {
            spares.refill();
            continue;
        }
        let Some((order, descriptors)) = receive::<SandboxOrder>(channel)? else { return Ok(()) };
        if let Some(descriptors) = spares.launch(&order, descriptors) {
            launch(namespaces, &order, descriptors);
        }
    }
}

fn prepare(preparation: &LauncherPreparation) -> Result<(), StepError> {
    if !preparation.privileged {
        user_namespace::enter(0, 0)?;
    }
    // SAFETY: this process has one thread, and none of its descriptors or directories depends on the mounts it leaves.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }
        .step_of(StepKind::Namespace, || "create a mount namespace")?;
    mount::make_everything_private()?;
    build_skeleton(Path::new(STAGE), &preparation.skeleton)?;
    seccomp::prepare();
    Ok(())
}

/// Namespaces of a sandbox, including a time namespace where the kernel has it.
fn namespaces() -> libc::c_int {
    let has_time_namespace = Path::new("/proc/self/ns/time").exists();
    if has_time_namespace { NAMESPACES | libc::CLONE_NEWTIME } else { NAMESPACES }
}

/// Ignores SIGCHLD, so that children need not be reaped: their reports come over their channels.
fn forget_children() {
    // SAFETY: ignoring a signal installs no handler, so no code of ours runs in a signal context.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

fn launch(namespaces: libc::c_int, order: &SandboxOrder, descriptors: Vec<OwnedFd>) {
    let mut descriptors = descriptors.into_iter();
    let Some(channel) = descriptors.next() else { return };
    let cgroup = if order.born_in_cgroup { descriptors.next() } else { None };
    let joined: Vec<OwnedFd> = descriptors.collect();
    // SAFETY: this process has one thread.
    let report = match unsafe { fork_into(namespaces, cgroup.as_ref().map(AsFd::as_fd)) } {
        Ok(ForkResult::Child) => init::main(order, &channel, joined),
        Ok(ForkResult::Parent { pidfd, .. }) => send_to(&channel, &InitReport::Born, &[pidfd.as_fd()]),
        Err(error) => {
            let failed = Err::<(), _>(error)
                .step_of(StepKind::Namespace, || "create namespaces")
                .expect_err("it is an error");
            send_to(&channel, &InitReport::Failed(failed), &[])
        }
    };
    // A caller that has closed its end no longer wants the sandbox, and the init process notices that itself.
    drop(report);
}

fn send_to(channel: &OwnedFd, report: &InitReport, descriptors: &[BorrowedFd]) -> io::Result<()> {
    send(channel, report, descriptors)
}
