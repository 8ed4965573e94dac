//! What a run found, as people and programs read it.

use std::collections::BTreeMap;

use menace_model::calls::OutcomeKind;
use serde::Serialize;

use crate::plan::Plan;
use crate::run::CallOutcome;
use crate::shrink::stub_size;
use crate::statistics::wilson;
use crate::target::Target;

/// The report of a run. Its fields are stable.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// Version of this format.
    pub version: u32,
    /// What all chance came from.
    pub seed: u64,
    /// Sections that are there to be called.
    pub sections: usize,
    /// Sections that were called.
    pub reached: usize,
    /// Calls that were made.
    pub calls: usize,
    /// One for each section and scenario.
    pub cells: Vec<Cell>,
    /// What went wrong, the worst first.
    pub failures: Vec<Failure>,
    /// What could not be called, and why.
    pub harness_errors: Vec<HarnessError>,
}

/// A section under a scenario.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// `module:qualname`.
    pub section: String,
    /// The scenario.
    pub scenario: &'static str,
    /// Calls that count.
    pub n: usize,
    /// How many of each kind, without those that did not happen.
    #[serde(flatten)]
    pub kinds: BTreeMap<&'static str, usize>,
    /// The share of calls that ended well; nothing when none counts.
    pub robustness: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// Why no call counts.
    pub void_reason: Option<String>,
}

/// One way in which a section fails.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// `module:qualname`.
    pub section: String,
    /// The file.
    pub path: String,
    /// The line, of the innermost frame of the repository if there is one.
    pub line: u32,
    /// The scenario of the example.
    pub scenario: &'static str,
    /// What kind of failure.
    pub kind: OutcomeKind,
    /// The exception.
    pub exception: Option<String>,
    /// Its text, or the reason.
    pub message: String,
    /// The arguments of the example.
    pub input: crate::stubs::Stub,
    /// How many calls failed in this way.
    pub count: usize,
    /// Which of the outcomes is the example.
    #[serde(skip)]
    pub(crate) outcome: usize,
}

/// A section that could not be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HarnessError {
    /// `module:qualname`.
    pub section: String,
    /// Why.
    pub reason: String,
}

impl RunReport {
    /// Puts the outcomes of a plan together.
    pub fn new(seed: u64, targets: &[Target], plan: &Plan, outcomes: &[CallOutcome]) -> Self {
        let reached = (0..targets.len())
            .filter(|target| {
                outcomes.iter().any(|outcome| {
                    plan.calls[outcome.call].target == *target
                        && outcome.verdict.kind != OutcomeKind::HarnessError
                })
            })
            .count();
        Self {
            version: 1,
            seed,
            sections: targets.len(),
            reached,
            calls: outcomes.len(),
            cells: cells(targets, plan, outcomes),
            failures: failures(targets, plan, outcomes),
            harness_errors: harness_errors(targets, plan, outcomes),
        }
    }
}

fn cells(targets: &[Target], plan: &Plan, outcomes: &[CallOutcome]) -> Vec<Cell> {
    let mut kinds: BTreeMap<(usize, crate::Scenario), BTreeMap<&'static str, usize>> = BTreeMap::new();
    for outcome in outcomes {
        let call = &plan.calls[outcome.call];
        let of_cell = kinds.entry((call.target, call.scenario)).or_default();
        *of_cell.entry(outcome.verdict.kind.name()).or_default() += 1;
    }
    let counted = |kinds: &BTreeMap<&'static str, usize>, wanted: &[&str]| -> usize {
        kinds.iter().filter(|(kind, _)| wanted.contains(kind)).map(|(_, count)| count).sum()
    };
    let mut cells: Vec<((usize, crate::Scenario), Cell)> = kinds
        .into_iter()
        .map(|((target, scenario), kinds)| {
            let all: usize = kinds.values().sum();
            let n = all - counted(&kinds, &["void", "harness_error"]);
            let well = counted(&kinds, &["ok", "rejected"]);
            let cell = Cell {
                section: targets[target].name(),
                scenario: scenario.name(),
                n,
                kinds,
                robustness: (n > 0).then(|| well as f64 / n as f64),
                interval: (n > 0).then(|| wilson(well, n)),
                void_reason: (n == 0).then(|| "no call counts".to_owned()),
            };
            ((target, scenario), cell)
        })
        .collect();
    cells.extend(plan.void.iter().map(|(target, scenario, reason)| {
        let cell = Cell {
            section: targets[*target].name(),
            scenario: scenario.name(),
            n: 0,
            kinds: BTreeMap::new(),
            robustness: None,
            interval: None,
            void_reason: Some(reason.clone()),
        };
        ((*target, *scenario), cell)
    }));
    cells.sort_by_key(|(place, _)| *place);
    cells.into_iter().map(|(_, cell)| cell).collect()
}

