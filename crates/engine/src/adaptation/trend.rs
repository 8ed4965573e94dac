//! Direction of a series of measurements. The definition of a stall is in `menace_tracker::convergence`, and only there.

use std::fmt;

use menace_tracker::convergence::{GainTrend, diminishing};
use serde::{Deserialize, Serialize};

/// Metrics of the cycles so far.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricTrend {
    /// ROI of each cycle, oldest first.
    pub roi: Vec<f64>,
    /// Latest measured synergy: the ROI of workflows together minus their ROI alone.
    pub synergy_roi: Option<f64>,
    /// Share of hostile and misuse calls that did not fail, per cycle, oldest first.
    pub safety: Vec<f64>,
    /// Thresholds below which a change counts as a stall.
    pub little: StallThresholds,
}

/// Thresholds below which a change counts as a stall; the same settings that decide whether a module has converged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StallThresholds {
    /// Smallest relevant change of the ROI, or of another share.
    pub roi: f64,
    /// Smallest relevant synergy.
    pub synergy: f64,
    /// Number of changes that are considered.
    pub cycles: usize,
}

/// Direction of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrendDirection {
    /// The mean change is below minus the threshold.
    Falling,
    /// The changes are steadily below the threshold.
    Stalled,
    /// The changes vary without a direction.
    Unsteady,
    /// The mean change is above the threshold, or the gains accelerate.
    Rising,
}

/// Sign of the synergy between workflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SynergySign {
    /// Workflows together have less ROI than alone.
    Negative,
    /// The synergy is below the threshold, or was not measured.
    None,
    /// Workflows together have more ROI than alone.
    Positive,
}

/// Direction of a series and the values that show it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendAssessment {
    /// Direction of the series.
    pub direction: TrendDirection,
    /// Mean, deviation and threshold, for log lines.
    pub figures: String,
}

/// Reason why a direction cannot be determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrendUnknown {
    /// There are too few values.
    TooFew {
        /// Number of values in the history.
        values: usize,
        /// Number of values that are required.
        needed: usize,
    },
    /// One of the considered values is NaN or infinite.
    NoNumber,
}

impl fmt::Display for TrendUnknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { values, needed } => {
                write!(formatter, "not enough history: {values} of {needed} required values")
            }
            Self::NoNumber => formatter.write_str("a value in the history is not a number"),
        }
    }
}

impl MetricTrend {
    /// Direction of the ROI.
    pub fn roi(&self) -> Result<TrendAssessment, TrendUnknown> {
        assess(&self.roi, &self.little)
    }

    /// Direction of the safety share.
    pub fn safety(&self) -> Result<TrendAssessment, TrendUnknown> {
        assess(&self.safety, &self.little)
    }

    /// Sign of the latest synergy.
    pub fn synergy(&self) -> Result<SynergySign, TrendUnknown> {
        match self.synergy_roi {
            None => Ok(SynergySign::None),
            Some(synergy) if !synergy.is_finite() => Err(TrendUnknown::NoNumber),
            Some(synergy) if synergy > self.little.synergy => Ok(SynergySign::Positive),
            Some(synergy) if synergy < -self.little.synergy => Ok(SynergySign::Negative),
            Some(_) => Ok(SynergySign::None),
        }
    }

    /// Directions of the ROI after each cycle, without the cycles where it could not be determined.
    pub(super) fn earlier(&self) -> impl Iterator<Item = TrendDirection> {
        (1..=self.roi.len()).filter_map(|end| Some(assess(&self.roi[..end], &self.little).ok()?.direction))
    }

    /// Remark about values that are not finite, if there are any.
    pub(super) fn remark(&self) -> Option<String> {
        let all = self.roi.iter().chain(&self.safety).chain(&self.synergy_roi);
        let odd = all.filter(|value| !value.is_finite()).count();
        (odd > 0).then(|| format!("ignored {odd} history values that are not finite"))
    }
}

fn assess(levels: &[f64], little: &StallThresholds) -> Result<TrendAssessment, TrendUnknown> {
    let needed = little.cycles.max(2) + 1;
    let start = levels.len().checked_sub(needed);
    let start = start.ok_or(TrendUnknown::TooFew { values: levels.len(), needed })?;
    let deltas: Vec<f64> = levels[start..].windows(2).map(|pair| pair[1] - pair[0]).collect();
    if deltas.iter().any(|delta| !delta.is_finite()) {
        return Err(TrendUnknown::NoNumber);
    }
    let cycles = deltas.len();
    let figures = |mean: f64, deviation: f64| {
        format!("{mean:+.4} ± {deviation:.4} per cycle over {cycles} cycles, threshold {:.4}", little.roi)
    };
    let (direction, figures) = match diminishing(&deltas, cycles, little.roi, little.roi.max(f64::EPSILON)) {
        GainTrend::TooFew => return Err(TrendUnknown::TooFew { values: levels.len(), needed }),
        GainTrend::Accelerating => {
            (TrendDirection::Rising, format!("each of {cycles} gains exceeds the previous one"))
        }
        GainTrend::Diminishing { mean, deviation } => (TrendDirection::Stalled, figures(mean, deviation)),
        GainTrend::Changing { mean, deviation } => {
            let direction = if mean > little.roi {
                TrendDirection::Rising
            } else if mean < -little.roi {
                TrendDirection::Falling
            } else {
                TrendDirection::Unsteady
            };
            (direction, figures(mean, deviation))
        }
    };
    Ok(TrendAssessment { direction, figures })
}
