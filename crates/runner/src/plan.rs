//! All calls of a run, in order, derived from its seed.

use std::collections::BTreeMap;
use std::time::Duration;

use menace_model::calls::SectionDescription;

use crate::call::{Call, uses_network};
use crate::callable_section::CallableSection;
use crate::object_recipes::ObjectRecipes;
use crate::random_stream::RandomStream;
use crate::stress::{FaultEvidence, StressProfile};
use crate::stubs::{ArgumentSource, ConstructorSections, InputStrategy, Stub, stub};

/// One call of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCall {
    /// Index of the target.
    pub target: usize,
    /// Index of the preset.
    pub preset: usize,
    /// Arguments of the call.
    pub stub: Stub,
    /// Seed of the call itself.
    pub seed: u64,
    /// Number of the baseline call with the same arguments.
    pub pair: Option<usize>,
    /// Purpose of the call.
    pub purpose: CallPurpose,
    /// Whether the reached lines are recorded, which takes time: the first call of a section is made without.
    pub covers: bool,
}

/// Number of baseline calls that other calls are derived from.
const BASELINE: usize = 8;

/// Purpose of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPurpose {
    /// It counts in its cell.
    Measure,
    /// A call repeated, to see whether it has the same outcome.
    Repeat {
        /// Number of the repeated call.
        of: usize,
        /// In a sandbox of its own; otherwise in a batch, in another order and after another import.
        is_alone: bool,
    },
    /// The examples of the docstring.
    Examples,
    /// A call repeated across a window in which the network is faulty.
    Window,
}

impl CallPurpose {
    /// Whether a call counts in its cell.
    pub fn counts(self) -> bool {
        matches!(self, Self::Measure | Self::Examples)
    }
}

impl CallPurpose {
    /// Whether two calls can share an import: a call and its repetition cannot, nor can one that has to be alone, and
    /// examples have more effects than calls.
    pub fn can_share_import(self, other: Self) -> bool {
        match (self, other) {
            (Self::Repeat { is_alone: one, .. }, Self::Repeat { is_alone: other, .. }) => !one && !other,
            (Self::Measure, Self::Measure) | (Self::Examples, Self::Examples) => true,
            _ => false,
        }
    }
}

/// Inputs of a plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanInputs<'a> {
    /// Sections to call.
    pub targets: &'a [CallableSection],
    /// Stress profiles with the modules that they apply to; the baseline first.
    pub presets: &'a [PlannedPreset],
    /// Seed of every random choice.
    pub seed: u64,
    /// Source of ordinary arguments.
    pub source: ArgumentSource,
    /// Recipes of objects that could be constructed.
    pub owners: &'a ObjectRecipes,
    /// Arguments given by the user.
    pub given: &'a [crate::stubs::GivenStub],
}

/// A stress profile and the modules that it applies to.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedPreset {
    /// Stress profile.
    pub circumstances: StressProfile,
    /// Paths of the modules; `None` means all.
    pub modules: Option<Vec<String>>,
}

/// The calls of a run, and the reasons why some sections have none.
#[derive(Debug, Clone, Default)]
pub struct CallPlan {
    /// Calls in order, one preset after the other.
    pub calls: Vec<PlannedCall>,
    /// Targets that cannot be called, with the reason.
    pub impossible: BTreeMap<usize, String>,
    /// Cells without calls (target, preset), with the reason.
    pub void: Vec<(usize, usize, String)>,
}

impl CallPlan {
    /// Builds a call with everything that is needed to make it.
    pub fn call(&self, number: usize, planning: &PlanInputs<'_>, usual_timeout: Duration) -> Call {
        let planned = &self.calls[number];
        let profile = &planning.presets[planned.preset].circumstances;
        let target = &planning.targets[planned.target];
        let mut call = Call::new(target, profile, planned.stub.clone(), planned.seed, usual_timeout);
        call.examples = planned.purpose == CallPurpose::Examples;
        call.covers = planned.covers;
        call.across = planned.purpose == CallPurpose::Window;
        call
    }
}

