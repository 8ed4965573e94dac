//! Preset policy that learns: for each state of the trend and each action, the mean change of the ROI in the next cycle. It
//! is a table and not a neural network, so that its decisions can be read and checked.

use std::collections::BTreeMap;

use menace_runner::RandomStream;
use serde::{Deserialize, Serialize};

use super::adapter::{AspectAdjustment, CycleAdjustments, PresetAdapter};
use super::heuristics::{HeuristicAdapter, threats};
use super::trend::{MetricTrend, SynergySign, TrendDirection};

/// One decision in this many explores a random action instead of the best one.
const EXPLORATION_PERIOD: usize = 10;

/// State of the trend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrendState {
    /// Direction of the ROI.
    pub roi: TrendDirection,
    /// Sign of the synergy.
    pub synergy: SynergySign,
}

/// Response to a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PolicyAction {
    /// Change of CPU, memory and bandwidth limits.
    pub resources: AdjustmentDirection,
    /// Change of latency and bandwidth.
    pub network: AdjustmentDirection,
}

/// Direction of an adjustment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdjustmentDirection {
    /// Looser limits.
    Easier,
    /// Values as in the preset.
    Same,
    /// Tighter limits.
    Harder,
}

/// Number and mean reward of one action in one state.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ActionReward {
    pub(super) count: u64,
    pub(super) mean: f64,
}

/// The latest action, and the history at that time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct PendingAction {
    pub(super) state: TrendState,
    pub(super) action: PolicyAction,
    /// Number of ROI values in the history.
    pub(super) values: usize,
    /// Last ROI value.
    pub(super) roi: f64,
}

/// Learned table and the state of exploration.
#[derive(Debug, Clone)]
pub struct AdaptationPolicy {
    pub(super) table: BTreeMap<(TrendState, PolicyAction), ActionReward>,
    pub(super) pending: Option<PendingAction>,
    chance: RandomStream,
}

impl AdjustmentDirection {
    /// `Same` comes first, so that it wins a tie.
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

    fn label(self) -> &'static str {
        match self {
            Self::Easier => "easier",
            Self::Same => "unchanged",
            Self::Harder => "harder",
        }
    }
}

impl AdaptationPolicy {
    /// Creates an empty policy. Its random choices derive from the seed and the cycle number only.
    pub fn new(seed: u64, cycle: usize) -> Self {
        let chance = RandomStream::new(seed, &["preset policy", &cycle.to_string()]);
        Self { table: BTreeMap::new(), pending: None, chance }
    }

    /// Number of times that `action` was taken in `state`, and the mean change of the ROI in the following cycle.
    pub fn learned(&self, state: TrendState, action: PolicyAction) -> Option<(u64, f64)> {
        self.table.get(&(state, action)).map(|learned| (learned.count, learned.mean))
    }

    /// Learns from the latest action if exactly one cycle of the same history followed it. The presets of any other cycle
    /// are unknown here.
    fn learn(&mut self, trend: &MetricTrend) {
        let Some(PendingAction { state, action, values, roi }) = self.pending else { return };
        if trend.roi.len() == values {
            return;
        }
        self.pending = None;
        let (Some(before), Some(after)) = (value_before(&trend.roi, values), trend.roi.get(values)) else {
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

    /// Action with the highest mean reward. An untried action counts as 0; a tie goes to the action of the rules.
    fn best(&self, state: TrendState, by_rules: PolicyAction) -> PolicyAction {
        let mean_reward = |action: PolicyAction| self.learned(state, action).map_or(0.0, |(_, mean)| mean);
        actions().fold(
            by_rules,
            |best, action| if mean_reward(action) > mean_reward(best) { action } else { best },
        )
    }
}

impl PresetAdapter for AdaptationPolicy {
    fn moves(&mut self, trend: &MetricTrend) -> CycleAdjustments {
        self.learn(trend);
        let rules = HeuristicAdapter.moves(trend);
        let (Ok(roi), Ok(synergy), Some(last)) = (trend.roi(), trend.synergy(), trend.roi.last()) else {
            let (resources, network) = (unmoved(rules.resources), unmoved(rules.network));
            return CycleAdjustments { resources, network, ..CycleAdjustments::default() };
        };
        let state = TrendState { roi: roi.direction, synergy };
        let by_rules = PolicyAction {
            resources: AdjustmentDirection::of_notches(rules.resources.notches),
            network: AdjustmentDirection::of_notches(rules.network.notches),
        };
        let explores = self.chance.one_in(EXPLORATION_PERIOD);
        let all: Vec<PolicyAction> = actions().collect();
        let tried = self.chance.pick(&all).copied().filter(|_| explores);
        let action = tried.unwrap_or_else(|| self.best(state, by_rules));
        self.pending = Some(PendingAction { state, action, values: trend.roi.len(), roi: *last });
        let known = self.learned(state, action).map_or_else(
            || "not tried before".to_owned(),
            |(count, mean)| format!("mean ROI change {mean:+.4} in {count} tries"),
        );
        let how = if explores { "explores" } else { "prefers" };
        let of = |what: &str, turn: AdjustmentDirection| AspectAdjustment {
            notches: turn.notches(),
            why: format!(
                "policy {how} {} {what}, {known} (ROI {:?}: {}; synergy {synergy:?})",
                turn.label(),
                roi.direction,
                roi.figures
            ),
        };
        CycleAdjustments {
            resources: of("limits", action.resources),
            network: of("network", action.network),
            threats: threats(trend),
            is_decided: true,
        }
    }
}

fn value_before(levels: &[f64], values: usize) -> Option<f64> {
    levels.get(values.checked_sub(1)?).copied()
}

fn unmoved(by_rules: AspectAdjustment) -> AspectAdjustment {
    AspectAdjustment { notches: 0, ..by_rules }
}

fn actions() -> impl Iterator<Item = PolicyAction> {
    AdjustmentDirection::ALL.into_iter().flat_map(|resources| {
        AdjustmentDirection::ALL.into_iter().map(move |network| PolicyAction { resources, network })
    })
}
