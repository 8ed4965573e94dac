//! Fault injector: answers the seccomp notifications of a sandbox.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use menace_isolation::seccomp::{self, DeniedSyscallCounts, SeccompAnswer};
use menace_model::faults::{FaultCount, FaultRule, FaultySyscall, SyscallFault};
use menace_model::pattern::matches_pattern;
use menace_model::random::{mix_bits, unit_interval};
use menace_model::sandbox::DeniedSyscall;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::corrupt::write_corrupted;
use super::intercepted_thread::{InterceptedThread, descriptor};
use super::syscalls::{SyscallFileArgument, look_up};
use crate::SandboxError;

/// `SECCOMP_USER_NOTIF_FLAG_CONTINUE` in the type of its field.
const CONTINUE: u32 = 1;
/// Size limit of the cache of processes that run programs. Processes beyond it are inspected on every call.
const MOST_KNOWN: usize = 10_000;

/// Answers the notifications of a sandbox on a dedicated thread until its last process has ended.
#[derive(Debug)]
pub(crate) struct FaultInjector {
    counts: Arc<Mutex<InjectionCounts>>,
}

#[derive(Debug)]
struct InjectionCounts {
    rules: Vec<FaultCount>,
    denials: DeniedSyscallCounts,
    /// Error that ended the supervisor thread, if any.
    problem: Option<String>,
}

impl FaultInjector {
    /// Starts the supervisor thread. Calls of the executable `ours`, menace itself, are exempt from faults.
    pub(crate) fn start(
        listener: OwnedFd,
        rules: &[FaultRule],
        seed: u64,
        ours: PathBuf,
    ) -> io::Result<Self> {
        let rules = rules.iter().map(|rule| FaultCount { rule: rule.clone(), seen: 0, fired: 0 }).collect();
        let counts = Arc::new(Mutex::new(InjectionCounts {
            rules,
            denials: DeniedSyscallCounts::default(),
            problem: None,
        }));
        let mut desk = FaultInjectorThread {
            listener,
            seed,
            ours,
            counts: Arc::clone(&counts),
            programs: HashSet::new(),
            held: BinaryHeap::new(),
        };
        std::thread::Builder::new().name("menace: faults".into()).spawn(move || {
            if let Err(error) = desk.answer_all() {
                lock(&desk.counts).problem = Some(error.to_string());
            }
        })?;
        Ok(Self { counts })
    }

    /// Number of injected faults so far, per rule.
    pub(crate) fn report(&self) -> Result<Vec<FaultCount>, SandboxError> {
        let counts = lock(&self.counts);
        match &counts.problem {
            None => Ok(counts.rules.clone()),
            // Unanswered calls fail without any rule that accounts for them.
            Some(problem) => {
                Err(SandboxError::Protocol(format!("the fault injector of a sandbox stopped: {problem}")))
            }
        }
    }

    /// Calls denied by the filter since the last call of this function.
    pub(crate) fn take_denied(&self) -> Vec<DeniedSyscall> {
        let denied = lock(&self.counts).denials.take();
        denied.into_iter().map(|(syscall, count)| DeniedSyscall { syscall, count }).collect()
    }
}

fn lock(counts: &Mutex<InjectionCounts>) -> std::sync::MutexGuard<'_, InjectionCounts> {
    // No code panics while it holds the lock, and the counts are consistent after every statement.
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

struct FaultInjectorThread {
    listener: OwnedFd,
    seed: u64,
    ours: PathBuf,
    counts: Arc<Mutex<InjectionCounts>>,
    programs: HashSet<u32>,
    /// Delayed calls by the time at which they continue.
    held: BinaryHeap<Reverse<(Instant, u64)>>,
}

/// Decision about one intercepted call.
enum SyscallDecision {
    GoesOn,
    Fails(i32),
    Later(Duration),
    Done(io::Result<usize>),
}

impl FaultInjectorThread {
    fn answer_all(&mut self) -> io::Result<()> {
        loop {
            self.continue_delayed()?;
            let timeout =
                self.held.peek().map(|Reverse((at, _))| at.saturating_duration_since(Instant::now()));
            let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
            let mut polled = [PollFd::new(&self.listener, PollFlags::IN)];
            match poll(&mut polled, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let events = polled[0].revents();
            if events.contains(PollFlags::IN) {
                if let Some(call) = seccomp::receive(self.listener.as_fd())? {
                    self.answer(&call)?;
                }
            } else if events.intersects(PollFlags::HUP | PollFlags::ERR) {
                // The last process with this filter has ended.
                return Ok(());
            }
        }
    }

    fn continue_delayed(&mut self) -> io::Result<()> {
        let now = Instant::now();
        while self.held.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            if let Some(Reverse((_, id))) = self.held.pop() {
                self.send(continue_response(id))?;
            }
        }
        Ok(())
    }

