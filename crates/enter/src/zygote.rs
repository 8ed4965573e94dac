//! The child of a zygote: from a fork of a waiting interpreter to a sandbox of its own, in one call.
//!
//! The zygote waits in a base sandbox. For each call it forks twice here: the *keeper* is the first process of new
//! namespaces, makes the sandbox around itself, and then watches over its child, the *caller*, which returns to the
//! interpreter and runs the code under test. The caller is not the first process, because for that one the kernel
//! ignores most signals, and code that kills itself would behave differently.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};

use crate::clone::{Forked, NAMESPACES, fork_into};
use crate::rlimits::ResourceLimits;
use crate::root::{Lower, Scratch, ScratchOptions, mount_process_view, mount_terminals};
use crate::{Step, StepError, capabilities, landlock, loopback, name_step, seccomp, user_namespace};

/// What the keeper of one call is told, as the first message on its channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallPlan {
    /// Bytes of files.
    pub disk: u64,
    /// Who the caller is; the same as in the base sandbox.
    pub user: (u32, u32),
    /// How long it may take.
    pub timeout: Duration,
    /// Processes and threads.
    pub processes: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// CPU time of each process.
    pub cpu_seconds: Option<u64>,
    /// Memory of each process, where no cgroup limits that of all.
    pub data_bytes: Option<u64>,
}

/// What the keeper says at the end, as the only message in the other direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperReport {
    /// A step on the way in failed, and nothing was run.
    Failed(StepError),
    /// The caller ended.
    Ended {
        /// What it returned; nothing after a signal.
        exit_code: Option<i32>,
        /// What ended it.
        signal: Option<i32>,
        /// The keeper killed it because its time was over.
        timed_out: bool,
        /// CPU time of everything that ran, in microseconds.
        cpu_user_us: u64,
        /// The same in the kernel.
        cpu_system_us: u64,
        /// The largest process, in bytes.
        largest_process_bytes: u64,
        /// The disk was full at the end.
        disk_full: bool,
    },
}

/// Where `/workspace` of the base sandbox is, on which a call has a layer of its own.
const WORKSPACE: &str = "/workspace";

/// Forks into a sandbox. Returns in the zygote, and in the caller when it is inside; the keeper never returns.
///
/// # Safety
///
/// The calling process has one thread. The descriptors are open and owned by nobody else in the keeper and the caller.
pub unsafe fn fork_call(status: BorrowedFd, joined: &[BorrowedFd]) -> io::Result<Forked> {
    // SAFETY: the caller of this function has one thread.
    match unsafe { fork_into(NAMESPACES | libc::CLONE_NEWUSER, None)? } {
        Forked::Child => {
            let status = status.try_clone_to_owned()?;
            // SAFETY: this process is a fork of one with one thread.
            unsafe { keep(status, joined) };
            Ok(Forked::Child)
        }
        parent @ Forked::Parent { .. } => Ok(parent),
    }
}

/// Makes the sandbox and forks the caller, in which this returns.
///
/// # Safety
///
/// The calling process has one thread.
unsafe fn keep(status: OwnedFd, joined: &[BorrowedFd]) {
    let mut status = File::from(status);
    let began = Instant::now();
    // SAFETY: as the caller promises.
    let entered = read_plan(&mut status).and_then(|plan| Ok((unsafe { enter(&plan, joined)? }, plan)));
    let (scratch, plan) = match entered {
        Ok(entered) => entered,
        Err(error) => end(&mut status, &KeeperReport::Failed(error)),
    };
    block_child_signal();
    // Before the fork, so that there is no moment in which the code under test could look at the keeper.
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable).step(|| "become undumpable") {
        end(&mut status, &KeeperReport::Failed(error));
    }
    // SAFETY: the caller promises one thread.
    match unsafe { libc::fork() } {
        -1 => {
            let error = Err::<(), _>(io::Error::last_os_error()).step(|| "fork").expect_err("it is an error");
            end(&mut status, &KeeperReport::Failed(error))
        }
        0 => {
            drop(status);
            unblock_child_signal();
            // It can fail only for a wrong argument, and code that cannot look at itself is no danger.
            drop(set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(io::Error::from));
        }
        caller => {
            let report = watch(caller, began.checked_add(plan.timeout), &scratch, &status);
            end(&mut status, &report)
        }
    }
}