/// Plans a run.
pub fn plan(planning: &PlanInputs<'_>) -> CallPlan {
    let mut planner = CallPlanner {
        planning,
        constructors: ConstructorSections::of(planning.targets),
        plan: CallPlan::default(),
        baseline: BTreeMap::new(),
    };
    for index in 0..planning.targets.len() {
        if let Some(SectionDescription::Missing { missing }) = &planning.targets[index].described {
            planner.plan.impossible.insert(index, missing.clone());
        } else if planning.targets[index].described.is_none() {
            planner.plan.impossible.insert(index, "not described by the harness".into());
        }
    }
    for preset in execution_order(planning.presets) {
        for target in 0..planning.targets.len() {
            planner.cell(target, preset);
        }
        if planning.presets[preset].circumstances.is_baseline {
            planner.plan_repetitions(preset);
        }
    }
    planner.plan
}

/// Order of the presets: the baseline first, then profiles whose calls may wait for the network for long, so that
/// other calls run meanwhile, and profiles that starve the machine last.
fn execution_order(presets: &[PlannedPreset]) -> Vec<usize> {
    let rank = |index: &usize| {
        let profile = &presets[*index].circumstances;
        match profile {
            _ if profile.is_baseline => 0,
            _ if profile.proofs.contains(&FaultEvidence::Starved) => 3,
            _ if profile.disturbs_network() => 1,
            _ => 2,
        }
    };
    let mut order: Vec<usize> = (0..presets.len()).collect();
    order.sort_by_key(rank);
    order
}

struct CallPlanner<'a> {
    planning: &'a PlanInputs<'a>,
    constructors: ConstructorSections,
    plan: CallPlan,
    /// Baseline calls by target and draw.
    baseline: BTreeMap<(usize, usize), usize>,
}

