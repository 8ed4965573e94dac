//! Where a series of measurements is going. What a stall is, is said in `menace_tracker::convergence`, and only there.

use std::fmt;

use menace_tracker::convergence::{Diminishing, diminishing};
use serde::{Deserialize, Serialize};

/// What cycles have measured so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// The ROI of each cycle, oldest first.
    pub roi: Vec<f64>,
    /// The ROI of workflows together beyond that of each alone, as it was measured last.
    pub synergy_roi: Option<f64>,
    /// The share of hostile and wrong calls that ended well, cycle by cycle, oldest first.
    pub safety: Vec<f64>,
    /// What counts as little.
    pub little: Little,
}

/// What counts as little: the figures of the settings by which modules are complete.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Little {
    /// A change of the ROI, or of another share.
    pub roi: f64,
    /// Synergy.
    pub synergy: f64,
    /// So many changes are looked at.
    pub cycles: usize,
}

/// Where it is going.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It loses.
    Falling,
    /// Little changes, and that steadily.
    Stalled,
    /// It goes up and down.
    Unsteady,
    /// It gains.
    Rising,
}

/// Whether there is more together than alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// There is less.
    Negative,
    /// It is the same, or nobody has measured it.
    None,
    /// There is more.
    Positive,
}

/// A direction and the figures that show it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Where it is going.
    pub direction: Direction,
    /// As people read it.
    pub figures: String,
}

/// Why nothing can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// There are too few values.
    TooFew {
        /// Those that there are.
        values: usize,
        /// Those that it takes.
        needed: usize,
    },
    /// One of the values that count is no number.
    NoNumber,
}

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { values, needed } => {
                write!(formatter, "too little history: {values} of the {needed} values that it takes")
            }
            Self::NoNumber => formatter.write_str("a value of the history is not a number"),
        }
    }
}

impl Trend {
    /// Where the ROI is going.
    pub fn roi(&self) -> Result<Judgement, Unknown> {
        judged(&self.roi, &self.little)
    }

    /// Where safety is going.
    pub fn safety(&self) -> Result<Judgement, Unknown> {
        judged(&self.safety, &self.little)
    }

    /// Whether there is synergy.
    pub fn synergy(&self) -> Result<Sign, Unknown> {
        match self.synergy_roi {
            None => Ok(Sign::None),
            Some(synergy) if !synergy.is_finite() => Err(Unknown::NoNumber),
            Some(synergy) if synergy > self.little.synergy => Ok(Sign::Positive),
            Some(synergy) if synergy < -self.little.synergy => Ok(Sign::Negative),
            Some(_) => Ok(Sign::None),
        }
    }

    /// The directions of the ROI as they were after each cycle, as far as they could be told.
    pub(super) fn earlier(&self) -> impl Iterator<Item = Direction> {
        (1..=self.roi.len()).filter_map(|end| Some(judged(&self.roi[..end], &self.little).ok()?.direction))
    }

    /// What cannot be used, if there is any.
    pub(super) fn remark(&self) -> Option<String> {
        let all = self.roi.iter().chain(&self.safety).chain(&self.synergy_roi);
        let odd = all.filter(|value| !value.is_finite()).count();
        (odd > 0).then(|| format!("{odd} of the values in the history are no numbers, and decide nothing"))
    }
}

fn judged(levels: &[f64], little: &Little) -> Result<Judgement, Unknown> {
    let needed = little.cycles.max(2) + 1;
    let start = levels.len().checked_sub(needed);
    let start = start.ok_or(Unknown::TooFew { values: levels.len(), needed })?;
    let deltas: Vec<f64> = levels[start..].windows(2).map(|pair| pair[1] - pair[0]).collect();
    if deltas.iter().any(|delta| !delta.is_finite()) {
        return Err(Unknown::NoNumber);
    }
    let cycles = deltas.len();
    let figures = |mean: f64, deviation: f64| {
        format!("{mean:+.4} ± {deviation:.4} a cycle in {cycles} cycles, and {:.4} is little", little.roi)
    };
    let (direction, figures) = match diminishing(&deltas, cycles, little.roi, little.roi.max(f64::EPSILON)) {
        Diminishing::TooFew => return Err(Unknown::TooFew { values: levels.len(), needed }),
        Diminishing::Accelerating => {
            (Direction::Rising, format!("each of {cycles} gains is greater than the one before"))
        }
        Diminishing::Diminishing { mean, deviation } => (Direction::Stalled, figures(mean, deviation)),
        Diminishing::Changing { mean, deviation } => {
            let direction = if mean > little.roi {
                Direction::Rising
            } else if mean < -little.roi {
                Direction::Falling
            } else {
                Direction::Unsteady
            };
            (direction, figures(mean, deviation))
        }
    };
    Ok(Judgement { direction, figures })
}
