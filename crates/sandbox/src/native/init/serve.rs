//! Main loop of the init process: reads requests, sends reports, reaps children, counts denied system calls.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use menace_guest::ReportedFailure;
use menace_isolation::{StepContext, StepError, descriptors, seccomp::DeniedSyscallCounts};
use menace_model::sandbox::DeniedSyscall;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process};

use super::connections;
use super::file_work;
use super::inspect::{children_usage, disk_is_full, inspect, io_counts, own_cpu_us, usage_numbers};
use super::jobs::{InitJob, InitJobKind, JobNote, write_note};
use super::leader::{children_of, descendants_of, lead};
use super::program::{ExecutableProgram, ProgramStartFailure, reset_signals};
use super::set_up::{InitResources, begin, enter};
use crate::native::protocol::{
    InitFileWork, InitReport, InitRequest, JobEnd, JoinCgroupsMessage, ProgramSpec, ProgramStartStep,
    SandboxOrder, SandboxPurpose,
};
use menace_guest::terminals;
use menace_isolation::channel::{receive, send};

/// Time that killed processes may take to exit.
const PATIENCE: Duration = Duration::from_secs(2);

/// Main function of an init process.
pub(in crate::native) fn main(order: &SandboxOrder, channel: &OwnedFd, joined: Vec<OwnedFd>) -> ! {
    let code = match start(order, channel, joined) {
        Ok(mut init) => init.serve(channel).map_or(1, |()| 0),
        Err(()) => 1,
    };
    // SAFETY: _exit(2) ends the process and, as it is the init of its namespace, every other process in it.
    unsafe { libc::_exit(code) }
}

/// Main function of a spare init process: it waits for its order after the common part of the set-up.
pub(in crate::native) fn spare_main(launcher: OwnedFd) -> ! {
    // The name shows in the host's process list that this is not a stale sandbox.
    let begun = name_this_process(c"menace: spare")
        .and_then(|()| detach_from_launcher(&launcher, &[]))
        .and_then(|()| begin(SandboxPurpose::Final, None));
    let code = match receive::<SandboxOrder>(&launcher) {
        Ok(Some((order, descriptors))) => {
            let mut descriptors = descriptors.into_iter();
            let served = descriptors.next().ok_or(()).and_then(|channel| {
                let mut init = complete_set_up(&order, &channel, descriptors.collect(), begun)?;
                // Closing the channel tells the launcher to create the next spare.
                drop(launcher);
                init.serve(&channel).map_err(drop)
            });
            i32::from(served.is_err())
        }
        Ok(None) | Err(_) => 1,
    };
    // SAFETY: as above.
    unsafe { libc::_exit(code) }
}

/// Sets up the sandbox and reports that it is ready. An error was reported when this returns.
fn start(order: &SandboxOrder, channel: &OwnedFd, joined: Vec<OwnedFd>) -> Result<InitProcess, ()> {
    let begun = detach_from_launcher(channel, &joined)
        .and_then(|()| begin(order.kind, order.own_skeleton.as_deref()));
    complete_set_up(order, channel, joined, begun)
}

fn name_this_process(name: &CStr) -> Result<(), StepError> {
    rustix::thread::set_name(name).step(|| "name a process")
}

/// Resets signals and closes the descriptors of the launcher.
fn detach_from_launcher(channel: &OwnedFd, joined: &[OwnedFd]) -> Result<(), StepError> {
    reset_signals();
    close_other_descriptors(channel, joined).step(|| "close inherited files")
}

/// Completes the set-up and reports that the sandbox is ready. An error was reported when this returns.
fn complete_set_up(
    order: &SandboxOrder,
    channel: &OwnedFd,
    joined: Vec<OwnedFd>,
    begun: Result<(), StepError>,
) -> Result<InitProcess, ()> {
    let result = begun
        .and_then(|()| name_this_process(c"menace: sandbox"))
        .and_then(|()| if order.joins_later { receive_joined(channel) } else { Ok(joined) })
        .and_then(|joined| enter(order, &joined));
    match result {
        Ok(mut inside) => {
            let listener = if order.asked.is_empty() { None } else { inside.refusals.take() };
            let handed_over: Vec<OwnedFd> = inside.interface.take().into_iter().chain(listener).collect();
            let left_out = inside.scratch.left_out.clone();
            block_signals(&[libc::SIGCHLD]);
            let descriptors: Vec<_> = handed_over.iter().map(AsFd::as_fd).collect();
            send(channel, &InitReport::Ready { left_out }, &descriptors).map_err(drop)?;
            drop(handed_over);
            Ok(InitProcess {
                inside,
                jobs: Vec::new(),
                denials: DeniedSyscallCounts::default(),
                is_stopped: false,
                is_over: false,
            })
        }
        Err(error) => {
            // If the send fails too, the caller has closed the channel and does not want the sandbox.
            drop(send(channel, &InitReport::Failed(error), &[]));
            Err(())
        }
    }
}

