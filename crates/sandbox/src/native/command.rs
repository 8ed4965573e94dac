//! A command before it runs: its pipes, and the start request for the sandbox.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use menace_model::sandbox::{ExecRequest, SandboxSpec, WORKSPACE};
use tokio::net::unix::pipe;

use super::pipes::{ProgramOutputPipe, new_pipe, pipe_from_program, sender};
use super::protocol::ProgramSpec;
use crate::SandboxError;
use crate::environment::BaseEnvironment;

/// A command before it runs, with the caller's ends of its pipes.
pub(super) struct PreparedCommand {
    pub(super) program: String,
    pub(super) directory: PathBuf,
    /// `None` for a command with a terminal, which is reported later.
    pub(super) stdin: Option<pipe::Sender>,
    pub(super) stdout: ProgramOutputPipe,
    pub(super) stderr: ProgramOutputPipe,
    pub(super) input: Vec<u8>,
    pub(super) timeout: Option<Duration>,
}

impl PreparedCommand {
    /// Opens the pipes of a command. The second and third values are for the init process of the sandbox, which also
    /// opens the terminal if there is one.
    pub(super) fn prepare(
        spec: &SandboxSpec,
        base: &BaseEnvironment,
        request: ExecRequest,
        counts_cpu: bool,
    ) -> Result<(Self, ProgramSpec, Vec<OwnedFd>), SandboxError> {
        let program = request.command.first().cloned().ok_or_else(|| SandboxError::Refused {
            problem: "no command given".into(),
            hint: "pass a program and its arguments".into(),
        })?;
        let (stdin, stdout, stderr, for_program) = if request.terminal.is_some() {
            (None, ProgramOutputPipe::nothing(), ProgramOutputPipe::nothing(), Vec::new())
        } else {
            let (stdin_for_program, stdin) = pipe_to_program()?;
            let (stdout, stdout_for_program) = pipe_from_program()?;
            let (stderr, stderr_for_program) = pipe_from_program()?;
            let for_program = vec![stdin_for_program, stdout_for_program, stderr_for_program];
            (Some(stdin), stdout, stderr, for_program)
        };
        let environment = base.of_command(spec, &request);
        let directory = request.directory.unwrap_or_else(|| PathBuf::from(WORKSPACE));
        let cpu_seconds = spec.limits.cpu_time.filter(|_| !counts_cpu).map(|time| time.as_secs().max(1));
        let order = ProgramSpec {
            command: request.command,
            environment,
            directory: directory.clone(),
            cpu_seconds,
            alone: request.exclusive,
            terminal: request.terminal,
        };
        let (input, timeout) = (request.stdin, request.timeout);
        let command = Self { program, directory, stdin, stdout, stderr, input, timeout };
        Ok((command, order, for_program))
    }
}

fn pipe_to_program() -> Result<(OwnedFd, pipe::Sender), SandboxError> {
    let (read, write) = new_pipe()?;
    Ok((read, sender(write)?))
}
