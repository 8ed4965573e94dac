//! What is written on everything that is made, so that it can be found again, and nothing else is ever removed.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use menace_model::sandbox::SandboxSpec;

use crate::SandboxError;
use crate::author::Author;

/// Whose it is.
pub(super) const OWNER: &str = "menace.owner";
/// Which sandbox it belongs to.
pub(super) const SANDBOX: &str = "menace.sandbox";
/// Which process made it.
const PROCESS: &str = "menace.process";
/// When, in seconds since 1970.
const CREATED: &str = "menace.created";
/// What all of ours begin with.
const PREFIX: &str = "menace.";

/// The labels of everything that belongs to a sandbox.
pub(super) fn labels(
    owner: &str,
    id: &str,
    spec: &SandboxSpec,
) -> Result<HashMap<String, String>, SandboxError> {
    if let Some(name) = spec.labels.keys().find(|name| name.starts_with(PREFIX)) {
        return Err(SandboxError::Refused {
            problem: format!("the label {name} is one of menace's own"),
            hint: format!("choose a name that does not begin with {PREFIX}"),
        });
    }
    let mut labels: HashMap<String, String> = spec.labels.clone().into_iter().collect();
    labels.insert(OWNER.to_owned(), owner.to_owned());
    labels.insert(SANDBOX.to_owned(), id.to_owned());
    labels.insert(PROCESS.to_owned(), Author::this().text());
    labels.insert(CREATED.to_owned(), seconds_since_1970().to_string());
    Ok(labels)
}

fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Filters of the engine for what has a label with this value.
pub(super) fn filter(label: &str, value: &str) -> HashMap<String, Vec<String>> {
    HashMap::from([("label".to_owned(), vec![format!("{label}={value}")])])
}

/// Tells what nobody needs any more from what somebody does.
pub(super) struct Stale<'a> {
    pub(super) owner: &'a str,
    /// Sandboxes that somebody wants, or will take over.
    pub(super) keep: &'a BTreeSet<String>,
    /// Sandboxes that an earlier process of this data directory wrote down, and that process is gone.
    pub(super) listed: &'a BTreeSet<String>,
    /// At which age what this process has made and does not know any more is stale.
    pub(super) lifetime: Option<Duration>,
}

impl Stale<'_> {
    /// Whether what has these labels can go. What has not both labels of ours never can.
    pub(super) fn is_stale(&self, labels: &HashMap<String, String>) -> bool {
        let Some(id) = labels.get(SANDBOX) else { return false };
        if labels.get(OWNER).is_none_or(|owner| owner != self.owner) || self.keep.contains(id) {
            return false;
        }
        let this = Author::this();
        let Some(author) = labels.get(PROCESS).and_then(|text| Author::parse(text)) else { return false };
        if self.listed.contains(id) || author.is_gone(&this) {
            return true;
        }
        author == this && self.is_old(labels)
    }

    fn is_old(&self, labels: &HashMap<String, String>) -> bool {
        let created: Option<u64> = labels.get(CREATED).and_then(|text| text.parse().ok());
        let age = created.map(|created| seconds_since_1970().saturating_sub(created));
        age.zip(self.lifetime).is_some_and(|(age, lifetime)| age >= lifetime.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(id: &str) -> HashMap<String, String> {
        labels("me", id, &SandboxSpec::default()).unwrap()
    }

    #[test]
    fn only_what_is_ours_and_wanted_by_nobody_is_stale() {
        let (keep, listed) =
            (BTreeSet::from(["sb-kept".to_owned()]), BTreeSet::from(["sb-listed".to_owned()]));
        let stale = Stale { owner: "me", keep: &keep, listed: &listed, lifetime: Some(Duration::ZERO) };
        assert!(stale.is_stale(&made("sb-old")), "this process has made it and does not know it");
        assert!(!stale.is_stale(&made("sb-kept")));
        let young = Stale { lifetime: Some(Duration::from_mins(1)), ..stale };
        assert!(!young.is_stale(&made("sb-old")), "somebody may be about to use it");
        assert!(young.is_stale(&made("sb-listed")), "whoever wrote it down is gone");
        let foreign =
            Stale { owner: "another", keep: &keep, listed: &listed, lifetime: Some(Duration::ZERO) };
        assert!(!foreign.is_stale(&made("sb-old")));
        for label in [OWNER, SANDBOX, PROCESS] {
            let mut without = made("sb-listed");
            without.remove(label);
            assert!(!young.is_stale(&without), "without {label}");
        }
    }
}
