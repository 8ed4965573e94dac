//! Trend of a workflow's ROI: from its last cycles or, while there are too few, from a template of similar workflows.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::statistics::{mean, slope, standard_deviation};

/// Metrics of one cycle of a workflow: `roi`, `resilience`, `latency_spike_roi`, …
pub type WorkflowCycleMetrics = BTreeMap<String, f64>;

/// The last cycles of all workflows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowForesight {
    /// Number of cycles kept per workflow.
    pub window: usize,
    /// Volatility above which a workflow counts as volatile.
    pub volatility_threshold: f64,
    /// Cycles by workflow, the latest last.
    pub history: BTreeMap<String, VecDeque<WorkflowCycleMetrics>>,
    /// ROI per cycle by profile: `foresight_templates.yaml`.
    #[serde(default)]
    pub templates: BTreeMap<String, Vec<f64>>,
    /// The profile of each workflow.
    #[serde(default)]
    pub profiles: BTreeMap<String, String>,
}

/// Trend of a workflow's ROI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrendRisk {
    /// It neither falls nor varies.
    Stable,
    /// It falls slowly.
    #[serde(rename = "Slow decay")]
    SlowDecay,
    /// It varies more than the volatility threshold.
    Volatile,
    /// It reaches zero within the window.
    #[serde(rename = "Immediate collapse risk")]
    ImmediateCollapse,
}

/// Forecast of a workflow's ROI.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkflowForecast {
    /// Its trend.
    pub risk: TrendRisk,
    /// Change of ROI per cycle.
    pub slope: f64,
    /// Standard deviation around the trend line.
    pub volatility: f64,
    /// Cycles until the ROI reaches zero at the present slope.
    pub collapse_in: Option<f64>,
    /// Whether the mildest fault already costs most of the ROI.
    pub brittle: bool,
    /// Number of measured cycles; the rest of the window comes from a template, if there is one.
    pub cycles: usize,
    /// Whether a template was used.
    pub from_template: bool,
}

/// A workflow that loses this share of its ROI under the mildest fault is brittle.
const BRITTLE: f64 = 0.5;
/// Minimum number of cycles for a trend without a template.
const FEWEST: usize = 3;

impl WorkflowForesight {
    /// An empty history.
    pub fn new(window: usize, volatility_threshold: f64) -> Self {
        let window = window.max(FEWEST);
        Self {
            window,
            volatility_threshold,
            history: BTreeMap::new(),
            templates: BTreeMap::new(),
            profiles: BTreeMap::new(),
        }
    }

    /// Records a cycle. Values that are not finite are dropped.
    pub fn record(&mut self, workflow: &str, mut metrics: WorkflowCycleMetrics) {
        metrics.retain(|_, value| value.is_finite());
        let cycles = self.history.entry(workflow.to_owned()).or_default();
        cycles.push_back(metrics);
        while cycles.len() > self.window {
            cycles.pop_front();
        }
    }

    /// Whether a workflow is stable by its own cycles. False while there are too few of them.
    pub fn is_stable(&self, workflow: &str) -> bool {
        self.forecast(workflow)
            .is_some_and(|outlook| outlook.risk == TrendRisk::Stable && outlook.cycles >= FEWEST)
    }

    /// Forecast of a workflow; `None` if there is neither a history nor a template.
    pub fn forecast(&self, workflow: &str) -> Option<WorkflowForecast> {
        let own = self.series(workflow, "roi");
        let (series, from_template) = self.extended_by_template(workflow, &own);
        let (by, _) = slope(&series, 0.9)?;
        let level = *series.last()?;
        let middle = (series.len() - 1) as f64 / 2.0;
        let centre = mean(&series)?;
        let around: Vec<f64> =
            series.iter().enumerate().map(|(at, value)| value - centre - by * (at as f64 - middle)).collect();
        let volatility = standard_deviation(&around)?;
        let collapse_in = (by < 0.0 && level > 0.0).then(|| level / -by).or((level <= 0.0).then_some(0.0));
        // A fall smaller than the volatility does not count.
        let is_falling = by < 0.0 && -by * series.len() as f64 > volatility;
        let risk = match collapse_in {
            Some(cycles) if is_falling && cycles <= self.window as f64 => TrendRisk::ImmediateCollapse,
            Some(0.0) => TrendRisk::ImmediateCollapse,
            _ if volatility > self.volatility_threshold => TrendRisk::Volatile,
            _ if is_falling && -by > self.volatility_threshold / self.window as f64 => TrendRisk::SlowDecay,
            _ => TrendRisk::Stable,
        };
        let brittle = self.is_brittle(workflow);
        Some(WorkflowForecast {
            risk,
            slope: by,
            volatility,
            collapse_in,
            brittle,
            cycles: own.len(),
            from_template,
        })
    }

