//! From a request to the user's program.

use std::ffi::{CString, NulError, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use rustix::process::{Pid, Resource, Rlimit, WaitOptions, setrlimit, waitpid};

use crate::native::protocol::Program;

/// What a process needs for its few calls before it is the program.
const STACK: usize = 64 << 10;

/// A program in the form that the kernel takes.
pub(super) struct Executable {
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: CString,
    cpu_seconds: Option<u64>,
    has_terminal: bool,
}

/// Why a program could not be started: what was tried, and what the kernel said.
#[derive(Debug)]
pub(super) struct NotStarted {
    pub(super) tried: &'static str,
    pub(super) error: io::Error,
}

/// What the new process reads and writes in the memory of its parent.
struct Attempt<'a> {
    executable: &'a Executable,
    stdio: &'a [OwnedFd],
    /// Both end with a null pointer and point to strings of the executable.
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    failure: Option<NotStarted>,
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
            has_terminal: program.terminal.is_some(),
        })
    }

    /// Starts the program in a new process. The process uses the memory of this one, which stands still until the kernel
    /// has accepted the program: nothing is copied, and whether it could be started is known at once.
    pub(super) fn start(&self, stdio: &[OwnedFd]) -> Result<Pid, NotStarted> {
        let mut attempt = Attempt {
            executable: self,
            stdio,
            arguments: pointers(&self.arguments),
            environment: pointers(&self.environment),
            failure: None,
        };
        let mut stack = vec![0_u128; STACK / size_of::<u128>()];
        // SAFETY: the end of a live and aligned allocation, from which the stack grows down. CLONE_VFORK keeps this process,
        // and with it the stack, the attempt and errno, from being used by anybody but the child until the child has its
        // own memory or is gone; and this process has one thread.
        let child = unsafe {
            libc::clone(
                become_the_program,
                stack.as_mut_ptr().add(stack.len()).cast::<c_void>(),
                libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                (&raw mut attempt).cast::<c_void>(),
            )
        };
        let child = Pid::from_raw(child.max(0));
        let child = child
            .ok_or_else(|| NotStarted { tried: "start a process", error: io::Error::last_os_error() })?;
        match attempt.failure {
            None => Ok(child),
            Some(failure) => {
                // It has ended, and only that is to be known of it.
                drop(waitpid(Some(child), WaitOptions::empty()).map_err(io::Error::from));
                Err(failure)
            }
        }
    }
}

/// The whole life of the process before it is the program.
extern "C" fn become_the_program(attempt: *mut c_void) -> c_int {
    // SAFETY: it is the attempt of the parent, which stands still.
    let attempt = unsafe { &mut *attempt.cast::<Attempt>() };
    attempt.failure = Some(match attempt.prepare() {
        Ok(()) => NotStarted { tried: "execute", error: attempt.execute() },
        Err(failure) => failure,
    });
    // SAFETY: _exit(2) ends the process at once, without running what its parent has to do at its own end.
    unsafe { libc::_exit(127) }
}

impl Attempt<'_> {
    fn prepare(&self) -> Result<(), NotStarted> {
        let failed =
            |tried: &'static str| move |error: rustix::io::Errno| NotStarted { tried, error: error.into() };
        rustix::process::setsid().map_err(failed("start a session"))?;
        reset_signals();
        for (number, descriptor) in (0..).zip(self.stdio) {
            // SAFETY: dup2 replaces descriptors 0 to 2 of this process, which nothing in it owns: they are /dev/null.
            if unsafe { libc::dup2(descriptor.as_raw_fd(), number) } < 0 {
                return Err(NotStarted {
                    tried: "connect the standard streams",
                    error: io::Error::last_os_error(),
                });
            }
        }
        if self.executable.has_terminal {
            // Of its own session, which was just begun, so that Ctrl-C and the like reach it.
            // SAFETY: TIOCSCTTY takes a number and changes nothing in memory.
            if unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } < 0 {
                return Err(NotStarted { tried: "take the terminal", error: io::Error::last_os_error() });
            }
        }
        // Before the working directory is entered: `/proc/self/fd/7` as one would hand a descriptor of ours to the program
        // (CVE-2024-21626).
        // SAFETY: this process uses nothing else from here on; its descriptors are copies of the parent's.
        unsafe { menace_enter::descriptors::close_all_but(&[0, 1, 2]) }
            .map_err(|error| NotStarted { tried: "close what the program must not have", error })?;
        rustix::process::chdir(self.executable.directory.as_c_str())
            .map_err(failed("enter the working directory"))?;
        if let Some(seconds) = self.executable.cpu_seconds {
            // At the first of the two the kernel sends SIGXCPU, which says why; at the second it kills who ignores it.
            let limit = Rlimit { current: Some(seconds), maximum: Some(seconds + 1) };
            setrlimit(Resource::Cpu, limit).map_err(failed("limit CPU time"))?;
        }
        Ok(())
    }

    fn execute(&self) -> io::Error {
        let Some(program) = self.executable.arguments.first() else {
            return io::ErrorKind::InvalidInput.into();
        };
        // execvpe looks in the PATH of the calling process, which therefore is that of the program for this call.
        // SAFETY: the parent, whose variable this is as well, has one thread, which stands still; it finds what it had. Both
        // arrays end with a null pointer and point to C strings that live as long as the executable.
        unsafe {
            let before = environ;
            environ = self.environment.as_ptr();
            libc::execvpe(program.as_ptr(), self.arguments.as_ptr(), self.environment.as_ptr());
            let error = io::Error::last_os_error();
            environ = before;
            error
        }
    }
}

unsafe extern "C" {
    static mut environ: *const *const c_char;
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
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
pub(in crate::native) fn forget_handlers() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: no code of ours runs in a signal context. What cannot be changed, SIGKILL and SIGSTOP, has no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
