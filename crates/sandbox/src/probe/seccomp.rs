//! Probes of seccomp: a filter that denies a system call, and a supervisor that answers one in place of the kernel.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use rustix::thread::{no_new_privs, set_no_new_privs};

use super::failure::{ProbeFailure, syscall_failed};
use super::process::{ForkSide, fork, last_errno, wait};

/// Filtered system call: no other code of the probe makes it.
const FILTERED_CALL: libc::c_long = libc::SYS_getpgid;

/// Answer of the supervisor: larger than any process id.
const SUPERVISED_ANSWER: i64 = 123_456_789;

/// Sets `no_new_privs`, so that executing programs gains no privileges.
pub(super) fn no_new_privileges() -> Result<String, ProbeFailure> {
    set_no_new_privs(true).map_err(syscall_failed("set no_new_privs"))?;
    if no_new_privs().map_err(syscall_failed("read no_new_privs"))? {
        Ok("set".to_owned())
    } else {
        Err(ProbeFailure::Ineffective { step: "no_new_privs", observed: "still not set".to_owned() })
    }
}

/// Installs a filter that denies one call, and makes that call.
pub(super) fn filter() -> Result<String, ProbeFailure> {
    set_no_new_privs(true).map_err(syscall_failed("set no_new_privs"))?;
    let refusal = libc::SECCOMP_RET_ERRNO | libc::ENOTUNIQ.cast_unsigned();
    install(refusal, 0)?;
    match filtered_call() {
        Err(rustix::io::Errno::NOTUNIQ) => Ok("installed a filter that denied a call".to_owned()),
        observed => Err(ProbeFailure::Ineffective {
            step: "the filter",
            observed: format!("the call returned {observed:?}"),
        }),
    }
}

/// Installs a filter with a listener; a child makes the call and this process answers it.
pub(super) fn user_notification() -> Result<String, ProbeFailure> {
    set_no_new_privs(true).map_err(syscall_failed("set no_new_privs"))?;
    let descriptor = install(libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
    let descriptor = libc::c_int::try_from(descriptor).expect("a descriptor is a C int");
    // SAFETY: the kernel has just created this descriptor for this process, and nothing else owns it.
    let listener = unsafe { OwnedFd::from_raw_fd(descriptor) };
    match fork()? {
        ForkSide::Child => std::process::exit(i32::from(filtered_call() != Ok(SUPERVISED_ANSWER))),
        ForkSide::Parent(child) => {
            answer_one(&listener)?;
            match wait(child)?.exit_status() {
                Some(0) => Ok("a listener answered a call of another process".to_owned()),
                status => Err(ProbeFailure::Ineffective {
                    step: "the answer",
                    observed: format!("the child ended with {status:?}"),
                }),
            }
        }
    }
}

fn filtered_call() -> Result<i64, rustix::io::Errno> {
    // SAFETY: getpgid takes an id and accesses no memory of this process.
    let result = unsafe { libc::syscall(FILTERED_CALL, 0) };
    if result == -1 { Err(last_errno()) } else { Ok(result) }
}

/// Installs a filter that allows every call except [`FILTERED_CALL`], for which it returns `action`.
fn install(action: u32, flags: libc::c_ulong) -> Result<libc::c_long, ProbeFailure> {
    let number = u32::try_from(FILTERED_CALL).expect("system call numbers are small and positive");
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let compare = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let give = libc::BPF_RET | libc::BPF_K;
    // The number of the call is the first field of `seccomp_data`.
    let mut program = [
        instruction(load, 0, 0),
        instruction(compare, 1, number),
        instruction(give, 0, action),
        instruction(give, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).expect("the program has four instructions"),
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the kernel copies `len` instructions from `filter` during the call; the array outlives the call.
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    if result < 0 { Err(syscall_failed("install a seccomp filter")(last_errno())) } else { Ok(result) }
}

/// One BPF instruction; a comparison that fails skips `otherwise` instructions.
fn instruction(code: u32, otherwise: u8, operand: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: u16::try_from(code).expect("BPF codes have 16 bits"),
        jt: 0,
        jf: otherwise,
        k: operand,
    }
}

fn answer_one(listener: &OwnedFd) -> Result<(), ProbeFailure> {
    // SAFETY: both are plain structures of integers, and the kernel requires that the first is zeroed.
    let (mut request, mut response): (libc::seccomp_notif, libc::seccomp_notif_resp) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: the kernel writes one `seccomp_notif`, whose size is part of the request number, into `request`.
    let received =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut request) };
    if received != 0 {
        return Err(syscall_failed("receive a notification")(last_errno()));
    }
    response.id = request.id;
    response.val = SUPERVISED_ANSWER;
    // SAFETY: the kernel reads one `seccomp_notif_resp`, whose size is part of the request number, from `response`.
    let sent =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response) };
    if sent == 0 { Ok(()) } else { Err(syscall_failed("answer a notification")(last_errno())) }
}
