//! All calls of a run, in order, from its seed.

use std::collections::BTreeMap;
use std::time::Duration;

use menace_model::calls::Described;

use crate::call::{Call, needs_world};
use crate::chance::Chance;
use crate::circumstances::{Circumstances, Proof};
use crate::owners::Owners;
use crate::stubs::{Constructors, Source, Strategy, Stub, stub};
use crate::target::Target;

/// One call of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCall {
    /// Which of the targets.
    pub target: usize,
    /// Which of the circumstances.
    pub preset: usize,
    /// With what.
    pub stub: Stub,
    /// The chance of the call itself.
    pub seed: u64,
    /// The call of the baseline with the same arguments.
    pub pair: Option<usize>,
    /// What the call is for.
    pub purpose: Purpose,
    /// Whether the lines that it reaches are noted, which takes time: the first call of a section is left alone.
    pub covers: bool,
}

/// How many calls of the baseline others are derived from.
const BASELINE: usize = 8;

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It counts in its cell.
    Measure,
    /// A call once more: whether the same comes of it.
    Repeat {
        /// The number of that call.
        of: usize,
        /// In a sandbox that no other call has; else with others, in another order and after another import.
        is_alone: bool,
    },
    /// The examples of the docstring.
    Examples,
    /// A call again and again, across a window in which things go wrong.
    Window,
}

impl Purpose {
    /// Whether a call counts in its cell.
    pub fn counts(self) -> bool {
        matches!(self, Self::Measure | Self::Examples)
    }
}

impl Purpose {
    /// Whether two calls can share an import: a call and its repetition cannot, nor can one that is to be alone, and
    /// examples need more than calls do.
    pub fn goes_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Repeat { is_alone: one, .. }, Self::Repeat { is_alone: other, .. }) => !one && !other,
            (Self::Measure, Self::Measure) | (Self::Examples, Self::Examples) => true,
            _ => false,
        }
    }
}

/// What a run is made of.
#[derive(Debug, Clone, Copy)]
pub struct Planning<'a> {
    /// What is called.
    pub targets: &'a [Target],
    /// What is done to calls, and for which modules; the baseline first.
    pub presets: &'a [PlannedPreset],
    /// What all chance comes from.
    pub seed: u64,
    /// What ordinary arguments are chosen from.
    pub source: Source,
    /// Objects that could be made.
    pub owners: &'a Owners,
    /// Arguments that somebody gave.
    pub given: &'a [crate::stubs::GivenStub],
}

/// What is done to the calls of some modules.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedPreset {
    /// What is done.
    pub circumstances: Circumstances,
    /// The paths of the modules; nothing means all.
    pub modules: Option<Vec<String>>,
}

/// The calls of a run, and why some sections have none.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// In order: one preset after the other.
    pub calls: Vec<PlannedCall>,
    /// Targets that cannot be called, and why.
    pub impossible: BTreeMap<usize, String>,
    /// Cells without calls (target, preset), and why.
    pub void: Vec<(usize, usize, String)>,
}

impl Plan {
    /// A call with everything that is needed to make it.
    pub fn call(&self, number: usize, planning: &Planning<'_>, usual_timeout: Duration) -> Call {
        let planned = &self.calls[number];
        let circumstances = &planning.presets[planned.preset].circumstances;
        let target = &planning.targets[planned.target];
        let mut call = Call::new(target, circumstances, planned.stub.clone(), planned.seed, usual_timeout);
        call.examples = planned.purpose == Purpose::Examples;
        call.covers = planned.covers;
        call.across = planned.purpose == Purpose::Window;
        call
    }
}

