//! Confidence intervals of proportions.

use super::distribution::normal_quantile;

/// Wilson's interval of `successes` out of `count` at a confidence such as 0.95; 0 to 1 if `count` is 0.
pub fn wilson(successes: usize, count: usize, confidence: f64) -> (f64, f64) {
    if count == 0 {
        return (0.0, 1.0);
    }
    let z = normal_quantile(0.5 + confidence / 2.0);
    let (n, share) = (count as f64, successes as f64 / count as f64);
    let denominator = 1.0 + z * z / n;
    let centre = (share + z * z / (2.0 * n)) / denominator;
    let half = z / denominator * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let low = if successes == 0 { 0.0 } else { centre - half };
    let high = if successes == count { 1.0 } else { centre + half };
    (low, high)
}
