//! From a forked process to the user's program.

use std::ffi::{CString, NulError};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::native::protocol::Program;

/// A program in the form that the kernel takes. It is made before the fork, so that the child only makes system calls.
pub(super) struct Executable {
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: CString,
    cpu_seconds: Option<u64>,
}

impl Executable {
    /// Fails for text with a zero byte, which no program can be given.
    pub(super) fn new(program: &Program) -> Result<Self, NulError> {
        let text = |text: &String| CString::new(text.as_bytes());
        let assignment = |(name, value): (&String, &String)| CString::new(format!("{name}={value}"));
        Ok(Self {
            arguments: program.command.iter().map(text).collect::<Result<_, _>>()?,
            environment: program.environment.iter().map(assignment).collect::<Result<_, _>>()?,
            directory: CString::new(program.directory.as_os_str().as_encoded_bytes())?,
            cpu_seconds: program.cpu_seconds,
        })
    }

    /// Becomes the program. Returns only if that is impossible, with what was tried, and then the pipe for notes is the
    /// only thing that is open beside the standard streams. The program does not get it: it is closed on exec.
    pub(super) fn become_it(&self, stdio: &[OwnedFd], notes: &OwnedFd) -> (&'static str, io::Error) {
        match self.prepare(stdio, notes) {
            Ok(()) => ("execute", self.execute()),
            Err(failure) => failure,
        }
    }

    fn prepare(&self, stdio: &[OwnedFd], notes: &OwnedFd) -> Result<(), (&'static str, io::Error)> {
        rustix::process::setsid().map_err(|error| ("start a session", error.into()))?;
        reset_signals();
        for (number, descriptor) in (0..).zip(stdio) {
            // SAFETY: dup2 replaces descriptors 0 to 2, which nothing in this process owns: they are /dev/null.
            if unsafe { libc::dup2(descriptor.as_raw_fd(), number) } < 0 {
                return Err(("connect the standard streams", io::Error::last_os_error()));
            }
        }
        // Before the working directory is entered: `/proc/self/fd/7` as one would hand a descriptor of ours to the program
        // (CVE-2024-21626).
        // SAFETY: this process uses nothing else from here on to its end, or to the program.
        unsafe { menace_enter::descriptors::close_all_but(&[0, 1, 2, notes.as_raw_fd()]) }
            .map_err(|error| ("close what the program must not have", error))?;
        rustix::process::chdir(self.directory.as_c_str())
            .map_err(|error| ("enter the working directory", error.into()))?;
        if let Some(seconds) = self.cpu_seconds {
            // At the first of the two the kernel sends SIGXCPU, which says why; at the second it kills who ignores it.
            let limit = Rlimit { current: Some(seconds), maximum: Some(seconds + 1) };
            setrlimit(Resource::Cpu, limit).map_err(|error| ("limit CPU time", error.into()))?;
        }
        Ok(())
    }

    fn execute(&self) -> io::Error {
        let arguments = pointers(&self.arguments);
        let environment = pointers(&self.environment);
        let Some(program) = self.arguments.first() else { return io::ErrorKind::InvalidInput.into() };
        // execvpe looks in the PATH of the calling process, which therefore becomes that of the program.
        // SAFETY: this process has one thread, and nothing reads the environment while it is changed.
        unsafe {
            libc::clearenv();
            for assignment in &self.environment {
                libc::putenv(assignment.as_ptr().cast_mut());
            }
        }
        // SAFETY: both arrays end with a null pointer and point to C strings that live as long as `self`.
        unsafe { libc::execvpe(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
        io::Error::last_os_error()
    }
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// Gives a program the signals as a shell would: nothing blocked, and SIGPIPE deadly, which Rust's runtime ignores.
pub(super) fn reset_signals() {
    // SAFETY: the set lives during the calls; changing masks and dispositions of this process, which has one thread and
    // installs no handlers, is what is wanted.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
}

/// Lets go of every handler and every ignored signal that the process had from which the launcher was forked. The kernel
/// keeps signals of programs from the first process, but only those without a handler; and a handler of another process
/// writes to descriptors that are others by now.
pub(super) fn forget_handlers() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: no code of ours runs in a signal context. What cannot be changed, SIGKILL and SIGSTOP, has no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
