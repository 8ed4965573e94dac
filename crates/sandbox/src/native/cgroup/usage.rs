//! Resource usage of a group. A value whose controller the group does not have is `None`; an unreadable file is an
//! error.
//!
//! Files are opened for each reading. Of the 9 µs that a file takes, opening is 8, but most groups are read once, at
//! their end, and a host of a thousand sandboxes would have six thousand files open.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use menace_model::sandbox::{ResourceController, ResourceUsage};

use super::discover::CgroupVersion;
use super::error::CgroupError;
use super::files::{self, number, read, read_if_there, read_number_if_there, value_of};
use super::group::{CgroupDirectory, ControlGroup, lock};

impl ControlGroup {
    /// Resources that all processes of the group have consumed since its creation, including ended ones.
    pub(crate) fn usage(&self) -> Result<ResourceUsage, CgroupError> {
        let cpu = self.directory_of(ResourceController::CpuAccounting).map(cpu_milliseconds).transpose()?;
        let io = self.directory_of(ResourceController::Io).map(io_bytes).transpose()?.flatten();
        Ok(ResourceUsage {
            cpu_user_ms: cpu.map(|(user, _)| user),
            cpu_system_ms: cpu.map(|(_, system)| system),
            peak_rss_bytes: self.memory_peak()?,
            io_read_bytes: io.map(|(read, _)| read),
            io_write_bytes: io.map(|(_, written)| written),
            cpu_throttled_ms: self
                .directory_of(ResourceController::Cpu)
                .map(throttled_milliseconds)
                .transpose()?
                .flatten(),
        })
    }

    /// Whether the group counts CPU time.
    pub(crate) fn counts_cpu(&self) -> bool {
        self.directory_of(ResourceController::CpuAccounting).is_some()
    }

    /// Current memory in bytes.
    pub(crate) fn memory_now(&self) -> Result<Option<u64>, CgroupError> {
        let Some(directory) = self.directory_of(ResourceController::Memory) else { return Ok(None) };
        let file = match directory.version {
            CgroupVersion::V1 => "memory.usage_in_bytes",
            CgroupVersion::V2 => "memory.current",
        };
        read_number_if_there(&directory.path.join(file))
    }

    /// Current number of processes and threads.
    pub(crate) fn pids_now(&self) -> Result<Option<u64>, CgroupError> {
        let Some(directory) = self.directory_of(ResourceController::Pids) else { return Ok(None) };
        read_number_if_there(&directory.path.join("pids.current"))
    }

    /// Number of processes that the kernel killed because the memory of the group ran out.
    pub(crate) fn oom_kills(&self) -> Result<Option<u64>, CgroupError> {
        let Some(directory) = self.directory_of(ResourceController::Memory) else { return Ok(None) };
        let file = match directory.version {
            CgroupVersion::V1 => "memory.oom_control",
            CgroupVersion::V2 => "memory.events",
        };
        let path = directory.path.join(file);
        value_of(&path, &read(&path)?, "oom_kill")
    }

    /// Resets the memory peak to the current usage. Cgroup v2 supports that since Linux 6.12. A group that does not
    /// count memory has no peak to reset.
    pub(crate) fn reset_peak(&self) -> Result<(), CgroupError> {
        let Some(directory) = self.directory_of(ResourceController::Memory) else { return Ok(()) };
        match directory.version {
            CgroupVersion::V1 => files::write(&directory.path.join("memory.max_usage_in_bytes"), "0"),
            CgroupVersion::V2 => {
                let path = directory.path.join("memory.peak");
                let file = reset_by_writing(&path).map_err(CgroupError::write(&path, "0"))?;
                *lock(&self.peak) = Some(file);
                Ok(())
            }
        }
    }

    fn memory_peak(&self) -> Result<Option<u64>, CgroupError> {
        let Some(directory) = self.directory_of(ResourceController::Memory) else { return Ok(None) };
        match directory.version {
            CgroupVersion::V1 => read_number_if_there(&directory.path.join("memory.max_usage_in_bytes")),
            CgroupVersion::V2 => {
                let path = directory.path.join("memory.peak");
                match &*lock(&self.peak) {
                    Some(file) => read_from_start(file, &path).map(Some),
                    None => read_number_if_there(&path),
                }
            }
        }
    }
}

