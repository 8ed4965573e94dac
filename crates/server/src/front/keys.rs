//! Keys of callers: `mnc_`, a name that may be seen, and a secret of which only a hash is kept.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::clock;
use crate::sandboxes::Quota;

/// What every key begins with, so that it is recognised where it does not belong.
const PREFIX: &str = "mnc_";
/// Letters of the name and of the secret: 48 and 256 bits.
const NAME: usize = 8;
const SECRET: usize = 43;

/// A key as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// The part that may be seen.
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    /// The hash of the whole key.
    pub hash: String,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// Until when it is good.
    pub expires_ms: Option<i64>,
    /// Since when it is not good any more.
    pub revoked_ms: Option<i64>,
    /// What it may have.
    pub quota: Quota,
}

/// Makes a key. The text is shown once and kept nowhere.
pub fn new_key(name: &str, quota: Quota, expires_ms: Option<i64>) -> (String, Key) {
    let (id, secret) = (random_letters(NAME), random_letters(SECRET));
    let text = format!("{PREFIX}{id}_{secret}");
    let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
    let name = name.to_owned();
    let key = Key { id, name, hash, created_ms: clock::now_ms(), expires_ms, revoked_ms: None, quota };
    (text, key)
}

/// Letters and digits by chance, each as likely as the others.
fn random_letters(count: usize) -> String {
    const ALPHABET: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-~";
    let mut bytes = vec![0; count];
    // The kernel's random numbers do not fail after the machine has started; a key of zeros must not be.
    let mut filled = 0;
    while filled < count {
        let got = rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty());
        filled += got.expect("the kernel has random numbers");
    }
    bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 64)])).collect()
}

/// Why a key is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody gave it out.
    Unknown,
    /// Its time is over.
    Expired,
    /// It was taken back.
    Revoked,
}

/// All keys, as they were read last.
#[derive(Debug, Default)]
pub struct KeyRing {
    keys: Mutex<BTreeMap<String, Key>>,
}

impl KeyRing {
    /// Replaces all keys.
    pub fn replace(&self, keys: impl IntoIterator<Item = Key>) {
        let keys = keys.into_iter().map(|key| (key.id.clone(), key)).collect();
        *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// The key of a text that a caller sent.
    pub fn find(&self, text: &str, now_ms: i64) -> Result<Key, Refusal> {
        let id = text.strip_prefix(PREFIX).and_then(|rest| rest.get(..NAME)).unwrap_or_default();
        let known = self.keys.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        let sent = blake3::hash(text.as_bytes());
        // Hashes of blake3 are compared in the same time wherever they differ.
        let is_it = |key: &Key| blake3::Hash::from_hex(&key.hash).is_ok_and(|hash| hash == sent);
        match known {
            Some(key) if !is_it(&key) => Err(Refusal::Unknown),
            Some(key) if key.revoked_ms.is_some() => Err(Refusal::Revoked),
            Some(key) if key.expires_ms.is_some_and(|end| end <= now_ms) => Err(Refusal::Expired),
            Some(key) => Ok(key),
            None => Err(Refusal::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_key_opens() {
        let (text, key) = new_key("ci", Quota::default(), Some(1_000));
        assert!(text.starts_with("mnc_") && !key.hash.contains(&text));
        let ring = KeyRing::default();
        ring.replace([key.clone()]);
        assert_eq!(ring.find(&text, 999).unwrap(), key);
        assert_eq!(ring.find(&text, 1_000), Err(Refusal::Expired));
        for wrong in ["", "mnc_", &text[..text.len() - 1], &format!("{text}x"), &text[4..], "mnc_ééé"] {
            assert_eq!(ring.find(wrong, 0), Err(Refusal::Unknown), "{wrong}");
        }
        ring.replace([Key { revoked_ms: Some(5), ..key }]);
        assert_eq!(ring.find(&text, 6), Err(Refusal::Revoked));
    }

    #[test]
    fn keys_differ() {
        let keys: std::collections::BTreeSet<String> =
            (0..100).map(|_| new_key("", Quota::default(), None).0).collect();
        assert_eq!(keys.len(), 100);
    }
}