/// Plans a run.
pub fn plan(planning: &Planning<'_>) -> Plan {
    let mut planner = Planner {
        planning,
        constructors: Constructors::of(planning.targets),
        plan: Plan::default(),
        baseline: BTreeMap::new(),
    };
    for index in 0..planning.targets.len() {
        if let Some(Described::Missing { missing }) = &planning.targets[index].described {
            planner.plan.impossible.insert(index, missing.clone());
        } else if planning.targets[index].described.is_none() {
            planner.plan.impossible.insert(index, "nobody has asked what it takes".into());
        }
    }
    for preset in in_order(planning.presets) {
        for target in 0..planning.targets.len() {
            planner.cell(target, preset);
        }
        if planning.presets[preset].circumstances.is_baseline {
            planner.after_baseline(preset);
        }
    }
    planner.plan
}

/// What is compared with comes first, then what may wait for others for long, so that something else is done meanwhile, and
/// what nobody else may feel comes last.
fn in_order(presets: &[PlannedPreset]) -> Vec<usize> {
    let rank = |index: &usize| {
        let circumstances = &presets[*index].circumstances;
        match circumstances {
            _ if circumstances.is_baseline => 0,
            _ if circumstances.proofs.contains(&Proof::Starved) => 3,
            _ if circumstances.disturbs_network() => 1,
            _ => 2,
        }
    };
    let mut order: Vec<usize> = (0..presets.len()).collect();
    order.sort_by_key(rank);
    order
}

struct Planner<'a> {
    planning: &'a Planning<'a>,
    constructors: Constructors,
    plan: Plan,
    /// Calls of the baseline by target and draw.
    baseline: BTreeMap<(usize, usize), usize>,
}

