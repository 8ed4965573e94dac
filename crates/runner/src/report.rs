//! The report of a run, for people and programs.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::calls::OutcomeKind;
use menace_model::ids::RunId;
use menace_model::network::FlowProtocol;
use serde::Serialize;

use crate::call::Call;
use crate::cell_usage::CellUsage;
use crate::coverage::{ModuleCoverage, coverage};
use crate::network_recovery::NetworkRecovery;
use crate::outcome::{CallClassification, CallOutcome};
use crate::plan::{CallPlan, CallPurpose, PlanInputs, PlannedCall};
use crate::smaller_inputs::stub_size;
use crate::statistics::{median, wilson};
use crate::stubs::Stub;

/// The report of a run. Its fields are stable.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// Version of this format.
    pub version: u32,
    /// The id of the run.
    pub run: Option<RunId>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Sections that can be called.
    pub sections: usize,
    /// Sections that were called.
    pub reached: usize,
    /// Calls that were made.
    pub calls: usize,
    /// Duration of the calls.
    pub seconds: f64,
    /// One cell for each section and preset.
    pub cells: Vec<SectionCell>,
    /// Distinct failures, the worst first.
    pub failures: Vec<DistinctFailure>,
    /// Failures that did not repeat.
    pub flaky: Vec<DistinctFailure>,
    /// Line coverage of ordinary calls, for each module.
    pub coverage: Vec<ModuleCoverage>,
    /// Sections that could not be called, with the reason.
    pub harness_errors: Vec<HarnessError>,
}

/// All calls of one section under one preset.
#[derive(Debug, Clone, Serialize)]
pub struct SectionCell {
    /// `module:qualname`.
    pub section: String,
    /// The name of the preset.
    pub scenario: String,
    /// Severity of a canonical profile: `low` or `high`.
    pub severity: Option<String>,
    /// Calls that count.
    pub n: usize,
    /// Number of calls of each kind, without those that were not made.
    #[serde(flatten)]
    pub kinds: BTreeMap<&'static str, usize>,
    /// Share of calls that succeeded; `None` when no call counts.
    pub robustness: Option<f64>,
    /// 95 % interval of the robustness.
    pub interval: Option<(f64, f64)>,
    /// Reason why no call counts.
    pub void_reason: Option<String>,
    /// Median time from the first packet of a flow to the first byte of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_latency_ms: Option<f64>,
    /// Success of calls across a window in which the network was faulty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<NetworkRecovery>,
    /// Resources that its calls consumed. They differ from run to run, so they are in the metrics and not here.
    #[serde(skip)]
    pub usage: CellUsage,
}

/// A distinct failure of a section.
#[derive(Debug, Clone, Serialize)]
pub struct DistinctFailure {
    /// `module:qualname`.
    pub section: String,
    /// Path of the file.
    pub path: String,
    /// Line of the innermost frame in the repository, or of the section.
    pub line: u32,
    /// Preset of the example.
    pub scenario: String,
    /// Kind of failure.
    pub kind: OutcomeKind,
    /// Class of the exception.
    pub exception: Option<String>,
    /// Message of the exception, or the reason.
    pub message: String,
    /// Arguments of the example.
    pub input: Stub,
    /// Number of calls that failed in this way.
    pub count: usize,
    /// Number of sections that fail in this way.
    pub reach: usize,
    /// Id of the example.
    pub call: Option<String>,
    /// Command that replays the example.
    pub replay: Option<String>,
    /// Number of the example: of a planned call, or after shrinking of a call that follows the plan.
    #[serde(skip)]
    pub(crate) number: usize,
    /// Classification of the example.
    #[serde(skip)]
    pub(crate) verdict: CallClassification,
    /// The example itself, once it was rerun.
    #[serde(skip)]
    example: Option<Call>,
    /// The same failure under other presets.
    #[serde(skip)]
    pub(crate) others: Vec<DistinctFailure>,
    #[serde(skip)]
    weight: u32,
}

/// The call that a failure is shown with.
pub(crate) struct FailureExample {
    pub(crate) number: u64,
    pub(crate) call: Call,
    pub(crate) verdict: CallClassification,
}

/// A section that could not be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HarnessError {
    /// `module:qualname`.
    pub section: String,
    /// Reason.
    pub reason: String,
    /// Whether other calls of the section could be made.
    pub reached: bool,
}

impl DistinctFailure {
    /// The call that shows it.
    pub fn example(&self) -> Option<&Call> {
        self.example.as_ref()
    }

