//! Events of sandboxes, numbered so that a reader can reconnect without missing any.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use utoipa::ToSchema;

use super::tenants::Caller;
use crate::clock;

/// Number of events kept for readers that reconnect.
const MAX_EVENTS: usize = 4096;

/// An event of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SandboxEvent {
    /// Sequence number, starting at 1.
    pub number: u64,
    /// Time of the event.
    pub at: String,
    /// Kind of event, such as `sandbox.created`.
    pub event: String,
    /// Id of the sandbox.
    pub sandbox_id: String,
    /// Id of the API key that owns the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Reason or further details.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The most recent events of all sandboxes.
#[derive(Debug, Default)]
pub struct SandboxEventLog {
    kept: Mutex<SandboxEventBuffer>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct SandboxEventBuffer {
    last: u64,
    events: VecDeque<SandboxEvent>,
}

impl SandboxEventLog {
    /// Appends an event and wakes all readers.
    pub fn publish(&self, event: &str, sandbox: &str, owner: Option<&str>, detail: Option<String>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.last += 1;
        let event = SandboxEvent {
            number: kept.last,
            at: clock::format_time(clock::now_ms()),
            event: event.to_owned(),
            sandbox_id: sandbox.to_owned(),
            owner: owner.map(str::to_owned),
            detail,
        };
        kept.events.push_back(event);
        if kept.events.len() > MAX_EVENTS {
            kept.events.pop_front();
        }
        drop(kept);
        self.changed.notify_waiters();
    }

    /// Number of the last event.
    pub fn last(&self) -> u64 {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).last
    }

    /// Events after a number that the caller may see; waits for at least one. The returned number is that of the last event
    /// examined.
    pub async fn after(&self, number: u64, caller: &Caller) -> (Vec<SandboxEvent>, u64) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let (visible, last) = {
                let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
                let of_caller = |one: &&SandboxEvent| caller.key.is_none() || one.owner == caller.key;
                let new = kept.events.iter().filter(|one| one.number > number);
                (new.filter(of_caller).cloned().collect::<Vec<_>>(), kept.last)
            };
            if !visible.is_empty() {
                return (visible, last);
            }
            changed.await;
        }
    }
}