fn read_plan(status: &mut File) -> Result<CallPlan, StepError> {
    let mut buffer = [0; 4096];
    let length = status.read(&mut buffer).step(|| "read the plan of a call")?;
    let bytes = buffer.get(..length).unwrap_or_default();
    name_step(postcard::from_bytes(bytes).map_err(io::Error::other), "understand the plan of a call")
}

/// # Safety
///
/// The calling process has one thread.
unsafe fn enter(plan: &CallPlan, joined: &[BorrowedFd]) -> Result<Scratch, StepError> {
    set_parent_process_death_signal(Some(Signal::KILL)).step(|| "tie this process to the zygote")?;
    user_namespace::write_maps(plan.user, plan.user)?;
    for descriptor in joined {
        rustix::io::write(descriptor, b"0").step(|| "join the cgroup")?;
    }
    // SAFETY: the cgroup namespace is only how this process sees paths of cgroups.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWCGROUP) }
        .step(|| "create a cgroup namespace")?;
    let root = Path::new("/");
    mount_process_view(root)?;
    let options = ScratchOptions {
        size: plan.disk,
        owner: plan.user,
        workspace: Lower::CopyOnWrite(WORKSPACE.into()),
        privileged: false,
    };
    // SAFETY: as the caller promises.
    let scratch = unsafe { Scratch::mount(root, &options)? };
    mount_terminals(root)?;
    loopback::bring_up()?;
    rustix::process::chdir(WORKSPACE).step(|| "enter the workspace")?;
    let limits = ResourceLimits {
        open_files: plan.open_files,
        processes: Some(plan.processes),
        cpu_seconds: plan.cpu_seconds,
        data_bytes: plan.data_bytes,
    };
    name_step(limits.apply(), "set resource limits")?;
    give_up_rights(&scratch)?;
    Ok(scratch)
}

fn give_up_rights(scratch: &Scratch) -> Result<(), StepError> {
    name_step(capabilities::drop_all(), "give up all capabilities")?;
    name_step(capabilities::no_new_privileges(), "refuse new privileges")?;
    let mut opened = Vec::new();
    for path in ["/dev", "/proc", "/tmp", WORKSPACE] {
        opened.push(File::open(path).step(|| format!("open {path}"))?);
    }
    let mut writable: Vec<_> = opened.iter().map(AsFd::as_fd).collect();
    writable.push(scratch.directory.as_fd());
    name_step(landlock::restrict(&writable), "restrict files with Landlock")?;
    seccomp::install().step(|| "filter system calls")
}

/// Waits for the end of the caller or of its time, then kills whatever else runs and reaps it. When nobody waits for the
/// report any more it ends at once, and everything with it.
fn watch(caller: i32, deadline: Option<Instant>, scratch: &Scratch, status: &File) -> KeeperReport {
    let Ok(children) = child_descriptor() else { abandon() };
    let mut ended = None;
    let mut timed_out = false;
    while ended.is_none() {
        match reap() {
            Some((pid, status)) if pid == caller => ended = Some(status),
            Some(_) => {}
            None => {
                let mut left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                if left.is_some_and(|left| left.is_zero()) {
                    timed_out = true;
                    // SAFETY: -1 is every process of this namespace but this one, its first.
                    unsafe { libc::kill(-1, libc::SIGKILL) };
                    left = Some(Duration::from_secs(1));
                }
                if wait_for_child(&children, status, left) == Waited::NobodyListens {
                    abandon();
                }
            }
        }
    }
    // SAFETY: as above.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    reap_the_rest();
    let status = ended.unwrap_or_default();
    // SAFETY: all zero is a valid `rusage`, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let microseconds = |time: libc::timeval| (time.tv_sec * 1_000_000 + time.tv_usec).cast_unsigned();
    KeeperReport::Ended {
        exit_code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        timed_out,
        cpu_user_us: microseconds(usage.ru_utime),
        cpu_system_us: microseconds(usage.ru_stime),
        largest_process_bytes: usage.ru_maxrss.cast_unsigned() << 10,
        disk_full: rustix::fs::fstatvfs(&scratch.directory)
            .is_ok_and(|state| state.f_bfree == 0 || state.f_ffree == 0),
    }
}