    /// Classification of the example.
    pub fn verdict(&self) -> &CallClassification {
        &self.verdict
    }

    /// Replaces the example, with everything that depends on it.
    pub(crate) fn set_example(&mut self, shown: FailureExample) {
        self.number = usize::try_from(shown.number).unwrap_or(usize::MAX);
        self.message = shown.verdict.message().unwrap_or_default();
        self.input = shown.call.stub.clone();
        self.example = Some(shown.call);
        self.verdict = shown.verdict;
    }
}

impl RunReport {
    /// Combines the outcomes of a plan; there is one for each of its calls.
    pub fn new(seed: u64, planning: &PlanInputs<'_>, plan: &CallPlan, outcomes: &[CallOutcome]) -> Self {
        let all = ReportBuilder { planning, plan, outcomes };
        let (flaky, failures) =
            all.failures().into_iter().partition(|failure| failure.kind == OutcomeKind::Flaky);
        Self {
            version: 1,
            run: None,
            seed,
            sections: planning.targets.len(),
            reached: all.called().len(),
            calls: outcomes.iter().filter(|outcome| outcome.measures.is_some()).count(),
            seconds: 0.0,
            cells: all.cells(),
            failures,
            flaky,
            coverage: coverage(planning.targets, outcomes),
            harness_errors: all.harness_errors(),
        }
    }

    /// Sets the id of the run and the ids of its examples.
    pub fn name(&mut self, run: &RunId) {
        for failure in self.failures.iter_mut().chain(&mut self.flaky) {
            let call = run.call(failure.number as u64).to_string();
            failure.replay = Some(format!("menace replay {call}"));
            failure.call = Some(call);
        }
        self.run = Some(run.clone());
    }
}

/// Key of a distinct failure: its kind, the exception, and the innermost line in the repository.
type FailureKey = (String, OutcomeKind, Option<String>, String, u32);

/// Number of outcomes of each kind.
type OutcomeCounts = BTreeMap<&'static str, usize>;

struct ReportBuilder<'a> {
    planning: &'a PlanInputs<'a>,
    plan: &'a CallPlan,
    outcomes: &'a [CallOutcome],
}

/// The calls of one cell.
struct CellCalls<'a> {
    seen: &'a ReportBuilder<'a>,
    numbers: &'a [usize],
}

impl CellCalls<'_> {
    fn calls(&self) -> impl Iterator<Item = (&PlannedCall, &CallOutcome)> {
        self.numbers.iter().map(|number| (&self.seen.plan.calls[*number], &self.seen.outcomes[*number]))
    }

    fn counted(&self) -> impl Iterator<Item = (&PlannedCall, &CallOutcome)> {
        self.calls().filter(|(call, _)| call.purpose.counts())
    }

    fn first_bytes(&self) -> Vec<f64> {
        let measures = self.counted().filter_map(|(_, outcome)| outcome.measures.as_ref());
        let flows = measures.flat_map(|measures| &measures.flows);
        flows
            .filter(|flow| flow.protocol == FlowProtocol::Tcp)
            .filter_map(|flow| flow.first_byte_ms)
            .collect()
    }

    fn recovery(&self) -> Option<NetworkRecovery> {
        let (_, outcome) = self.calls().find(|(call, _)| call.purpose == CallPurpose::Window)?;
        // Without evidence in the window there is nothing to recover from.
        let happened = outcome.verdict.kind == OutcomeKind::Ok;
        NetworkRecovery::of(&outcome.measures.as_ref().filter(|_| happened)?.seen.as_ref()?.repeats)
    }
}