impl Planner<'_> {
    fn cell(&mut self, index: usize, preset: usize) {
        let PlannedPreset { circumstances, modules } = &self.planning.presets[preset];
        let target = &self.planning.targets[index];
        let is_meant = modules.as_ref().is_none_or(|modules| modules.contains(&target.path));
        if !is_meant || self.plan.impossible.contains_key(&index) {
            return;
        }
        if circumstances.burst.is_some() && target.section.name.ends_with(".__init__") {
            // Many threads that initialise one object are no use of it.
            return self.plan.void.push((index, preset, "nobody initialises one object twice".into()));
        }
        let first = self.plan.calls.len();
        let planned = self.calls_of_cell(index, preset);
        if matches!(planned, Ok(1..)) {
            self.across_a_window(first, preset);
        }
        match planned {
            Err(why) => {
                self.plan.impossible.insert(index, why);
            }
            Ok(0) => {
                let reason = void_reason(circumstances.strategy).to_owned();
                self.plan.void.push((index, preset, reason));
            }
            Ok(_) => {}
        }
    }

    fn calls_of_cell(&mut self, index: usize, preset: usize) -> Result<usize, String> {
        let circumstances = &self.planning.presets[preset].circumstances;
        let target = &self.planning.targets[index];
        let Some(described @ Described::Callable { .. }) = &target.described else { return Ok(0) };
        let name = target.name();
        let mut planned: BTreeMap<String, usize> = BTreeMap::new();
        for draw in 0..circumstances.calls {
            // Calls with ordinary arguments have the same ones under every preset, and what drifts is one of those.
            let base = if circumstances.strategy == Strategy::Drift { draw % BASELINE } else { draw };
            let how = circumstances.strategy.name_of_chance();
            let mut chance = Chance::new(self.planning.seed, &[name.as_str(), how, &base.to_string()]);
            let given = self.planning.given.iter().filter(|given| given.is_for(target)).nth(draw);
            let made = match given {
                Some(given) if circumstances.strategy == Strategy::Typical => {
                    let mut stub = given.stub(described, self.planning.owners, draw)?;
                    stub.is_doubtful = true;
                    Some(stub)
                }
                _ => stub(
                    &target.section,
                    described,
                    (circumstances.strategy, circumstances.drift),
                    (self.planning.source, base, draw),
                    &mut chance,
                    &self.constructors,
                    self.planning.owners,
                )?,
            };
            let asks_others = needs_world(target) || !target.reads().is_empty();
            let made = match made {
                // Answers of others drift as well.
                None if circumstances.strategy == Strategy::Drift && asks_others => stub(
                    &target.section,
                    described,
                    (Strategy::Typical, 0.0),
                    (self.planning.source, base, draw),
                    &mut chance,
                    &self.constructors,
                    self.planning.owners,
                )?,
                made => made,
            };
            let Some(stub) = made else { continue };
            // The same call again would only say the same again, unless what is done to it depends on chance.
            let turns = if circumstances.is_chancy() { draw } else { 0 };
            let same = format!("{turns} {}", serde_json::to_string(&stub).unwrap_or_default());
            let known = planned.get(&same).copied();
            if circumstances.is_baseline {
                self.baseline.insert((index, draw), known.unwrap_or(self.plan.calls.len()));
            }
            if known.is_some() {
                continue;
            }
            planned.insert(same, self.plan.calls.len());
            let seed = chance.number() >> 1;
            let pair =
                if circumstances.is_paired() { self.baseline.get(&(index, base)).copied() } else { None };
            // A call is only drifted when the same arguments did well before they drifted, so there is no doubt.
            let is_doubtful = stub.is_doubtful && (stub.drifted == 0 || pair.is_none());
            let stub = Stub { is_doubtful, ..stub };
            let covers = circumstances.is_baseline && draw > 0;
            let purpose = Purpose::Measure;
            let call = PlannedCall { target: index, preset, stub, seed, pair, purpose, covers };
            self.plan.calls.push(call);
        }
        Ok(planned.len())
    }

    /// The first call of every section is repeated, of every module one alone and the others in the opposite order, and
    /// examples in docstrings are run.
    fn after_baseline(&mut self, preset: usize) {
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

    /// Where the network is disturbed, the first call of a section that may use it is also made across a window.
    fn across_a_window(&mut self, first: usize, preset: usize) {
        let circumstances = &self.planning.presets[preset].circumstances;
        let call = self.plan.calls[first].clone();
        let target = &self.planning.targets[call.target];
        let may_ask_others = needs_world(target) || !target.reads().is_empty();
        if circumstances.shapes_network() && circumstances.is_paired() && may_ask_others {
            self.plan.calls.push(PlannedCall { purpose: Purpose::Window, ..call });
        }
    }

    fn run_examples(&mut self, target: usize, preset: usize) {
        let Some(Described::Callable { examples: 1.., .. }) = self.planning.targets[target].described else {
            return;
        };
        self.plan.calls.push(PlannedCall {
            target,
            preset,
            stub: Stub::default(),
            seed: 0,
            pair: None,
            purpose: Purpose::Examples,
            covers: false,
        });
    }

    fn repeat(&mut self, index: usize, is_alone: bool) {
        let of = self.baseline[&(index, 0)];
        let purpose = Purpose::Repeat { of, is_alone };
        let repeated = PlannedCall { purpose, covers: true, ..self.plan.calls[of].clone() };
        self.plan.calls.push(repeated);
    }
}

/// Why a section has no calls, when a strategy has nothing to offer for it.
fn void_reason(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Hostile => "no parameter takes a value that can be hostile",
        Strategy::Misuse => "nothing can be called wrongly",
        Strategy::Drift => "no parameter takes a record",
        Strategy::Typical => "no arguments can be made",
    }
}

#[cfg(test)]
mod tests {
    use menace_model::presets::read;

    use super::*;
    use crate::circumstances::Counts;

    #[test]
    fn what_waits_for_others_is_done_beside_the_rest_and_what_starves_is_done_alone() {
        let preset = |text: &str| PlannedPreset {
            circumstances: Circumstances::of(&read(text).unwrap()[0], Counts::default()),
            modules: None,
        };
        let presets = [
            preset("{}"),
            preset(r#"{"FAILURE_MODES": "cpu"}"#),
            preset(r#"{"FAILURE_MODES": "hostile_input"}"#),
            preset(r#"{"FAILURE_MODES": "flaky_upstream"}"#),
            preset(r#"{"FAILURE_MODES": "user_misuse"}"#),
        ];
        assert_eq!(in_order(&presets), [0, 3, 2, 4, 1]);
    }
}
