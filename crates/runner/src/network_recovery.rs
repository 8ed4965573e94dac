//! Success of calls across a window in which the network is faulty.

use menace_model::harness::RepeatedCall;
use serde::Serialize;

use crate::call_environment::WINDOW;

/// Success of calls before, during and after a window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NetworkRecovery {
    /// Share of calls that succeeded before the window.
    pub before: f64,
    /// Share of successes among calls that overlapped the window.
    pub during: Option<f64>,
    /// Share of successes among calls that began after the window.
    pub after: Option<f64>,
    /// Time from the end of the window to the end of the first successful call.
    pub recovery_ms: Option<f64>,
}

impl NetworkRecovery {
    /// Computes the shares from the calls that the harness recorded. `None` if no call ended before the window, because
    /// there is nothing to compare with.
    pub(crate) fn of(repeats: &[RepeatedCall]) -> Option<Self> {
        let (from, until) = (WINDOW.from.as_secs_f64() * 1e3, WINDOW.until.as_secs_f64() * 1e3);
        let share = |is_meant: &dyn Fn(f64, f64) -> bool| {
            let meant: Vec<bool> = repeats
                .iter()
                .filter(|call| is_meant(call.began_ms, call.ended_ms))
                .map(|call| call.succeeded)
                .collect();
            let well = meant.iter().filter(|well| **well).count();
            (!meant.is_empty()).then(|| well as f64 / meant.len() as f64)
        };
        let first_well = repeats.iter().find(|call| call.succeeded && call.ended_ms >= until);
        Some(Self {
            before: share(&|_, ended| ended <= from)?,
            during: share(&|began, ended| began < until && ended > from),
            after: share(&|began, _| began >= until),
            recovery_ms: first_well.map(|call| call.ended_ms - until),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recovery(repeats: &[(f64, f64, bool)]) -> Option<NetworkRecovery> {
        NetworkRecovery::of(&repeats.iter().copied().map(RepeatedCall::from).collect::<Vec<_>>())
    }

    #[test]
    fn calls_are_counted_where_they_ran() {
        let recovery = recovery(&[
            (0.0, 10.0, true),
            (100.0, 110.0, true),
            (480.0, 700.0, false),
            (720.0, 990.0, false),
            (995.0, 1150.0, false),
            (1160.0, 1170.0, true),
            (1200.0, 1210.0, false),
        ])
        .unwrap();
        assert_eq!((recovery.before, recovery.during, recovery.after), (1.0, Some(0.0), Some(0.5)));
        assert_eq!(recovery.recovery_ms, Some(170.0));
    }

    #[test]
    fn without_a_call_before_there_is_nothing_to_compare_with() {
        assert_eq!(recovery(&[(0.0, 1500.0, true)]), None);
        assert_eq!(recovery(&[]), None);
        let never = recovery(&[(0.0, 10.0, true), (20.0, 2100.0, false)]).unwrap();
        assert_eq!((never.after, never.recovery_ms), (None, None));
    }
}
