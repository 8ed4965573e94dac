//! Resource limits of one process and its children, below the limits of the cgroup for all of them.

use menace_model::{ErrorClass, ErrorDetails};
use rustix::{
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use thiserror::Error;

/// Some programs lock a page or two for keys; more would be memory that cannot be swapped out.
const LOCKED_BYTES: u64 = 64 * 1024;

/// Limits that depend on the sandbox. A limit without a value stays unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessRlimits {
    /// Maximum descriptor number plus one.
    pub open_files: u64,
    /// Processes and threads of all processes that run as the user of this namespace.
    pub processes: Option<u64>,
    /// Processor time of one process, after which it is killed.
    pub cpu_seconds: Option<u64>,
    /// Heap and private anonymous memory of one process.
    pub data_bytes: Option<u64>,
}

/// A limit could not be set.
#[derive(Debug, Error)]
pub enum ProcessRlimitsError {
    /// The kernel refused.
    #[error("failed to limit {resource:?} to {value}, the hard limit is {}: {source}", hard_limit(*.hard))]
    Set {
        /// Name of the limit.
        resource: Resource,
        /// Requested value.
        value: u64,
        /// Hard limit; `None` if it is unlimited.
        hard: Option<u64>,
        /// Error of the kernel.
        source: Errno,
    },
}

impl ErrorDetails for ProcessRlimitsError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Set { .. } => ErrorClass::Unsupported,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Set { source: Errno::PERM, .. } => {
                Some("raise the hard limit of menace itself (ulimit -H), or request less".into())
            }
            Self::Set { .. } => None,
        }
    }
}

impl ProcessRlimits {
    /// Sets the limits for this process, soft and hard, together with those that are the same in every sandbox: no
    /// core dumps, no POSIX message queues (they use kernel memory), almost no locked memory, and no raised priority,
    /// which some users are allowed.
    ///
    /// A core limit of 0 would not keep the kernel from starting the host's core dump handler, see core(5); with 1 it
    /// gives up before that.
    pub fn apply(&self) -> Result<(), ProcessRlimitsError> {
        limit(Resource::Core, 1)?;
        limit(Resource::Msgqueue, 0)?;
        limit(Resource::Rtprio, 0)?;
        limit(Resource::Nice, 0)?;
        let locked_so_far = getrlimit(Resource::Memlock).maximum.unwrap_or(u64::MAX);
        limit(Resource::Memlock, LOCKED_BYTES.min(locked_so_far))?;
        limit(Resource::Nofile, self.open_files)?;
        let optional = [
            (Resource::Nproc, self.processes),
            (Resource::Cpu, self.cpu_seconds),
            (Resource::Data, self.data_bytes),
        ];
        for (resource, value) in optional {
            if let Some(value) = value {
                limit(resource, value)?;
            }
        }
        Ok(())
    }
}

fn limit(resource: Resource, value: u64) -> Result<(), ProcessRlimitsError> {
    setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) }).map_err(|source| {
        ProcessRlimitsError::Set { resource, value, hard: getrlimit(resource).maximum, source }
    })
}

fn hard_limit(value: Option<u64>) -> String {
    value.map_or_else(|| "unlimited".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::forked_child;

    const LIMITS: ProcessRlimits = ProcessRlimits {
        open_files: 64,
        processes: Some(50),
        cpu_seconds: Some(7),
        data_bytes: Some(512 * 1024 * 1024),
    };

    #[test]
    fn soft_and_hard_limits_are_set_and_hold() {
        forked_child::run(|| {
            LIMITS.apply().unwrap();
            let expected = [
                (Resource::Nofile, 64),
                (Resource::Nproc, 50),
                (Resource::Cpu, 7),
                (Resource::Data, 512 * 1024 * 1024),
                (Resource::Core, 1),
                (Resource::Msgqueue, 0),
                (Resource::Rtprio, 0),
                (Resource::Nice, 0),
                (Resource::Memlock, 64 * 1024),
            ];
            for (resource, value) in expected {
                let limit = getrlimit(resource);
                assert_eq!((limit.current, limit.maximum), (Some(value), Some(value)), "{resource:?}");
            }
            let opened: Vec<_> = std::iter::repeat_with(|| File::open("/dev/null")).take(64).collect();
            let error = opened.into_iter().find_map(Result::err).expect("64 more files than are open");
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        });
    }

    #[test]
    fn limits_without_a_value_stay() {
        forked_child::run(|| {
            let before = getrlimit(Resource::Cpu);
            ProcessRlimits { cpu_seconds: None, ..LIMITS }.apply().unwrap();
            assert_eq!(getrlimit(Resource::Cpu), before);
        });
    }

    #[test]
    fn a_limit_above_the_hard_limit_is_an_error_with_a_hint() {
        forked_child::run_as_root_of_a_user_namespace(|| {
            LIMITS.apply().unwrap();
            let error = ProcessRlimits { open_files: 65, ..LIMITS }.apply().unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with("failed to limit Nofile to 65, the hard limit is 64: "), "{text}");
            assert!(!text.contains('\n') && error.hint().unwrap().contains("ulimit -H"), "{error:?}");
        });
    }
}
