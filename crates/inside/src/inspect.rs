//! What the kernel says about the sandbox, read from inside: what is claimed is checked, not repeated.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use menace_inside::protocol::Inspection;

/// The kinds of namespaces, as `/proc/self/ns` names them.
const NAMESPACE_KINDS: [&str; 8] = ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"];

/// Where commands can write.
const DISKS: [&str; 3] = ["/workspace", "/tmp", "/dev/shm"];

/// Looks at this process and its sandbox.
pub(crate) fn inspect() -> io::Result<Inspection> {
    let status = fs::read_to_string("/proc/self/status")?;
    let required = |field| number(&status, field).ok_or_else(|| unsaid(field));
    Ok(Inspection {
        namespaces: namespaces(),
        capabilities: capabilities(&status)?,
        no_new_privs: required("NoNewPrivs")? == 1,
        seccomp_mode: required("Seccomp")?,
        disk_bytes: DISKS.iter().map(|disk| used_bytes(Path::new(disk))).sum(),
        oom_kills: oom_kills(),
    })
}

/// The union of all five sets.
fn capabilities(status: &str) -> io::Result<u64> {
    let mut all = 0;
    for field in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let set = value(status, field).and_then(|text| u64::from_str_radix(text, 16).ok());
        all |= set.ok_or_else(|| unsaid(field))?;
    }
    Ok(all)
}

fn unsaid(field: &str) -> io::Error {
    io::Error::other(format!("/proc/self/status has no {field}"))
}

/// Inodes of the namespaces that this process is in; a kernel may lack one of the kinds.
fn namespaces() -> Vec<(String, u64)> {
    let inode =
        |kind: &str| Some((kind.to_owned(), fs::metadata(format!("/proc/self/ns/{kind}")).ok()?.ino()));
    NAMESPACE_KINDS.into_iter().filter_map(inode).collect()
}

/// Whether one of the disks has no room for one more page or file.
pub(crate) fn a_disk_is_full() -> bool {
    // A file system without a limit on files says that it has none of them.
    let is_full =
        |state: rustix::fs::StatVfs| state.f_bavail == 0 || (state.f_files > 0 && state.f_ffree == 0);
    DISKS.iter().any(|disk| rustix::fs::statvfs(*disk).is_ok_and(is_full))
}

/// Bytes of the files below a directory. A disk in memory that is ours as a whole counts them itself; of others, such as a volume of an
/// engine that has all its files in memory, only what is below is ours.
fn used_bytes(directory: &Path) -> u64 {
    match rustix::fs::statfs(directory) {
        Ok(state) if state.f_type == libc::TMPFS_MAGIC && is_whole_disk(directory) => {
            let pages = state.f_blocks.saturating_sub(state.f_bfree);
            pages * u64::try_from(state.f_bsize).unwrap_or(0)
        }
        _ => walked_bytes(directory),
    }
}

/// Whether all of a file system is mounted at a directory, and not a part of it.
fn is_whole_disk(directory: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    // The last one that was mounted there is the one that is seen.
    let of_mount = |line: &str| {
        let mut fields = line.split(' ').skip(3);
        Some((fields.next()? == "/", fields.next()? == directory.as_os_str()))
    };
    let seen = mounts.lines().filter_map(of_mount).rfind(|(_, is_here)| *is_here);
    seen.is_some_and(|(is_whole, _)| is_whole)
}

/// What cannot be read is not counted.
fn walked_bytes(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let of_entry = |entry: fs::DirEntry| {
        let Ok(metadata) = entry.metadata() else { return 0 };
        let below = if metadata.is_dir() { walked_bytes(&entry.path()) } else { 0 };
        metadata.blocks() * 512 + below
    };
    entries.flatten().map(of_entry).sum()
}

/// How often the kernel killed because memory ran out, where the container shows its control group.
pub(crate) fn oom_kills() -> Option<u64> {
    let version_1 = word_after("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill");
    version_1.or_else(|| word_after("/sys/fs/cgroup/memory.events", "oom_kill"))
}

/// Most memory at one time since the container was started.
pub(crate) fn peak_bytes() -> Option<u64> {
    let paths = ["/sys/fs/cgroup/memory/memory.max_usage_in_bytes", "/sys/fs/cgroup/memory.peak"];
    paths.iter().find_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
}

/// How long processes had to wait for their share of the processors, in nanoseconds.
pub(crate) fn throttled_ns() -> Option<u64> {
    let version_1 = word_after("/sys/fs/cgroup/cpu/cpu.stat", "throttled_time");
    version_1.or_else(|| Some(word_after("/sys/fs/cgroup/cpu.stat", "throttled_usec")? * 1000))
}

fn word_after(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(found, _)| *found == name)?.1.trim().parse().ok()
}

/// What this process and the children that it has reaped read from and wrote to devices. The file is opened before the
/// process hides itself.
pub(crate) struct IoCounts(Option<File>);

impl IoCounts {
    pub(crate) fn open() -> Self {
        Self(File::open("/proc/self/io").ok())
    }

    /// Bytes that were read and written; nothing where the kernel does not count.
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
