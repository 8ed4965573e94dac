//! Scores of one module, from the definitions in the measurement design.

use menace_model::inventory::{ChurnCounts, FindingSeverity, LintFinding, RiskIndex, SecurityFinding};

use super::repository_scan::ChurnedLines;

const CHURN_WEIGHT: f64 = 0.2;
const MAINTAINABILITY_WEIGHT: f64 = 0.4;

pub(super) fn churn(lines: u32, changed: ChurnedLines) -> ChurnCounts {
    let ChurnedLines { commits, added, deleted } = changed;
    let ratio = (f64::from(added + deleted) / f64::from(lines.max(1))).min(1.0);
    ChurnCounts { commits, added, deleted, ratio }
}

/// `0.2 · churn + 0.4 · (1 − maintainability) + 0.4 · (1 − R)`, over the terms that a scan can measure, with
/// their weights scaled to add up to one.
pub(super) fn risk(churn: Option<&ChurnCounts>, no_churn: &str, maintainability: Option<f64>) -> RiskIndex {
    let mut terms = Vec::new();
    let mut missing = Vec::new();
    let (mut sum, mut weights) = (0.0, 0.0);
    match churn {
        Some(churn) => {
            terms.push("churn".to_owned());
            sum += CHURN_WEIGHT * churn.ratio;
            weights += CHURN_WEIGHT;
        }
        None => missing.push(format!("churn: {no_churn}")),
    }
    match maintainability {
        Some(index) => {
            terms.push("maintainability".to_owned());
            sum += MAINTAINABILITY_WEIGHT * (1.0 - index / 100.0);
            weights += MAINTAINABILITY_WEIGHT;
        }
        None => missing.push("maintainability: the file does not parse".to_owned()),
    }
    missing.push("robustness: measured by running the module".to_owned());
    let value = (weights > 0.0).then(|| sum / weights);
    RiskIndex { value, terms, missing }
}

/// `1 / (1 + findings per 100 lines)`.
pub(super) fn code_quality(findings: &[LintFinding], lines: u32) -> f64 {
    1.0 / (1.0 + per_hundred_lines(findings.len() as f64, lines))
}

/// `1 / (1 + Σ severity weights per 100 lines)`; no finding is 1.0.
pub(super) fn security_score(findings: &[SecurityFinding], lines: u32) -> f64 {
    let weight = |finding: &SecurityFinding| match finding.severity {
        FindingSeverity::Low => 1.0,
        FindingSeverity::Medium => 3.0,
        FindingSeverity::High => 10.0,
    };
    1.0 / (1.0 + per_hundred_lines(findings.iter().map(weight).sum(), lines))
}

fn per_hundred_lines(amount: f64, lines: u32) -> f64 {
    amount * 100.0 / f64::from(lines.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn risk_uses_measured_terms_only_and_lists_missing_ones() {
        let churned = churn(100, ChurnedLines { commits: 2, added: 30, deleted: 20 });
        let both = risk(Some(&churned), "", Some(80.0));
        assert!((both.value.unwrap() - (0.2 * 0.5 + 0.4 * 0.2) / 0.6).abs() < 1e-12);
        let one = risk(None, "no git", Some(80.0));
        assert!((one.value.unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(one.missing[0], "churn: no git");
        assert_eq!(risk(None, "no git", None).value, None);
    }

    #[test]
    fn no_findings_give_a_perfect_score() {
        assert!((security_score(&[], 0) - 1.0).abs() < 1e-12);
        assert!((code_quality(&[], 10) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_rewritten_file_has_full_churn() {
        assert!((churn(10, ChurnedLines { commits: 1, added: 500, deleted: 400 }).ratio - 1.0).abs() < 1e-12);
    }
}
