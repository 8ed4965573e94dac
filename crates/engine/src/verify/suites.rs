//! Tests of the repository, on the baseline and on candidates.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use menace_model::inventory::Inventory;
use menace_runner::{TestCase, TestFileOutcome, TestOutcome};

use super::protected_files::is_protected;
use crate::workbench::{EngineError, Workbench};

/// Test results of the baseline.
#[derive(Debug, Clone, Default)]
pub struct BaselineSuites {
    files: Vec<String>,
    /// Result of each test, by name.
    before: BTreeMap<String, TestOutcome>,
    /// Reason why the tests could not be run.
    unavailable: Option<String>,
    /// Duration of all runs.
    took: Duration,
}

/// Time limit of all tests.
const LONGEST: Duration = Duration::from_mins(5);
/// Minimum time limit of the tests of a proposal, and their time limit relative to the baseline: several runs are
/// concurrent, and the machine may be busy.
const LEAST_TIME: Duration = Duration::from_secs(20);
const LONGER: u32 = 8;

/// Number of runs on the baseline, to detect flaky tests.
const RUNS_BEFORE: usize = 2;
/// Number of runs of a candidate in each concurrent sandbox, five in total. Tests mostly wait, so sandboxes run
/// concurrently.
const RERUNS: [usize; 3] = [2, 2, 1];

impl BaselineSuites {
    /// Runs all test files of the baseline.
    pub async fn of(workbench: &dyn Workbench, inventory: &Inventory) -> Result<Self, EngineError> {
        let is_test = |path: &String| {
            let file = path.rsplit('/').next().unwrap_or(path);
            file.starts_with("test_") || file.ends_with("_test.py")
        };
        let files: Vec<String> = inventory
            .modules
            .iter()
            .map(|module| module.path.clone())
            .filter(|path| is_protected(path) && is_test(path))
            .collect();
        if files.is_empty() {
            return Ok(Self::default());
        }
        let began = Instant::now();
        let outcomes = workbench.tests(inventory, &files, (RUNS_BEFORE, LONGEST)).await?;
        let took = began.elapsed();
        let mut before = BTreeMap::new();
        for outcome in outcomes {
            match outcome {
                TestFileOutcome::Ran { cases } => add(&mut before, by_name(cases)),
                TestFileOutcome::Broken { reason } | TestFileOutcome::Unavailable { reason } => {
                    return Ok(Self { files, before: BTreeMap::new(), unavailable: Some(reason), took });
                }
            }
        }
        Ok(Self { files, before, unavailable: None, took })
    }

    /// Number of passing tests.
    pub fn passing(&self) -> usize {
        self.before.values().filter(|kind| **kind == TestOutcome::Passed).count()
    }

    /// Test files with a failing test.
    pub fn failing(&self) -> BTreeSet<String> {
        let is_bad = |kind: &TestOutcome| matches!(kind, TestOutcome::Failed | TestOutcome::Error);
        let fails = |file: &&String| {
            let module = file.trim_end_matches(".py").replace('/', ".");
            let is_of_it = |name: &str| {
                name.strip_prefix(&module).is_some_and(|rest| rest.starts_with('.') || rest.starts_with("::"))
            };
            self.before.iter().any(|(name, kind)| is_bad(kind) && is_of_it(name))
        };
        self.files.iter().filter(fails).cloned().collect()
    }

    /// Number of test files.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Reason why existing tests could not be run.
    pub fn unavailable(&self) -> Option<&str> {
        self.unavailable.as_deref()
    }