impl CallPlanner<'_> {
    fn cell(&mut self, index: usize, preset: usize) {
        let PlannedPreset { circumstances: profile, modules } = &self.planning.presets[preset];
        let target = &self.planning.targets[index];
        let is_meant = modules.as_ref().is_none_or(|modules| modules.contains(&target.path));
        if !is_meant || self.plan.impossible.contains_key(&index) {
            return;
        }
        if profile.burst.is_some() && target.section.name.ends_with(".__init__") {
            // Concurrent initialisation of one object is no realistic use.
            return self.plan.void.push((
                index,
                preset,
                "concurrent __init__ of one object is not tested".into(),
            ));
        }
        let first = self.plan.calls.len();
        let planned = self.calls_of_cell(index, preset);
        if matches!(planned, Ok(1..)) {
            self.plan_window_call(first, preset);
        }
        match planned {
            Err(reason) => {
                self.plan.impossible.insert(index, reason);
            }
            Ok(0) => {
                let reason = void_reason(profile.strategy).to_owned();
                self.plan.void.push((index, preset, reason));
            }
            Ok(_) => {}
        }
    }

    fn calls_of_cell(&mut self, index: usize, preset: usize) -> Result<usize, String> {
        let profile = &self.planning.presets[preset].circumstances;
        let target = &self.planning.targets[index];
        let Some(described @ SectionDescription::Callable { .. }) = &target.described else { return Ok(0) };
        let name = target.name();
        let mut planned: BTreeMap<String, usize> = BTreeMap::new();
        for draw in 0..profile.calls {
            // Calls with ordinary arguments have the same ones under every preset, and drifted arguments derive from
            // them.
            let base = if profile.strategy == InputStrategy::Drift { draw % BASELINE } else { draw };
            let how = profile.strategy.random_stream_name();
            let mut random = RandomStream::new(self.planning.seed, &[name.as_str(), how, &base.to_string()]);
            let given = self.planning.given.iter().filter(|given| given.is_for(target)).nth(draw);
            let made = match given {
                Some(given) if profile.strategy == InputStrategy::Typical => {
                    let mut stub = given.stub(described, self.planning.owners, draw)?;
                    stub.is_doubtful = true;
                    Some(stub)
                }
                _ => stub(
                    &target.section,
                    described,
                    (profile.strategy, profile.drift),
                    (self.planning.source, base, draw),
                    &mut random,
                    &self.constructors,
                    self.planning.owners,
                )?,
            };
            let asks_others = uses_network(target) || !target.reads().is_empty();
            let made = match made {
                // Responses of other hosts drift as well.
                None if profile.strategy == InputStrategy::Drift && asks_others => stub(
                    &target.section,
                    described,
                    (InputStrategy::Typical, 0.0),
                    (self.planning.source, base, draw),
                    &mut random,
                    &self.constructors,
                    self.planning.owners,
                )?,
                made => made,
            };
            let Some(stub) = made else { continue };
            // A repeated call with the same input adds no information, unless its faults depend on the seed.
            let turns = if profile.is_random() { draw } else { 0 };
            let same = format!("{turns} {}", serde_json::to_string(&stub).unwrap_or_default());
            let known = planned.get(&same).copied();
            if profile.is_baseline {
                self.baseline.insert((index, draw), known.unwrap_or(self.plan.calls.len()));
            }
            if known.is_some() {
                continue;
            }
            planned.insert(same, self.plan.calls.len());
            let seed = random.number() >> 1;
            let pair = if profile.is_paired() { self.baseline.get(&(index, base)).copied() } else { None };
            // A drifted call is made only if the same arguments succeeded before they drifted, so there is no doubt.
            let is_doubtful = stub.is_doubtful && (stub.drifted == 0 || pair.is_none());
            let stub = Stub { is_doubtful, ..stub };
            let covers = profile.is_baseline && draw > 0;
            let purpose = CallPurpose::Measure;
            let call = PlannedCall { target: index, preset, stub, seed, pair, purpose, covers };
            self.plan.calls.push(call);
        }
        Ok(planned.len())
    }

    /// Repeats the first call of every section: of every module one alone and the others in the opposite order. Runs
    /// the examples in docstrings.
    fn plan_repetitions(&mut self, preset: usize) {
        let targets = self.planning.targets;
        let called: Vec<usize> =
            (0..targets.len()).filter(|index| self.baseline.contains_key(&(*index, 0))).collect();
        for module in called.chunk_by(|one, next| targets[*one].module == targets[*next].module) {
            self.repeat(module[0], true);
            for index in module[1..].iter().rev() {
                self.repeat(*index, false);
            }
            for index in module {
                self.run_examples(*index, preset);
            }
        }
    }

    /// Under a faulty network, also makes the first call of a section that may use the network across a window.
    fn plan_window_call(&mut self, first: usize, preset: usize) {
        let profile = &self.planning.presets[preset].circumstances;
        let call = self.plan.calls[first].clone();
        let target = &self.planning.targets[call.target];
        let may_ask_others = uses_network(target) || !target.reads().is_empty();
        if profile.shapes_network() && profile.is_paired() && may_ask_others {
            self.plan.calls.push(PlannedCall { purpose: CallPurpose::Window, ..call });
        }
    }

    fn run_examples(&mut self, target: usize, preset: usize) {
        let Some(SectionDescription::Callable { examples: 1.., .. }) =
            self.planning.targets[target].described
        else {
            return;
        };
        self.plan.calls.push(PlannedCall {
            target,
            preset,
            stub: Stub::default(),
            seed: 0,
            pair: None,
            purpose: CallPurpose::Examples,
            covers: false,
        });
    }

    fn repeat(&mut self, index: usize, is_alone: bool) {
        let of = self.baseline[&(index, 0)];
        let purpose = CallPurpose::Repeat { of, is_alone };
        let repeated = PlannedCall { purpose, covers: true, ..self.plan.calls[of].clone() };
        self.plan.calls.push(repeated);
    }
}

/// Reason why a cell has no calls when the strategy has no input for the section.
fn void_reason(strategy: InputStrategy) -> &'static str {
    match strategy {
        InputStrategy::Hostile => "no parameter accepts a hostile value",
        InputStrategy::Misuse => "the call cannot be misused",
        InputStrategy::Drift => "no parameter takes a record",
        InputStrategy::Typical => "no arguments could be generated",
    }
}

#[cfg(test)]
mod tests {
    use menace_model::presets::read;

    use super::*;
    use crate::stress::CallsPerCell;

    #[test]
    fn network_faults_come_early_and_cpu_starvation_comes_last() {
        let preset = |text: &str| PlannedPreset {
            circumstances: StressProfile::of(&read(text).unwrap()[0], CallsPerCell::default()),
            modules: None,
        };
        let presets = [
            preset("{}"),
            preset(r#"{"FAILURE_MODES": "cpu"}"#),
            preset(r#"{"FAILURE_MODES": "hostile_input"}"#),
            preset(r#"{"FAILURE_MODES": "flaky_upstream"}"#),
            preset(r#"{"FAILURE_MODES": "user_misuse"}"#),
        ];
        assert_eq!(execution_order(&presets), [0, 3, 2, 4, 1]);
    }
}
