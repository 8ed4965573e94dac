//! Relays bytes and control messages between the host and a program until the program has ended.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use menace_guest::protocol::{
    CommandControl, GuestCommand, GuestCommandResult, GuestFrameKind, GuestReport, decode, take_frame,
};
use menace_guest::terminals;
use menace_model::sandbox::TerminalSize;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};

use super::buffers::{GuestInputQueue, GuestOutputPipe, HostFrameQueue};
use super::child_signal::ChildSignal;
use super::program::StartedProgram;
use super::usage::{UsageBaseline, time_of_reaped};
use crate::inspect::IoCounts;
use crate::processes::{kill_all_others, kill_descendants, time_of_descendants, wait_for_all};

/// Interval between checks of the CPU time, where it is limited.
const CPU_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Time without output after which the terminal of an ended program counts as drained: the kernel delivers terminal output
/// with a delay, and descendants that are still running may keep the terminal open for ever.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);

/// A running program and the streams between it and the host.
pub(super) struct CommandRelay<'a> {
    run: &'a GuestCommand,
    pid: Pid,
    has_terminal: bool,
    stdin: Option<OwnedFd>,
    stdout: GuestOutputPipe,
    stderr: GuestOutputPipe,
    from_host: Vec<u8>,
    to_host: HostFrameQueue,
    to_program: GuestInputQueue,
    signals: ChildSignal,
    before: UsageBaseline,
    status: Option<WaitStatus>,
}

/// Reason why the relay of a program ended.
enum RelayEnd {
    Ended(WaitStatus),
    TimedOut,
    CpuExceeded,
    Killed,
    HostIsGone,
}

impl<'a> CommandRelay<'a> {
    pub(super) fn new(
        run: &'a GuestCommand,
        program: StartedProgram,
        signals: ChildSignal,
        before: UsageBaseline,
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
            stdout: GuestOutputPipe::new(program.stdout, GuestFrameKind::Output),
            stderr: GuestOutputPipe::new(program.stderr, GuestFrameKind::Complaint),
            from_host: Vec::new(),
            to_host: HostFrameQueue::default(),
            to_program: GuestInputQueue::default(),
            signals,
            before,
            status: None,
        })
    }

    /// Relays until the program has ended and its result was sent to the host.
    pub(super) fn serve(mut self, counts: &IoCounts) -> io::Result<()> {
        let over = self.relay_until_over()?;
        if matches!(over, RelayEnd::HostIsGone) {
            self.kill();
            return Ok(());
        }
        let was_killed = !matches!(over, RelayEnd::Ended(_));
        // Only the bytes that are already in the pipes are read: descendants that are still running may print for ever.
        let is_gone = if was_killed || self.run.exclusive { self.kill() } else { true };
        self.drain()?;
        let end = GuestCommandResult { has_survivors: !is_gone, ..end_of(&over) };
        let end = self.before.measure(&end, counts);
        self.to_host.report(&GuestReport::Ended(Box::new(end)))?;
        self.flush()
    }

    fn kill(&self) -> bool {
        if self.run.exclusive {
            kill_all_others();
            return wait_for_all();
        }
        kill_descendants()
    }

    fn relay_until_over(&mut self) -> io::Result<RelayEnd> {
        loop {
            self.wait()?;
            // Checked first: if this process was stopped, the program may have ended only after its timeout.
            if self.run.timeout.is_some_and(|timeout| self.before.began().elapsed() >= timeout) {
                return Ok(RelayEnd::TimedOut);
            }
            self.signals.clear();
            self.reap();
            if let Some(status) = self.status {
                return Ok(RelayEnd::Ended(status));
            }
            if let Some(over) = self.read_host()? {
                return Ok(over);
            }
            self.move_bytes()?;
            let taken = |_: &Duration| time_of_reaped() + time_of_descendants();
            if self.run.cpu_time.is_some_and(|allowed| taken(&allowed) >= allowed) {
                return Ok(RelayEnd::CpuExceeded);
            }
        }
    }

    /// Waits until a stream is ready, a child has ended, or the next check is due.
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
        match poll(&mut polled, self.next_check().as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn next_check(&self) -> Option<Timespec> {
        let left = self.run.timeout.map(|timeout| timeout.saturating_sub(self.before.began().elapsed()));
        let check = self.run.cpu_time.map(|_| CPU_CHECK_INTERVAL);
        let soonest = left.into_iter().chain(check).min()?;
        // Rounded up: waking too early would cause another wait.
        Timespec::try_from(soonest + Duration::from_micros(1)).ok()
    }

    /// Reaps ended children, including orphans that were reparented to this process.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.pid {
                self.status = Some(status);
            }
        }
    }

    fn read_host(&mut self) -> io::Result<Option<RelayEnd>> {
        if !is_readable(io::stdin())? {
            return Ok(None);
        }
        let mut buffer = vec![0; 64 << 10];
        let length = rustix::io::read(io::stdin(), &mut buffer)?;
        if length == 0 {
            return Ok(Some(RelayEnd::HostIsGone));
        }
        self.from_host.extend(buffer.get(..length).unwrap_or_default());
        while let Some((kind, body)) = take_frame(&mut self.from_host)? {
            match kind {
                GuestFrameKind::Input => self.input(&body)?,
                GuestFrameKind::InputEnd => self.to_program.end(),
                GuestFrameKind::Control => match decode(&body)? {
                    CommandControl::Signal(signal) => self.signal(signal),
                    CommandControl::Resize(size) => self.resize(size)?,
                    CommandControl::Kill => return Ok(Some(RelayEnd::Killed)),
                },
                _ => return Err(io::Error::other(format!("unexpected frame from the host: {kind:?}"))),
            }
        }
        Ok(None)
    }

    fn input(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.stdin.is_none() {
            // The program does not read its input; the host may continue to send.
            return self.to_host.report(&GuestReport::Consumed(bytes.len() as u64));
        }
        self.to_program.push(bytes);
        Ok(())
    }

    fn signal(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            // The program may have ended in the meantime.
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
                Ok(length) => self.to_host.report(&GuestReport::Consumed(length as u64))?,
                // The program has closed its standard input.
                Err(_) => {
                    self.stdin = None;
                    self.to_host.report(&GuestReport::InputClosed)?;
                }
            }
        }
        // The input of a terminal has no end; the sender writes the end-of-file character (Ctrl-D) instead.
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
        while self.stdout.pipe.is_some() && last.elapsed() < DRAIN_TIMEOUT {
            if self.stdout.read(usize::MAX, &mut self.to_host) > 0 {
                last = Instant::now();
            }
            self.flush()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Waits until all frames were written to the host.
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

fn end_of(over: &RelayEnd) -> GuestCommandResult {
    match over {
        RelayEnd::Ended(status) => GuestCommandResult {
            exit_code: status.exit_status(),
            signal: status.terminating_signal(),
            ..GuestCommandResult::default()
        },
        RelayEnd::TimedOut => GuestCommandResult { timed_out: true, ..GuestCommandResult::default() },
        RelayEnd::CpuExceeded => GuestCommandResult { cpu_exceeded: true, ..GuestCommandResult::default() },
        RelayEnd::Killed | RelayEnd::HostIsGone => {
            GuestCommandResult { signal: Some(libc::SIGKILL), ..GuestCommandResult::default() }
        }
    }
}
