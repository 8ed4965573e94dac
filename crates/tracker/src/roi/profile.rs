//! ROI profiles: weights of factors, and vetoes.

use std::collections::BTreeMap;

use menace_model::{ErrorClass, ErrorDetails};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A weighted factor of ROI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RoiFactor {
    /// (value − cost) / value.
    Profitability,
    /// Best CPU time so far / CPU time now.
    Efficiency,
    /// Robustness without faults.
    Reliability,
    /// Robustness under faults / robustness without faults.
    Resilience,
    /// Maintainability index.
    Maintainability,
    /// Security score.
    Security,
    /// Latency of network responses; its weight is negative.
    Latency,
    /// Energy consumption; its weight is negative.
    Energy,
}

impl RoiFactor {
    /// All factors.
    pub const ALL: [Self; 8] = [
        Self::Profitability,
        Self::Efficiency,
        Self::Reliability,
        Self::Resilience,
        Self::Maintainability,
        Self::Security,
        Self::Latency,
        Self::Energy,
    ];

    /// Its name in profiles.
    pub fn name(self) -> &'static str {
        match self {
            Self::Profitability => "profitability",
            Self::Efficiency => "efficiency",
            Self::Reliability => "reliability",
            Self::Resilience => "resilience",
            Self::Maintainability => "maintainability",
            Self::Security => "security",
            Self::Latency => "latency",
            Self::Energy => "energy",
        }
    }

    /// The metric that it is computed from.
    pub fn metric(self) -> &'static str {
        match self {
            Self::Security => "security_score",
            Self::Latency => "network_latency",
            Self::Energy => "energy_consumption",
            other => other.name(),
        }
    }

    /// Maps a metric with a unit to 0…1: 0.5 at one second, or at one joule.
    fn share(self, value: f64) -> f64 {
        match self {
            Self::Latency => value / (value + 1_000.0),
            Self::Energy => value / (value + 1.0),
            _ => value,
        }
    }
}

/// Weights and vetoes of ROI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoiProfile {
    /// Weight of each factor.
    pub weights: BTreeMap<RoiFactor, f64>,
    /// Vetoes by metric.
    #[serde(default)]
    pub vetoes: BTreeMap<String, RoiVeto>,
    /// Hints by metric; they replace the built-in ones.
    #[serde(default)]
    pub hints: BTreeMap<String, String>,
}

/// Required range of a metric.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoiVeto {
    /// Minimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Forbidden value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<f64>,
}

/// An invalid profile.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RoiProfileError {
    /// No factor has a positive weight.
    #[error("no factor has a weight above 0")]
    Weightless,
    /// A weight that is not finite, or has the wrong sign.
    #[error("invalid weight of {0}: expected a number, negative for latency and energy, else positive")]
    Weight(&'static str),
    /// A veto without a condition.
    #[error("veto of {0} has none of min, max, equals")]
    Veto(String),
}

impl ErrorDetails for RoiProfileError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Weightless | Self::Weight(_) | Self::Veto(_) => ErrorClass::Usage,
        }
    }
}

/// An ROI with its vetoes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoiLevel {
    /// Its value; −1 if there is a veto.
    pub roi: f64,
    /// The vetoes, each with its value.
    pub vetoes: Vec<String>,
    /// Factors that were left out because they were not measured.
    pub missing: Vec<&'static str>,
}

impl Default for RoiProfile {
    fn default() -> Self {
        let weights = [
            (RoiFactor::Profitability, 0.25),
            (RoiFactor::Efficiency, 0.10),
            (RoiFactor::Reliability, 0.25),
            (RoiFactor::Resilience, 0.15),
            (RoiFactor::Maintainability, 0.10),
            (RoiFactor::Security, 0.15),
            (RoiFactor::Latency, -0.05),
            (RoiFactor::Energy, -0.05),
        ];
        Self { weights: weights.into(), vetoes: BTreeMap::new(), hints: BTreeMap::new() }
    }
}

impl RoiProfile {
    /// Validates the weights and vetoes.
    pub fn check(&self) -> Result<(), RoiProfileError> {
        for (factor, weight) in &self.weights {
            let is_negative = matches!(factor, RoiFactor::Latency | RoiFactor::Energy);
            if !weight.is_finite() || (*weight != 0.0 && is_negative != (*weight < 0.0)) {
                return Err(RoiProfileError::Weight(factor.name()));
            }
        }
        if !self.weights.values().any(|weight| *weight > 0.0) {
            return Err(RoiProfileError::Weightless);
        }
        let empty = self.vetoes.iter().find(|(_, veto)| **veto == RoiVeto::default());
        empty.map_or(Ok(()), |(metric, _)| Err(RoiProfileError::Veto(metric.clone())))
    }

