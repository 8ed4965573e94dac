//! Fixed adaptation rules: looser limits while the ROI stalls, tighter limits once it rises again.

use super::adapter::{AspectAdjustment, CycleAdjustments, PresetAdapter};
use super::trend::{MetricTrend, SynergySign, TrendDirection, TrendUnknown};

/// Maximum distance of limits from the preset, in notches.
const MAX_NOTCHES: i32 = 2;

/// Rule-based adapter. It has no state: every decision follows from the history.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeuristicAdapter;

impl PresetAdapter for HeuristicAdapter {
    fn moves(&mut self, trend: &MetricTrend) -> CycleAdjustments {
        if trend.roi.len() < 2 {
            let why = TrendUnknown::TooFew { values: trend.roi.len(), needed: 2 }.to_string();
            return CycleAdjustments {
                resources: AspectAdjustment { notches: 0, why },
                ..CycleAdjustments::default()
            };
        }
        let (resources, network, threats) = (resources(trend), network(trend), threats(trend));
        let is_decided = trend.roi().is_ok() || network.notches != 0 || threats.notches != 0;
        CycleAdjustments { resources, network, threats, is_decided }
    }
}

/// Adjustment of limits: one notch up for every earlier cycle with a stalled ROI, one down for every one with a rising ROI.
fn resources(trend: &MetricTrend) -> AspectAdjustment {
    let roi = match trend.roi() {
        Ok(roi) => roi,
        Err(unknown) => return AspectAdjustment { notches: 0, why: format!("ROI: {unknown}") },
    };
    let notches = trend.earlier().fold(0, |notches: i32, direction| {
        let step = match direction {
            TrendDirection::Stalled => 1,
            TrendDirection::Rising => -1,
            TrendDirection::Falling | TrendDirection::Unsteady => 0,
        };
        (notches + step).clamp(-MAX_NOTCHES, MAX_NOTCHES)
    });
    let what = match roi.direction {
        TrendDirection::Stalled => "ROI stalled",
        TrendDirection::Rising => "ROI rising",
        TrendDirection::Falling => "ROI falling, limits unchanged",
        TrendDirection::Unsteady => "ROI unsteady, limits unchanged",
    };
    AspectAdjustment { notches, why: format!("{what} ({}); limit adjustment {notches:+}", roi.figures) }
}

/// Adjustment of the network: better with positive synergy, worse with negative synergy.
fn network(trend: &MetricTrend) -> AspectAdjustment {
    let notches = match trend.synergy() {
        Err(unknown) => return AspectAdjustment { notches: 0, why: format!("synergy: {unknown}") },
        Ok(SynergySign::None) => return AspectAdjustment::default(),
        Ok(SynergySign::Positive) => 1,
        Ok(SynergySign::Negative) => -1,
    };
    let synergy = trend.synergy_roi.unwrap_or_default();
    let what = if notches > 0 { "positive" } else { "negative" };
    let threshold = trend.little.synergy;
    AspectAdjustment {
        notches,
        why: format!("workflow synergy is {what} ({synergy:+.4}, threshold {threshold:.4})"),
    }
}

/// Adjustment of threats: more while safety stalls (they find nothing new), fewer while it falls (they find more than is
/// fixed).
pub(super) fn threats(trend: &MetricTrend) -> AspectAdjustment {
    let Ok(safety) = trend.safety() else { return AspectAdjustment::default() };
    let (notches, what) = match safety.direction {
        TrendDirection::Stalled => (1, "safety stalled"),
        TrendDirection::Falling => (-1, "safety falling"),
        TrendDirection::Rising | TrendDirection::Unsteady => return AspectAdjustment::default(),
    };
    AspectAdjustment { notches, why: format!("{what} ({})", safety.figures) }
}
