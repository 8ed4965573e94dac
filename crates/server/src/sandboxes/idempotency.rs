//! Requests that were made before: whoever asks again with the same key gets the same sandbox.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::clock;
use crate::error::ApiError;

/// Keys that are remembered, and for how long.
const MOST: usize = 10_000;
const FOR_MS: i64 = 86_400_000;

/// Keys and what was made for them.
#[derive(Default)]
pub(super) struct Idempotency {
    by_key: Mutex<HashMap<OwnKey, Arc<Made>>>,
}

/// Whose key, and the key.
type OwnKey = (Option<String>, String);

/// What was made for a key.
pub(super) struct Made {
    body: blake3::Hash,
    at_ms: i64,
    /// The name of the sandbox, once it is there. Who comes meanwhile waits.
    pub(super) sandbox: OnceCell<String>,
}

impl Idempotency {
    /// The place for what is made for a key. Another body with the same key is an error.
    pub(super) fn place(
        &self,
        owner: Option<&str>,
        key: &str,
        body: blake3::Hash,
    ) -> Result<Arc<Made>, ApiError> {
        let now = clock::now_ms();
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        if by_key.len() >= MOST {
            by_key.retain(|_, made| now - made.at_ms < FOR_MS);
        }
        if by_key.len() >= MOST
            && let Some(oldest) = by_key.iter().min_by_key(|(_, made)| made.at_ms).map(|(key, _)| key.clone())
        {
            by_key.remove(&oldest);
        }
        let made = by_key
            .entry((owner.map(str::to_owned), key.to_owned()))
            .or_insert_with(|| Arc::new(Made { body, at_ms: now, sandbox: OnceCell::new() }));
        if made.body != body {
            return Err(ApiError::conflict(
                "key_used",
                format!("the Idempotency-Key {key:?} was used with another request before"),
            )
            .hint("use a new key for each thing that is to be made once"));
        }
        Ok(Arc::clone(made))
    }

    /// Forgets keys whose sandbox is gone, so that it can be made again.
    pub(super) fn forget(&self, sandbox: &str) {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        by_key.retain(|_, made| made.sandbox.get().is_none_or(|made| made != sandbox));
    }
}