/// User and system CPU time.
fn cpu_milliseconds(directory: &CgroupDirectory) -> Result<(f64, f64), CgroupError> {
    match directory.version {
        CgroupVersion::V1 => v1_cpu_milliseconds(&directory.path),
        CgroupVersion::V2 => {
            let path = directory.path.join("cpu.stat");
            let text = read(&path)?;
            let milliseconds = |key| match value_of(&path, &text, key)? {
                Some(microseconds) => Ok(float(microseconds) / 1e3),
                None => Err(CgroupError::Parse { path: path.clone(), text: text.clone() }),
            };
            Ok((milliseconds("user_usec")?, milliseconds("system_usec")?))
        }
    }
}

/// Time for which the quota throttled processes; `None` on a kernel without quotas.
fn throttled_milliseconds(directory: &CgroupDirectory) -> Result<Option<f64>, CgroupError> {
    let path = directory.path.join("cpu.stat");
    let Some(text) = read_if_there(&path)? else { return Ok(None) };
    Ok(match directory.version {
        CgroupVersion::V1 => {
            value_of(&path, &text, "throttled_time")?.map(|nanoseconds| float(nanoseconds) / 1e6)
        }
        CgroupVersion::V2 => {
            value_of(&path, &text, "throttled_usec")?.map(|microseconds| float(microseconds) / 1e3)
        }
    })
}

/// Cgroup v1 counts the sum in nanoseconds, but samples its two parts at every tick: a call of 3 ms can be 0 or 4 ms
/// there. So the sum is divided in the proportion of the samples, as v2 does itself.
fn v1_cpu_milliseconds(directory: &Path) -> Result<(f64, f64), CgroupError> {
    let path = directory.join("cpuacct.usage");
    let sum = float(number(&path, read(&path)?.trim())?) / 1e6;
    let (user, system) = v1_sampled(directory)?;
    let in_kernel = if system == 0 { 0.0 } else { sum * float(system) / float(user + system) };
    Ok((sum - in_kernel, in_kernel))
}

