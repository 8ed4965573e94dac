//! `self_test_metrics.json`: totals of all rounds, for the exporter. The names are those of the gauges.

use std::path::Path;
use std::time::Duration;

use menace_analysis::write_atomically;
use serde::{Deserialize, Serialize};

use super::round::SelfTestRound;
use crate::AppError;
use crate::error::FileContext;
use crate::tracking::lock;

const FILE: &str = "self_test_metrics.json";

/// Totals of all rounds.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct SelfTestTotals {
    version: u32,
    rounds: u64,
    self_test_passed_total: usize,
    self_test_failed_total: usize,
    self_test_average_runtime_seconds: f64,
    /// Average over rounds in which a module without tests was called; `None` if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    self_test_average_coverage: Option<f64>,
    /// Rounds in which a module without tests was called.
    rounds_with_coverage: u64,
    orphan_modules_tested_total: usize,
    orphan_modules_reintroduced_total: usize,
    orphan_modules_failed_total: usize,
}

/// Orphans tested in a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OrphanTestCounts {
    pub(super) tested: usize,
    pub(super) failed: usize,
}

/// Adds a finished round.
pub(super) fn add(
    directory: &Path,
    round: &SelfTestRound,
    orphans: OrphanTestCounts,
    took: Duration,
) -> Result<(), AppError> {
    let path = directory.join(FILE);
    let _lock = lock(&path)?;
    let mut totals = match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => SelfTestTotals::default(),
        Err(error) => return Err(error).file("read", &path),
        Ok(text) => {
            let read: Option<SelfTestTotals> = serde_json::from_slice(&text).ok();
            let known = read.filter(|totals| totals.version == 1);
            known.ok_or_else(|| AppError::ForeignFile {
                path: path.clone(),
                problem: "it contains no self-test totals".to_owned(),
            })?
        }
    };
    totals.add(round, orphans, took);
    let text = serde_json::to_vec_pretty(&totals)?;
    write_atomically(&path, &text).file("write", &path)
}

impl SelfTestTotals {
    fn add(&mut self, round: &SelfTestRound, orphans: OrphanTestCounts, took: Duration) {
        self.version = 1;
        self.rounds += 1;
        self.self_test_passed_total += round.passed;
        self.self_test_failed_total += round.failed;
        let share = 1.0 / self.rounds as f64;
        self.self_test_average_runtime_seconds +=
            (took.as_secs_f64() - self.self_test_average_runtime_seconds) * share;
        if let Some(coverage) = coverage(round) {
            self.rounds_with_coverage += 1;
            let before = self.self_test_average_coverage.unwrap_or(0.0);
            self.self_test_average_coverage =
                Some(before + (coverage - before) / self.rounds_with_coverage as f64);
        }
        self.orphan_modules_tested_total += orphans.tested;
        self.orphan_modules_reintroduced_total += round.integrated.len();
        self.orphan_modules_failed_total += orphans.failed;
    }
}

/// Share of the sections that were called, over modules without tests.
fn coverage(round: &SelfTestRound) -> Option<f64> {
    let smokes = round.modules.iter().filter_map(|module| module.smoke.as_ref());
    let (reached, sections) = smokes
        .fold((0, 0), |(reached, sections), smoke| (reached + smoke.reached, sections + smoke.sections));
    (sections > 0).then(|| reached as f64 / sections as f64)
}

#[cfg(test)]
mod tests {
    use super::super::round::{ModuleTestResult, SmokeTestResult};
    use super::*;

    fn round(passed: usize, failed: usize, smoke: Option<SmokeTestResult>) -> SelfTestRound {
        let mut round = SelfTestRound { passed, failed, ..SelfTestRound::default() };
        if let Some(smoke) = smoke {
            round.modules.push(ModuleTestResult { smoke: Some(smoke), ..ModuleTestResult::default() });
        }
        round
    }

    #[test]
    fn totals_add_up_and_averages_cover_measured_rounds_only() {
        let directory = tempfile::tempdir().unwrap();
        let rounds = |round: &SelfTestRound, tested, seconds| {
            let orphans = OrphanTestCounts { tested, failed: 1 };
            add(directory.path(), round, orphans, Duration::from_secs(seconds)).unwrap();
        };
        rounds(&round(3, 1, None), 2, 1);
        rounds(
            &round(4, 0, Some(SmokeTestResult { sections: 4, reached: 3, ..SmokeTestResult::default() })),
            3,
            3,
        );
        rounds(
            &round(0, 0, Some(SmokeTestResult { sections: 4, reached: 1, ..SmokeTestResult::default() })),
            0,
            2,
        );
        let text = std::fs::read(directory.path().join(FILE)).unwrap();
        let totals: SelfTestTotals = serde_json::from_slice(&text).unwrap();
        assert_eq!((totals.self_test_passed_total, totals.self_test_failed_total), (7, 1));
        assert_eq!((totals.orphan_modules_tested_total, totals.orphan_modules_failed_total), (5, 3));
        assert!((totals.self_test_average_runtime_seconds - 2.0).abs() < 1e-12);
        assert!((totals.self_test_average_coverage.unwrap() - 0.5).abs() < 1e-12);
        std::fs::write(directory.path().join(FILE), "[]").unwrap();
        assert!(
            add(directory.path(), &round(1, 0, None), OrphanTestCounts::default(), Duration::ZERO).is_err()
        );
    }
}