    /// Runs the tests repeatedly on a candidate; returns a summary, or the requirement that was not met.
    pub(super) async fn compare_on_candidate(
        &self,
        workbench: &dyn Workbench,
        inventory: &Inventory,
    ) -> Result<Result<String, String>, EngineError> {
        if self.files.is_empty() {
            return Ok(Ok("the repository has no tests".into()));
        }
        if let Some(reason) = &self.unavailable {
            return Ok(Err(format!("the tests could not be run on the baseline: {reason}")));
        }
        let time = self.time_of_proposals();
        let rerun = |times| workbench.tests(inventory, &self.files, (times, time));
        let (one, two, three) = tokio::try_join!(rerun(RERUNS[0]), rerun(RERUNS[1]), rerun(RERUNS[2]))?;
        let outcomes = [one, two, three].concat();
        let (runs, asked) = (outcomes.len(), RERUNS.iter().sum::<usize>());
        if let Some(problem) = outcomes.into_iter().find_map(|outcome| self.wrong_with(outcome)) {
            return Ok(Err(problem));
        }
        if runs < asked {
            return Ok(Err(format!("only {runs} of {asked} test runs finished")));
        }
        Ok(Ok(format!("{} passed in each of {runs} runs", self.passing())))
    }

    fn time_of_proposals(&self) -> Duration {
        (self.took * LONGER).clamp(LEAST_TIME, LONGEST)
    }

    fn wrong_with(&self, outcome: TestFileOutcome) -> Option<String> {
        match outcome {
            TestFileOutcome::Ran { cases } => self.problem(&by_name(cases)),
            TestFileOutcome::Broken { reason } | TestFileOutcome::Unavailable { reason } => Some(reason),
        }
    }

    fn problem(&self, after: &BTreeMap<String, TestOutcome>) -> Option<String> {
        self.before.iter().find_map(|(name, before)| match after.get(name) {
            None => Some(format!("{name} is missing")),
            Some(kind) if *before == TestOutcome::Passed && *kind != TestOutcome::Passed => {
                Some(format!("{name} no longer passes"))
            }
            Some(_) => None,
        })
    }
}

/// Merges the results of a run: a test passes only if it passes in every run.
fn add(all: &mut BTreeMap<String, TestOutcome>, run: BTreeMap<String, TestOutcome>) {
    for (name, kind) in run {
        let known = all.entry(name).or_insert(kind);
        if *known == TestOutcome::Passed {
            *known = kind;
        }
    }
}

fn by_name(cases: Vec<TestCase>) -> BTreeMap<String, TestOutcome> {
    cases.into_iter().map(|case| (format!("{}::{}", case.place, case.name), case.kind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_a_failing_test_are_listed() {
        let before = BTreeMap::from([
            ("tests.test_a::test_one".to_owned(), TestOutcome::Passed),
            ("tests.test_a.TestCart::test_two".to_owned(), TestOutcome::Failed),
            ("tests.test_ab::test_three".to_owned(), TestOutcome::Passed),
        ]);
        let files = vec!["tests/test_a.py".to_owned(), "tests/test_ab.py".to_owned()];
        let suites = BaselineSuites { files, before, ..BaselineSuites::default() };
        assert_eq!(suites.failing(), BTreeSet::from(["tests/test_a.py".to_owned()]));
    }

    #[test]
    fn missing_and_newly_failing_tests_are_problems_and_earlier_failures_are_not() {
        let before =
            BTreeMap::from([("a".to_owned(), TestOutcome::Passed), ("b".to_owned(), TestOutcome::Failed)]);
        let suites = BaselineSuites {
            files: vec!["test_a.py".into()],
            before: before.clone(),
            unavailable: None,
            took: Duration::ZERO,
        };
        assert_eq!(suites.problem(&before), None);
        let fixed =
            BTreeMap::from([("a".to_owned(), TestOutcome::Passed), ("b".to_owned(), TestOutcome::Passed)]);
        assert_eq!(suites.problem(&fixed), None);
        let gone = BTreeMap::from([("a".to_owned(), TestOutcome::Passed)]);
        assert_eq!(suites.problem(&gone).unwrap(), "b is missing");
        let skipped =
            BTreeMap::from([("a".to_owned(), TestOutcome::Skipped), ("b".to_owned(), TestOutcome::Failed)]);
        assert_eq!(suites.problem(&skipped).unwrap(), "a no longer passes");
    }
}
