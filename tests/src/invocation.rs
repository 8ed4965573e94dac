//! One invocation of the binary, with its own environment and a wall-clock limit.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::binary::menace_binary;

/// Long enough for any invocation on a busy machine, short enough to wait for.
const WALL_LIMIT: Duration = Duration::from_mins(1);

/// An invocation of `menace` that has not been started.
pub struct MenaceInvocation {
    command: Command,
    wall_limit: Duration,
    input: Option<Vec<u8>>,
}

/// Exit code and output of an invocation.
#[derive(Debug)]
pub struct InvocationOutcome {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl MenaceInvocation {
    /// Prepares an invocation in `directory`, with `home` for the cache and only `PATH` of the caller's environment.
    pub fn new(directory: &Path, home: &Path) -> Self {
        Self::of(menace_binary(), directory, home)
    }

    /// Prepares an invocation of another program that starts `menace` in an environment of its own.
    pub fn of(program: impl AsRef<OsStr>, directory: &Path, home: &Path) -> Self {
        let mut command = Command::new(program);
        command
            .env_clear()
            .current_dir(directory)
            .env("HOME", home)
            .env("XDG_CACHE_HOME", home.join("cache"));
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        Self { command, wall_limit: WALL_LIMIT, input: None }
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments<T: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Unsets a variable.
    #[must_use]
    pub fn without_variable(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sets its stdin, which is empty by default.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// Sets the wall-clock limit: a longer invocation fails the test.
    #[must_use]
    pub fn wall_limit(mut self, limit: Duration) -> Self {
        self.wall_limit = limit;
        self
    }

    /// Starts it without waiting.
    pub fn start(mut self) -> RunningInvocation {
        let stdin = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the binary under test can be started");
        if let (Some(input), Some(mut pipe)) = (self.input, child.stdin.take()) {
            // The process may exit before it has read everything.
            std::thread::spawn(move || drop(pipe.write_all(&input)));
        }
        let stdout = read_all(child.stdout.take().expect("stdout is a pipe"));
        let stderr = read_all(child.stderr.take().expect("stderr is a pipe"));
        RunningInvocation { child, stdout, stderr, deadline: Instant::now() + self.wall_limit }
    }

    /// Runs it to its end.
    pub fn run(self) -> InvocationOutcome {
        self.start().finish()
    }
}

/// An invocation that was started.
pub struct RunningInvocation {
    child: Child,
    stdout: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
    deadline: Instant,
}

impl RunningInvocation {
    /// Waits for the exit. An invocation past its limit is killed and fails the test.
    pub fn finish(mut self) -> InvocationOutcome {
        let stdout = self.output_of(OutputStream::Stdout);
        let stderr = self.output_of(OutputStream::Stderr);
        let status = self.child.wait().expect("a child that was started can be waited for");
        InvocationOutcome { code: status.code(), stdout, stderr }
    }

    /// Whether the process still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }

    /// Sends SIGINT, as a user does with Ctrl-C.
    pub fn interrupt(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT)
            .expect("a child that was not waited for can be signalled");
    }

    /// Kills it with SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().expect("a child of this process can be killed");
        self.child.wait().expect("a child that was started can be waited for");
    }

    fn output_of(&mut self, stream: OutputStream) -> String {
        let output = match stream {
            OutputStream::Stdout => &self.stdout,
            OutputStream::Stderr => &self.stderr,
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        let Ok(bytes) = output.recv_timeout(left) else {
            self.child.kill().expect("a child of this process can be killed");
            panic!("menace exceeded its wall-clock limit: it hangs, or it is much too slow");
        };
        String::from_utf8(bytes).expect("menace prints UTF-8")
    }
}

#[derive(Clone, Copy)]
enum OutputStream {
    Stdout,
    Stderr,
}

/// Reads on a thread of its own, so that neither pipe fills up while the other is waited for.
fn read_all(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe from a child can be read");
        // The receiver is gone once the deadline has passed.
        drop(sender.send(bytes));
    });
    receiver
}

#[expect(clippy::return_self_not_must_use, reason = "some tests only check that the invocation succeeds")]
impl InvocationOutcome {
    /// Fails unless the exit code is 0.
    #[track_caller]
    pub fn success(self) -> Self {
        self.exits_with(0)
    }

    /// Fails unless the exit code is `code`.
    #[track_caller]
    pub fn exits_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// The one JSON document on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("stdout is not a JSON document: {error}\n{}", self.stdout),
        }
    }

    /// Fails unless stdout contains each of the texts.
    #[track_caller]
    pub fn stdout_contains(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.stdout.contains(text), "{text:?} is not on stdout:\n{}", self.stdout);
        }
    }

    /// Fails unless stderr contains each of the texts.
    #[track_caller]
    pub fn stderr_contains(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.stderr.contains(text), "{text:?} is not on stderr:\n{}", self.stderr);
        }
    }
}