    /// One metric of a workflow, cycle by cycle.
    pub fn series(&self, workflow: &str, metric: &str) -> Vec<f64> {
        let cycles = self.history.get(workflow).into_iter().flatten();
        cycles.filter_map(|cycle| cycle.get(metric).copied()).collect()
    }

    /// While there are too few cycles, the series is continued by the template, shifted to the workflow's last value.
    fn extended_by_template(&self, workflow: &str, own: &[f64]) -> (Vec<f64>, bool) {
        let template = self.profiles.get(workflow).and_then(|profile| self.templates.get(profile));
        let (Some(template), true) = (template, own.len() < FEWEST) else { return (own.to_vec(), false) };
        let moved = match (own.last(), template.get(own.len().saturating_sub(1))) {
            (Some(own), Some(template)) => own - template,
            _ => 0.0,
        };
        let rest = template.iter().skip(own.len()).map(|value| value + moved);
        (own.iter().copied().chain(rest).take(self.window).collect(), true)
    }

    /// Whether the mildest stage of the trajectory already cost more than the brittle share.
    fn is_brittle(&self, workflow: &str) -> bool {
        let Some(last) = self.history.get(workflow).and_then(|cycles| cycles.back()) else { return false };
        let normal = last.get("normal_roi").or_else(|| last.get("roi")).copied();
        let disturbed =
            ["high_latency_roi", "latency_spike_roi"].iter().find_map(|name| last.get(*name)).copied();
        matches!((normal, disturbed), (Some(normal), Some(disturbed)) if normal > 0.0 && disturbed < normal * (1.0 - BRITTLE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(values: &[f64]) -> Option<WorkflowForecast> {
        let mut foresight = WorkflowForesight::new(10, 0.2);
        for value in values {
            foresight.record("w", [("roi".to_owned(), *value)].into());
        }
        foresight.forecast("w")
    }

    #[test]
    fn risks_are_told_apart() {
        let risk = |values: &[f64]| after(values).unwrap().risk;
        assert_eq!(risk(&[0.8, 0.81, 0.79, 0.8, 0.8]), TrendRisk::Stable);
        assert_eq!(risk(&[0.9, 0.85, 0.8, 0.75, 0.7]), TrendRisk::SlowDecay);
        assert_eq!(risk(&[0.9, 0.1, 0.9, 0.1, 0.9, 0.2]), TrendRisk::Volatile);
        assert_eq!(risk(&[0.9, 0.7, 0.5, 0.3]), TrendRisk::ImmediateCollapse);
        assert_eq!(risk(&[0.0, 0.0, 0.0]), TrendRisk::ImmediateCollapse);
        assert_eq!(risk(&[0.5, 0.6, 0.7, 0.8]), TrendRisk::Stable);
        assert!(after(&[]).is_none() && after(&[0.5, 0.5]).is_none());
    }

    #[test]
    fn templates_are_used_until_there_is_a_history() {
        let mut foresight = WorkflowForesight::new(5, 0.1);
        foresight.templates.insert("checkout".into(), vec![0.9, 0.6, 0.3, 0.1]);
        foresight.profiles.insert("w".into(), "checkout".into());
        let cold = foresight.forecast("w").unwrap();
        assert!(
            cold.from_template && cold.cycles == 0 && cold.risk == TrendRisk::ImmediateCollapse,
            "{cold:?}"
        );
        assert!(!foresight.is_stable("w"));
        for _ in 0..7 {
            foresight.record("w", [("roi".to_owned(), 0.5), ("bad".to_owned(), f64::NAN)].into());
        }
        let warm = foresight.forecast("w").unwrap();
        assert!(!warm.from_template && warm.cycles == 5 && foresight.is_stable("w"), "{warm:?}");
        assert!(foresight.series("w", "bad").is_empty());
    }

    #[test]
    fn a_large_loss_under_the_mildest_fault_is_brittle() {
        let mut foresight = WorkflowForesight::new(5, 0.1);
        for _ in 0..3 {
            let cycle = [("roi", 0.8), ("normal_roi", 0.8), ("high_latency_roi", 0.1)];
            foresight.record("w", cycle.map(|(name, value)| (name.to_owned(), value)).into());
        }
        assert!(foresight.forecast("w").unwrap().brittle);
    }
}