fn reap() -> Option<(i32, i32)> {
    let mut status = 0;
    // SAFETY: the status lives during the call.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    (pid > 0).then_some((pid, status))
}

/// Everything was killed: what can be reaped ends soon.
fn reap_the_rest() {
    // SAFETY: a null pointer means that the status is not wanted.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {}
}

#[derive(PartialEq, Eq)]
enum Waited {
    /// A child ended, or the time is over.
    LookAgain,
    NobodyListens,
}

/// Waits until a child ends, but not longer than this.
fn wait_for_child(children: &OwnedFd, status: &File, longest: Option<Duration>) -> Waited {
    // Nothing more is sent on the channel of the report: what can happen to it is its end.
    let mut polled = [PollFd::new(children, PollFlags::IN), PollFd::new(status, PollFlags::empty())];
    // A time that is too long for the kernel is longer than anybody waits.
    let longest = longest.and_then(|longest| Timespec::try_from(longest).ok());
    // When it fails, nothing is ready and the caller looks again.
    drop(poll(&mut polled, longest.as_ref()).map_err(io::Error::from));
    if !polled[1].revents().is_empty() {
        return Waited::NobodyListens;
    }
    let mut signals = [0; 512];
    // One signal stands for all children that have ended, and the caller looks for all of them.
    drop(rustix::io::read(children, &mut signals).map_err(io::Error::from));
    Waited::LookAgain
}

fn child_descriptor() -> io::Result<OwnedFd> {
    let set = child_signal();
    // SAFETY: the set lives during the call, and the descriptor that is returned is new.
    unsafe {
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor)),
        }
    }
}

fn abandon() -> ! {
    // SAFETY: _exit(2) ends the process, and as it is the first one of its namespace, every other one in it.
    unsafe { libc::_exit(1) }
}

fn child_signal() -> libc::sigset_t {
    // SAFETY: sigemptyset initialises the set.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        set
    }
}

/// The zygote ignores SIGCHLD, so that its keepers are reaped by themselves; the keeper waits for it.
fn block_child_signal() {
    let set = child_signal();
    // SAFETY: no handler is installed, and the set lives during the call.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

fn unblock_child_signal() {
    let set = child_signal();
    // SAFETY: as above.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
}

fn end(status: &mut File, report: &KeeperReport) -> ! {
    if let Ok(bytes) = postcard::to_allocvec(report) {
        // Nobody listens any more if this fails.
        drop(status.write(&bytes));
    }
    // SAFETY: _exit(2) ends the process, and as it is the first one of its namespace, every other one in it.
    unsafe { libc::_exit(0) }
}

/// The function that the interpreter of a zygote calls: `status` is the keeper's channel, `joined` are `count` files of
/// cgroups. Returns the process number of the keeper in the zygote, 0 in the caller, and a negative error number if
/// there was no fork.
///
/// # Safety
///
/// The process has one thread, `joined` points to `count` numbers, and all descriptors are open.
#[cfg_attr(feature = "library", unsafe(no_mangle))]
pub unsafe extern "C" fn menace_enter(status: i32, joined: *const i32, count: usize) -> i32 {
    let joined = if count == 0 {
        Vec::new()
    } else {
        // SAFETY: the caller promises that there are so many numbers of open descriptors.
        let numbers = unsafe { std::slice::from_raw_parts(joined, count) };
        // SAFETY: as above.
        numbers.iter().map(|&number| unsafe { BorrowedFd::borrow_raw(number) }).collect()
    };
    // SAFETY: the caller promises that it is open.
    let status = unsafe { BorrowedFd::borrow_raw(status) };
    // SAFETY: the caller promises one thread.
    match unsafe { fork_call(status, &joined) } {
        Ok(Forked::Child) => 0,
        Ok(Forked::Parent { pid, .. }) => pid,
        Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
    }
}

/// Prepares what every call needs, so that the copies of the zygote inherit it.
#[cfg_attr(feature = "library", unsafe(no_mangle))]
pub extern "C" fn menace_prepare() {
    seccomp::prepare();
}
