//! Kernel files and values of limits, in cgroup v1 and v2.

use std::path::Path;

use menace_model::sandbox::{ResourceController, SandboxLimits};

use super::discover::CgroupVersion;
use super::error::CgroupError;
use super::files;

/// Period of a CPU quota: the kernel's default.
const PERIOD_MICROSECONDS: u32 = 100_000;
/// Smallest quota that the kernel accepts. It is used for all limits below one core: with the default period and a quota
/// of a fifth, a command that needs 20 ms would get them without a pause, as if there were no limit.
const SMALLEST_QUOTA_MICROSECONDS: f64 = 1000.0;
/// Smallest CPU limit; a smaller one would need a longer period than the kernel's default.
const SMALLEST_CPUS: f64 = 0.01;

/// Controllers that the limits need, each with the user's name of the limit.
pub(super) fn needed_for(limits: &SandboxLimits) -> impl Iterator<Item = (ResourceController, &'static str)> {
    let asked = [
        (limits.memory.is_some(), ResourceController::Memory, "memory"),
        (limits.cpus.is_some(), ResourceController::Cpu, "cpus"),
        (limits.cpu_time.is_some(), ResourceController::CpuAccounting, "cpu time"),
        (limits.pids.is_some(), ResourceController::Pids, "pids"),
    ];
    asked.into_iter().filter(|(asked, _, _)| *asked).map(|(_, controller, name)| (controller, name))
}

/// Writes the limits of a controller into a group. CPU time has no file: it is counted and compared.
pub(super) fn write(
    controller: ResourceController,
    version: CgroupVersion,
    directory: &Path,
    limits: &SandboxLimits,
) -> Result<(), CgroupError> {
    match controller {
        ResourceController::Memory => {
            limits.memory.map_or(Ok(()), |bytes| write_memory(version, directory, bytes))
        }
        ResourceController::Cpu => limits.cpus.map_or(Ok(()), |cpus| write_cpus(version, directory, cpus)),
        ResourceController::Pids => {
            limits.pids.map_or(Ok(()), |count| files::write(&directory.join("pids.max"), &count.to_string()))
        }
        ResourceController::CpuAccounting | ResourceController::Io | ResourceController::Freezer => Ok(()),
    }
}

/// The same for a group that already has limits. The limit on memory alone may at no time exceed that on memory and swap
/// together, so one has to be raised before the other, and lowered after it.
pub(super) fn change(
    controller: ResourceController,
    version: CgroupVersion,
    directory: &Path,
    limits: &SandboxLimits,
) -> Result<(), CgroupError> {
    if let (ResourceController::Memory, CgroupVersion::V1, Some(bytes)) = (controller, version, limits.memory)
    {
        // The kernel rejects this where the other file has to be written first.
        drop(files::write_if_there(&directory.join("memory.memsw.limit_in_bytes"), &bytes.to_string()));
    }
    write(controller, version, directory, limits)
}

fn write_memory(version: CgroupVersion, directory: &Path, bytes: u64) -> Result<(), CgroupError> {
    let bytes = bytes.to_string();
    match version {
        CgroupVersion::V1 => {
            files::write(&directory.join("memory.limit_in_bytes"), &bytes)?;
            // The limit on memory and swap may not be below that on memory alone, hence the order.
            let counts_swap = files::write_if_there(&directory.join("memory.memsw.limit_in_bytes"), &bytes)?;
            if !counts_swap {
                // Without swap accounting, at least no memory is swapped out when the group reaches its limit.
                files::write(&directory.join("memory.swappiness"), "0")?;
            }
        }
        CgroupVersion::V2 => {
            files::write(&directory.join("memory.max"), &bytes)?;
            // The file is missing where the kernel has no swap at all or does not count it.
            files::write_if_there(&directory.join("memory.swap.max"), "0")?;
            // A sandbox that lost one process to the limit is broken, so the kernel kills the whole group.
            files::write(&directory.join("memory.oom.group"), "1")?;
        }
    }
    Ok(())
}

