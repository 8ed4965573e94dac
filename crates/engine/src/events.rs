//! What happens, told to whoever listens, and kept.

use menace_model::ids::RunId;
use menace_store::{Store, StoreError};
use serde::Serialize;
use serde_json::json;
use tokio::sync::broadcast;

use crate::memory::Tag;
use crate::proposal::Proposal;
use crate::verify::Verdict;

/// Something that happens in the loop.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A cycle begins.
    CycleBegan {
        /// Which.
        cycle: u32,
        /// Where its presets come from.
        presets: String,
    },
    /// All calls of a cycle were made.
    Measured {
        /// Which.
        cycle: u32,
        /// Calls.
        calls: usize,
        /// Ways in which something fails.
        failures: usize,
        /// What the code is worth.
        roi: Option<f64>,
    },
    /// Something is proposed, and will be looked at.
    Proposed {
        /// What tells it from others.
        proposal: String,
        /// Who made it.
        proposer: String,
        /// What it is about.
        section: String,
        /// What is changed and why.
        why: String,
    },
    /// It was looked at.
    Judged {
        /// What tells it from others.
        proposal: String,
        /// Whether it is kept.
        kept: bool,
        /// Why not.
        reason: Option<String>,
        /// The mean gain.
        gain: Option<f64>,
    },
    /// A reviewer should look at something that is kept.
    AlignmentFlag {
        /// What tells it from others.
        proposal: String,
        /// What about.
        rule: String,
        /// In words.
        message: String,
    },
    /// Something is remembered from now on.
    MemoryNew {
        /// Its number.
        id: u64,
        /// What kind of memory.
        tag: Tag,
        /// Its first line.
        summary: String,
    },
    /// A cycle ended.
    CycleEnded {
        /// Which.
        cycle: u32,
        /// Proposals that were looked at.
        proposals: usize,
        /// Of them, kept.
        kept: usize,
    },
    /// The loop ends.
    Stopped {
        /// Why.
        reason: String,
    },
}

impl Event {
    /// What kind of thing it is.
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

    /// Something is proposed.
    pub fn proposed(proposal: &Proposal) -> Self {
        Self::Proposed {
            proposal: proposal.id.clone(),
            proposer: proposal.proposer.clone(),
            section: proposal.section.clone(),
            why: proposal.why.clone(),
        }
    }

    /// It was looked at.
    pub fn judged(proposal: &Proposal, verdict: &Verdict) -> Self {
        Self::Judged {
            proposal: proposal.id.clone(),
            kept: verdict.kept,
            reason: verdict.reason(),
            gain: verdict.gain,
        }
    }
}

/// Events that wait for a listener that is slow; it is told how many it missed.
const WAITING: usize = 1024;

/// Tells everybody, and keeps it.
pub struct Bus {
    store: Store,
    run: RunId,
    listeners: broadcast::Sender<(u64, Event)>,
}

impl Bus {
    /// For a run.
    pub fn new(store: Store, run: RunId) -> Self {
        Self { store, run, listeners: broadcast::channel(WAITING).0 }
    }

    /// Somebody who is told from now on, each event with its number in the store.
    pub fn listen(&self) -> broadcast::Receiver<(u64, Event)> {
        self.listeners.subscribe()
    }

    /// Something happens. It is kept before anybody is told, so that nobody knows more than the store.
    pub async fn tell(&self, event: Event, now_ms: i64) -> Result<(), StoreError> {
        let detail =
            serde_json::to_value(&event).unwrap_or_else(|error| json!({"broken": error.to_string()}));
        let number = self.store.add_event(&self.run, now_ms, event.kind(), &detail).await?;
        // Nobody has to listen.
        let _ = self.listeners.send((number, event));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::broadcast::error::RecvError;

    use super::*;

    fn ended(cycle: u32) -> Event {
        Event::CycleEnded { cycle, proposals: 1, kept: 0 }
    }

    #[tokio::test]
    async fn events_are_kept_in_order_and_who_is_slow_is_told_how_many_were_missed() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:///menace.db", directory.path()).await.unwrap();
        let run: RunId = "r_01kbz7q3m9x4vt".parse().unwrap();
        let bus = Bus::new(store.clone(), run.clone());
        // Nobody listens, and it is kept all the same.
        bus.tell(ended(0), 1).await.unwrap();
        let mut slow = bus.listen();
        for cycle in 1..=u32::try_from(WAITING).unwrap() + 5 {
            bus.tell(ended(cycle), i64::from(cycle)).await.unwrap();
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
