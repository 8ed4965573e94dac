//! CPU time of one command or call, computed from the counters of its group and of its processes.

use menace_model::sandbox::ResourceUsage;

/// User and system time in milliseconds between two readings of a group, if the group counts it; else the times of the
/// processes themselves.
///
/// The group's sum is exact and complete: it includes a child that ended while its parent ignored SIGCHLD. But the
/// kernel splits it into its two parts at each reading, by the ticks since the beginning, so the difference of a part
/// between two readings may even be negative. So the sum is divided in the proportion of the processes' times.
///
/// `ours_ms` is the CPU time of our own processes in the group, which is subtracted.
pub(super) fn between(
    before: &ResourceUsage,
    after: &ResourceUsage,
    by_processes: &ResourceUsage,
    ours_ms: f64,
) -> (Option<f64>, Option<f64>) {
    let (Some(then), Some(now)) = (sum(before), sum(after)) else {
        return (by_processes.cpu_user_ms, by_processes.cpu_system_ms);
    };
    let taken = (now - then - ours_ms).max(0.0);
    let in_kernel = taken * share_of_kernel(by_processes).or_else(|| share_of_kernel(after)).unwrap_or(0.0);
    (Some(taken - in_kernel), Some(in_kernel))
}

/// Sum of both parts; `None` where they are not counted.
pub(super) fn sum(usage: &ResourceUsage) -> Option<f64> {
    Some(usage.cpu_user_ms? + usage.cpu_system_ms?)
}

fn share_of_kernel(usage: &ResourceUsage) -> Option<f64> {
    sum(usage).filter(|sum| *sum > 0.0).and_then(|sum| Some(usage.cpu_system_ms? / sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(user: f64, system: f64) -> ResourceUsage {
        ResourceUsage { cpu_user_ms: Some(user), cpu_system_ms: Some(system), ..ResourceUsage::default() }
    }

    #[test]
    fn the_group_sum_is_divided_in_proportion_to_process_times() {
        // The group's own user time decreased.
        let taken = between(&usage(10.0, 10.0), &usage(9.5, 14.5), &usage(1.0, 1.0), 0.5);
        assert_eq!(taken, (Some(1.75), Some(1.75)));
    }

    #[test]
    fn without_process_times_the_group_proportion_is_used() {
        let taken = between(&usage(0.0, 0.0), &usage(3.0, 1.0), &usage(0.0, 0.0), 0.0);
        assert_eq!(taken, (Some(3.0), Some(1.0)));
        assert_eq!(
            between(&usage(1.0, 0.0), &usage(1.0, 0.0), &usage(0.0, 0.0), 0.0),
            (Some(0.0), Some(0.0))
        );
    }

    #[test]
    fn without_a_group_the_process_times_are_used() {
        let nothing = ResourceUsage::default();
        assert_eq!(between(&nothing, &nothing, &usage(3.0, 1.0), 9.0), (Some(3.0), Some(1.0)));
        assert_eq!(between(&nothing, &nothing, &nothing, 0.0), (None, None));
    }
}
