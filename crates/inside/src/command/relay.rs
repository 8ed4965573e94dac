//! Passes on what the host and a program say to each other, until the program has ended.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use menace_inside::protocol::{Control, End, Kind, Report, Run, decode, take_frame};
use menace_inside::terminals;
use menace_model::sandbox::TerminalSize;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};

use super::buffers::{FromProgram, ToHost, ToProgram};
use super::child_signal::ChildSignal;
use super::start::Program;
use super::usage::{Before, time_of_reaped};
use crate::inspect::IoCounts;
use crate::processes::{kill_all_others, kill_descendants, time_of_descendants, wait_for_all};

/// How often the time on the processors is looked at, where it is limited.
const LOOK: Duration = Duration::from_millis(20);

/// How long nothing may come from the terminal of a program that has ended before that was all: the kernel passes on what is
/// printed a moment later, and what the program left running may hold the terminal for ever.
const QUIET: Duration = Duration::from_millis(20);

/// A program and all that is between it and the host.
pub(super) struct Relay<'a> {
    run: &'a Run,
    pid: Pid,
    has_terminal: bool,
    stdin: Option<OwnedFd>,
    stdout: FromProgram,
    stderr: FromProgram,
    from_host: Vec<u8>,
    to_host: ToHost,
    to_program: ToProgram,
    signals: ChildSignal,
    before: Before,
    status: Option<WaitStatus>,
}

/// Why a program is over.
enum Over {
    Ended(WaitStatus),
    TimedOut,
    CpuExceeded,
    Killed,
    HostIsGone,
}

impl<'a> Relay<'a> {
    pub(super) fn new(
        run: &'a Run,
        program: Program,
        signals: ChildSignal,
        before: Before,
    ) -> io::Result<Self> {
        let ends = [&program.stdin, &program.stdout, &program.stderr];
        for end in ends.into_iter().flatten() {
            rustix::fs::fcntl_setfl(end, OFlags::NONBLOCK)?;
        }
        rustix::fs::fcntl_setfl(io::stdout(), OFlags::NONBLOCK)?;
        Ok(Self {
            run,
            pid: program.pid,
            has_terminal: program.has_terminal,
            stdin: program.stdin,
            stdout: FromProgram::new(program.stdout, Kind::Output),
            stderr: FromProgram::new(program.stderr, Kind::Complaint),
            from_host: Vec::new(),
            to_host: ToHost::default(),
            to_program: ToProgram::default(),
            signals,
            before,
            status: None,
        })
    }

    /// Serves until the program is over and the host has heard of it.
    pub(super) fn serve(mut self, counts: &IoCounts) -> io::Result<()> {
        let over = self.pass_on()?;
        if matches!(over, Over::HostIsGone) {
            self.kill();
            return Ok(());
        }
        let was_killed = !matches!(over, Over::Ended(_));
        // What is in the pipes was printed before the end; what the program left running may print for ever.
        let is_gone = if was_killed || self.run.exclusive { self.kill() } else { true };
        self.drain()?;
        let end = End { has_survivors: !is_gone, ..how(&over) };
        let end = self.before.measure(&end, counts);
        self.to_host.report(&Report::Ended(Box::new(end)))?;
        self.flush()
    }

    fn kill(&self) -> bool {
        if self.run.exclusive {
            kill_all_others();
            return wait_for_all();
        }
        kill_descendants()
    }

    fn pass_on(&mut self) -> io::Result<Over> {
        loop {
            self.wait()?;
            // First of all: who was stopped meanwhile finds that a program has ended after its time.
            if self.run.timeout.is_some_and(|timeout| self.before.began().elapsed() >= timeout) {
                return Ok(Over::TimedOut);
            }
            self.signals.clear();
            self.reap();
            if let Some(status) = self.status {
                return Ok(Over::Ended(status));
            }
            if let Some(over) = self.hear_host()? {
                return Ok(over);
            }
            self.move_bytes()?;
            let taken = |_: &Duration| time_of_reaped() + time_of_descendants();
            if self.run.cpu_time.is_some_and(|allowed| taken(&allowed) >= allowed) {
                return Ok(Over::CpuExceeded);
            }
        }
    }

