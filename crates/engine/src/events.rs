//! Events of a run: stored, then sent to subscribers.

use menace_model::ids::RunId;
use menace_store::{Store, StoreError};
use serde::Serialize;
use serde_json::json;
use tokio::sync::broadcast;

use crate::memory::MemoryTag;
use crate::proposal::Proposal;
use crate::verify::Verdict;

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// A cycle started.
    CycleBegan {
        /// Number of the cycle.
        cycle: u32,
        /// Origin of its presets.
        presets: String,
    },
    /// All calls of a cycle were made.
    Measured {
        /// Number of the cycle.
        cycle: u32,
        /// Number of calls.
        calls: usize,
        /// Number of distinct failures.
        failures: usize,
        /// ROI of the code.
        roi: Option<f64>,
    },
    /// A proposal was made and will be verified.
    Proposed {
        /// Id of the proposal.
        proposal: String,
        /// Name of the proposer.
        proposer: String,
        /// Section that the proposal changes.
        section: String,
        /// Description of the change and its reason.
        why: String,
    },
    /// A proposal was verified.
    Judged {
        /// Id of the proposal.
        proposal: String,
        /// Whether it is kept.
        kept: bool,
        /// Condition that was not met; `None` if the proposal is kept.
        reason: Option<String>,
        /// Mean gain on held-out inputs.
        gain: Option<f64>,
    },
    /// A kept patch deserves a review.
    AlignmentFlag {
        /// Id of the proposal.
        proposal: String,
        /// Name of the alignment rule.
        rule: String,
        /// Remark of the rule.
        message: String,
    },
    /// A memory was stored.
    MemoryNew {
        /// Id of the memory.
        id: u64,
        /// Tag of the memory.
        tag: MemoryTag,
        /// First line of the memory.
        summary: String,
    },
    /// A cycle ended.
    CycleEnded {
        /// Number of the cycle.
        cycle: u32,
        /// Verified proposals.
        proposals: usize,
        /// Kept proposals.
        kept: usize,
    },
    /// The run ended.
    Stopped {
        /// Stop reason.
        reason: String,
    },
}

impl RunEvent {
    /// Kind of the event, as stored.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::CycleBegan { .. } => "cycle:began",
            Self::Measured { .. } => "cycle:measured",
            Self::Proposed { .. } => "patch:proposed",
            Self::Judged { kept: true, .. } => "patch:kept",
            Self::Judged { .. } => "patch:rejected",
            Self::AlignmentFlag { .. } => "alignment:flag",
            Self::MemoryNew { .. } => "memory:new",
            Self::CycleEnded { .. } => "cycle:ended",
            Self::Stopped { .. } => "run:stopped",
        }
    }

    /// Event for a new proposal.
    pub fn proposed(proposal: &Proposal) -> Self {
        Self::Proposed {
            proposal: proposal.id.clone(),
            proposer: proposal.proposer.clone(),
            section: proposal.section.clone(),
            why: proposal.why.clone(),
        }
    }

    /// Event for the verdict about a proposal.
    pub fn judged(proposal: &Proposal, verdict: &Verdict) -> Self {
        Self::Judged {
            proposal: proposal.id.clone(),
            kept: verdict.kept,
            reason: verdict.reason(),
            gain: verdict.gain,
        }
    }
}

/// Events queued for a slow subscriber; a subscriber that falls further behind is told how many it missed.
const WAITING: usize = 1024;

/// Stores the events of a run and sends them to subscribers.
pub struct RunEventBus {
    store: Store,
    run: RunId,
    listeners: broadcast::Sender<(u64, RunEvent)>,
}

impl RunEventBus {
    /// Creates the event bus of a run.
    pub fn new(store: Store, run: RunId) -> Self {
        Self { store, run, listeners: broadcast::channel(WAITING).0 }
    }

    /// Subscribes to all later events, each with its number in the store.
    pub fn subscribe(&self) -> broadcast::Receiver<(u64, RunEvent)> {
        self.listeners.subscribe()
    }

    /// Publishes an event. It is stored before it is sent, so that no subscriber is ahead of the store.
    pub async fn publish(&self, event: RunEvent, now_ms: i64) -> Result<(), StoreError> {
        let detail =
            serde_json::to_value(&event).unwrap_or_else(|error| json!({"broken": error.to_string()}));
        let number = self.store.add_event(&self.run, now_ms, event.kind(), &detail).await?;
        // Sending fails only if there are no subscribers.
        let _ = self.listeners.send((number, event));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::broadcast::error::RecvError;

    use super::*;

    fn ended(cycle: u32) -> RunEvent {
        RunEvent::CycleEnded { cycle, proposals: 1, kept: 0 }
    }

    #[tokio::test]
    async fn events_are_stored_in_order_and_a_slow_subscriber_is_told_how_many_it_missed() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:///menace.db", directory.path()).await.unwrap();
        let run: RunId = "r_01kbz7q3m9x4vt".parse().unwrap();
        let bus = RunEventBus::new(store.clone(), run.clone());
        // Events are stored without subscribers too.
        bus.publish(ended(0), 1).await.unwrap();
        let mut slow = bus.subscribe();
        for cycle in 1..=u32::try_from(WAITING).unwrap() + 5 {
            bus.publish(ended(cycle), i64::from(cycle)).await.unwrap();
        }
        assert!(matches!(slow.recv().await, Err(RecvError::Lagged(5))));
        assert_eq!(slow.recv().await.unwrap().1, ended(6));
        let all = store.events(&run, 0, 10_000).await.unwrap();
        assert_eq!(all.len(), WAITING + 6);
        assert!(all.windows(2).all(|pair| pair[0].id < pair[1].id));
        assert_eq!((all[0].kind.as_str(), &all[0].detail["cycle"]), ("cycle:ended", &json!(0)));
        assert_eq!(store.last_event_ms(&run).await.unwrap(), Some(i64::try_from(WAITING).unwrap() + 5));
    }
}
