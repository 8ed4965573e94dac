//! Resource usage of a command.

use std::time::{Duration, Instant};

use menace_guest::protocol::GuestCommandResult;

use crate::inspect::{IoCounts, a_disk_is_full, oom_kills, peak_bytes, throttled_ns};

/// Counters at the start of a command.
pub(super) struct UsageBaseline {
    began: Instant,
    pub(super) oom_kills: Option<u64>,
    throttled_ns: Option<u64>,
    io: Option<(u64, u64)>,
}

impl UsageBaseline {
    pub(super) fn read_counters(counts: &IoCounts) -> Self {
        Self {
            began: Instant::now(),
            oom_kills: oom_kills(),
            throttled_ns: throttled_ns(),
            io: counts.read(),
        }
    }

    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// Adds the usage since the start to the result of a command.
    pub(super) fn measure(&self, end: &GuestCommandResult, counts: &IoCounts) -> GuestCommandResult {
        let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        let (user, system, largest) = children_usage();
        let io = counts.read();
        GuestCommandResult {
            wall_us: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            cpu_user_us: user,
            cpu_system_us: system,
            peak_bytes: peak_bytes().unwrap_or(largest),
            io_read_bytes: since(io.map(|(read, _)| read), self.io.map(|(read, _)| read)),
            io_write_bytes: since(io.map(|(_, written)| written), self.io.map(|(_, written)| written)),
            throttled_ns: since(throttled_ns(), self.throttled_ns),
            oom_kills: since(oom_kills(), self.oom_kills),
            disk_full: a_disk_is_full(),
            ..end.clone()
        }
    }
}

/// CPU time of all children that were reaped.
pub(super) fn time_of_reaped() -> Duration {
    let (user, system, _) = children_usage();
    Duration::from_micros(user + system)
}

/// User time and system time in microseconds, and the peak size of the largest process in bytes, of reaped children.
fn children_usage() -> (u64, u64, u64) {
    // SAFETY: all zero is a valid `rusage`, which lives during the call; the call can only fail for a wrong selector or
    // address.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let microseconds = |time: libc::timeval| (time.tv_sec * 1_000_000 + time.tv_usec).cast_unsigned();
    (microseconds(usage.ru_utime), microseconds(usage.ru_stime), usage.ru_maxrss.cast_unsigned() << 10)
}
