//! API keys: `mnc_`, a public id, and a secret of which only a hash is stored.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::clock;
use crate::sandboxes::Quota;

/// Prefix of every key, so that secret scanners recognise a leaked one.
const PREFIX: &str = "mnc_";
/// Characters of the id and of the secret: 48 and 256 bits.
const ID_LENGTH: usize = 8;
const SECRET_LENGTH: usize = 43;

/// An API key as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApiKey {
    /// Public part of the key.
    pub id: String,
    /// Name chosen by the owner.
    pub name: String,
    /// Hash of the whole key.
    pub hash: String,
    /// Creation time, in milliseconds since 1970.
    pub created_ms: i64,
    /// Expiry time, in milliseconds since 1970.
    pub expires_ms: Option<i64>,
    /// Time of revocation, in milliseconds since 1970.
    pub revoked_ms: Option<i64>,
    /// Quota of the tenant.
    pub quota: Quota,
}

/// Creates a key. The text is shown once and not stored.
pub fn new_key(name: &str, quota: Quota, expires_ms: Option<i64>) -> (String, ApiKey) {
    let (id, secret) = (random_characters(ID_LENGTH), random_characters(SECRET_LENGTH));
    let text = format!("{PREFIX}{id}_{secret}");
    let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
    let name = name.to_owned();
    let key = ApiKey { id, name, hash, created_ms: clock::now_ms(), expires_ms, revoked_ms: None, quota };
    (text, key)
}

/// Random characters, uniformly distributed over the alphabet.
fn random_characters(count: usize) -> String {
    const ALPHABET: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-~";
    let mut bytes = vec![0; count];
    // getrandom(2) does not fail once the kernel's pool is initialised; a partial read must not leave zeros in the key.
    let mut filled = 0;
    while filled < count {
        let got = rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty());
        filled += got.expect("getrandom without flags blocks until the pool is initialised");
    }
    bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 64)])).collect()
}

/// Reason to reject a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiKeyRejection {
    /// No such key was issued.
    Unknown,
    /// The key has expired.
    Expired,
    /// The key was revoked.
    Revoked,
}

/// All API keys, as last read from the store.
#[derive(Debug, Default)]
pub struct ApiKeyRing {
    keys: Mutex<BTreeMap<String, ApiKey>>,
}

impl ApiKeyRing {
    /// Replaces all keys.
    pub fn replace(&self, keys: impl IntoIterator<Item = ApiKey>) {
        let keys = keys.into_iter().map(|key| (key.id.clone(), key)).collect();
        *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    /// True if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Looks up the key that a caller sent.
    pub fn find(&self, text: &str, now_ms: i64) -> Result<ApiKey, ApiKeyRejection> {
        let id = text.strip_prefix(PREFIX).and_then(|rest| rest.get(..ID_LENGTH)).unwrap_or_default();
        let known = self.keys.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        let sent = blake3::hash(text.as_bytes());
        // `blake3::Hash` compares in constant time.
        let matches = |key: &ApiKey| blake3::Hash::from_hex(&key.hash).is_ok_and(|hash| hash == sent);
        match known {
            Some(key) if !matches(&key) => Err(ApiKeyRejection::Unknown),
            Some(key) if key.revoked_ms.is_some() => Err(ApiKeyRejection::Revoked),
            Some(key) if key.expires_ms.is_some_and(|end| end <= now_ms) => Err(ApiKeyRejection::Expired),
            Some(key) => Ok(key),
            None => Err(ApiKeyRejection::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_complete_key_is_accepted() {
        let (text, key) = new_key("ci", Quota::default(), Some(1_000));
        assert!(text.starts_with("mnc_") && !key.hash.contains(&text));
        let ring = ApiKeyRing::default();
        ring.replace([key.clone()]);
        assert_eq!(ring.find(&text, 999).unwrap(), key);
        assert_eq!(ring.find(&text, 1_000), Err(ApiKeyRejection::Expired));
        for wrong in ["", "mnc_", &text[..text.len() - 1], &format!("{text}x"), &text[4..], "mnc_ééé"] {
            assert_eq!(ring.find(wrong, 0), Err(ApiKeyRejection::Unknown), "{wrong}");
        }
        ring.replace([ApiKey { revoked_ms: Some(5), ..key }]);
        assert_eq!(ring.find(&text, 6), Err(ApiKeyRejection::Revoked));
    }

    #[test]
    fn keys_differ() {
        let keys: std::collections::BTreeSet<String> =
            (0..100).map(|_| new_key("", Quota::default(), None).0).collect();
        assert_eq!(keys.len(), 100);
    }
}