/// Sampled user and system time, in nanoseconds where the kernel provides them, else in ticks; only the ratio is used.
fn v1_sampled(directory: &Path) -> Result<(u64, u64), CgroupError> {
    let user = read_number_if_there(&directory.join("cpuacct.usage_user"))?;
    let system = read_number_if_there(&directory.join("cpuacct.usage_sys"))?;
    if let (Some(user), Some(system)) = (user, system) {
        return Ok((user, system));
    }
    let path = directory.join("cpuacct.stat");
    let text = read(&path)?;
    match (value_of(&path, &text, "user")?, value_of(&path, &text, "system")?) {
        (Some(user), Some(system)) => Ok((user, system)),
        _ => Err(CgroupError::Parse { path, text }),
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to a hundred days in nanoseconds, and close beyond")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Bytes read and written, of all devices. In v1 the kernel does not attribute delayed write-back to a process, so only
/// direct and synchronous writes are counted.
fn io_bytes(directory: &CgroupDirectory) -> Result<Option<(u64, u64)>, CgroupError> {
    let file = match directory.version {
        CgroupVersion::V1 => "blkio.throttle.io_service_bytes",
        CgroupVersion::V2 => "io.stat",
    };
    let path = directory.path.join(file);
    let Some(text) = read_if_there(&path)? else { return Ok(None) };
    let mut sums = (0, 0);
    for line in text.lines() {
        match directory.version {
            // `8:0 Read 4096`
            CgroupVersion::V1 => match line.split(' ').collect::<Vec<_>>()[..] {
                [_, "Read", bytes] => sums.0 += number(&path, bytes)?,
                [_, "Write", bytes] => sums.1 += number(&path, bytes)?,
                _ => {}
            },
            // `8:0 rbytes=4096 wbytes=0 rios=1 …`
            CgroupVersion::V2 => {
                for field in line.split(' ') {
                    match field.split_once('=') {
                        Some(("rbytes", bytes)) => sums.0 += number(&path, bytes)?,
                        Some(("wbytes", bytes)) => sums.1 += number(&path, bytes)?,
                        _ => {}
                    }
                }
            }
        }
    }
    Ok(Some(sums))
}

fn reset_by_writing(path: &Path) -> std::io::Result<File> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    file.write_all(b"0")?;
    Ok(file)
}

fn read_from_start(file: &File, path: &Path) -> Result<u64, CgroupError> {
    let mut text = [0; 32];
    let length = file.read_at(&mut text, 0).map_err(CgroupError::read(path))?;
    number(path, String::from_utf8_lossy(&text[..length]).trim())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn directory(version: CgroupVersion, files: &[(&str, &str)]) -> (tempfile::TempDir, CgroupDirectory) {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            fs::write(root.path().join(file), text).unwrap();
        }
        let path = root.path().to_owned();
        (root, CgroupDirectory { hierarchy: 0, version, path })
    }

    #[test]
    fn cpu_time_of_version_1_is_the_exact_sum_divided_by_the_ticks() {
        let (_root, exact) = directory(
            CgroupVersion::V1,
            &[
                ("cpuacct.usage", "9000000\n"),
                ("cpuacct.usage_user", "8000000"),
                ("cpuacct.usage_sys", "4000000"),
            ],
        );
        assert_eq!(cpu_milliseconds(&exact).unwrap(), (6.0, 3.0));
        let (_root, ticks) = directory(
            CgroupVersion::V1,
            &[("cpuacct.usage", "9000000"), ("cpuacct.stat", "user 1\nsystem 2\n")],
        );
        let (user, system) = cpu_milliseconds(&ticks).unwrap();
        assert!((user - 3.0).abs() < 1e-9 && (system - 6.0).abs() < 1e-9, "{user} {system}");
        let (_root, short) = directory(
            CgroupVersion::V1,
            &[("cpuacct.usage", "500000"), ("cpuacct.stat", "user 0\nsystem 0\n")],
        );
        assert_eq!(cpu_milliseconds(&short).unwrap(), (0.5, 0.0));
    }

    #[test]
    fn cpu_time_of_version_2() {
        let stat = "usage_usec 3500\nuser_usec 2500\nsystem_usec 1000\nnice_usec 0\n";
        let (_root, there) = directory(CgroupVersion::V2, &[("cpu.stat", stat)]);
        assert_eq!(cpu_milliseconds(&there).unwrap(), (2.5, 1.0));
        let (_root, nonsense) = directory(CgroupVersion::V2, &[("cpu.stat", "usage_usec 3500\n")]);
        assert!(matches!(cpu_milliseconds(&nonsense), Err(CgroupError::Parse { .. })));
    }

    #[test]
    fn throttled_time_is_in_milliseconds() {
        let v1 = "nr_periods 3\nnr_throttled 2\nthrottled_time 1500000\n";
        let (_root, there) = directory(CgroupVersion::V1, &[("cpu.stat", v1)]);
        assert_eq!(throttled_milliseconds(&there).unwrap(), Some(1.5));
        let (_root, there) =
            directory(CgroupVersion::V2, &[("cpu.stat", "usage_usec 3\nthrottled_usec 2500\n")]);
        assert_eq!(throttled_milliseconds(&there).unwrap(), Some(2.5));
        let (_root, none) = directory(CgroupVersion::V1, &[]);
        assert_eq!(throttled_milliseconds(&none).unwrap(), None);
    }

    #[test]
    fn bytes_of_all_devices_are_added() {
        let v1 = "8:0 Read 10\n8:0 Write 5\n8:0 Sync 15\n8:0 Total 15\n8:16 Read 1\nTotal 16\n";
        let (_root, there) = directory(CgroupVersion::V1, &[("blkio.throttle.io_service_bytes", v1)]);
        assert_eq!(io_bytes(&there).unwrap(), Some((11, 5)));
        let v2 = "8:0 rbytes=10 wbytes=5 rios=1 wios=1 dbytes=0 dios=0\n253:1 \n8:16 rbytes=1 wbytes=2\n";
        let (_root, there) = directory(CgroupVersion::V2, &[("io.stat", v2)]);
        assert_eq!(io_bytes(&there).unwrap(), Some((11, 7)));
        let (_root, missing) = directory(CgroupVersion::V2, &[]);
        assert_eq!(io_bytes(&missing).unwrap(), None);
    }

    #[test]
    fn a_peak_that_was_reset_is_read_through_the_same_file() {
        let (root, _directory) = directory(CgroupVersion::V2, &[("memory.peak", "77\n")]);
        let path = root.path().join("memory.peak");
        let file = reset_by_writing(&path).unwrap();
        fs::remove_file(&path).unwrap();
        // The fabricated file holds `0`, then the rest of its old content: a real one would hold the current usage.
        assert_eq!(read_from_start(&file, &path).unwrap(), 7);
        assert!(reset_by_writing(&path).is_err());
    }
}
