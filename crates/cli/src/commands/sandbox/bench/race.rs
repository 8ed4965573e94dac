//! Round after round, every contender once in each, so that whatever else the machine does falls on all of them and
//! their ratios are of one run.

use std::time::{Duration, Instant};

use super::contender::Contender;
use super::interruption::Interruption;
use super::progress::RoundProgress;
use super::samples::Samples;

/// Measures; `None` if it was interrupted. The samples are in the order of the contenders.
pub(super) async fn race(
    contenders: &mut [Box<dyn Contender>],
    rounds: usize,
    interruption: &mut Interruption,
) -> anyhow::Result<Option<Vec<Samples>>> {
    let progress = RoundProgress::start("rounds", rounds);
    let mut samples = vec![Samples::default(); contenders.len()];
    // The first round only warms up: files come into memory, engines prepare what they keep.
    for round in 0..=rounds {
        for index in order(contenders.len(), round) {
            if interruption.has_happened().await {
                return Ok(None);
            }
            let took = time(contenders[index].as_mut()).await?;
            if round > 0 {
                samples[index].add(took);
            }
        }
        progress.reached(round);
    }
    progress.finish();
    Ok(Some(samples))
}

/// Forwards and backwards in turn: an engine that still tidies up after it has answered must not always do so at the
/// cost of the same neighbour.
fn order(count: usize, round: usize) -> Vec<usize> {
    if round.is_multiple_of(2) { (0..count).collect() } else { (0..count).rev().collect() }
}

async fn time(contender: &mut dyn Contender) -> anyhow::Result<Duration> {
    let started = Instant::now();
    contender.once().await?;
    Ok(started.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_is_in_every_round_and_neighbours_change() {
        assert_eq!(order(3, 0), [0, 1, 2]);
        assert_eq!(order(3, 1), [2, 1, 0]);
    }
}
