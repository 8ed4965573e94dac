//! Isolation and usage of the sandbox, read from the kernel inside it: guarantees are measured, not assumed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use menace_guest::protocol::GuestInspection;

/// The kinds of namespaces, as `/proc/self/ns` names them.
const NAMESPACE_KINDS: [&str; 8] = ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"];

/// Directories in which commands can write.
const DISKS: [&str; 3] = ["/workspace", "/tmp", "/dev/shm"];

/// Inspects this process and its sandbox.
pub(crate) fn inspect() -> io::Result<GuestInspection> {
    let status = fs::read_to_string("/proc/self/status")?;
    let required = |field| number(&status, field).ok_or_else(|| missing_field(field));
    Ok(GuestInspection {
        namespaces: namespaces(),
        capabilities: capabilities(&status)?,
        no_new_privs: required("NoNewPrivs")? == 1,
        seccomp_mode: required("Seccomp")?,
        disk_bytes: DISKS.iter().map(|disk| used_bytes(Path::new(disk))).sum(),
        oom_kills: oom_kills(),
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

/// Inodes of the namespaces of this process; a kernel may lack one of the kinds.
fn namespaces() -> Vec<(String, u64)> {
    let inode =
        |kind: &str| Some((kind.to_owned(), fs::metadata(format!("/proc/self/ns/{kind}")).ok()?.ino()));
    NAMESPACE_KINDS.into_iter().filter_map(inode).collect()
}

/// Whether one of the disks has no free block or no free inode.
pub(crate) fn a_disk_is_full() -> bool {
    // A file system without a limit on inodes reports 0 of them.
    let is_full =
        |state: rustix::fs::StatVfs| state.f_bavail == 0 || (state.f_files > 0 && state.f_ffree == 0);
    DISKS.iter().any(|disk| rustix::fs::statvfs(*disk).is_ok_and(is_full))
}

/// Bytes of the files below a directory. A tmpfs that belongs to the sandbox as a whole counts them itself. Of other file
/// systems, such as a volume of an engine that keeps all its files in memory, only the directory belongs to the sandbox.
fn used_bytes(directory: &Path) -> u64 {
    match rustix::fs::statfs(directory) {
        Ok(state) if state.f_type == libc::TMPFS_MAGIC && is_whole_disk(directory) => {
            let pages = state.f_blocks.saturating_sub(state.f_bfree);
            pages * u64::try_from(state.f_bsize).unwrap_or(0)
        }
        _ => bytes_by_walking(directory),
    }
}

/// Whether the root of a file system is mounted at a directory, and not a subdirectory of it.
fn is_whole_disk(directory: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    // Of several mounts at the same path, the last one is visible.
    let of_mount = |line: &str| {
        let mut fields = line.split(' ').skip(3);
        Some((fields.next()? == "/", fields.next()? == directory.as_os_str()))
    };
    let seen = mounts.lines().filter_map(of_mount).rfind(|(_, is_here)| *is_here);
    seen.is_some_and(|(is_whole, _)| is_whole)
}

/// Bytes of the files below a directory, by walking it. Unreadable entries are not counted.
fn bytes_by_walking(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let of_entry = |entry: fs::DirEntry| {
        let Ok(metadata) = entry.metadata() else { return 0 };
        let below = if metadata.is_dir() { bytes_by_walking(&entry.path()) } else { 0 };
        metadata.blocks() * 512 + below
    };
    entries.flatten().map(of_entry).sum()
}

/// Number of OOM kills, where the cgroup is visible in the container.
pub(crate) fn oom_kills() -> Option<u64> {
    let version_1 = read_counter("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill");
    version_1.or_else(|| read_counter("/sys/fs/cgroup/memory.events", "oom_kill"))
}

/// Peak memory since the container was started.
pub(crate) fn peak_bytes() -> Option<u64> {
    let paths = ["/sys/fs/cgroup/memory/memory.max_usage_in_bytes", "/sys/fs/cgroup/memory.peak"];
    paths.iter().find_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
}

/// Time for which processes were throttled by the CPU quota, in nanoseconds.
pub(crate) fn throttled_ns() -> Option<u64> {
    let version_1 = read_counter("/sys/fs/cgroup/cpu/cpu.stat", "throttled_time");
    version_1.or_else(|| Some(read_counter("/sys/fs/cgroup/cpu.stat", "throttled_usec")? * 1000))
}

fn read_counter(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(found, _)| *found == name)?.1.trim().parse().ok()
}

/// Counters of bytes that this process and its reaped children read from and wrote to devices. The file is opened before
/// the process becomes undumpable, after which it cannot be opened.
pub(crate) struct IoCounts(Option<File>);

impl IoCounts {
    pub(crate) fn open() -> Self {
        Self(File::open("/proc/self/io").ok())
    }

    /// Bytes read and written; `None` where the kernel does not count them.
    pub(crate) fn read(&self) -> Option<(u64, u64)> {
        let mut bytes = [0; 512];
        let length = self.0.as_ref()?.read_at(&mut bytes, 0).ok()?;
        let text = String::from_utf8_lossy(bytes.get(..length)?).into_owned();
        Some((number(&text, "read_bytes")?, number(&text, "write_bytes")?))
    }
}

fn value<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    text.lines().find_map(|line| Some(line.strip_prefix(field)?.strip_prefix(':')?.trim()))
}

fn number(text: &str, field: &str) -> Option<u64> {
    value(text, field)?.parse().ok()
}