impl ReportBuilder<'_> {
    /// Targets of which at least one call was made.
    fn called(&self) -> BTreeSet<usize> {
        let called = self.plan.calls.iter().zip(self.outcomes).filter(|(_, outcome)| {
            outcome.measures.is_some() && outcome.verdict.kind != OutcomeKind::HarnessError
        });
        called.map(|(call, _)| call.target).collect()
    }

    fn name(&self, target: usize) -> String {
        self.planning.targets[target].name()
    }

    fn cells(&self) -> Vec<SectionCell> {
        let mut cells: BTreeMap<(usize, usize), (OutcomeCounts, Option<String>)> = BTreeMap::new();
        for (call, outcome) in self.plan.calls.iter().zip(self.outcomes) {
            if !call.purpose.counts() {
                continue;
            }
            let (kinds, reason) = cells.entry((call.target, call.preset)).or_default();
            *kinds.entry(outcome.verdict.kind.name()).or_default() += 1;
            if !outcome.verdict.kind.counts() && reason.is_none() {
                reason.clone_from(&outcome.verdict.reason);
            }
        }
        for (target, preset, reason) in &self.plan.void {
            cells.insert((*target, *preset), (BTreeMap::new(), Some(reason.clone())));
        }
        let mut numbers: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (number, call) in self.plan.calls.iter().enumerate().take(self.outcomes.len()) {
            numbers.entry((call.target, call.preset)).or_default().push(number);
        }
        let none = Vec::new();
        cells
            .into_iter()
            .map(|(key, (kinds, reason))| {
                let made = CellCalls { seen: self, numbers: numbers.get(&key).unwrap_or(&none) };
                self.cell(key, &made, kinds, reason)
            })
            .collect()
    }

    fn cell(
        &self,
        (target, preset): (usize, usize),
        made: &CellCalls,
        kinds: OutcomeCounts,
        reason: Option<String>,
    ) -> SectionCell {
        let counted = |is_wanted: fn(OutcomeKind) -> bool| -> usize {
            let wanted = |kind: &str| OutcomeKind::of_name(kind).is_some_and(is_wanted);
            kinds.iter().filter(|(kind, _)| wanted(kind)).map(|(_, count)| count).sum()
        };
        let (n, well) = (counted(OutcomeKind::counts), counted(OutcomeKind::is_success));
        let profile = &self.planning.presets[preset].circumstances;
        SectionCell {
            section: self.name(target),
            scenario: profile.scenario.clone(),
            severity: profile.severity.clone(),
            n,
            robustness: (n > 0).then(|| well as f64 / n as f64),
            interval: (n > 0).then(|| wilson(well, n)),
            network_latency_ms: median(made.first_bytes()),
            recovery: made.recovery(),
            usage: CellUsage {
                is_ordinary: profile.is_baseline,
                strategy: Some(profile.strategy),
                ..CellUsage::of(made.counted())
            },
            void_reason: (n == 0).then(|| reason.unwrap_or_else(|| "no call counts".to_owned())),
            kinds,
        }
    }

    fn failures(&self) -> Vec<DistinctFailure> {
        let mut found: BTreeMap<FailureKey, Vec<DistinctFailure>> = BTreeMap::new();
        for (number, outcome) in self.outcomes.iter().enumerate() {
            let counts = self.plan.calls[number].purpose.counts();
            if outcome.verdict.kind.is_failure() && counts {
                let (signature, failure) = self.failure(number, &outcome.verdict);
                found.entry(signature).or_default().push(failure);
            }
        }
        let mut failures: Vec<DistinctFailure> =
            found.into_values().filter_map(|group| self.distinct_failure(group)).collect();
        let score = |failure: &DistinctFailure| u64::from(failure.weight) * failure.reach as u64;
        failures.sort_by(|left, right| {
            let by_score = (score(right), right.count).cmp(&(score(left), left.count));
            by_score.then_with(|| (&left.path, left.line).cmp(&(&right.path, right.line)))
        });
        failures
    }

    /// Combines equal failures into one. The mildest profile under which it fails says most, and then the smallest
    /// input; one example of each preset is kept, because the failure may repeat only under some of them.
    fn distinct_failure(&self, mut group: Vec<DistinctFailure>) -> Option<DistinctFailure> {
        let targets: BTreeSet<usize> = group.iter().map(|one| self.plan.calls[one.number].target).collect();
        let count = group.len();
        group.sort_by_key(|one| (u32::MAX - one.weight, stub_size(&one.input), one.number));
        let mut presets = BTreeSet::new();
        group.retain(|one| presets.insert(self.plan.calls[one.number].preset));
        let others = group.split_off(1.min(group.len()));
        let first = group.pop()?;
        Some(DistinctFailure { reach: targets.len(), count, others, ..first })
    }

    fn failure(&self, number: usize, verdict: &CallClassification) -> (FailureKey, DistinctFailure) {
        let call = &self.plan.calls[number];
        let target = &self.planning.targets[call.target];
        let profile = &self.planning.presets[call.preset].circumstances;
        let frame = verdict.frame();
        let (path, line) =
            frame.map_or((target.path.clone(), target.section.line), |(path, line)| (path.to_owned(), line));
        let exception = verdict.facts.as_ref().map(|facts| facts.exception.clone());
        // A limit says nothing about the line, so there is one failure for each section.
        let section = if frame.is_some() { String::new() } else { target.name() };
        let signature = (section, verdict.kind, exception.clone(), path.clone(), line);
        let failure = DistinctFailure {
            section: target.name(),
            path,
            line,
            scenario: profile.scenario.clone(),
            kind: verdict.kind,
            exception,
            message: verdict.message().unwrap_or_default(),
            input: call.stub.clone(),
            count: 1,
            reach: 1,
            call: None,
            replay: None,
            number,
            verdict: verdict.clone(),
            example: None,
            others: Vec::new(),
            weight: weight(verdict.kind, profile),
        };
        (signature, failure)
    }

    fn harness_errors(&self) -> Vec<HarnessError> {
        let mut errors = self.plan.impossible.clone();
        for (call, outcome) in self.plan.calls.iter().zip(self.outcomes) {
            if outcome.verdict.kind == OutcomeKind::HarnessError {
                let reason = || outcome.verdict.reason.clone().unwrap_or_default();
                errors.entry(call.target).or_insert_with(reason);
            }
        }
        let reached = self.called();
        let named = |(target, reason)| HarnessError {
            section: self.name(target),
            reason,
            reached: reached.contains(&target),
        };
        errors.into_iter().map(named).collect()
    }
}