    fn send(&self, response: libc::seccomp_notif_resp) -> io::Result<()> {
        seccomp::send(self.listener.as_fd(), &response)
    }

    fn answer(&mut self, call: &libc::seccomp_notif) -> io::Result<()> {
        let number = call.data.nr.cast_unsigned();
        if let SeccompAnswer::Refuse(_) = seccomp::answer(number, &call.data.args) {
            lock(&self.counts).denials.count(&call.data);
            return self.send(seccomp::refusal(call));
        }
        match self.decide(call, number) {
            SyscallDecision::GoesOn => self.send(continue_response(call.id)),
            SyscallDecision::Fails(error) => self.send(result_response(call.id, 0, -error)),
            SyscallDecision::Later(delay) => {
                self.held.push(Reverse((Instant::now() + delay, call.id)));
                Ok(())
            }
            SyscallDecision::Done(Ok(written)) => {
                self.send(result_response(call.id, i64::try_from(written).unwrap_or(0), 0))
            }
            SyscallDecision::Done(Err(error)) => {
                self.send(result_response(call.id, 0, -error.raw_os_error().unwrap_or(libc::EIO)))
            }
        }
    }

    fn decide(&mut self, call: &libc::seccomp_notif, number: u32) -> SyscallDecision {
        let Some((kind, subject, name)) = look_up(number) else { return SyscallDecision::GoesOn };
        let target = InterceptedThread { thread: call.pid };
        if !self.is_program(target) {
            return SyscallDecision::GoesOn;
        }
        let about = InterceptedSyscall::new(target, subject, &call.data.args);
        let mut counts = lock(&self.counts);
        for (index, counted) in (0_u64..).zip(&mut counts.rules) {
            if !about.fits(&counted.rule, kind) {
                continue;
            }
            counted.seen += 1;
            let chance = unit_interval(mix_bits(mix_bits(mix_bits(self.seed) ^ index) ^ counted.seen));
            if chance >= counted.rule.rate {
                continue;
            }
            let verdict = match counted.rule.fault {
                SyscallFault::Error(error) => SyscallDecision::Fails(error.number()),
                SyscallFault::DelayMs(delay) => SyscallDecision::Later(Duration::from_millis(delay)),
                SyscallFault::Corrupt => match write_corrupted(target, name, &call.data.args) {
                    Some(result) => SyscallDecision::Done(result),
                    None => continue,
                },
            };
            counted.fired += 1;
            return verdict;
        }
        SyscallDecision::GoesOn
    }

    /// Caches positive answers: a process that has executed a program never runs menace's own code again.
    fn is_program(&mut self, target: InterceptedThread) -> bool {
        if self.programs.contains(&target.thread) {
            return true;
        }
        let is_program = target.is_program(&self.ours);
        if is_program && self.programs.len() < MOST_KNOWN {
            self.programs.insert(target.thread);
        }
        is_program
    }
}

/// File that a call acts on. Its path is read from the process only if a rule needs it.
struct InterceptedSyscall<'a> {
    target: InterceptedThread,
    subject: SyscallFileArgument,
    arguments: &'a [u64; 6],
    path: std::cell::OnceCell<Option<PathBuf>>,
}

impl<'a> InterceptedSyscall<'a> {
    fn new(target: InterceptedThread, subject: SyscallFileArgument, arguments: &'a [u64; 6]) -> Self {
        Self { target, subject, arguments, path: std::cell::OnceCell::new() }
    }

    fn path(&self) -> Option<&Path> {
        self.path.get_or_init(|| self.target.path(self.subject, self.arguments)).as_deref()
    }

    fn fits(&self, rule: &FaultRule, kind: FaultySyscall) -> bool {
        let is_descriptor = |expected: i32| match self.subject {
            SyscallFileArgument::Descriptor(argument) => descriptor(self.arguments[argument]) == expected,
            SyscallFileArgument::Path { .. } => false,
        };
        rule.call == kind
            && rule.descriptor.is_none_or(is_descriptor)
            && rule.path.as_ref().is_none_or(|pattern| {
                self.path().is_some_and(|path| matches_pattern(pattern, &path.to_string_lossy()))
            })
    }
}

fn continue_response(id: u64) -> libc::seccomp_notif_resp {
    libc::seccomp_notif_resp { id, val: 0, error: 0, flags: CONTINUE }
}

fn result_response(id: u64, val: i64, error: i32) -> libc::seccomp_notif_resp {
    libc::seccomp_notif_resp { id, val, error, flags: 0 }
}
