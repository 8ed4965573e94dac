//! A policy that learns: for each state of the trend, what the ROI did in the cycle after each thing that was tried. A table
//! of means, which people can read, and not a network that nobody can.

use std::collections::BTreeMap;

use menace_runner::Chance;
use serde::{Deserialize, Serialize};

use super::adapt::{Adapt, Move, Moves};
use super::heuristics::{Heuristics, threats};
use super::trend::{Direction, Sign, Trend};

/// Once in so many times something else is tried than what did best.
const EXPLORES_ONE_IN: usize = 10;

/// What the trend is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct State {
    /// Of the ROI.
    pub roi: Direction,
    /// Of synergy.
    pub synergy: Sign,
}

/// What is done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Action {
    /// To limits.
    pub resources: Turn,
    /// To the network.
    pub network: Turn,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// Calls have more room.
    Easier,
    /// As presets say.
    Same,
    /// Calls have less room.
    Harder,
}

/// What came of doing something in a state.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Learned {
    pub(super) count: u64,
    pub(super) mean: f64,
}

/// What was done last, and what the history was then.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) state: State,
    pub(super) action: Action,
    /// How many values of the ROI there were.
    pub(super) values: usize,
    /// The last of them.
    pub(super) roi: f64,
}

/// The table, and what it does next.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(super) table: BTreeMap<(State, Action), Learned>,
    pub(super) pending: Option<Pending>,
    chance: Chance,
}

impl Turn {
    /// What is written comes first: it stays when nothing speaks for anything else.
    const ALL: [Self; 3] = [Self::Same, Self::Easier, Self::Harder];

    fn notches(self) -> i32 {
        match self {
            Self::Easier => 1,
            Self::Same => 0,
            Self::Harder => -1,
        }
    }

    fn of_notches(notches: i32) -> Self {
        match notches.signum() {
            1 => Self::Easier,
            0 => Self::Same,
            _ => Self::Harder,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Easier => "easier",
            Self::Same => "as written",
            Self::Harder => "harder",
        }
    }
}

impl Policy {
    /// One that knows nothing yet. The seed and the number of the cycle are all that its chance comes from.
    pub fn new(seed: u64, cycle: usize) -> Self {
        let chance = Chance::new(seed, &["preset policy", &cycle.to_string()]);
        Self { table: BTreeMap::new(), pending: None, chance }
    }

    /// How often something was done in a state, and the mean change of the ROI in the cycle after it.
    pub fn learned(&self, state: State, action: Action) -> Option<(u64, f64)> {
        self.table.get(&(state, action)).map(|learned| (learned.count, learned.mean))
    }

    /// Learns from what was done last, if exactly one cycle of the same history came after it: of others nobody knows what
    /// they ran under.
    fn learn(&mut self, trend: &Trend) {
        let Some(Pending { state, action, values, roi }) = self.pending else { return };
        if trend.roi.len() == values {
            return;
        }
        self.pending = None;
        let (Some(before), Some(after)) = (last_of(&trend.roi, values), trend.roi.get(values)) else {
            return;
        };
        let is_next = trend.roi.len() == values + 1 && before.to_bits() == roi.to_bits();
        let reward = after - before;
        if is_next && reward.is_finite() {
            let learned = self.table.entry((state, action)).or_default();
            learned.count += 1;
            learned.mean += (reward - learned.mean) / learned.count as f64;
        }
    }

    /// What did best. What was never tried could do nothing; among equals the rules decide.
    fn best(&self, state: State, by_rules: Action) -> Action {
        let worth = |action: Action| self.learned(state, action).map_or(0.0, |(_, mean)| mean);
        actions().fold(by_rules, |best, action| if worth(action) > worth(best) { action } else { best })
    }
}

impl Adapt for Policy {
    fn moves(&mut self, trend: &Trend) -> Moves {
        self.learn(trend);
        let rules = Heuristics.moves(trend);
        let (Ok(roi), Ok(synergy), Some(last)) = (trend.roi(), trend.synergy(), trend.roi.last()) else {
            let (resources, network) = (still(rules.resources), still(rules.network));
            return Moves { resources, network, ..Moves::default() };
        };
        let state = State { roi: roi.direction, synergy };
        let by_rules = Action {
            resources: Turn::of_notches(rules.resources.notches),
            network: Turn::of_notches(rules.network.notches),
        };
        let explores = self.chance.one_in(EXPLORES_ONE_IN);
        let all: Vec<Action> = actions().collect();
        let tried = self.chance.pick(&all).copied().filter(|_| explores);
        let action = tried.unwrap_or_else(|| self.best(state, by_rules));
        self.pending = Some(Pending { state, action, values: trend.roi.len(), roi: *last });
        let known = self.learned(state, action).map_or_else(
            || "was not tried before".to_owned(),
            |(count, mean)| format!("brought {mean:+.4} ROI on average of {count}"),
        );
        let how = if explores { "tries" } else { "prefers" };
        let of = |what: &str, turn: Turn| Move {
            notches: turn.notches(),
            why: format!(
                "the policy {how} {what} {}, which {known} (ROI {:?}: {}; synergy {synergy:?})",
                turn.word(),
                roi.direction,
                roi.figures
            ),
        };
        Moves {
            resources: of("limits", action.resources),
            network: of("a network", action.network),
            threats: threats(trend),
            is_decided: true,
        }
    }
}

fn last_of(levels: &[f64], values: usize) -> Option<f64> {
    levels.get(values.checked_sub(1)?).copied()
}

fn still(of_rules: Move) -> Move {
    Move { notches: 0, ..of_rules }
}

fn actions() -> impl Iterator<Item = Action> {
    Turn::ALL
        .into_iter()
        .flat_map(|resources| Turn::ALL.into_iter().map(move |network| Action { resources, network }))
}
