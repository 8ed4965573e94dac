//! Rounds of measurements: every operation once per round, so that other load on the machine falls on all of them and
//! their ratios are of one run.

use std::time::{Duration, Instant};

use crate::interruption::InterruptionSignals;
use crate::latency::LatencySamples;
use crate::report_progress;
use crate::timed_operation::TimedOperation;

/// Measures all operations, in their order; `None` if it was interrupted.
pub(crate) async fn measure_rounds(
    operations: &mut [Box<dyn TimedOperation>],
    rounds: usize,
    interruption: &mut InterruptionSignals,
) -> anyhow::Result<Option<Vec<LatencySamples>>> {
    report_progress("rounds", rounds);
    let mut samples = vec![LatencySamples::default(); operations.len()];
    // The first round only warms up the page cache and what engines prepare lazily.
    for round in 0..=rounds {
        for index in order(operations.len(), round) {
            if interruption.was_received().await {
                return Ok(None);
            }
            let duration = time(operations[index].as_mut()).await?;
            if round > 0 {
                samples[index].add(duration);
            }
        }
    }
    Ok(Some(samples))
}

/// Forwards and backwards alternately: an engine that still cleans up after its answer must not always slow down the
/// same neighbour.
fn order(count: usize, round: usize) -> Vec<usize> {
    if round.is_multiple_of(2) { (0..count).collect() } else { (0..count).rev().collect() }
}

async fn time(operation: &mut dyn TimedOperation) -> anyhow::Result<Duration> {
    let started = Instant::now();
    operation.perform().await?;
    Ok(started.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_in_every_round_and_neighbours_change() {
        assert_eq!(order(3, 0), [0, 1, 2]);
        assert_eq!(order(3, 1), [2, 1, 0]);
    }
}