/// Waits for the cgroups. A caller that failed to create them closes the channel instead, and no program is started.
fn receive_joined(channel: &OwnedFd) -> Result<Vec<OwnedFd>, StepError> {
    match receive::<JoinCgroupsMessage>(channel) {
        Ok(Some((JoinCgroupsMessage, joined))) => Ok(joined),
        Ok(None) => Err(io::Error::from_raw_os_error(libc::ECANCELED)),
        Err(error) => Err(error),
    }
    .step(|| "receive the cgroups to join")
}

/// Closes all other inherited descriptors and redirects the standard streams to `/dev/null`.
pub(in crate::native) fn close_other_descriptors(channel: &OwnedFd, joined: &[OwnedFd]) -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    for number in 0..3 {
        // SAFETY: no code in this process owns its standard streams.
        if unsafe { libc::dup2(null.as_raw_fd(), number) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    let mut kept = vec![0, 1, 2, channel.as_raw_fd(), null.as_raw_fd()];
    kept.extend(joined.iter().map(AsRawFd::as_raw_fd));
    // SAFETY: all descriptors that this process uses from here on are in the list; the rest belongs to the launcher.
    unsafe { descriptors::close_all_but(&kept) }
}

/// Closes the descriptors that work with a caller's path does not need: a symlink in the sandbox to `/proc/self/fd/7`
/// must not lead to a file of ours. Work on the layer has no such path and reaches it by its descriptor.
fn close_descriptors_for_work(
    work: &InitFileWork,
    notes: &OwnedFd,
    archive: &OwnedFd,
    scratch: BorrowedFd,
) -> io::Result<()> {
    let mut kept = vec![0, 1, 2, notes.as_raw_fd(), archive.as_raw_fd()];
    match work {
        InitFileWork::PackLayer | InitFileWork::ListLayer => kept.push(scratch.as_raw_fd()),
        InitFileWork::Unpack { .. }
        | InitFileWork::Pack { .. }
        | InitFileWork::Remove { .. }
        | InitFileWork::Files(_)
        | InitFileWork::Watch { .. } => {}
    }
    // SAFETY: the child uses only these descriptors from here on, and exits without closing inherited ones.
    unsafe { descriptors::close_all_but(&kept) }
}

struct InitProcess {
    inside: InitResources,
    jobs: Vec<InitJob>,
    denials: DeniedSyscallCounts,
    /// All processes were stopped on request, and not by a program.
    is_stopped: bool,
    /// The only program of the sandbox has ended.
    is_over: bool,
}

impl InitProcess {
    fn serve(&mut self, channel: &OwnedFd) -> io::Result<()> {
        let children = signal_descriptor(libc::SIGCHLD)?;
        while !self.is_over {
            let ready = self.wait(channel, &children)?;
            if ready.refusals {
                self.serve_refusals()?;
            }
            if ready.children {
                drain(&children);
                self.reap(channel)?;
            }
            if ready.notes {
                self.read_notes(channel)?;
            }
            if ready.channel {
                match receive::<InitRequest>(channel)? {
                    Some((request, descriptors)) => self.handle(channel, request, descriptors)?,
                    // The caller is gone, so the sandbox ends.
                    None => return Ok(()),
                }
            }
        }
        Ok(())
    }

    fn wait(&self, channel: &OwnedFd, children: &OwnedFd) -> io::Result<ReadyEventSources> {
        let mut polled = vec![PollFd::new(channel, PollFlags::IN), PollFd::new(children, PollFlags::IN)];
        let refusals = self.inside.refusals.as_ref();
        polled.extend(refusals.map(|listener| PollFd::new(listener, PollFlags::IN)));
        let pipes_from = polled.len();
        polled.extend(
            self.jobs
                .iter()
                .filter_map(InitJob::pipe)
                .map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)),
        );
        loop {
            match poll(&mut polled, None) {
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let is_ready = |index: usize| polled.get(index).is_some_and(|fd| !fd.revents().is_empty());
        Ok(ReadyEventSources {
            channel: is_ready(0),
            children: is_ready(1),
            refusals: refusals.is_some() && is_ready(2),
            notes: (pipes_from..polled.len()).any(is_ready),
        })
    }

    fn handle(
        &mut self,
        channel: &OwnedFd,
        request: InitRequest,
        descriptors: Vec<OwnedFd>,
    ) -> io::Result<()> {
        match request {
            InitRequest::Run { job, program, once } => self.run(channel, job, &program, once, &descriptors),
            InitRequest::Work { job, work } => self.work(channel, job, &work, descriptors),
            InitRequest::Signal { job, signal } => {
                if let Some(program) = self.find(job).and_then(|job| job.program) {
                    // SAFETY: kill(2) with a process of ours; an unknown signal is an error without effect.
                    unsafe { libc::kill(program.as_raw_pid(), signal) };
                }
                Ok(())
            }
            InitRequest::Kill { job } => {
                self.kill(job);
                Ok(())
            }
            InitRequest::SignalAll { job, signal } => {
                self.is_stopped = signal == libc::SIGSTOP;
                // SAFETY: -1 means every process that this one may signal but itself: all others of the namespace.
                unsafe { libc::kill(-1, signal) };
                send(channel, &InitReport::Signalled { job }, &[])
            }
            InitRequest::Inspect { job } => {
                let inspection = inspect(&self.inside)?;
                send(channel, &InitReport::Inspected { job, inspection }, &[])
            }
            InitRequest::Connect { job, port } => match connections::open(port) {
                Ok(socket) => send(channel, &InitReport::Connecting { job }, &[socket.as_fd()]),
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(libc::EIO);
                    let step = ProgramStartStep::Connect;
                    send(channel, &InitReport::NotStarted { job, errno, step }, &[])
                }
            },
        }
    }

    fn find(&self, id: u64) -> Option<&InitJob> {
        self.jobs.iter().find(|job| job.id == id)
    }

    fn kill(&self, id: u64) {
        let Some(job) = self.find(id) else { return };
        let signal = match job.kind {
            InitJobKind::Led => Signal::TERM,
            InitJobKind::Alone | InitJobKind::Work => Signal::KILL,
        };
        // The child may have ended in between; its end is reported anyway.
        drop(kill_process(job.child, signal).map_err(io::Error::from));
    }

    fn run(
        &mut self,
        channel: &OwnedFd,
        id: u64,
        program: &ProgramSpec,
        once: bool,
        stdio: &[OwnedFd],
    ) -> io::Result<()> {
        let Ok(executable) = ExecutableProgram::new(program) else {
            let step = ProgramStartStep::Arguments;
            return send(channel, &InitReport::NotStarted { job: id, errno: libc::EINVAL, step }, &[]);
        };
        let terminal = match program.terminal.map(terminals::open).transpose() {
            Ok(terminal) => terminal,
            Err(error) => return self.add_job(channel, id, Err(error)),
        };
        let of_terminal;
        let stdio = match terminal {
            None => stdio,
            Some(terminal) => {
                send(channel, &InitReport::Terminal { job: id }, &[terminal.ours.as_fd()])?;
                of_terminal = terminal.theirs;
                &of_terminal[..]
            }
        };
        if stdio.len() < 3 {
            return self.add_job(channel, id, Err(lost_descriptors()));
        }
        if !program.alone {
            return self.add_job(
                channel,
                id,
                InitJob::start(id, InitJobKind::Led, |notes| lead(&executable, stdio, notes)),
            );
        }
        match executable.start(stdio) {
            Ok(program) => {
                let mut job = InitJob::alone(id, program);
                if once {
                    job.is_only_one = true;
                    job.own_cpu_before_us = self.inside.cpu_when_joined_us;
                }
                self.add_job(channel, id, Ok(job))?;
                send(channel, &InitReport::Started { job: id }, &[])
            }
            Err(ProgramStartFailure { step, error }) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                send(channel, &InitReport::NotStarted { job: id, errno, step }, &[])
            }
        }
    }

    fn work(
        &mut self,
        channel: &OwnedFd,
        id: u64,
        work: &InitFileWork,
        descriptors: Vec<OwnedFd>,
    ) -> io::Result<()> {
        let scratch = self.inside.scratch.directory.as_fd();
        let Some(archive) = descriptors.into_iter().next() else {
            return self.add_job(channel, id, Err(lost_descriptors()));
        };
        let started = InitJob::start(id, InitJobKind::Work, |notes| {
            reset_signals();
            let closed =
                close_descriptors_for_work(work, notes, &archive, scratch).map_err(ReportedFailure::from);
            let code = match closed.and_then(|()| file_work::work(work, scratch, archive)) {
                Ok(()) => 0,
                Err(failure) => {
                    drop(write_note(notes, &JobNote::Failed(shorten(failure))));
                    1
                }
            };
            // SAFETY: as above.
            unsafe { libc::_exit(code) }
        });
        self.add_job(channel, id, started)
    }

    /// Adds a started job; a failed start is reported, because the sandbox itself continues.
    fn add_job(&mut self, channel: &OwnedFd, id: u64, started: io::Result<InitJob>) -> io::Result<()> {
        match started {
            Ok(mut job) => {
                job.io_before = io_counts(&self.inside.io_counts)?;
                self.jobs.push(job);
                Ok(())
            }
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let step = ProgramStartStep::Process;
                send(channel, &InitReport::NotStarted { job: id, errno, step }, &[])
            }
        }
    }

    fn serve_refusals(&mut self) -> io::Result<()> {
        match &self.inside.refusals {
            Some(listener) => self.denials.serve(listener.as_fd()),
            None => Ok(()),
        }
    }

    /// Reads notes of running jobs. Their ends are reported when their processes are reaped.
    fn read_notes(&mut self, channel: &OwnedFd) -> io::Result<()> {
        for job in &mut self.jobs {
            for note in job.read_notes() {
                if let JobNote::Started(program) = note {
                    job.program = Pid::from_raw(program);
                    send(channel, &InitReport::Started { job: job.id }, &[])?;
                } else {
                    job.last_note = Some(note);
                }
            }
        }
        Ok(())
    }

    fn reap(&mut self, channel: &OwnedFd) -> io::Result<()> {
        while let Some((pid, end)) = wait_for_child(None, libc::WNOHANG | libc::WUNTRACED) {
            let Some(index) = self.jobs.iter().position(|job| job.child == pid) else { continue };
            if is_stop(&end) {
                self.end_stopped(index);
                continue;
            }
            self.read_notes(channel)?;
            let job = self.jobs.swap_remove(index);
            self.finish(channel, job, end)?;
        }
        Ok(())
    }

    /// Kills a stopped leader or file worker. A program can stop any process of its user; a stopped leader enforces no
    /// timeout, and a stopped worker blocks its caller forever. The processes of a killed leader end with it.
    fn end_stopped(&self, index: usize) {
        if let Some(job) = self.jobs.get(index)
            && job.kind != InitJobKind::Alone
            && !self.is_stopped
        {
            // A stopped process cannot have ended.
            drop(kill_process(job.child, Signal::KILL).map_err(io::Error::from));
        }
    }

    /// Kills all processes that belong to no job. If they do not exit in time, the error ends the whole sandbox.
    fn end_strays(&self) -> io::Result<()> {
        let began = Instant::now();
        let jobs: Vec<Pid> = self.jobs.iter().map(|job| job.child).collect();
        while !kill_strays(&jobs) {
            if began.elapsed() > PATIENCE {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    fn finish(&mut self, channel: &OwnedFd, job: InitJob, status: JobEnd) -> io::Result<()> {
        // A leader that was killed by its program cannot report any more which processes belonged to it. And no process
        // may outlive a program that had the sandbox for itself.
        if job.kind == InitJobKind::Alone || (job.kind == InitJobKind::Led && job.last_note.is_none()) {
            self.end_strays()?;
        }
        let mut end = match (job.kind, job.last_note) {
            (_, Some(JobNote::NotStarted { errno, step })) => {
                return send(channel, &InitReport::NotStarted { job: job.id, errno, step }, &[]);
            }
            (InitJobKind::Led, Some(JobNote::Ended(end))) => end,
            (_, Some(JobNote::Failed(failure))) => JobEnd { failure: Some(failure), ..status },
            (InitJobKind::Alone, _) => {
                let (cpu_user_us, cpu_system_us, largest_process_bytes) = children_usage();
                JobEnd { cpu_user_us, cpu_system_us, largest_process_bytes, ..status }
            }
            (InitJobKind::Led | InitJobKind::Work, _) => status,
        };
        self.serve_refusals()?;
        let (read, written) = io_counts(&self.inside.io_counts)?;
        (end.io_read_bytes, end.io_write_bytes) = (read - job.io_before.0, written - job.io_before.1);
        end.disk_full = disk_is_full(self.inside.scratch.directory.as_fd())?;
        end.denied = self
            .denials
            .take()
            .into_iter()
            .map(|(syscall, count)| DeniedSyscall { syscall, count })
            .collect();
        end.own_cpu_us = own_cpu_us().saturating_sub(job.own_cpu_before_us);
        end.wall_us = u64::try_from(job.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.is_over = job.is_only_one;
        send(channel, &InitReport::Ended { job: job.id, end }, &[])
    }
}

#[expect(clippy::struct_excessive_bools, reason = "one for each source of events")]
struct ReadyEventSources {
    channel: bool,
    children: bool,
    refusals: bool,
    notes: bool,
}

/// Error for missing descriptors: the kernel drops those of a message when this process is at its limit of open files.
fn lost_descriptors() -> io::Error {
    io::Error::from_raw_os_error(libc::EMFILE)
}

/// Shortens an error message, so that a pipe transfers it atomically.
fn shorten(mut failure: ReportedFailure) -> ReportedFailure {
    failure.problem.truncate(failure.problem.floor_char_boundary(2000));
    failure
}

/// Kills once all processes that belong to none of these children; returns whether none is left.
fn kill_strays(jobs: &[Pid]) -> bool {
    if jobs.is_empty() {
        // SAFETY: -1 means every process that this one may signal but itself: all others of the namespace. The kernel
        // does that in one step, so that no process can escape by forking.
        unsafe { libc::kill(-1, libc::SIGKILL) };
        while wait_for_child(None, libc::WNOHANG).is_some() {}
        return !has_children();
    }
    let strays: Vec<Pid> =
        children_of(rustix::process::getpid()).into_iter().filter(|child| !jobs.contains(child)).collect();
    for &stray in &strays {
        for pid in descendants_of(stray).into_iter().chain([stray]) {
            // The process may have ended in between.
            drop(kill_process(pid, Signal::KILL).map_err(io::Error::from));
        }
        wait_for_child(Some(stray), libc::WNOHANG);
    }
    strays.is_empty()
}

/// Whether this process has any unreaped children. The kernel is asked, because `/proc` may not list them.
pub(super) fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(rustix::process::waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
}

/// Whether the wait status is a stop and not an end.
fn is_stop(end: &JobEnd) -> bool {
    end.exit_code.is_none() && end.signal.is_none()
}

/// Waits for the given child, or for any.
pub(super) fn wait_for_child(child: Option<Pid>, options: libc::c_int) -> Option<(Pid, JobEnd)> {
    let selector = child.map_or(-1, Pid::as_raw_pid);
    let mut status = 0;
    // SAFETY: all zero is a valid `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both variables live during the call.
    let pid = unsafe { libc::wait4(selector, &raw mut status, options, &raw mut usage) };
    let pid = Pid::from_raw(pid.max(0))?;
    let (cpu_user_us, cpu_system_us, largest_process_bytes) = usage_numbers(&usage);
    let exit_code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    let end =
        JobEnd { exit_code, signal, cpu_user_us, cpu_system_us, largest_process_bytes, ..JobEnd::default() };
    Some((pid, end))
}

/// Blocks signals, so that they can be waited for.
pub(super) fn block_signals(signals: &[i32]) {
    let set = signal_set(signals);
    // SAFETY: the set lives during the call.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
}

fn signal_set(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: sigemptyset initialises the set, which lives during the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for &signal in signals {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

fn signal_descriptor(signal: i32) -> io::Result<OwnedFd> {
    let set = signal_set(&[signal]);
    // SAFETY: the set lives during the call, and the descriptor that is returned is new.
    unsafe {
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor)),
        }
    }
}

/// Reads all pending signals, so that the descriptor is not readable until the next one.
fn drain(children: &OwnedFd) {
    let mut buffer = [0; 512];
    while rustix::io::read(children, &mut buffer).is_ok_and(|length| length > 0) {}
}
