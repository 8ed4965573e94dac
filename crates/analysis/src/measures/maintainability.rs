//! The maintainability index with radon's formula and normalisation.

use menace_model::inventory::{HalsteadCounts, LineCounts};

/// Maintainability index, 0…100; higher is better.
pub(crate) fn maintainability_index(halstead: &HalsteadCounts, complexity: u32, lines: &LineCounts) -> f64 {
    if halstead.volume <= 0.0 || lines.logical == 0 {
        return 100.0;
    }
    let comment_percentage = match lines.source {
        0 => 0.0,
        source => f64::from(lines.comments + lines.docstrings) / f64::from(source) * 100.0,
    };
    let comment_bonus = 50.0 * (2.46 * comment_percentage.to_radians()).sqrt().sin();
    let index = 171.0
        - 5.2 * halstead.volume.ln()
        - 0.23 * f64::from(complexity)
        - 16.2 * f64::from(lines.logical).ln()
        + comment_bonus;
    (index * 100.0 / 171.0).clamp(0.0, 100.0)
}
