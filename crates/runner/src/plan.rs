//! All calls of a run, in order, from its seed.

use std::collections::BTreeSet;

use menace_model::calls::Described;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::owners::Owners;
use crate::scenario::Scenario;
use crate::stubs::{Constructors, Stub, stub};
use crate::target::Target;

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCall {
    /// Which of the targets.
    pub target: usize,
    /// Under which scenario.
    pub scenario: Scenario,
    /// With what.
    pub stub: Stub,
    /// The chance of the call itself.
    pub seed: u64,
}

/// The calls of a run, and why some sections have none.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// In order.
    pub calls: Vec<PlannedCall>,
    /// Targets that cannot be called, and why.
    pub impossible: Vec<(usize, String)>,
    /// Cells without calls, and why.
    pub void: Vec<(usize, Scenario, String)>,
}

/// How many calls a cell has.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    /// Under `normal`.
    pub normal: usize,
    /// Under the others, but for bursts.
    pub other: usize,
    /// Bursts.
    pub bursts: usize,
}

/// Plans a run.
pub fn plan(targets: &[Target], scenarios: &[Scenario], counts: Counts, seed: u64, owners: &Owners) -> Plan {
    let mut made = Plan::default();
    let constructors = Constructors::of(targets);
    for (index, target) in targets.iter().enumerate() {
        let described = match &target.described {
            Some(described @ Described::Callable { .. }) => described,
            Some(Described::Missing { missing }) => {
                made.impossible.push((index, missing.clone()));
                continue;
            }
            None => {
                made.impossible.push((index, "nobody has asked what it takes".into()));
                continue;
            }
        };
        for &scenario in scenarios {
            if let Err(why) = plan_cell(
                &mut made,
                index,
                target,
                described,
                scenario,
                (counts, seed),
                (&constructors, owners),
            ) {
                made.impossible.push((index, why));
                break;
            }
        }
    }
    made
}

fn plan_cell(
    made: &mut Plan,
    index: usize,
    target: &Target,
    described: &Described,
    scenario: Scenario,
    (counts, seed): (Counts, u64),
    (constructors, owners): (&Constructors, &Owners),
) -> Result<(), String> {
    let count = match scenario {
        Scenario::Normal => counts.normal,
        Scenario::ConcurrencySpike => counts.bursts,
        Scenario::HostileInput | Scenario::UserMisuse | Scenario::SchemaDrift => counts.other,
    };
    let name = target.name();
    let mut planned = BTreeSet::new();
    for draw in 0..count {
        let mut chance = Chance::new(seed, &[&name, scenario.name(), &draw.to_string()]);
        let strategy = scenario.strategy();
        let made_stub = stub(&target.section, described, strategy, draw, &mut chance, constructors, owners)?;
        let Some(stub) = made_stub else { continue };
        // The same call again would only say the same again.
        if planned.insert(serde_json::to_string(&stub).unwrap_or_default()) {
            made.calls.push(PlannedCall { target: index, scenario, stub, seed: chance.number() >> 1 });
        }
    }
    if planned.is_empty() {
        made.void.push((index, scenario, scenario.void_reason().to_owned()));
    }
    Ok(())
}

impl PlannedCall {
    /// As the harness understands it.
    pub fn request(&self, target: &Target, threads: u32, tasks: u32) -> Value {
        let keywords: Value =
            self.stub.keywords.iter().map(|(name, value)| (name.clone(), value.to_json())).collect();
        let mut request = json!({
            "kind": "call",
            "module": target.module,
            "function": target.section.name,
            "owner": self.stub.owner.as_ref().map(menace_model::calls::Recipe::to_json),
            "arguments": self.stub.arguments.iter().map(menace_model::calls::Recipe::to_json).collect::<Vec<_>>(),
            "keywords": keywords,
            "seed": self.seed,
            "watch": self.stub.is_wrong || self.stub.is_doubtful,
        });
        if self.scenario == Scenario::ConcurrencySpike {
            request["threads"] = threads.into();
            request["tasks"] = tasks.into();
        }
        request
    }
}
