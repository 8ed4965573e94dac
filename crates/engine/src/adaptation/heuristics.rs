//! The rules: more room when nothing is gained any more, less of it once there are gains again.

use super::adapt::{Adapt, Move, Moves};
use super::trend::{Direction, Sign, Trend, Unknown};

/// Limits are at most so many notches from what a preset says.
const FURTHEST: i32 = 2;

/// The rules. They have no memory: everything follows from the history.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heuristics;

impl Adapt for Heuristics {
    fn moves(&mut self, trend: &Trend) -> Moves {
        if trend.roi.len() < 2 {
            let why = Unknown::TooFew { values: trend.roi.len(), needed: 2 }.to_string();
            return Moves { resources: Move { notches: 0, why }, ..Moves::default() };
        }
        let (resources, network, threats) = (resources(trend), network(trend), threats(trend));
        let is_decided = trend.roi().is_ok() || network.notches != 0 || threats.notches != 0;
        Moves { resources, network, threats, is_decided }
    }
}

/// Each cycle that ended in a stall gave a notch, each that ended in a gain took one.
fn resources(trend: &Trend) -> Move {
    let roi = match trend.roi() {
        Ok(roi) => roi,
        Err(unknown) => return Move { notches: 0, why: format!("ROI: {unknown}") },
    };
    let notches = trend.earlier().fold(0, |notches: i32, direction| {
        let step = match direction {
            Direction::Stalled => 1,
            Direction::Rising => -1,
            Direction::Falling | Direction::Unsteady => 0,
        };
        (notches + step).clamp(-FURTHEST, FURTHEST)
    });
    let what = match roi.direction {
        Direction::Stalled => "the ROI stalls",
        Direction::Rising => "the ROI gains",
        Direction::Falling => "the ROI falls, so limits stay where they were",
        Direction::Unsteady => "the ROI goes up and down, so limits stay where they were",
    };
    Move { notches, why: format!("{what} ({}); limits at {notches:+} notches", roi.figures) }
}

/// Who does better together gets a better network, who does worse a worse one.
fn network(trend: &Trend) -> Move {
    let notches = match trend.synergy() {
        Err(unknown) => return Move { notches: 0, why: format!("synergy: {unknown}") },
        Ok(Sign::None) => return Move::default(),
        Ok(Sign::Positive) => 1,
        Ok(Sign::Negative) => -1,
    };
    let synergy = trend.synergy_roi.unwrap_or_default();
    let what = if notches > 0 { "positive" } else { "negative" };
    let little = trend.little.synergy;
    Move {
        notches,
        why: format!("the synergy of workflows is {what} ({synergy:+.4}, and {little:.4} is little)"),
    }
}

/// When threats find nothing new there are more of them, and fewer when they find more than can be mended.
pub(super) fn threats(trend: &Trend) -> Move {
    let Ok(safety) = trend.safety() else { return Move::default() };
    let (notches, what) = match safety.direction {
        Direction::Stalled => (1, "safety stalls"),
        Direction::Falling => (-1, "safety falls"),
        Direction::Rising | Direction::Unsteady => return Move::default(),
    };
    Move { notches, why: format!("{what} ({})", safety.figures) }
}
