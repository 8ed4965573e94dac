//! Comparison with scipy, statsmodels and scikit-learn. `reference/generate.py` generated the values.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::distribution::{fisher_above, student_above};
use super::*;

#[derive(Deserialize)]
struct ReferenceFile<T> {
    cases: Vec<T>,
}

/// The cases of a reference file; asserts that there are at least 100.
pub(crate) fn cases<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = format!("{}/reference/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let file: ReferenceFile<T> = serde_json::from_str(&text).unwrap();
    assert!(file.cases.len() >= 100, "{name} has {} cases", file.cases.len());
    file.cases
}

/// Asserts equality to a relative error of 1e-6.
#[track_caller]
pub(crate) fn same(ours: f64, theirs: f64, what: &str) {
    let far = (ours - theirs).abs();
    assert!(far <= 1e-6 * theirs.abs() + 1e-300, "{what}: ours {ours}, reference {theirs}");
}

#[derive(Deserialize)]
struct ReferenceResult {
    statistic: f64,
    p_value: f64,
}

impl ReferenceResult {
    #[track_caller]
    fn is(&self, ours: Option<SignificanceTest>, what: &str) {
        let ours = ours.unwrap();
        same(ours.statistic, self.statistic, what);
        same(ours.p_value, self.p_value, what);
    }
}

#[derive(Deserialize)]
struct SamplePairCase {
    a: Vec<f64>,
    b: Vec<f64>,
    #[serde(flatten)]
    result: ReferenceResult,
}

#[test]
fn dickey_fuller() {
    #[derive(Deserialize)]
    struct DickeyFullerCase {
        series: Vec<f64>,
        max_lag: Option<usize>,
        used_lag: usize,
        nobs: usize,
        critical: [f64; 3],
        #[serde(flatten)]
        result: ReferenceResult,
    }
    for (number, case) in cases::<DickeyFullerCase>("adf").iter().enumerate() {
        let what = format!("case {number}");
        let found =
            adf(&case.series, case.max_lag.map_or(LagSelection::Chosen, LagSelection::Given)).unwrap();
        assert_eq!((found.used_lag, found.observations), (case.used_lag, case.nobs), "{what}");
        same(found.statistic, case.result.statistic, &what);
        same(found.p_value, case.result.p_value, &what);
        for (ours, theirs) in found.critical.iter().zip(case.critical) {
            same(*ours, theirs, &what);
        }
    }
}

#[test]
fn levene_around_medians() {
    for (number, case) in cases::<SamplePairCase>("levene").iter().enumerate() {
        case.result.is(levene(&case.a, &case.b), &format!("case {number}"));
    }
}

#[test]
fn student() {
    #[derive(Deserialize)]
    struct StudentCase {
        a: Vec<f64>,
        b: Vec<f64>,
        one: ReferenceResult,
        welch: ReferenceResult,
        paired: ReferenceResult,
    }
    for (number, case) in cases::<StudentCase>("student").iter().enumerate() {
        case.one.is(one_sample(&case.a), &format!("one sample, case {number}"));
        case.welch.is(welch(&case.a, &case.b), &format!("two samples, case {number}"));
        case.paired.is(paired(&case.a, &case.b), &format!("pairs, case {number}"));
    }
}

#[test]
fn kolmogorov_and_smirnov() {
    for (number, case) in cases::<SamplePairCase>("kolmogorov_smirnov").iter().enumerate() {
        let found = kolmogorov_smirnov(&case.a, &case.b).unwrap();
        let found = SignificanceTest { statistic: found.statistic, p_value: found.p_value };
        case.result.is(Some(found), &format!("case {number}"));
    }
}

#[test]
fn pearson() {
    for (number, case) in cases::<SamplePairCase>("correlation").iter().enumerate() {
        let found = correlation(&case.a, &case.b).unwrap();
        let found = SignificanceTest { statistic: found.coefficient, p_value: found.p_value };
        case.result.is(Some(found), &format!("case {number}"));
    }
}

#[test]
fn wilsons_interval() {
    #[derive(Deserialize)]
    struct WilsonCase {
        successes: usize,
        n: usize,
        confidence: f64,
        low: f64,
        high: f64,
    }
    for case in cases::<WilsonCase>("wilson") {
        let (low, high) = wilson(case.successes, case.n, case.confidence);
        let what = format!("{} of {} at {}", case.successes, case.n, case.confidence);
        // Without successes, the reference is 0 except for rounding.
        same(low, if case.successes == 0 { 0.0 } else { case.low }, &what);
        same(high, case.high, &what);
    }
}

#[test]
fn stability_of_populations() {
    #[derive(Deserialize)]
    struct StabilityCase {
        expected: Vec<f64>,
        actual: Vec<f64>,
        bins: usize,
        psi: f64,
    }
    for (number, case) in cases::<StabilityCase>("psi").iter().enumerate() {
        let found = population_stability(&case.expected, &case.actual, case.bins).unwrap();
        same(found, case.psi, &format!("case {number}"));
    }
}

#[test]
fn distributions() {
    #[derive(Deserialize)]
    struct DistributionCase {
        kind: String,
        parameters: Vec<f64>,
        x: f64,
        cdf: f64,
        p: f64,
        quantile: f64,
    }
    let mut seen = 0;
    for case in cases::<DistributionCase>("distributions") {
        let what = format!("{} {:?} at {} and {}", case.kind, case.parameters, case.x, case.p);
        match (case.kind.as_str(), case.parameters.as_slice()) {
            ("t", [freedom]) => {
                same(student_above(-case.x, *freedom), case.cdf, &what);
                same(student_quantile(case.p, *freedom), case.quantile, &what);
            }
            ("normal", [mean, deviation]) => {
                same(normal_cdf((case.x - mean) / deviation), case.cdf, &what);
                same(mean + deviation * normal_quantile(case.p), case.quantile, &what);
            }
            ("F", [numerator, denominator]) => {
                same(1.0 - fisher_above(case.x, *numerator, *denominator), case.cdf, &what);
            }
            _ => continue,
        }
        seen += 1;
    }
    assert!(seen >= 150, "only {seen} distribution cases");
}
