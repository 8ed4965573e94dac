//! Idempotency keys: a repeated request with the same key returns the same sandbox.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::clock;
use crate::error::ApiError;

/// Maximum number of stored keys, and how long they are kept.
const MAX_KEYS: usize = 10_000;
const KEPT_FOR_MS: i64 = 86_400_000;

/// Idempotency keys and the sandboxes created for them.
#[derive(Default)]
pub(super) struct IdempotencyKeys {
    by_key: Mutex<HashMap<OwnedIdempotencyKey, Arc<KeyedCreation>>>,
}

/// Owner and idempotency key.
type OwnedIdempotencyKey = (Option<String>, String);

/// Creation of a sandbox for a key.
pub(super) struct KeyedCreation {
    body: blake3::Hash,
    at_ms: i64,
    /// Id of the sandbox once it is created. Concurrent requests with the same key wait for it.
    pub(super) sandbox: OnceCell<String>,
}

impl IdempotencyKeys {
    /// The creation that belongs to a key. The same key with another body is an error.
    pub(super) fn place(
        &self,
        owner: Option<&str>,
        key: &str,
        body: blake3::Hash,
    ) -> Result<Arc<KeyedCreation>, ApiError> {
        let now = clock::now_ms();
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        if by_key.len() >= MAX_KEYS {
            by_key.retain(|_, made| now - made.at_ms < KEPT_FOR_MS);
        }
        if by_key.len() >= MAX_KEYS
            && let Some(oldest) = by_key.iter().min_by_key(|(_, made)| made.at_ms).map(|(key, _)| key.clone())
        {
            by_key.remove(&oldest);
        }
        let made = by_key
            .entry((owner.map(str::to_owned), key.to_owned()))
            .or_insert_with(|| Arc::new(KeyedCreation { body, at_ms: now, sandbox: OnceCell::new() }));
        if made.body != body {
            return Err(ApiError::conflict(
                "key_used",
                format!("Idempotency-Key {key:?} was already used with a different request"),
            )
            .hint("use a new key for each request"));
        }
        Ok(Arc::clone(made))
    }

    /// Deletes the keys of a destroyed sandbox, so that it can be created again.
    pub(super) fn forget(&self, sandbox: &str) {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        by_key.retain(|_, made| made.sandbox.get().is_none_or(|made| made != sandbox));
    }
}