    /// ROI of metrics. Factors that were not measured are left out and the others scaled up; `None` if none was measured.
    pub fn level<'metrics>(&self, metric: impl Fn(&str) -> Option<f64> + 'metrics) -> Option<RoiLevel> {
        let vetoes: Vec<String> = self
            .vetoes
            .iter()
            .filter_map(|(name, veto)| {
                veto.violation(metric(name)?).map(|objection| format!("{name} {objection}"))
            })
            .collect();
        let (mut sum, mut all, mut measured, mut missing) = (0.0, 0.0, 0.0, Vec::new());
        for (factor, weight) in &self.weights {
            all += weight.max(0.0);
            match metric(factor.metric()).filter(|value| value.is_finite()) {
                Some(value) => {
                    sum += weight * factor.share(value);
                    measured += weight.max(0.0);
                }
                None => missing.push(factor.name()),
            }
        }
        if measured <= 0.0 {
            return None;
        }
        let roi = if vetoes.is_empty() { sum * all / measured } else { -1.0 };
        Some(RoiLevel { roi, vetoes, missing })
    }

    /// The metric that costs the most ROI, its value and a hint; `None` if nothing is lost.
    pub fn weakest(&self, metric: impl Fn(&str) -> Option<f64>) -> Option<(&'static str, f64, &str)> {
        let lost = |(factor, weight): (&RoiFactor, &f64)| {
            let value = metric(factor.metric()).filter(|value| value.is_finite())?;
            let share = factor.share(value);
            let lost = if *weight < 0.0 { -weight * share } else { weight * (1.0 - share) };
            (lost > 0.0).then_some((lost, factor.metric(), value))
        };
        let worst = self.weights.iter().filter_map(lost).max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some((worst.1, worst.2, self.hint(worst.1)))
    }

    /// Hint for improving a metric.
    pub fn hint<'profile>(&'profile self, metric: &str) -> &'profile str {
        let own = self.hints.get(metric).map(String::as_str);
        own.unwrap_or(match metric {
            "profitability" => "reduce the cost or the failures of its calls",
            "efficiency" => "it was faster before: check what changed since then",
            "reliability" => "list the failing calls with 'menace show RUN --calls --kind crash'",
            "resilience" => "catch and retry the exceptions raised in the failing scenarios",
            "maintainability" => "split the longest functions",
            "security_score" | "security" => "list the findings with 'menace scan'",
            "safety_rating" => "validate arguments before use",
            "network_latency" | "latency" => "send fewer upstream requests, or cache the responses",
            "energy_consumption" | "energy" => {
                "reduce the CPU time of its calls: list them with 'menace show RUN --calls'"
            }
            _ => "list the metrics with 'menace show'",
        })
    }
}

impl RoiVeto {
    /// The condition that a value violates.
    #[expect(clippy::float_cmp, reason = "the user sets the exact value")]
    fn violation(&self, value: f64) -> Option<String> {
        match *self {
            Self { min: Some(min), .. } if value < min => Some(format!("{value} is below {min}")),
            Self { max: Some(max), .. } if value > max => Some(format!("{value} is above {max}")),
            Self { equals: Some(equals), .. } if value == equals => Some(format!("is {value}")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, f64)]) -> Option<RoiLevel> {
        let metrics: BTreeMap<String, f64> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        RoiProfile::default().level(|name| metrics.get(name).copied())
    }

    #[test]
    fn unmeasured_factors_are_left_out() {
        let perfect = [
            ("profitability", 1.0),
            ("efficiency", 1.0),
            ("reliability", 1.0),
            ("resilience", 1.0),
            ("maintainability", 1.0),
            ("security_score", 1.0),
        ];
        let level = of(&perfect).unwrap();
        assert!((level.roi - 1.0).abs() < 1e-12, "{level:?}");
        assert_eq!(level.missing, ["latency", "energy"]);
        let half = of(&[("reliability", 0.5)]).unwrap();
        assert!((half.roi - 0.5).abs() < 1e-12);
        let slow = of(&[("reliability", 0.5), ("network_latency", 1_000.0)]).unwrap();
        assert!((slow.roi - 0.4).abs() < 1e-12, "{slow:?}");
        assert_eq!(of(&[("throughput", 9.0)]), None);
        assert_eq!(of(&[("reliability", f64::NAN)]), None);
    }

    #[test]
    fn a_veto_is_named_with_its_value() {
        let mut profile = RoiProfile::default();
        profile.vetoes.insert("security_score".into(), RoiVeto { min: Some(0.3), ..RoiVeto::default() });
        let level = profile.level(|_| Some(0.2)).unwrap();
        assert!(
            (level.roi + 1.0).abs() < 1e-12 && level.vetoes == ["security_score 0.2 is below 0.3"],
            "{level:?}"
        );
        assert!(profile.level(|_| Some(0.3)).unwrap().vetoes.is_empty());
    }

    #[test]
    fn the_weakest_metric_has_a_hint() {
        let mut profile = RoiProfile::default();
        let metrics = |name: &str| match name {
            "reliability" => Some(0.5),
            "maintainability" => Some(0.4),
            _ => None,
        };
        let (name, value, hint) = profile.weakest(metrics).unwrap();
        assert!(name == "reliability" && (value - 0.5).abs() < 1e-12 && hint.contains("menace show"));
        profile.hints.insert("reliability".into(), "ask Ada".into());
        assert_eq!(profile.weakest(metrics).unwrap().2, "ask Ada");
        assert_eq!(profile.weakest(|_| None), None);
    }

    #[test]
    fn invalid_weights_are_rejected() {
        let with = |factor, weight| {
            let mut profile = RoiProfile::default();
            profile.weights.insert(factor, weight);
            profile.check()
        };
        assert_eq!(with(RoiFactor::Security, 0.5), Ok(()));
        assert_eq!(with(RoiFactor::Security, -0.5), Err(RoiProfileError::Weight("security")));
        assert_eq!(with(RoiFactor::Latency, 0.5), Err(RoiProfileError::Weight("latency")));
        assert_eq!(with(RoiFactor::Energy, f64::NAN), Err(RoiProfileError::Weight("energy")));
        let nothing = RoiProfile { weights: BTreeMap::new(), ..RoiProfile::default() };
        assert_eq!(nothing.check(), Err(RoiProfileError::Weightless));
    }
}
