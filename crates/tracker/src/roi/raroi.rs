//! Risk-adjusted ROI (RAROI): ROI reduced by the risks of rollback, instability and unsafe behaviour.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::statistics::standard_deviation;

/// Number of last ROI changes that determine the stability.
const LAST_DELTAS: usize = 10;
/// Factors that cost less than this share are not bottlenecks.
const LITTLE: f64 = 0.02;

/// Severity of failures by kind or path: `impact_severity.yaml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImpactSeverities(pub BTreeMap<String, f64>);

impl Default for ImpactSeverities {
    fn default() -> Self {
        let known = [("experimental", 0.2), ("standard", 0.5), ("critical", 0.9)];
        Self(known.map(|(name, severity)| (name.to_owned(), severity)).into())
    }
}

impl ImpactSeverities {
    /// Severity of a kind or a module. The longest listed prefix of the module's path counts; without one, the severity
    /// `standard`.
    pub fn of(&self, name: &str) -> f64 {
        let matching = self
            .0
            .iter()
            .filter(|(known, _)| name == known.as_str() || name.starts_with(&format!("{known}/")));
        let longest = matching.max_by_key(|(known, _)| known.len()).map(|(_, severity)| *severity);
        longest.or_else(|| self.0.get("standard").copied()).unwrap_or(0.5).clamp(0.0, 1.0)
    }
}

/// Risks of a module.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleRisks {
    /// Patches that were kept and not reverted.
    pub kept: u64,
    /// Patches that were reverted later.
    pub reverted: u64,
    /// Share of calls that failed.
    pub error_rate: f64,
    /// Share of flaky calls.
    pub flaky_rate: f64,
    /// Severity of a failure.
    pub severity: f64,
    /// Changes of its ROI, the latest last.
    pub deltas: Vec<f64>,
    /// Share of hostile and wrong calls that were safe.
    pub safety_rating: Option<f64>,
    /// Score of its security findings.
    pub security_score: Option<f64>,
    /// Failures per hundred hostile and wrong calls.
    pub failures_of_100: f64,
    /// Number of failing critical test suites; `None` if none was run.
    pub failing_critical_suites: Option<u32>,
}

impl Default for ModuleRisks {
    fn default() -> Self {
        Self {
            kept: 0,
            reverted: 0,
            error_rate: 0.0,
            flaky_rate: 0.0,
            severity: ImpactSeverities::default().of("standard"),
            deltas: Vec::new(),
            safety_rating: None,
            security_score: None,
            failures_of_100: 0.0,
            failing_critical_suites: None,
        }
    }
}

/// An ROI and its adjustment for risk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RiskAdjustedRoi {
    /// ROI without risk.
    pub roi: f64,
    /// ROI adjusted for risk.
    pub raroi: f64,
    /// Probability that a patch of this module is reverted.
    pub rollback_probability: f64,
    /// Factor for the risk of rollback, 0…1.
    pub rollback: f64,
    /// Factor for the variation of ROI, 0…1.
    pub stability: f64,
    /// Factor for safety, 0…1.
    pub safety: f64,
    /// Factors that are assumed, because they were not measured yet.
    pub assumed: Vec<&'static str>,
    /// Factors that cost the most, the worst first.
    pub bottlenecks: Vec<RoiBottleneck>,
}

/// A factor that reduces the ROI.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoiBottleneck {
    /// Name of the factor.
    pub factor: &'static str,
    /// Share of the ROI that it costs.
    pub costs: f64,
    /// Hint for improving it.
    pub hint: &'static str,
}

impl RiskAdjustedRoi {
    /// Adjusts an ROI for risk. A negative ROI is not reduced by uncertainty.
    pub fn new(roi: f64, risks: &ModuleRisks) -> Self {
        let posterior = (1.0 + risks.reverted as f64) / (2.0 + (risks.reverted + risks.kept) as f64);
        let share = |value: f64| value.clamp(0.0, 1.0);
        let rollback_probability =
            1.0 - (1.0 - posterior) * (1.0 - share(risks.error_rate)) * (1.0 - share(risks.flaky_rate));
        let rollback = 1.0 - rollback_probability * share(risks.severity);
        let last = &risks.deltas[risks.deltas.len().saturating_sub(LAST_DELTAS)..];
        let stability = standard_deviation(last).map_or(1.0, |deviation| (1.0 - deviation).max(0.0));
        let safety = safety(risks);
        let factor = rollback * stability * safety;
        let raroi = if roi > 0.0 { roi * factor } else { roi };
        let bottlenecks = bottlenecks(rollback, stability, safety);
        let assumed = unmeasured_factors(risks, last);
        Self { roi, raroi, rollback_probability, rollback, stability, safety, assumed, bottlenecks }
    }
}

