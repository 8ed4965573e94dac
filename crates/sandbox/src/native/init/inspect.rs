//! Inspection of the sandbox from inside: isolation is verified with the kernel, not assumed.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt};

use super::set_up::InitResources;
use crate::native::protocol::InitInspection;

/// Kinds of namespaces, as `/proc/self/ns` names them.
pub(crate) const NAMESPACE_KINDS: [&str; 8] = ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"];

/// Inspects this process.
pub(super) fn inspect(inside: &InitResources) -> io::Result<InitInspection> {
    let status = fs::read_to_string("/proc/self/status")?;
    let (io_read_bytes, io_write_bytes) = io_counts(&inside.io_counts)?;
    let usage = children_usage();
    Ok(InitInspection {
        namespaces: namespaces()?,
        capabilities: capabilities(&status)?,
        no_new_privs: number(&status, "NoNewPrivs").ok_or_else(|| missing_field("NoNewPrivs"))? == 1,
        seccomp_mode: number(&status, "Seccomp").ok_or_else(|| missing_field("Seccomp"))?,
        landlock_abi: inside.landlock_abi,
        disk_bytes: used_bytes(inside.scratch.directory.as_fd())?,
        io_read_bytes,
        io_write_bytes,
        cpu_user_us: usage.0,
        cpu_system_us: usage.1,
        largest_process_bytes: usage.2,
        processes: processes()?,
    })
}

/// Union of all five capability sets.
fn capabilities(status: &str) -> io::Result<u64> {
    let mut all = 0;
    for field in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let set = value(status, field).and_then(|text| u64::from_str_radix(text, 16).ok());
        all |= set.ok_or_else(|| missing_field(field))?;
    }
    Ok(all)
}

fn missing_field(field: &str) -> io::Error {
    io::Error::other(format!("/proc/self/status has no {field}"))
}

/// Inodes of the namespaces that this process is in.
pub(crate) fn namespaces() -> io::Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    for kind in NAMESPACE_KINDS {
        match fs::metadata(format!("/proc/self/ns/{kind}")) {
            Ok(metadata) => found.push((kind.to_owned(), metadata.ino())),
            // A kernel without this kind.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// User and system time in microseconds, and peak memory of the largest process in bytes, of reaped children.
pub(super) fn children_usage() -> (u64, u64, u64) {
    usage_of(libc::RUSAGE_CHILDREN)
}

/// User and system time of this process, in microseconds.
pub(super) fn own_cpu_us() -> u64 {
    let (user, system, _) = usage_of(libc::RUSAGE_SELF);
    user + system
}

fn usage_of(whom: libc::c_int) -> (u64, u64, u64) {
    // SAFETY: all zero is a valid `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure lives during the call, which can only fail for a wrong selector or address.
    unsafe { libc::getrusage(whom, &raw mut usage) };
    usage_numbers(&usage)
}

/// The three reported numbers of a `rusage`.
pub(super) fn usage_numbers(usage: &libc::rusage) -> (u64, u64, u64) {
    let microseconds = |time: libc::timeval| (time.tv_sec * 1_000_000 + time.tv_usec).cast_unsigned();
    (microseconds(usage.ru_utime), microseconds(usage.ru_stime), usage.ru_maxrss.cast_unsigned() << 10)
}

/// Bytes read from and written to devices by this process and the children that it has reaped.
pub(super) fn io_counts(counts: &File) -> io::Result<(u64, u64)> {
    let mut bytes = [0; 512];
    let length = counts.read_at(&mut bytes, 0)?;
    let text = String::from_utf8_lossy(bytes.get(..length).unwrap_or_default());
    let read =
        |field| number(&text, field).ok_or_else(|| io::Error::other(format!("/proc/self/io has no {field}")));
    Ok((read("read_bytes")?, read("write_bytes")?))
}

/// Whether the disk of the sandbox has no room for one more page or file.
pub(super) fn disk_is_full(scratch: BorrowedFd) -> io::Result<bool> {
    let state = rustix::fs::fstatvfs(scratch.as_fd())?;
    Ok(state.f_bfree == 0 || state.f_ffree == 0)
}

fn used_bytes(scratch: BorrowedFd) -> io::Result<u64> {
    let state = rustix::fs::fstatvfs(scratch)?;
    Ok((state.f_blocks - state.f_bfree) * state.f_frsize)
}

fn processes() -> io::Result<u64> {
    let mut count = 0;
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        if name.as_encoded_bytes().iter().all(u8::is_ascii_digit) && name != "1" {
            count += 1;
        }
    }
    Ok(count)
}

fn value<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    text.lines().find_map(|line| Some(line.strip_prefix(field)?.strip_prefix(':')?.trim()))
}

fn number(text: &str, field: &str) -> Option<u64> {
    value(text, field)?.parse().ok()
}
