//! The slot supervisor: forks one call process after the other and enforces their timeouts.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal};
use rustix::thread::UnshareFlags;

use super::call_process::become_call_process;
use super::children::{self, ReapedUsage};
use super::messages::{CallProcessReport, CallStart, SlotPlan, SlotSupervisorReport};
use super::network;
use crate::root::{mask_process_view, mount_full_process_view};
use crate::{StepContext, StepError, StepKind, channel, loopback, tun, user_namespace};

/// File that sets the last process id that the kernel assigned, and with it the next one.
const LAST_NUMBER: &str = "/proc/sys/kernel/ns_last_pid";

/// Network namespace of this process.
const OWN_NETWORK: &str = "/proc/self/ns/net";

struct SlotSupervisorProcess<'a> {
    control: &'a OwnedFd,
    plan: SlotPlan,
    /// TUN device with which interfaces are created.
    device: Option<OwnedFd>,
    /// Becomes readable when a child ends.
    ends: OwnedFd,
    /// Gives every call the same process ids; not every kernel has it.
    last_number: Option<File>,
    /// The interpreter's action for SIGINT, restored in the call processes.
    interrupt: libc::sigaction,
}

/// A call process that has entered its sandbox.
struct WaitingCallProcess {
    number: i32,
    channel: OwnedFd,
    scratch: OwnedFd,
    /// Descriptors for menace: the other end of its interface, and the seccomp listener.
    for_menace: Vec<OwnedFd>,
    way_in: (u64, u64),
}

/// Supervises the slot until its channel is closed. Returns in call processes that have their call, and never in the
/// supervisor.
///
/// # Safety
///
/// The calling process has one thread, and a call process uses no descriptors but those of its call.
pub(super) unsafe fn run_slot_supervisor(control: OwnedFd, joined: &[BorrowedFd]) {
    // A call process has closed all descriptors by number, and must not close them again.
    let control = ManuallyDrop::new(control);
    let supervisor = match SlotSupervisorProcess::prepare(&control) {
        Ok(supervisor) => ManuallyDrop::new(supervisor),
        Err(error) => fail(&control, error),
    };
    loop {
        // SAFETY: as the caller promises.
        let mut waiting = match unsafe { supervisor.fork_call_process(joined) } {
            Ok(Some(waiting)) => waiting,
            Ok(None) => return,
            Err(error) => fail(&control, error),
        };
        supervisor.send_report(&SlotSupervisorReport::Ready, &std::mem::take(&mut waiting.for_menace));
        let report = supervisor.watch(&waiting, supervisor.hand_over_call(&waiting));
        supervisor.send_report(&report, &[]);
    }
}

impl<'a> SlotSupervisorProcess<'a> {
    fn prepare(control: &'a OwnedFd) -> Result<Self, StepError> {
        set_parent_process_death_signal(Some(Signal::KILL)).step(|| "tie this process to the zygote")?;
        let plan: Option<(SlotPlan, Vec<OwnedFd>)> =
            channel::receive(control).step(|| "read the slot plan")?;
        let Some((plan, descriptors)) = plan else { abandon() };
        user_namespace::write_maps(plan.user, plan.user)?;
        // SAFETY: the cgroup namespace only affects this process's view of cgroup paths.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWCGROUP) }
            .step_of(StepKind::Namespace, || "create a cgroup namespace")?;
        let root = Path::new("/");
        mount_full_process_view(root)?;
        let last_number = File::options().write(true).open(LAST_NUMBER).ok();
        mask_process_view(root)?;
        loopback::bring_up()?;
        children::block_signal();
        // Before the first fork, so that the code under test can at no moment inspect the supervisor.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).step(|| "become undumpable")?;
        Ok(Self {
            control,
            plan,
            device: descriptors.into_iter().next(),
            ends: children::child_end_descriptor().step(|| "watch for the end of children")?,
            last_number,
            interrupt: ignore_interrupts(),
        })
    }

