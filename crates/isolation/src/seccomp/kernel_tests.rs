//! Tests of the filter and its supervisor with the kernel, in forked children, and under real programs.

use std::{
    io,
    os::{
        fd::{AsFd, IntoRawFd, OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    process::{Command, Output},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open},
};

use super::notify::{receive, refusal, send};
use super::{DeniedSyscallCounts, install, install_with_listener};
use crate::{capabilities::no_new_privileges, forked_child};

/// Error number of a call with meaningless arguments, 0 when it succeeds.
fn error_of(number: libc::c_long, arguments: [libc::c_long; 3]) -> i32 {
    let [first, second, third] = arguments;
    // SAFETY: the callers pass integers and null pointers; the kernel denies the call, fails with an error, or the
    // call has no effect on this process's memory.
    match unsafe { libc::syscall(number, first, second, third, 0_usize, 0_usize, 0_usize) } {
        -1 => io::Error::last_os_error().raw_os_error().unwrap(),
        _ => 0,
    }
}

/// Calls with the error that the kernel must return under the filter.
const REAL_CALLS: [(libc::c_long, [libc::c_long; 3], i32); 15] = [
    (libc::SYS_ptrace, [0, 0, 0], libc::EPERM),
    (libc::SYS_bpf, [0, 0, 0], libc::EPERM),
    (libc::SYS_userfaultfd, [0, 0, 0], libc::EPERM),
    (libc::SYS_keyctl, [0, 0, 0], libc::EPERM),
    (libc::SYS_io_uring_setup, [1, 0, 0], libc::EPERM),
    (libc::SYS_mount, [0, 0, 0], libc::EPERM),
    (libc::SYS_unshare, [0x1000_0000, 0, 0], libc::EPERM),
    (libc::SYS_unshare, [0, 0, 0], libc::EPERM),
    (libc::SYS_setns, [-1, 0, 0], libc::EPERM),
    (libc::SYS_clone, [0x1000_0000 | 0x11, 0, 0], libc::EPERM),
    (libc::SYS_ioctl, [-1, 0x5412, 0], libc::EPERM),
    (libc::SYS_ioctl, [-1, 0x5412 | 1 << 32, 0], libc::EPERM),
    (libc::SYS_ioctl, [-1, 0x5401, 0], libc::EBADF),
    (libc::SYS_socket, [38, 5, 0], libc::EAFNOSUPPORT),
    (libc::SYS_clone3, [0, 0, 0], libc::ENOSYS),
];

#[test]
fn the_kernel_denies_the_calls() {
    forked_child::run(|| {
        no_new_privileges().unwrap();
        install().unwrap();
        for (number, arguments, error) in REAL_CALLS {
            assert_eq!(error_of(number, arguments), error, "call {number} with {arguments:x?}");
        }
        assert_eq!(error_of(0x4000_0000 + libc::SYS_getpid, [0, 0, 0]), libc::ENOSYS, "x32");
        assert_eq!(error_of(libc::SYS_getpid, [0, 0, 0]), 0);
    });
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_call_of_the_32_bit_architecture_kills_the_process() {
    // SAFETY: see `forked_child::run`; the child makes system calls only.
    let child = unsafe { libc::fork() };
    assert_ne!(child, -1);
    if child == 0 {
        let filtered = no_new_privileges().is_ok() && install().is_ok();
        if filtered {
            // SAFETY: call 20 is getpid there; the kernel changes eax, and 32-bit entry clears r8 to r11.
            unsafe {
                core::arch::asm!(
                    "int 0x80", inout("eax") 20 => _, out("r8") _, out("r9") _, out("r10") _, out("r11") _
                );
            }
        }
        // SAFETY: ends the child without the destructors of the test harness.
        unsafe { libc::_exit(0) }
    }
    let status = forked_child::wait_for(child);
    assert_eq!(status & 0x7f, libc::SIGSYS, "wait status {status:#x}");
}

/// A child under the filter, and the listener of its denied calls.
struct FilteredChild {
    child: libc::pid_t,
    ended: OwnedFd,
    listener: OwnedFd,
}

impl FilteredChild {
    /// Forks a child that installs the filter, sends the number of its listener, runs, and exits with the result.
    fn start(run: impl FnOnce() -> i32) -> Self {
        let (mut numbers, mut sender) = io::pipe().unwrap();
        // SAFETY: see `forked_child::run`.
        let child = unsafe { libc::fork() };
        assert_ne!(child, -1);
        if child == 0 {
            no_new_privileges().unwrap();
            let listener = install_with_listener(&[]).unwrap().into_raw_fd();
            io::Write::write_all(&mut sender, &listener.to_ne_bytes()).unwrap();
            let code = run();
            // SAFETY: ends the child without the destructors of the test harness.
            unsafe { libc::_exit(code) }
        }
        drop(sender);
        let mut number = [0; 4];
        io::Read::read_exact(&mut numbers, &mut number).unwrap();
        let ended = pidfd_open(Pid::from_raw(child).unwrap(), PidfdFlags::empty()).unwrap();
        let listener = pidfd_getfd(&ended, RawFd::from_ne_bytes(number), PidfdGetfdFlags::empty()).unwrap();
        Self { child, ended, listener }
    }

    /// Waits for a denied call; false when the child ended.
    fn wait_for_call(&self) -> bool {
        let mut descriptors =
            [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&self.ended, PollFlags::IN)];
        let found = poll(&mut descriptors, Some(&Timespec { tv_sec: 20, tv_nsec: 0 })).unwrap();
        assert_ne!(found, 0, "timed out after 20 seconds");
        descriptors[1].revents().is_empty()
    }

    /// Answers calls until the child ends, and returns its exit code.
    fn serve_until_the_end(&self, denials: &mut DeniedSyscallCounts) -> i32 {
        while self.wait_for_call() {
            denials.serve(self.listener.as_fd()).unwrap();
        }
        forked_child::wait_for(self.child) >> 8
    }
}

#[test]
fn the_supervisor_answers_denied_calls_and_counts_them() {
    let supervised = FilteredChild::start(|| {
        let wrong =
            REAL_CALLS.iter().position(|&(number, arguments, error)| error_of(number, arguments) != error);
        wrong.map_or(0, |position| i32::try_from(position).unwrap() + 1)
    });
    let mut denials = DeniedSyscallCounts::default();
    let first_wrong_answer = supervised.serve_until_the_end(&mut denials);
    assert_eq!(first_wrong_answer, 0);

    let mut counts = denials.take();
    counts.sort();
    let counts: Vec<(&str, u64)> = counts.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(
        counts,
        [
            ("bpf", 1),
            ("clone", 1),
            ("io_uring_setup", 1),
            ("ioctl", 2),
            ("keyctl", 1),
            ("mount", 1),
            ("ptrace", 1),
            ("setns", 1),
            ("socket", 1),
            ("unshare", 2),
            ("userfaultfd", 1)
        ]
    );
    assert_eq!(denials.take(), [], "the counts are reset");
}

#[test]
fn serving_does_not_wait_and_a_killed_process_is_no_error() {
    let supervised = FilteredChild::start(|| error_of(libc::SYS_ptrace, [0, 0, 0]));
    assert!(supervised.wait_for_call());
    let listener = supervised.listener.as_fd();
    let call = receive(listener).unwrap().expect("the child waits for its answer");
    // SAFETY: signals the child that this test forked and has not waited for.
    assert_eq!(unsafe { libc::kill(supervised.child, libc::SIGKILL) }, 0);
    assert_eq!(forked_child::wait_for(supervised.child), libc::SIGKILL);

    send(listener, &refusal(&call)).unwrap();
    let mut denials = DeniedSyscallCounts::default();
    denials.serve(listener).unwrap();
    assert_eq!(denials.take(), []);
}

fn filtered(program: &str, arguments: &[&str]) -> Output {
    super::prepare();
    let mut command = Command::new(program);
    command.args(arguments);
    // SAFETY: between fork and exec the closure only makes system calls; the filter is already compiled.
    unsafe {
        command.pre_exec(|| {
            no_new_privileges().map_err(io::Error::other)?;
            install()
        });
    }
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn check_program(program: &str, arguments: &[&str], stdout: &str) {
    let output = filtered(program, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {}: {stderr}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), stdout, "{stderr}");
}

#[test]
fn python_works_under_the_filter() {
    let script = r#"
import asyncio, ctypes, multiprocessing, os, socket, sqlite3, ssl, subprocess, tempfile, threading

def square(number):
    return number * number

seen = []
thread = threading.Thread(target=seen.append, args=(1,))
thread.start()
thread.join()
with multiprocessing.get_context("fork").Pool(2) as pool:
    seen.append(sum(pool.map(square, range(4))))
seen.append(subprocess.run(["echo", "child"], capture_output=True, text=True, check=True).stdout.strip())
with tempfile.TemporaryDirectory() as directory:
    database = sqlite3.connect(os.path.join(directory, "database"))
    database.execute("pragma journal_mode=wal")
    database.execute("create table numbers (number)")
    database.execute("insert into numbers values (5)")
    database.commit()
    seen.append(database.execute("select sum(number) from numbers").fetchone()[0])
    database.close()

async def echo():
    async def answer(reader, writer):
        writer.write(await reader.read(4))
        await writer.drain()
        writer.close()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"ping")
    seen.append((await reader.read(4)).decode())
    process = await asyncio.create_subprocess_exec("true")
    seen.append(await process.wait())

asyncio.run(echo())
ssl.create_default_context()
socket.if_nameindex()
seen.append(ctypes.CDLL(None).unshare(0))
print(*seen)
"#;
    check_program("python3", &["-c", script], "1 14 child 5 ping 0 -1");
}

#[test]
fn compilers_and_shells_work_under_the_filter() {
    let directory = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {} && printf 'int main(void) {{ return 3; }}' > program.c && cc -o program program.c; ./program; echo $? \
         && git init -q repository && git -C repository status --porcelain | wc -l && mkfifo pipe && ls | sort | tr '\\n' ' '",
        directory.path().display()
    );
    check_program("bash", &["-c", &script], "3\n0\npipe program program.c repository");
}

#[test]
fn exec_does_not_pass_the_listener_on() {
    forked_child::run(|| {
        no_new_privileges().unwrap();
        let listener = install_with_listener(&[]).unwrap();
        let flags = rustix::io::fcntl_getfd(&listener).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    });
}

#[test]
fn without_no_new_privileges_the_kernel_rejects_the_filter() {
    forked_child::run_as_root_of_a_user_namespace(|| {
        crate::capabilities::drop_all().unwrap();
        assert_eq!(install().unwrap_err().raw_os_error(), Some(libc::EACCES));
    });
}
