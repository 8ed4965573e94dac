//! Fixed adaptation rules: looser limits while the ROI stalls, tighter limits once it rises again.

use super::adapt::{Adapt, Move, Moves};
use super::trend::{Direction, Sign, Trend, Unknown};

/// Maximum distance of limits from the preset, in notches.
const MAX_NOTCHES: i32 = 2;

/// Rule-based adapter. It has no state: every decision follows from the history.
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

/// Adjustment of limits: one notch up for every earlier cycle with a stalled ROI, one down for every one with a rising ROI.
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
        (notches + step).clamp(-MAX_NOTCHES, MAX_NOTCHES)
    });
    let what = match roi.direction {
        Direction::Stalled => "ROI stalled",
        Direction::Rising => "ROI rising",
        Direction::Falling => "ROI falling, limits unchanged",
        Direction::Unsteady => "ROI unsteady, limits unchanged",
    };
    Move { notches, why: format!("{what} ({}); limit adjustment {notches:+}", roi.figures) }
}

/// Adjustment of the network: better with positive synergy, worse with negative synergy.
fn network(trend: &Trend) -> Move {
    let notches = match trend.synergy() {
        Err(unknown) => return Move { notches: 0, why: format!("synergy: {unknown}") },
        Ok(Sign::None) => return Move::default(),
        Ok(Sign::Positive) => 1,
        Ok(Sign::Negative) => -1,
    };
    let synergy = trend.synergy_roi.unwrap_or_default();
    let what = if notches > 0 { "positive" } else { "negative" };
    let threshold = trend.little.synergy;
    Move { notches, why: format!("workflow synergy is {what} ({synergy:+.4}, threshold {threshold:.4})") }
}

/// Adjustment of threats: more while safety stalls (they find nothing new), fewer while it falls (they find more than is
/// fixed).
pub(super) fn threats(trend: &Trend) -> Move {
    let Ok(safety) = trend.safety() else { return Move::default() };
    let (notches, what) = match safety.direction {
        Direction::Stalled => (1, "safety stalled"),
        Direction::Falling => (-1, "safety falling"),
        Direction::Rising | Direction::Unsteady => return Move::default(),
    };
    Move { notches, why: format!("{what} ({})", safety.figures) }
}