    /// Waits until something can be done.
    fn wait(&self) -> io::Result<()> {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        let mut polled = vec![PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
        if !self.to_host.is_empty() {
            polled.push(PollFd::new(&stdout, PollFlags::OUT));
        }
        if self.to_host.has_room() {
            let open = [&self.stdout.pipe, &self.stderr.pipe].into_iter().flatten();
            polled.extend(open.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        }
        if let Some(stdin) = self.stdin.as_ref().filter(|_| !self.to_program.is_empty()) {
            polled.push(PollFd::new(stdin, PollFlags::OUT));
        }
        match poll(&mut polled, self.next_look().as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn next_look(&self) -> Option<Timespec> {
        let left = self.run.timeout.map(|timeout| timeout.saturating_sub(self.before.began().elapsed()));
        let look = self.run.cpu_time.map(|_| LOOK);
        let soonest = left.into_iter().chain(look).min()?;
        // Rounded up: a moment too early would be waited for again.
        Timespec::try_from(soonest + Duration::from_micros(1)).ok()
    }

    /// Reaps what has ended. What becomes a child because it lost its parent is reaped as well.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.pid {
                self.status = Some(status);
            }
        }
    }

    fn hear_host(&mut self) -> io::Result<Option<Over>> {
        if !is_readable(io::stdin())? {
            return Ok(None);
        }
        let mut buffer = vec![0; 64 << 10];
        let length = rustix::io::read(io::stdin(), &mut buffer)?;
        if length == 0 {
            return Ok(Some(Over::HostIsGone));
        }
        self.from_host.extend(buffer.get(..length).unwrap_or_default());
        while let Some((kind, body)) = take_frame(&mut self.from_host)? {
            match kind {
                Kind::Input => self.input(&body)?,
                Kind::InputEnd => self.to_program.end(),
                Kind::Control => match decode(&body)? {
                    Control::Signal(signal) => self.signal(signal),
                    Control::Resize(size) => self.resize(size)?,
                    Control::Kill => return Ok(Some(Over::Killed)),
                },
                _ => return Err(io::Error::other(format!("{kind:?} from the host"))),
            }
        }
        Ok(None)
    }

    fn input(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.stdin.is_none() {
            // Nobody reads it; whoever sends it may go on.
            return self.to_host.report(&Report::Consumed(bytes.len() as u64));
        }
        self.to_program.push(bytes);
        Ok(())
    }

    fn signal(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            // It may have ended in between.
            let _gone = rustix::process::kill_process(self.pid, signal);
        }
    }

    fn resize(&self, size: TerminalSize) -> io::Result<()> {
        match &self.stdout.pipe {
            Some(terminal) if self.has_terminal => terminals::resize(terminal, size),
            _ => Ok(()),
        }
    }

    fn move_bytes(&mut self) -> io::Result<()> {
        if let Some(stdin) = &self.stdin {
            match self.to_program.write(stdin) {
                Ok(0) => {}
                Ok(length) => self.to_host.report(&Report::Consumed(length as u64))?,
                // It does not read any more, as is its right.
                Err(_) => {
                    self.stdin = None;
                    self.to_host.report(&Report::InputClosed)?;
                }
            }
        }
        // A terminal has no end of its input; a program that wants one is sent the character for it.
        if self.to_program.is_done() && !self.has_terminal {
            self.stdin = None;
        }
        if self.to_host.has_room() {
            self.stdout.read(usize::MAX, &mut self.to_host);
            self.stderr.read(usize::MAX, &mut self.to_host);
        }
        self.to_host.write()
    }

    fn drain(&mut self) -> io::Result<()> {
        if self.has_terminal {
            return self.drain_terminal();
        }
        let (mut out, mut err) = (self.stdout.waiting(), self.stderr.waiting());
        while out + err > 0 {
            let read = (self.stdout.read(out, &mut self.to_host), self.stderr.read(err, &mut self.to_host));
            if read == (0, 0) {
                break;
            }
            (out, err) = (out - read.0, err - read.1);
        }
        self.flush()
    }

    fn drain_terminal(&mut self) -> io::Result<()> {
        let mut last = Instant::now();
        while self.stdout.pipe.is_some() && last.elapsed() < QUIET {
            if self.stdout.read(usize::MAX, &mut self.to_host) > 0 {
                last = Instant::now();
            }
            self.flush()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Waits until the host has taken everything.
    fn flush(&mut self) -> io::Result<()> {
        while !self.to_host.is_empty() {
            let stdout = io::stdout();
            match poll(&mut [PollFd::new(&stdout, PollFlags::OUT)], None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => self.to_host.write()?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn is_readable(stream: impl AsFd) -> io::Result<bool> {
    let mut polled = [PollFd::new(&stream, PollFlags::IN)];
    match poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn how(over: &Over) -> End {
    match over {
        Over::Ended(status) => {
            End { exit_code: status.exit_status(), signal: status.terminating_signal(), ..End::default() }
        }
        Over::TimedOut => End { timed_out: true, ..End::default() },
        Over::CpuExceeded => End { cpu_exceeded: true, ..End::default() },
        Over::Killed | Over::HostIsGone => End { signal: Some(libc::SIGKILL), ..End::default() },
    }
}