    /// Forks a call process and waits until it has entered its sandbox; `None` in the call process when it has its
    /// call.
    ///
    /// # Safety
    ///
    /// The calling process has one thread, and a call process uses no descriptors but those of its call.
    unsafe fn fork_call_process(
        &self,
        joined: &[BorrowedFd],
    ) -> Result<Option<WaitingCallProcess>, StepError> {
        if let Some(file) = &self.last_number {
            file.write_all_at(b"1", 0).step(|| format!("write {LAST_NUMBER}"))?;
        }
        let interface = match (&self.plan.interface, &self.device) {
            (Some(interface), Some(device)) => {
                network::renew()?;
                Some(tun::make_through(device.as_fd(), interface)?)
            }
            // menace may open the device and creates the interface in this network namespace.
            (Some(_), None) => {
                network::renew()?;
                Some(
                    File::open(OWN_NETWORK).step_of(StepKind::Open, || format!("open {OWN_NETWORK}"))?.into(),
                )
            }
            (None, _) => {
                network::renew_if_used()?;
                None
            }
        };
        let (channel, theirs) = channel::pair().step(|| "open a channel to a call process")?;
        // SAFETY: the caller promises one thread.
        let number = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()).step(|| "fork"),
            0 => {
                // SAFETY: a structure that sigaction(2) has filled.
                unsafe { libc::sigaction(libc::SIGINT, &raw const self.interrupt, std::ptr::null_mut()) };
                // SAFETY: as the caller promises.
                unsafe { become_call_process(&theirs, &self.plan, joined) };
                std::mem::forget((channel, theirs, interface));
                return Ok(None);
            }
            number => number,
        };
        drop(theirs);
        match channel::receive(&channel).step(|| "receive the report of a call process")? {
            Some((CallProcessReport::Inside { cpu_user_us, cpu_system_us }, mut descriptors)) => {
                if descriptors.is_empty() {
                    return Err(io::Error::from(io::ErrorKind::InvalidData))
                        .step(|| "receive the report of a call process");
                }
                let scratch = descriptors.remove(0);
                Ok(Some(WaitingCallProcess {
                    number,
                    channel,
                    scratch,
                    for_menace: interface.into_iter().chain(descriptors).collect(),
                    way_in: (cpu_user_us, cpu_system_us),
                }))
            }
            Some((CallProcessReport::Failed(error), _)) => Err(error),
            None => Err(io::Error::from(io::ErrorKind::UnexpectedEof))
                .step(|| "receive the report of a call process"),
        }
    }

    /// Waits for the next call and passes it on; returns its deadline.
    fn hand_over_call(&self, waiting: &WaitingCallProcess) -> Option<Instant> {
        let Ok(Some((call, descriptors))) = channel::receive::<CallStart>(self.control) else { abandon() };
        let deadline = Instant::now().checked_add(call.timeout);
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        // If it fails, the call process has ended while it waited, which `watch` detects immediately.
        drop(channel::send(&waiting.channel, &call, &descriptors));
        deadline
    }

    /// Waits for the end of the call process or its deadline, then kills all remaining processes. When the channel is
    /// closed it ends immediately, and everything with it.
    fn watch(&self, waiting: &WaitingCallProcess, deadline: Option<Instant>) -> SlotSupervisorReport {
        let mut taken = ReapedUsage::default();
        let mut timed_out = false;
        let status = loop {
            match children::reap(&mut taken) {
                Some((number, status)) if number == waiting.number => break status,
                Some(_) => {}
                None => {
                    let mut left =
                        deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                    if left.is_some_and(|left| left.is_zero()) {
                        timed_out = true;
                        // SAFETY: -1 is every process of this namespace but this one, its first.
                        unsafe { libc::kill(-1, libc::SIGKILL) };
                        left = Some(Duration::from_secs(1));
                    }
                    self.wait_for_child(left);
                }
            }
        };
        children::kill_and_reap_all(&mut taken);
        SlotSupervisorReport::Ended {
            exit_code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
            signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
            timed_out,
            cpu_user_us: taken.cpu_user_us.saturating_sub(waiting.way_in.0),
            cpu_system_us: taken.cpu_system_us.saturating_sub(waiting.way_in.1),
            largest_process_bytes: taken.largest_process_bytes,
            disk_full: rustix::fs::fstatvfs(&waiting.scratch)
                .is_ok_and(|state| state.f_bfree == 0 || state.f_ffree == 0),
        }
    }

    /// Waits until a child ends, for at most `longest`.
    fn wait_for_child(&self, longest: Option<Duration>) {
        // Nothing is sent on the channel during a call; the only possible event is its end.
        let mut polled =
            [PollFd::new(&self.ends, PollFlags::IN), PollFd::new(self.control, PollFlags::empty())];
        // A duration that is too long for the kernel means no limit.
        let longest = longest.and_then(|longest| Timespec::try_from(longest).ok());
        // When it fails, nothing is ready and the caller polls again.
        drop(poll(&mut polled, longest.as_ref()).map_err(io::Error::from));
        if !polled[1].revents().is_empty() {
            abandon();
        }
        let mut signals = [0; 512];
        // One signal may stand for several children; the caller reaps all of them.
        drop(rustix::io::read(&self.ends, &mut signals).map_err(io::Error::from));
    }

    fn send_report(&self, report: &SlotSupervisorReport, descriptors: &[OwnedFd]) {
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        if channel::send(self.control, report, &descriptors).is_err() {
            abandon();
        }
    }
}

/// Ignores SIGINT and returns the previous action. The first process of a namespace gets only signals for which it
/// has handlers, and the interpreter has one for SIGINT.
fn ignore_interrupts() -> libc::sigaction {
    // SAFETY: all zero is a valid `sigaction`, and both live during the call.
    unsafe {
        let mut ignore: libc::sigaction = std::mem::zeroed();
        ignore.sa_sigaction = libc::SIG_IGN;
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGINT, &raw const ignore, &raw mut before);
        before
    }
}

fn fail(control: &OwnedFd, error: StepError) -> ! {
    // If it fails, the other end of the channel is closed.
    drop(channel::send(control, &SlotSupervisorReport::Failed(error), &[]));
    abandon()
}

fn abandon() -> ! {
    // SAFETY: _exit(2) ends the process, and as it is the first one of its namespace, every other one in it.
    unsafe { libc::_exit(1) }
}