/// Names of the factors without measurements: without patches the probability of a rollback is the prior, and instability,
/// unsafe behaviour and failing suites are assumed to be absent.
fn unmeasured_factors(risks: &ModuleRisks, last: &[f64]) -> Vec<&'static str> {
    let unknown = [
        ("rollback", risks.kept + risks.reverted == 0),
        ("stability", last.len() < 2),
        ("safety", risks.safety_rating.is_none() && risks.security_score.is_none()),
        ("failing_critical_suites", risks.failing_critical_suites.is_none()),
    ];
    unknown.into_iter().filter(|(_, is_unknown)| *is_unknown).map(|(name, _)| name).collect()
}

fn safety(risks: &ModuleRisks) -> f64 {
    let rated: Vec<f64> = [risks.safety_rating, risks.security_score].into_iter().flatten().collect();
    // A module without ratings counts as safe.
    let rating = crate::statistics::mean(&rated).unwrap_or(1.0);
    let suites = 0.5_f64.powf(f64::from(risks.failing_critical_suites.unwrap_or(0)));
    rating / (1.0 + risks.failures_of_100.max(0.0)) * suites
}

fn bottlenecks(rollback: f64, stability: f64, safety: f64) -> Vec<RoiBottleneck> {
    let factors = [
        ("rollback", rollback, "reduce failures and keep patches small: failing patches are reverted"),
        ("stability", stability, "its gains vary: measure more cycles before relying on them"),
        ("safety", safety, "validate arguments before use; list the findings with 'menace scan'"),
    ];
    let mut found: Vec<RoiBottleneck> = factors
        .into_iter()
        .map(|(factor, left, hint)| RoiBottleneck { factor, costs: 1.0 - left, hint })
        .filter(|bottleneck| bottleneck.costs > LITTLE)
        .collect();
    found.sort_by(|a, b| b.costs.total_cmp(&a.costs));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_risk_lowers_raroi_and_is_named() {
        let calm = ModuleRisks {
            kept: 50,
            safety_rating: Some(1.0),
            security_score: Some(1.0),
            failing_critical_suites: Some(0),
            ..ModuleRisks::default()
        };
        let best = RiskAdjustedRoi::new(0.8, &calm);
        assert!(best.raroi > 0.78 && best.bottlenecks.is_empty(), "{best:?}");
        for (risks, factor) in [
            (ModuleRisks { reverted: 50, ..calm.clone() }, "rollback"),
            (ModuleRisks { error_rate: 0.5, ..calm.clone() }, "rollback"),
            (ModuleRisks { flaky_rate: 0.5, ..calm.clone() }, "rollback"),
            (ModuleRisks { deltas: vec![0.5, -0.5, 0.5, -0.5], ..calm.clone() }, "stability"),
            (ModuleRisks { safety_rating: Some(0.2), ..calm.clone() }, "safety"),
            (ModuleRisks { failures_of_100: 5.0, ..calm.clone() }, "safety"),
            (ModuleRisks { failing_critical_suites: Some(1), ..calm.clone() }, "safety"),
        ] {
            let risky = RiskAdjustedRoi::new(0.8, &risks);
            assert!(risky.raroi < best.raroi, "{risky:?}");
            assert_eq!(risky.bottlenecks[0].factor, factor, "{risky:?}");
        }
        assert!((RiskAdjustedRoi::new(-1.0, &calm).raroi + 1.0).abs() < 1e-12, "a veto is not adjusted");
        assert_eq!(best.assumed, ["stability"]);
        let nothing_known = RiskAdjustedRoi::new(0.8, &ModuleRisks::default());
        assert_eq!(nothing_known.assumed, ["rollback", "stability", "safety", "failing_critical_suites"]);
    }

    #[test]
    fn the_longest_matching_name_sets_the_severity() {
        let mut severities = ImpactSeverities::default();
        severities.0.insert("shop".into(), 0.3);
        severities.0.insert("shop/payments".into(), 0.9);
        for (name, severity) in
            [("critical", 0.9), ("shop/payments/card.py", 0.9), ("shop/cart.py", 0.3), ("other.py", 0.5)]
        {
            assert!((severities.of(name) - severity).abs() < 1e-12, "{name}");
        }
    }
}
