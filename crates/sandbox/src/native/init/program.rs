//! Start of the user's program from a request.

use std::ffi::{CString, NulError, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use rustix::process::{Pid, Resource, Rlimit, WaitOptions, setrlimit, waitpid};

use crate::native::protocol::{ProgramSpec, ProgramStartStep};

/// Stack size of the new process for its few calls before exec.
const STACK: usize = 64 << 10;

/// A program in the form that the kernel takes.
pub(super) struct ExecutableProgram {
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: CString,
    cpu_seconds: Option<u64>,
    has_terminal: bool,
}

/// Failed start of a program: the step and the kernel's error.
#[derive(Debug)]
pub(super) struct ProgramStartFailure {
    pub(super) step: ProgramStartStep,
    pub(super) error: io::Error,
}

/// Memory of the parent that the new process reads and writes.
struct ProgramStartAttempt<'a> {
    executable: &'a ExecutableProgram,
    stdio: &'a [OwnedFd],
    /// Both end with a null pointer and point to strings of the executable.
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    failure: Option<ProgramStartFailure>,
}

impl ExecutableProgram {
    /// Converts a program. Fails for text with a zero byte, which cannot be passed to a program.
    pub(super) fn new(program: &ProgramSpec) -> Result<Self, NulError> {
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

    /// Starts the program in a new process. The process uses the memory of this one, which is suspended until the
    /// kernel has accepted the program: nothing is copied, and the result of the start is known immediately.
    pub(super) fn start(&self, stdio: &[OwnedFd]) -> Result<Pid, ProgramStartFailure> {
        let mut attempt = ProgramStartAttempt {
            executable: self,
            stdio,
            arguments: pointers(&self.arguments),
            environment: pointers(&self.environment),
            failure: None,
        };
        let mut stack = vec![0_u128; STACK / size_of::<u128>()];
        // SAFETY: the stack pointer is the end of a live and aligned allocation, from which the stack grows down.
        // CLONE_VFORK suspends this process, so that only the child uses the stack, the attempt and errno until the
        // child has its own memory or is gone; and this process has one thread.
        let child = unsafe {
            libc::clone(
                execute_program,
                stack.as_mut_ptr().add(stack.len()).cast::<c_void>(),
                libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                (&raw mut attempt).cast::<c_void>(),
            )
        };
        let child = Pid::from_raw(child.max(0));
        let child = child.ok_or_else(|| ProgramStartFailure {
            step: ProgramStartStep::Process,
            error: io::Error::last_os_error(),
        })?;
        match attempt.failure {
            None => Ok(child),
            Some(failure) => {
                // Reaps the child, whose status is of no interest.
                drop(waitpid(Some(child), WaitOptions::empty()).map_err(io::Error::from));
                Err(failure)
            }
        }
    }
}

/// Entry point of the new process, until exec.
extern "C" fn execute_program(attempt: *mut c_void) -> c_int {
    // SAFETY: the pointer is to the attempt of the parent, which is suspended.
    let attempt = unsafe { &mut *attempt.cast::<ProgramStartAttempt>() };
    attempt.failure = Some(match attempt.prepare() {
        Ok(()) => ProgramStartFailure { step: ProgramStartStep::Execute, error: attempt.execute() },
        Err(failure) => failure,
    });
    // SAFETY: _exit(2) ends the process immediately, without running the parent's exit handlers.
    unsafe { libc::_exit(127) }
}

impl ProgramStartAttempt<'_> {
    fn prepare(&self) -> Result<(), ProgramStartFailure> {
        let failed = |step: ProgramStartStep| {
            move |error: rustix::io::Errno| ProgramStartFailure { step, error: error.into() }
        };
        rustix::process::setsid().map_err(failed(ProgramStartStep::Session))?;
        reset_signals();
        for (number, descriptor) in (0..).zip(self.stdio) {
            // SAFETY: dup2 replaces descriptors 0 to 2 of this process, which no code in it owns: they are /dev/null.
            if unsafe { libc::dup2(descriptor.as_raw_fd(), number) } < 0 {
                return Err(ProgramStartFailure {
                    step: ProgramStartStep::Streams,
                    error: io::Error::last_os_error(),
                });
            }
        }
        if self.executable.has_terminal {
            // Makes the terminal the controlling one of the new session, so that Ctrl-C and the like reach the program.
            // SAFETY: TIOCSCTTY takes a number and changes no memory.
            if unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } < 0 {
                return Err(ProgramStartFailure {
                    step: ProgramStartStep::Terminal,
                    error: io::Error::last_os_error(),
                });
            }
        }
        // Before the working directory is entered: `/proc/self/fd/7` as a working directory would give the program a
        // descriptor of ours (CVE-2024-21626).
        // SAFETY: this process uses no other descriptors from here on; its descriptors are copies of the parent's.
        unsafe { menace_isolation::descriptors::close_all_but(&[0, 1, 2]) }
            .map_err(|error| ProgramStartFailure { step: ProgramStartStep::InheritedFiles, error })?;
        rustix::process::chdir(self.executable.directory.as_c_str())
            .map_err(failed(ProgramStartStep::Directory))?;
        if let Some(seconds) = self.executable.cpu_seconds {
            // At the soft limit the kernel sends SIGXCPU, which identifies the cause; at the hard limit it sends
            // SIGKILL.
            let limit = Rlimit { current: Some(seconds), maximum: Some(seconds + 1) };
            setrlimit(Resource::Cpu, limit).map_err(failed(ProgramStartStep::CpuLimit))?;
        }
        Ok(())
    }

    fn execute(&self) -> io::Error {
        let Some(program) = self.executable.arguments.first() else {
            return io::ErrorKind::InvalidInput.into();
        };
        // execvpe searches the PATH of the calling process, so the program's environment is installed for this call.
        // SAFETY: the parent shares this variable, has one thread and is suspended; its value is restored on failure.
        // Both arrays end with a null pointer and point to C strings that live as long as the executable.
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

/// Resets signals to the state in which a shell starts a program: none blocked, and SIGPIPE, which Rust's runtime
/// ignores, terminates.
pub(super) fn reset_signals() {
    // SAFETY: the set lives during the calls; this process has one thread and installs no handlers, so changing its
    // signal mask and dispositions affects no other code.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
}

/// Resets every signal handler and ignored signal that was inherited from the process that forked the launcher. The
/// kernel protects the init process from signals of programs, but only from signals without a handler; and an inherited
/// handler would write to descriptors that have been reused.
pub(in crate::native) fn forget_handlers() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: no code of ours runs in a signal context. SIGKILL and SIGSTOP cannot be changed and have no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
