//! Whoever is asked about system calls.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use menace_enter::seccomp::{self, Answer, Denials};
use menace_model::chance::{mixed, share};
use menace_model::faults::{Fault, FaultCount, FaultRule, FaultyCall};
use menace_model::sandbox::Denial;
use menace_model::text::fits;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::calls::{Subject, look_up};
use super::corrupt::write_other_bytes;
use super::target::{Target, descriptor};
use crate::SandboxError;

/// `SECCOMP_USER_NOTIF_FLAG_CONTINUE` in the type of its field.
const CONTINUE: u32 = 1;
/// Processes that are known to run programs. More are looked at each time.
const MOST_KNOWN: usize = 10_000;

/// Answers the calls of a sandbox, on a thread of its own, until nobody is left who could make one.
#[derive(Debug)]
pub(crate) struct Supervisor {
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug)]
struct Counts {
    rules: Vec<FaultCount>,
    denials: Denials,
    /// Why calls were not answered any more, if that happened.
    problem: Option<String>,
}

impl Supervisor {
    /// Begins to answer. `ours` is the executable whose own calls never go wrong.
    pub(crate) fn start(
        listener: OwnedFd,
        rules: &[FaultRule],
        seed: u64,
        ours: PathBuf,
    ) -> io::Result<Self> {
        let rules = rules.iter().map(|rule| FaultCount { rule: rule.clone(), seen: 0, fired: 0 }).collect();
        let counts = Arc::new(Mutex::new(Counts { rules, denials: Denials::default(), problem: None }));
        let mut desk = Desk {
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

    /// What was made to go wrong so far.
    pub(crate) fn report(&self) -> Result<Vec<FaultCount>, SandboxError> {
        let counts = lock(&self.counts);
        match &counts.problem {
            None => Ok(counts.rules.clone()),
            // Calls that nobody answers fail, and no rule says so.
            Some(problem) => Err(SandboxError::Protocol(format!(
                "system calls of a sandbox were not answered any more: {problem}"
            ))),
        }
    }

    /// Calls that were refused since the last time.
    pub(crate) fn take_denied(&self) -> Vec<Denial> {
        let denied = lock(&self.counts).denials.take();
        denied.into_iter().map(|(syscall, count)| Denial { syscall, count }).collect()
    }
}

fn lock(counts: &Mutex<Counts>) -> std::sync::MutexGuard<'_, Counts> {
    // Nothing panics while it holds the lock, and the counts are right after every line.
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Desk {
    listener: OwnedFd,
    seed: u64,
    ours: PathBuf,
    counts: Arc<Mutex<Counts>>,
    programs: HashSet<u32>,
    /// Calls that are let go later.
    held: BinaryHeap<Reverse<(Instant, u64)>>,
}

/// What becomes of a call.
enum Verdict {
    GoesOn,
    Fails(i32),
    Later(Duration),
    Done(io::Result<usize>),
}

impl Desk {
    fn answer_all(&mut self) -> io::Result<()> {
        loop {
            self.let_go()?;
            let patience =
                self.held.peek().map(|Reverse((at, _))| at.saturating_duration_since(Instant::now()));
            let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
            let mut polled = [PollFd::new(&self.listener, PollFlags::IN)];
            match poll(&mut polled, patience.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let happened = polled[0].revents();
            if happened.contains(PollFlags::IN) {
                if let Some(call) = seccomp::receive(self.listener.as_fd())? {
                    self.answer(&call)?;
                }
            } else if happened.intersects(PollFlags::HUP | PollFlags::ERR) {
                // Nobody is left.
                return Ok(());
            }
        }
    }

    fn let_go(&mut self) -> io::Result<()> {
        let now = Instant::now();
        while self.held.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            if let Some(Reverse((_, id))) = self.held.pop() {
                self.send(goes_on(id))?;
            }
        }
        Ok(())
    }

    fn send(&self, response: libc::seccomp_notif_resp) -> io::Result<()> {
        seccomp::send(self.listener.as_fd(), &response)
    }

    fn answer(&mut self, call: &libc::seccomp_notif) -> io::Result<()> {
        let number = call.data.nr.cast_unsigned();
        if let Answer::Refuse(_) = seccomp::answer(number, &call.data.args) {
            lock(&self.counts).denials.count(&call.data);
            return self.send(seccomp::refusal(call));
        }
        match self.decide(call, number) {
            Verdict::GoesOn => self.send(goes_on(call.id)),
            Verdict::Fails(error) => self.send(returns(call.id, 0, -error)),
            Verdict::Later(delay) => {
                self.held.push(Reverse((Instant::now() + delay, call.id)));
                Ok(())
            }
            Verdict::Done(Ok(written)) => self.send(returns(call.id, i64::try_from(written).unwrap_or(0), 0)),
            Verdict::Done(Err(error)) => {
                self.send(returns(call.id, 0, -error.raw_os_error().unwrap_or(libc::EIO)))
            }
        }
    }

    fn decide(&mut self, call: &libc::seccomp_notif, number: u32) -> Verdict {
        let Some((kind, subject, name)) = look_up(number) else { return Verdict::GoesOn };
        let target = Target { thread: call.pid };
        if !self.is_program(target) {
            return Verdict::GoesOn;
        }
        let about = About::new(target, subject, &call.data.args);
        let mut counts = lock(&self.counts);
        for (place, counted) in (0_u64..).zip(&mut counts.rules) {
            if !about.fits(&counted.rule, kind) {
                continue;
            }
            counted.seen += 1;
            let chance = share(mixed(mixed(mixed(self.seed) ^ place) ^ counted.seen));
            if chance >= counted.rule.rate {
                continue;
            }
            let verdict = match counted.rule.fault {
                Fault::Error(error) => Verdict::Fails(error.number()),
                Fault::DelayMs(delay) => Verdict::Later(Duration::from_millis(delay)),
                Fault::Corrupt => match write_other_bytes(target, name, &call.data.args) {
                    Some(result) => Verdict::Done(result),
                    None => continue,
                },
            };
            counted.fired += 1;
            return verdict;
        }
        Verdict::GoesOn
    }

    /// Whoever runs a program once never runs our own code again.
    fn is_program(&mut self, target: Target) -> bool {
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

/// What a call is about. Its path is read only if a rule wants to know.
struct About<'a> {
    target: Target,
    subject: Subject,
    arguments: &'a [u64; 6],
    path: std::cell::OnceCell<Option<PathBuf>>,
}

impl<'a> About<'a> {
    fn new(target: Target, subject: Subject, arguments: &'a [u64; 6]) -> Self {
        Self { target, subject, arguments, path: std::cell::OnceCell::new() }
    }

    fn path(&self) -> Option<&Path> {
        self.path.get_or_init(|| self.target.path(self.subject, self.arguments)).as_deref()
    }

    fn fits(&self, rule: &FaultRule, kind: FaultyCall) -> bool {
        let is_descriptor = |expected: i32| match self.subject {
            Subject::Descriptor(argument) => descriptor(self.arguments[argument]) == expected,
            Subject::Path { .. } => false,
        };
        rule.call == kind
            && rule.descriptor.is_none_or(is_descriptor)
            && rule
                .path
                .as_ref()
                .is_none_or(|pattern| self.path().is_some_and(|path| fits(pattern, &path.to_string_lossy())))
    }
}

fn goes_on(id: u64) -> libc::seccomp_notif_resp {
    libc::seccomp_notif_resp { id, val: 0, error: 0, flags: CONTINUE }
}

fn returns(id: u64, val: i64, error: i32) -> libc::seccomp_notif_resp {
    libc::seccomp_notif_resp { id, val, error, flags: 0 }
}
