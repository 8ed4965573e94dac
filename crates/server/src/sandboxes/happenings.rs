//! What happens to sandboxes, for whoever wants to know, numbered so that nobody misses anything after a break.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use utoipa::ToSchema;

use super::tenants::Caller;
use crate::clock;

/// Events that are kept for those who were away.
const MOST: usize = 4096;

/// Something happened to a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Happening {
    /// 1, 2, 3, …
    pub number: u64,
    /// When.
    pub at: String,
    /// What, such as `sandbox.created`.
    pub event: String,
    /// To which.
    pub sandbox_id: String,
    /// Who that belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Why, or more about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What happened lately.
#[derive(Debug, Default)]
pub struct Happenings {
    kept: Mutex<Kept>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    last: u64,
    events: VecDeque<Happening>,
}

impl Happenings {
    /// Tells everybody.
    pub fn tell(&self, event: &str, sandbox: &str, owner: Option<&str>, detail: Option<String>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.last += 1;
        let happening = Happening {
            number: kept.last,
            at: clock::text(clock::now_ms()),
            event: event.to_owned(),
            sandbox_id: sandbox.to_owned(),
            owner: owner.map(str::to_owned),
            detail,
        };
        kept.events.push_back(happening);
        if kept.events.len() > MOST {
            kept.events.pop_front();
        }
        drop(kept);
        self.changed.notify_waiters();
    }

    /// The number of the last one.
    pub fn last(&self) -> u64 {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).last
    }

    /// What a caller may know of what happened after a number; waits until something did. The number is that of the last one
    /// that was looked at.
    pub async fn after(&self, number: u64, caller: &Caller) -> (Vec<Happening>, u64) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let (seen, last) = {
                let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
                let of_caller = |one: &&Happening| caller.key.is_none() || one.owner == caller.key;
                let new = kept.events.iter().filter(|one| one.number > number);
                (new.filter(of_caller).cloned().collect::<Vec<_>>(), kept.last)
            };
            if !seen.is_empty() {
                return (seen, last);
            }
            changed.await;
        }
    }
}
