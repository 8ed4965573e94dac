//! Completion of modules and its reasons: `complete.flags`.

use std::path::Path;

use crate::error::FileContext;
use crate::{AppContext, AppError};
use menace_analysis::write_atomically;
use menace_tracker::convergence::{
    EntropyPlateau, EntropyPlateauRules, GainTrend, adaptive_threshold, diminishing, entropy_plateau,
    reliability, scaled_tolerance,
};
use menace_tracker::history::{HistorySeries, RoiHistory};
use menace_tracker::statistics::one_sample;

/// Weight of the newest forecast error in the reliability of forecasts.
const WEIGHT: f64 = 0.3;

/// Thresholds below which a change counts as zero.
#[derive(Debug, Clone, Copy)]
pub struct CycleThresholds {
    /// Threshold of the ROI.
    pub roi: f64,
    /// Threshold of synergy.
    pub synergy: f64,
}

impl CycleThresholds {
    /// Thresholds of the settings; unset ones are adapted to the history.
    pub fn of(context: &AppContext, history: &RoiHistory) -> Self {
        let settings = context.settings();
        let (expected, came): (Vec<f64>, Vec<f64>) =
            history.forecasts("roi").iter().map(|(expected, came)| (expected.value, *came)).unzip();
        let reliability = reliability(&expected, &came, WEIGHT).unwrap_or(0.0);
        let tolerance = scaled_tolerance(settings.roi.roi_tolerance, reliability);
        let synergy = &settings.synergy;
        let errors = history.series("synergy_roi");
        // A weight of 1 weighs all samples equally; larger values favour newer samples.
        let weight = 1.0 - 1.0 / synergy.synergy_threshold_weight.max(1.0);
        Self {
            roi: settings.roi.roi_threshold.unwrap_or(tolerance),
            synergy: synergy
                .synergy_threshold
                .unwrap_or_else(|| adaptive_threshold(&errors, synergy.synergy_threshold_window, weight)),
        }
    }
}

/// Reason why a module is complete; `None` if it is not.
pub(super) fn reason(
    context: &AppContext,
    module: &HistorySeries,
    thresholds: CycleThresholds,
) -> Option<String> {
    let settings = context.settings();
    let consecutive = settings.roi.roi_cycles as usize;
    // The first delta has no previous value.
    let deltas = module.deltas.get(1..).unwrap_or_default();
    let found = diminishing(deltas, consecutive, thresholds.roi, thresholds.roi.max(f64::EPSILON));
    if let GainTrend::Diminishing { mean, deviation } = found
        && !is_significant(&deltas[deltas.len() - consecutive..], settings.roi.roi_confidence.get())
    {
        return Some(format!("changes of {mean:+.4} ± {deviation:.4} in {consecutive} cycles"));
    }
    let entropy = &settings.entropy;
    let rules = EntropyPlateauRules {
        ceiling: entropy.entropy_threshold.unwrap_or(thresholds.roi),
        plateau: entropy.entropy_plateau_threshold,
        consecutive: entropy.entropy_plateau_consecutive as usize,
    };
    let changes = module.entropy.windows(2).map(|pair| pair[1] - pair[0]);
    let samples: Vec<(f64, f64)> = deltas.iter().copied().zip(changes).collect();
    // Unchanged code says nothing about the effect of changes.
    let has_changed = samples.iter().any(|(_, entropy)| *entropy != 0.0);
    match entropy_plateau(&samples, &rules).filter(|_| has_changed)? {
        EntropyPlateau::Ceiling(ratio) => Some(format!("{ratio:.3} ROI for each bit of entropy")),
        EntropyPlateau::Flat(largest) => Some(format!("entropy within {largest:.4} bits")),
    }
}

/// Whether the mean change is significant, however small: a steady gain is not complete.
fn is_significant(deltas: &[f64], confidence: f64) -> bool {
    match one_sample(deltas) {
        Some(test) => test.p_value < 1.0 - confidence,
        None => deltas.iter().any(|delta| *delta != 0.0),
    }
}

/// Writes the complete modules with their reasons to `complete.flags`; removes the file if there are none.
pub(super) fn write_flags(directory: &Path, history: &RoiHistory) -> Result<(), AppError> {
    let path = directory.join("complete.flags");
    if history.complete.is_empty() {
        return match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).file("remove", &path),
            _ => Ok(()),
        };
    }
    let flags = serde_json::json!({"version": 1, "modules": history.complete});
    let mut text = serde_json::to_vec_pretty(&flags)?;
    text.push(b'\n');
    write_atomically(&path, &text).file("write", &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_gain_is_significant_and_noise_is_not() {
        assert!(is_significant(&[0.001, 0.001, 0.001], 0.95));
        assert!(is_significant(&[0.001, 0.0011, 0.0009, 0.001], 0.95));
        assert!(!is_significant(&[0.001, -0.002, 0.001], 0.95));
        assert!(!is_significant(&[0.0, 0.0, 0.0], 0.95));
    }
}
