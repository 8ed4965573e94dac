//! Starts a program with pipes or a terminal in place of its standard streams.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use menace_inside::protocol::{Run, Step};
use menace_inside::terminals::{self, Terminal};
use menace_model::sandbox::TerminalSize;
use rustix::process::Pid;

/// A program that was started, with our ends of its streams.
pub(super) struct Program {
    pub(super) pid: Pid,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
    pub(super) has_terminal: bool,
}

impl Program {
    /// Starts it in the current directory.
    pub(super) fn start(run: &Run) -> Result<Self, (io::Error, Step)> {
        let [program, arguments @ ..] = run.command.as_slice() else {
            return Err((io::ErrorKind::InvalidInput.into(), Step::Execute));
        };
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(&run.environment);
        match run.terminal {
            None => with_pipes(command).map_err(|error| (error, Step::Execute)),
            Some(size) => with_terminal(command, size),
        }
    }
}

fn with_pipes(mut command: Command) -> io::Result<Program> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own: a signal to the group of a program is none to this process.
    command.process_group(0);
    let mut child = command.spawn()?;
    prefer_for_memory(child.id());
    Ok(Program {
        pid: Pid::from_child(&child),
        stdin: child.stdin.take().map(OwnedFd::from),
        stdout: child.stdout.take().map(OwnedFd::from),
        stderr: child.stderr.take().map(OwnedFd::from),
        has_terminal: false,
    })
}

fn with_terminal(mut command: Command, size: TerminalSize) -> Result<Program, (io::Error, Step)> {
    let Terminal { ours, theirs } = terminals::open(size).map_err(|error| (error, Step::Terminal))?;
    let stdin = ours.try_clone().map_err(|error| (error, Step::Terminal))?;
    let [input, output, complaints] = theirs;
    command.stdin(input).stdout(output).stderr(complaints);
    // SAFETY: between fork and exec only two system calls are made, which take no lock and no memory; TIOCSCTTY takes a number,
    // and the terminal is the standard input by then.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            match libc::ioctl(0, libc::TIOCSCTTY, 0) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        });
    }
    let child = command.spawn().map_err(|error| (error, Step::Execute))?;
    prefer_for_memory(child.id());
    let pid = Pid::from_child(&child);
    Ok(Program { pid, stdin: Some(stdin), stdout: Some(ours), stderr: None, has_terminal: true })
}

/// When memory runs out the kernel is to choose the program and not this process. Whoever cannot be found is gone already.
fn prefer_for_memory(pid: u32) {
    drop(std::fs::write(format!("/proc/{pid}/oom_score_adj"), "300"));
}
