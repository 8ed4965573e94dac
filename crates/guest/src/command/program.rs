//! Starts a program with pipes or a terminal as its standard streams.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use menace_guest::protocol::{GuestCommand, GuestStartStep};
use menace_guest::terminals::{self, PseudoTerminal};
use menace_model::sandbox::TerminalSize;
use rustix::process::Pid;

/// A started program, with our ends of its streams.
pub(super) struct StartedProgram {
    pub(super) pid: Pid,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
    pub(super) has_terminal: bool,
}

impl StartedProgram {
    /// Starts the program in the current directory.
    pub(super) fn start(run: &GuestCommand) -> Result<Self, (io::Error, GuestStartStep)> {
        let [program, arguments @ ..] = run.command.as_slice() else {
            return Err((io::ErrorKind::InvalidInput.into(), GuestStartStep::Execute));
        };
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(&run.environment);
        match run.terminal {
            None => with_pipes(command).map_err(|error| (error, GuestStartStep::Execute)),
            Some(size) => with_terminal(command, size),
        }
    }
}

fn with_pipes(mut command: Command) -> io::Result<StartedProgram> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A process group of its own: a signal to the program's group does not reach this process.
    command.process_group(0);
    let mut child = command.spawn()?;
    prefer_for_oom_killer(child.id());
    Ok(StartedProgram {
        pid: Pid::from_child(&child),
        stdin: child.stdin.take().map(OwnedFd::from),
        stdout: child.stdout.take().map(OwnedFd::from),
        stderr: child.stderr.take().map(OwnedFd::from),
        has_terminal: false,
    })
}

fn with_terminal(
    mut command: Command,
    size: TerminalSize,
) -> Result<StartedProgram, (io::Error, GuestStartStep)> {
    let PseudoTerminal { ours, theirs } =
        terminals::open(size).map_err(|error| (error, GuestStartStep::Terminal))?;
    let stdin = ours.try_clone().map_err(|error| (error, GuestStartStep::Terminal))?;
    let [input, output, errors] = theirs;
    command.stdin(input).stdout(output).stderr(errors);
    // SAFETY: between fork and exec only two system calls are made, which take no lock and allocate no memory; TIOCSCTTY
    // takes a number, and the terminal is the standard input by then.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            match libc::ioctl(0, libc::TIOCSCTTY, 0) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        });
    }
    let child = command.spawn().map_err(|error| (error, GuestStartStep::Execute))?;
    prefer_for_oom_killer(child.id());
    let pid = Pid::from_child(&child);
    Ok(StartedProgram { pid, stdin: Some(stdin), stdout: Some(ours), stderr: None, has_terminal: true })
}

/// Makes the OOM killer prefer the program to this process. The write fails only if the program has already ended.
fn prefer_for_oom_killer(pid: u32) {
    drop(std::fs::write(format!("/proc/{pid}/oom_score_adj"), "300"));
}