/// What tells one failure from another: its kind, the exception, and the innermost line of the repository.
type Signature = (String, OutcomeKind, Option<String>, String, u32);

fn failures(targets: &[Target], plan: &Plan, outcomes: &[CallOutcome]) -> Vec<Failure> {
    let mut found: BTreeMap<Signature, Failure> = BTreeMap::new();
    let failed = |(_, outcome): &(usize, &CallOutcome)| outcome.verdict.kind.is_failure();
    for (number, outcome) in outcomes.iter().enumerate().filter(failed) {
        let call = &plan.calls[outcome.call];
        let target = &targets[call.target];
        let verdict = &outcome.verdict;
        let frame = verdict.facts.as_ref().and_then(|facts| facts.frames.last());
        let (path, line) =
            frame.map_or((target.path.clone(), target.section.line), |(path, line, _)| (path.clone(), *line));
        let exception = verdict.facts.as_ref().map(|facts| facts.exception.clone());
        // A limit says nothing about the line, so one failure for each section.
        let section = if frame.is_some() { String::new() } else { target.name() };
        let signature = (section, verdict.kind, exception.clone(), path.clone(), line);
        let message = verdict.message().unwrap_or_default();
        found
            .entry(signature)
            .and_modify(|failure| {
                failure.count += 1;
                if stub_size(&call.stub) < stub_size(&failure.input) {
                    failure.input = call.stub.clone();
                    failure.outcome = number;
                    failure.scenario = call.scenario.name();
                    failure.section = target.name();
                }
            })
            .or_insert(Failure {
                section: target.name(),
                path,
                line,
                scenario: call.scenario.name(),
                kind: verdict.kind,
                exception,
                message,
                input: call.stub.clone(),
                count: 1,
                outcome: number,
            });
    }
    let mut failures: Vec<Failure> = found.into_values().collect();
    failures.sort_by(|left, right| {
        severity(right)
            .cmp(&severity(left))
            .then_with(|| (&left.path, left.line).cmp(&(&right.path, right.line)))
    });
    failures
}

/// How bad a failure is: what happens in ordinary use is worst.
fn severity(failure: &Failure) -> (u32, usize) {
    let scenario = match failure.scenario {
        "normal" => 4,
        "concurrency_spike" => 3,
        "hostile_input" => 2,
        _ => 1,
    };
    let kind = match failure.kind {
        OutcomeKind::Denied | OutcomeKind::Wrong => 3,
        OutcomeKind::Timeout | OutcomeKind::Oom => 2,
        _ => 1,
    };
    (scenario * kind, failure.count)
}

fn harness_errors(targets: &[Target], plan: &Plan, outcomes: &[CallOutcome]) -> Vec<HarnessError> {
    let mut errors: Vec<(usize, String)> = plan.impossible.clone();
    for outcome in outcomes.iter().filter(|outcome| outcome.verdict.kind == OutcomeKind::HarnessError) {
        let target = plan.calls[outcome.call].target;
        if errors.iter().all(|(known, _)| *known != target) {
            errors.push((target, outcome.verdict.reason.clone().unwrap_or_default()));
        }
    }
    errors.sort();
    errors
        .into_iter()
        .map(|(target, reason)| HarnessError { section: targets[target].name(), reason })
        .collect()
}
