//! One run of the binary, with an environment of its own and an end that is certain.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::binary::menace_binary;

/// Long enough for any run on a busy machine, short enough for somebody to wait for it.
const WALL_LIMIT: Duration = Duration::from_mins(1);

/// A run of `menace` that has not been started.
pub struct Invocation {
    command: Command,
    wall_limit: Duration,
    input: Option<Vec<u8>>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// What was printed.
    pub stdout: String,
    /// What was said.
    pub stderr: String,
}

impl Invocation {
    /// A run in `directory`, with `home` for the cache and nothing of the caller's environment but `PATH`.
    pub fn new(directory: &Path, home: &Path) -> Self {
        Self::of(menace_binary(), directory, home)
    }

    /// The same with another program, one that starts `menace` in a place of its own.
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

    /// What it reads from stdin; without it there is nothing to read.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// The run fails the test if it takes longer.
    #[must_use]
    pub fn wall_limit(mut self, limit: Duration) -> Self {
        self.wall_limit = limit;
        self
    }

    /// Starts it and does not wait.
    pub fn start(mut self) -> Running {
        let stdin = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the binary under test can be started");
        if let (Some(input), Some(mut pipe)) = (self.input, child.stdin.take()) {
            // A run that does not read it all may end before.
            std::thread::spawn(move || drop(pipe.write_all(&input)));
        }
        let stdout = read_all(child.stdout.take().expect("stdout is a pipe"));
        let stderr = read_all(child.stderr.take().expect("stderr is a pipe"));
        Running { child, stdout, stderr, deadline: Instant::now() + self.wall_limit }
    }

    /// Runs it to its end.
    pub fn run(self) -> Outcome {
        self.start().finish()
    }
}

/// A run under way.
pub struct Running {
    child: Child,
    stdout: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
    deadline: Instant,
}

impl Running {
    /// Waits for the end. A run that is not over in time is killed and fails the test.
    pub fn finish(mut self) -> Outcome {
        let stdout = self.output_of(Stream::Stdout);
        let stderr = self.output_of(Stream::Stderr);
        let status = self.child.wait().expect("a child that was started can be waited for");
        Outcome { code: status.code(), stdout, stderr }
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }

    /// Asks it to end, as a user does with Ctrl-C.
    pub fn interrupt(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT)
            .expect("a child that was not waited for can be signalled");
    }

    /// Ends it without a chance to do anything.
    pub fn kill(mut self) {
        self.child.kill().expect("a child of this process can be killed");
        self.child.wait().expect("a child that was started can be waited for");
    }

    fn output_of(&mut self, stream: Stream) -> String {
        let output = match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        let Ok(bytes) = output.recv_timeout(left) else {
            self.child.kill().expect("a child of this process can be killed");
            panic!("menace was not done in time: it hangs, or it is much too slow");
        };
        String::from_utf8(bytes).expect("menace prints UTF-8")
    }
}

#[derive(Clone, Copy)]
enum Stream {
    Stdout,
    Stderr,
}

/// Reads on a thread of its own, so that neither pipe fills up while the other is waited for.
fn read_all(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe from a child can be read");
        // Nobody listens any more once the deadline has passed.
        drop(sender.send(bytes));
    });
    receiver
}

#[expect(clippy::return_self_not_must_use, reason = "that a run succeeds is all that some tests ask")]
impl Outcome {
    /// The same outcome, if it is a success.
    #[track_caller]
    pub fn success(self) -> Self {
        self.exits_with(0)
    }

    /// The same outcome, if it ended with this code.
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
            Err(error) => panic!("stdout is no JSON document: {error}\n{}", self.stdout),
        }
    }

    /// Fails unless stdout contains each of the texts.
    #[track_caller]
    pub fn shows(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.stdout.contains(text), "{text:?} is not on stdout:\n{}", self.stdout);
        }
    }

    /// Fails unless stderr contains each of the texts.
    #[track_caller]
    pub fn says(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.stderr.contains(text), "{text:?} is not on stderr:\n{}", self.stderr);
        }
    }
}
