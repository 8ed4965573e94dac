//! Runs the part of a test that drops privileges in a forked child, so that the test's own process keeps them.

use std::{
    any::Any,
    fs, io,
    panic::{self, AssertUnwindSafe},
};

/// Runs the assertions in a child and fails with their message when one fails.
pub(crate) fn run(assertions: impl FnOnce()) {
    let (mut reader, writer) = io::pipe().unwrap();
    // SAFETY: nextest runs each test in a process of its own, whose only other thread waits for this one and
    // holds no lock; glibc makes malloc usable in the child besides.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", io::Error::last_os_error()),
        0 => {
            drop(reader);
            tell_parent_and_exit(&panic::catch_unwind(AssertUnwindSafe(assertions)), writer);
        }
        child => {
            drop(writer);
            let message = io::read_to_string(&mut reader).unwrap();
            let status = wait_for(child);
            assert_eq!(status, 0, "wait status {status:#x} of the forked child: {message}");
        }
    }
}

/// As [`run`], with all capabilities over a new user namespace. Works for every user of a machine that allows
/// unprivileged user namespaces, and for root everywhere.
pub(crate) fn run_as_root_of_a_user_namespace(assertions: impl FnOnce()) {
    let user = rustix::process::geteuid().as_raw();
    run(|| {
        // SAFETY: this flag changes the credentials of the calling thread only, and no memory.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWUSER) }, 0, "{}", io::Error::last_os_error());
        fs::write("/proc/self/uid_map", format!("0 {user} 1")).unwrap();
        assertions();
    });
}

/// Waits for a child of this process and returns its wait status.
pub(crate) fn wait_for(child: libc::pid_t) -> libc::c_int {
    let mut status = 0;
    // SAFETY: the kernel writes one int to `status`.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child, "{}", io::Error::last_os_error());
    status
}

fn tell_parent_and_exit(result: &Result<(), Box<dyn Any + Send>>, mut writer: io::PipeWriter) -> ! {
    let code = match result {
        Ok(()) => 0,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without text");
            // The exit code reports the failure even when its text is lost.
            io::Write::write_all(&mut writer, text.as_bytes()).ok();
            1
        }
    };
    // SAFETY: ends the child without running destructors of the test harness, which belong to the parent.
    unsafe { libc::_exit(code) }
}
