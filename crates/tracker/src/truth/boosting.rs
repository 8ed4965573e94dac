//! Gradient boosting: small regression trees, each fitted to the residuals of the previous ones.
//!
//! smartcore has it too, but adds 40 crates and cannot serialize a model by name.

use serde::{Deserialize, Serialize};

const TREES: usize = 100;
const RATE: f64 = 0.1;
const DEPTH: usize = 3;
const SMALLEST_LEAF: usize = 3;
/// Smaller gains are rounding errors.
const LITTLE: f64 = 1e-12;

/// A fitted model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradientBoosting {
    start: f64,
    trees: Vec<RegressionTree>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum RegressionTree {
    Leaf(f64),
    Split { feature: usize, below: f64, yes: Box<RegressionTree>, no: Box<RegressionTree> },
}

impl GradientBoosting {
    /// Fits rows of features to targets; `None` without rows, or for rows of different lengths.
    pub fn fit(rows: &[Vec<f64>], targets: &[f64]) -> Option<Self> {
        let features = rows.first()?.len();
        if rows.len() != targets.len() || rows.iter().any(|row| row.len() != features) {
            return None;
        }
        let start = targets.iter().sum::<f64>() / targets.len() as f64;
        let mut left: Vec<f64> = targets.iter().map(|target| target - start).collect();
        let all: Vec<usize> = (0..rows.len()).collect();
        let mut trees = Vec::new();
        for _ in 0..TREES {
            let tree = grow(rows, &left, &all, DEPTH);
            for (row, left) in rows.iter().zip(&mut left) {
                *left -= RATE * tree.predict(row);
            }
            trees.push(tree);
        }
        Some(Self { start, trees })
    }

    /// Prediction for a row.
    pub fn predict(&self, row: &[f64]) -> f64 {
        self.start + self.trees.iter().map(|tree| RATE * tree.predict(row)).sum::<f64>()
    }
}

impl RegressionTree {
    fn predict(&self, row: &[f64]) -> f64 {
        match self {
            Self::Leaf(value) => *value,
            Self::Split { feature, below, yes, no } => {
                if row.get(*feature).is_some_and(|value| value < below) {
                    yes.predict(row)
                } else {
                    no.predict(row)
                }
            }
        }
    }
}

fn grow(rows: &[Vec<f64>], targets: &[f64], chosen: &[usize], depth: usize) -> RegressionTree {
    let leaf =
        || RegressionTree::Leaf(chosen.iter().map(|row| targets[*row]).sum::<f64>() / chosen.len() as f64);
    if depth == 0 || chosen.len() < 2 * SMALLEST_LEAF {
        return leaf();
    }
    let Some((feature, below)) = best_split(rows, targets, chosen) else { return leaf() };
    let (yes, no): (Vec<usize>, Vec<usize>) = chosen.iter().partition(|row| rows[**row][feature] < below);
    let side = |chosen: &[usize]| Box::new(grow(rows, targets, chosen, depth - 1));
    RegressionTree::Split { feature, below, yes: side(&yes), no: side(&no) }
}

/// The split with the greatest gain.
fn best_split(rows: &[Vec<f64>], targets: &[f64], chosen: &[usize]) -> Option<(usize, f64)> {
    let total: f64 = chosen.iter().map(|row| targets[*row]).sum();
    let features = chosen.first().map_or(0, |row| rows[*row].len());
    let splits = (0..features).filter_map(|feature| {
        let pairs = chosen.iter().map(|row| (rows[*row][feature], targets[*row])).collect();
        split(pairs, total).map(|(gain, below)| (gain, feature, below))
    });
    let best = splits.reduce(|best, next| if next.0 > best.0 + LITTLE { next } else { best })?;
    let without = total * total / chosen.len() as f64;
    (best.0 > without + LITTLE).then_some((best.1, best.2))
}

/// The best split of (value, target) pairs by value, as (gain, threshold).
fn split(mut pairs: Vec<(f64, f64)>, total: f64) -> Option<(f64, f64)> {
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut best) = (0.0, None::<(f64, f64)>);
    for at in 1..pairs.len() {
        sum += pairs[at - 1].1;
        let (low, high) = (pairs[at - 1].0, pairs[at].0);
        if at < SMALLEST_LEAF || pairs.len() - at < SMALLEST_LEAF || low >= high {
            continue;
        }
        let gain = sum * sum / at as f64 + (total - sum).powi(2) / (pairs.len() - at) as f64;
        if best.is_none_or(|(most, _)| gain > most + LITTLE) {
            best = Some((gain, low + (high - low) / 2.0));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_function_is_learned() {
        let rows: Vec<Vec<f64>> = (0..60).map(|at| vec![f64::from(at), f64::from(at % 7)]).collect();
        let targets: Vec<f64> = rows.iter().map(|row| if row[0] < 30.0 { 0.0 } else { 1.0 }).collect();
        let model = GradientBoosting::fit(&rows, &targets).unwrap();
        assert!(model.predict(&[5.0, 3.0]) < 0.05 && model.predict(&[55.0, 3.0]) > 0.95);
        assert!(GradientBoosting::fit(&[], &[]).is_none());
    }
}