/// Weight of a failure: failures in ordinary use are worst, and wrong results are worse than none.
fn weight(kind: OutcomeKind, profile: &crate::stress::StressProfile) -> u32 {
    use crate::stubs::InputStrategy;
    let likely = match profile.strategy {
        _ if profile.is_baseline => 4,
        _ if profile.burst.is_some() => 3,
        InputStrategy::Hostile | InputStrategy::Typical => 2,
        InputStrategy::Misuse | InputStrategy::Drift => 1,
    };
    let bad = match kind {
        OutcomeKind::Denied | OutcomeKind::Wrong => 3,
        OutcomeKind::Timeout | OutcomeKind::Oom => 2,
        _ => 1,
    };
    likely * bad
}

#[cfg(test)]
mod tests {
    use menace_model::calls::Recipe;
    use menace_model::runs::StoredReport;
    use serde::Deserialize;

    use super::*;

    fn failure() -> DistinctFailure {
        DistinctFailure {
            section: "a:f".into(),
            path: "a.py".into(),
            line: 3,
            scenario: "normal".into(),
            kind: OutcomeKind::Crash,
            exception: Some("KeyError".into()),
            message: "'x'".into(),
            input: Stub { arguments: vec![Recipe::Int(1)], ..Stub::default() },
            count: 2,
            reach: 1,
            call: None,
            replay: None,
            number: 0,
            verdict: CallClassification::new(OutcomeKind::Crash, ""),
            example: None,
            others: Vec::new(),
            weight: 0,
        }
    }

    #[test]
    fn readers_of_the_store_understand_a_report() {
        let cell = SectionCell {
            section: "a:f".into(),
            scenario: "flaky_upstream".into(),
            severity: Some("low".into()),
            n: 3,
            kinds: [("ok", 1), ("rejected", 1), ("crash", 1)].into(),
            robustness: Some(2.0 / 3.0),
            interval: Some(wilson(2, 3)),
            void_reason: None,
            network_latency_ms: None,
            recovery: None,
            usage: CellUsage::default(),
        };
        let error = HarnessError { section: "a:g".into(), reason: "no signature".into(), reached: false };
        let report = RunReport {
            version: 1,
            run: None,
            seed: 1,
            sections: 2,
            reached: 1,
            calls: 3,
            seconds: 0.5,
            cells: vec![cell],
            failures: vec![failure()],
            flaky: Vec::new(),
            coverage: Vec::new(),
            harness_errors: vec![error],
        };
        let written = serde_json::to_value(&report).unwrap();
        let read = StoredReport::deserialize(&written).unwrap();
        assert_eq!(
            (read.sections, read.reached, read.calls, read.seconds),
            (Some(2), Some(1), Some(3), Some(0.5))
        );
        let cell = &read.cells.unwrap()[0];
        assert_eq!((cell.section.as_str(), cell.severity.as_deref()), ("a:f", Some("low")));
        assert_eq!((cell.n, cell.ok, cell.rejected), (3, 1, 1));
        let failure = &read.failures[0];
        assert_eq!((failure.kind.as_str(), failure.exception.as_deref()), ("crash", Some("KeyError")));
        assert_eq!((failure.path.as_str(), failure.line), ("a.py", 3));
        assert_eq!(failure.input.args, [Recipe::Int(1)]);
        assert_eq!(read.harness_errors[0].section, "a:g");
    }
}