fn write_cpus(version: CgroupVersion, directory: &Path, cpus: f64) -> Result<(), CgroupError> {
    let period = period_microseconds(cpus);
    let quota = quota_microseconds(cpus, period)?;
    match version {
        CgroupVersion::V1 => {
            files::write(&directory.join("cpu.cfs_period_us"), &period.to_string())?;
            files::write(&directory.join("cpu.cfs_quota_us"), &quota.to_string())
        }
        CgroupVersion::V2 => files::write(&directory.join("cpu.max"), &format!("{quota} {period}")),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is between a thousand and a hundred thousand"
)]
fn period_microseconds(cpus: f64) -> u32 {
    if (SMALLEST_CPUS..1.0).contains(&cpus) {
        (SMALLEST_QUOTA_MICROSECONDS / cpus).round() as u32
    } else {
        PERIOD_MICROSECONDS
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is checked to be between 1000 and 10^10"
)]
fn quota_microseconds(cpus: f64, period: u32) -> Result<u64, CgroupError> {
    if !(SMALLEST_CPUS..=100_000.0).contains(&cpus) {
        return Err(CgroupError::LimitInvalid {
            limit: "cpus",
            value: cpus.to_string(),
            hint: "set at least 0.01 and at most 100000",
        });
    }
    Ok((cpus * f64::from(period)).round() as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    const ALL: [ResourceController; 3] =
        [ResourceController::Memory, ResourceController::Cpu, ResourceController::Pids];

    /// Writes limits into a fabricated group that has the given files, and reads back those that changed.
    fn written(version: CgroupVersion, present: &[&str], limits: &SandboxLimits) -> BTreeMap<String, String> {
        let directory = tempfile::tempdir().unwrap();
        for file in present {
            fs::write(directory.path().join(file), "max").unwrap();
        }
        for controller in ALL {
            write(controller, version, directory.path(), limits).unwrap();
        }
        present
            .iter()
            .map(|file| ((*file).to_owned(), fs::read_to_string(directory.path().join(file)).unwrap()))
            .filter(|(_, value)| value != "max")
            .collect()
    }

    fn expected(values: &[(&str, &str)]) -> BTreeMap<String, String> {
        values.iter().map(|(file, value)| ((*file).to_owned(), (*value).to_owned())).collect()
    }

    fn limits() -> SandboxLimits {
        SandboxLimits { memory: Some(1 << 20), cpus: Some(0.25), pids: Some(7), ..SandboxLimits::default() }
    }

    #[test]
    fn version_2() {
        let present = ["memory.max", "memory.swap.max", "memory.oom.group", "cpu.max", "pids.max"];
        assert_eq!(
            written(CgroupVersion::V2, &present, &limits()),
            expected(&[
                ("memory.max", "1048576"),
                ("memory.swap.max", "0"),
                ("memory.oom.group", "1"),
                ("cpu.max", "1000 4000"),
                ("pids.max", "7"),
            ])
        );
        assert_eq!(written(CgroupVersion::V2, &present, &SandboxLimits::default()), expected(&[]));
    }

    #[test]
    fn version_1_with_and_without_swap_accounting() {
        let common = [
            "memory.limit_in_bytes",
            "memory.swappiness",
            "cpu.cfs_period_us",
            "cpu.cfs_quota_us",
            "pids.max",
        ];
        let same = [
            ("memory.limit_in_bytes", "1048576"),
            ("cpu.cfs_period_us", "4000"),
            ("cpu.cfs_quota_us", "1000"),
            ("pids.max", "7"),
        ];
        let with_swap = [&common[..], &["memory.memsw.limit_in_bytes"]].concat();
        assert_eq!(
            written(CgroupVersion::V1, &with_swap, &limits()),
            expected(&[&same[..], &[("memory.memsw.limit_in_bytes", "1048576")]].concat())
        );
        assert_eq!(
            written(CgroupVersion::V1, &common, &limits()),
            expected(&[&same[..], &[("memory.swappiness", "0")]].concat())
        );
    }

    #[test]
    fn a_missing_limit_file_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        for controller in ALL {
            let error = write(controller, CgroupVersion::V2, directory.path(), &limits()).unwrap_err();
            assert!(matches!(error, CgroupError::Write { .. }), "{error}");
        }
    }

    #[test]
    fn invalid_quotas_are_rejected() {
        for cpus in [0.0, 0.009, -1.0, f64::NAN, f64::INFINITY] {
            assert!(
                matches!(
                    quota_microseconds(cpus, PERIOD_MICROSECONDS),
                    Err(CgroupError::LimitInvalid { .. })
                ),
                "{cpus}"
            );
        }
        assert_eq!(quota_microseconds(0.01, period_microseconds(0.01)).unwrap(), 1000);
    }
}
