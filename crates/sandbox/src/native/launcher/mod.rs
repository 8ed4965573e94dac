//! `menace __init`: the process with one thread that makes sandboxes for a process with many.
//!
//! A child that is cloned in a process with several threads may use almost nothing of what it inherits. So the caller
//! starts itself again, once, and sends orders; each sandbox is then a fork of a small process that has prepared all
//! that sandboxes share. It ends when its caller does, and the sandboxes end with it.

mod spare;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

use menace_enter::clone::{Forked, NAMESPACES, fork_into};
use menace_enter::root::build_skeleton;
use menace_enter::{Step, StepError, mount, seccomp, user_namespace};
use rustix::thread::UnshareFlags;

use self::spare::{Spares, Wanted};
use super::init;
use super::protocol::{Order, Preparation, Report};
use menace_enter::channel::{receive, send};

/// Where the launcher builds what all sandboxes see. Nothing that a user wants to mount is below `/sys`, and it is there
/// on every system.
pub(crate) const STAGE: &str = "/sys";

/// The whole life of a launcher that was started as a program. Its channel is its standard input.
pub fn main() -> ExitCode {
    let channel = io::stdin().as_fd().try_clone_to_owned();
    match channel.and_then(|channel| serve(&channel)) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever could be told has closed the channel.
        Err(_) => ExitCode::FAILURE,
    }
}

/// The whole life of a launcher that was forked: the same, without what its parent had open.
pub(super) fn forked_main(channel: &OwnedFd) -> ! {
    let served = init::keep_only(channel, &[]).and_then(|()| serve(channel));
    // SAFETY: _exit(2) ends the process at once, without running what the parent has to do at its own end.
    unsafe { libc::_exit(i32::from(served.is_err())) }
}

fn serve(channel: &OwnedFd) -> io::Result<()> {
    // Ctrl-C in a terminal is for the caller, who then ends us in order.
    rustix::process::setsid().map(drop)?;
    init::forget_handlers();
    let Some((preparation, _)) = receive::<Preparation>(channel)? else { return Ok(()) };
    match prepare(&preparation) {
        Ok(()) => send(channel, &Report::Ready { left_out: Vec::new() }, &[])?,
        Err(error) => return send(channel, &Report::Failed(error), &[]),
    }
    let namespaces = namespaces();
    forget_children();
    let mut spares = Spares::new(namespaces);
    loop {
        // Making the next one would take the processors from the last one until it is inside.
        if spares.wait_for_order(channel)? == Wanted::Spare {
            spares.refill();
            continue;
        }
        let Some((order, descriptors)) = receive::<Order>(channel)? else { return Ok(()) };
        if let Some(descriptors) = spares.launch(&order, descriptors) {
            launch(namespaces, &order, descriptors);
        }
    }
}

fn prepare(preparation: &Preparation) -> Result<(), StepError> {
    if !preparation.privileged {
        user_namespace::enter(0, 0)?;
    }
    // SAFETY: this process has one thread, and no descriptor or directory of it depends on the mounts it leaves.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.step(|| "create a mount namespace")?;
    mount::make_everything_private()?;
    build_skeleton(Path::new(STAGE), &preparation.skeleton)?;
    seccomp::prepare();
    Ok(())
}

/// The namespaces of a sandbox: one for clocks as well, where the kernel has it.
fn namespaces() -> libc::c_int {
    let has_clocks = Path::new("/proc/self/ns/time").exists();
    if has_clocks { NAMESPACES | libc::CLONE_NEWTIME } else { NAMESPACES }
}

/// Children that end are not waited for: their reports come over their channels.
fn forget_children() {
    // SAFETY: ignoring a signal installs no handler, so no code of ours runs in a signal context.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

fn launch(namespaces: libc::c_int, order: &Order, descriptors: Vec<OwnedFd>) {
    let mut descriptors = descriptors.into_iter();
    let Some(channel) = descriptors.next() else { return };
    let cgroup = if order.born_in_cgroup { descriptors.next() } else { None };
    let joined: Vec<OwnedFd> = descriptors.collect();
    // SAFETY: this process has one thread.
    let report = match unsafe { fork_into(namespaces, cgroup.as_ref().map(AsFd::as_fd)) } {
        Ok(Forked::Child) => init::main(order, &channel, joined),
        Ok(Forked::Parent { pidfd, .. }) => send_to(&channel, &Report::Born, &[pidfd.as_fd()]),
        Err(error) => {
            let failed = Err::<(), _>(error).step(|| "create namespaces").expect_err("it is an error");
            send_to(&channel, &Report::Failed(failed), &[])
        }
    };
    // A caller that has closed its end does not want the sandbox any more, whose first process notices that itself.
    drop(report);
}

fn send_to(channel: &OwnedFd, report: &Report, descriptors: &[BorrowedFd]) -> io::Result<()> {
    send(channel, report, descriptors)
}
