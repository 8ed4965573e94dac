//! Labels of menace's Docker resources. Only labelled resources are ever removed.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use menace_model::sandbox::SandboxSpec;

use crate::SandboxError;
use crate::resource_creator::ResourceCreator;

/// Owner of the resource.
pub(super) const OWNER: &str = "menace.owner";
/// Sandbox of the resource.
pub(super) const SANDBOX: &str = "menace.sandbox";
/// Process that created the resource.
const PROCESS: &str = "menace.process";
/// Creation time in seconds since 1970.
const CREATED: &str = "menace.created";
/// Prefix of menace's labels.
const PREFIX: &str = "menace.";

/// Labels of all resources of a sandbox.
pub(super) fn labels(
    owner: &str,
    id: &str,
    spec: &SandboxSpec,
) -> Result<HashMap<String, String>, SandboxError> {
    if let Some(name) = spec.labels.keys().find(|name| name.starts_with(PREFIX)) {
        return Err(SandboxError::Refused {
            problem: format!("the label {name} is reserved for menace"),
            hint: format!("choose a name that does not start with {PREFIX}"),
        });
    }
    let mut labels: HashMap<String, String> = spec.labels.clone().into_iter().collect();
    labels.insert(OWNER.to_owned(), owner.to_owned());
    labels.insert(SANDBOX.to_owned(), id.to_owned());
    labels.insert(PROCESS.to_owned(), ResourceCreator::this().text());
    labels.insert(CREATED.to_owned(), seconds_since_1970().to_string());
    Ok(labels)
}

fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Engine filter for resources that have a label with this value.
pub(super) fn filter(label: &str, value: &str) -> HashMap<String, Vec<String>> {
    HashMap::from([("label".to_owned(), vec![format!("{label}={value}")])])
}

/// Criteria for stale resources.
pub(super) struct StalenessCriteria<'a> {
    pub(super) owner: &'a str,
    /// Sandboxes in use or to be adopted.
    pub(super) keep: &'a BTreeSet<String>,
    /// Sandboxes that an earlier, ended process of this data directory recorded.
    pub(super) listed: &'a BTreeSet<String>,
    /// Age at which resources that this process created and no longer tracks are stale.
    pub(super) lifetime: Option<Duration>,
}

impl StalenessCriteria<'_> {
    /// Whether the resource with these labels is stale. Resources without both the owner and the sandbox label never
    /// are.
    pub(super) fn is_stale(&self, labels: &HashMap<String, String>) -> bool {
        let Some(id) = labels.get(SANDBOX) else { return false };
        if labels.get(OWNER).is_none_or(|owner| owner != self.owner) || self.keep.contains(id) {
            return false;
        }
        let this = ResourceCreator::this();
        let Some(author) = labels.get(PROCESS).and_then(|text| ResourceCreator::parse(text)) else {
            return false;
        };
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

    fn created_labels(id: &str) -> HashMap<String, String> {
        labels("me", id, &SandboxSpec::default()).unwrap()
    }

    #[test]
    fn only_own_untracked_resources_are_stale() {
        let (keep, listed) =
            (BTreeSet::from(["sb-kept".to_owned()]), BTreeSet::from(["sb-listed".to_owned()]));
        let stale =
            StalenessCriteria { owner: "me", keep: &keep, listed: &listed, lifetime: Some(Duration::ZERO) };
        assert!(stale.is_stale(&created_labels("sb-old")), "this process created it and does not track it");
        assert!(!stale.is_stale(&created_labels("sb-kept")));
        let young = StalenessCriteria { lifetime: Some(Duration::from_mins(1)), ..stale };
        assert!(!young.is_stale(&created_labels("sb-old")), "it may be about to be used");
        assert!(young.is_stale(&created_labels("sb-listed")), "the process that recorded it has ended");
        let foreign = StalenessCriteria {
            owner: "another",
            keep: &keep,
            listed: &listed,
            lifetime: Some(Duration::ZERO),
        };
        assert!(!foreign.is_stale(&created_labels("sb-old")));
        for label in [OWNER, SANDBOX, PROCESS] {
            let mut without = created_labels("sb-listed");
            without.remove(label);
            assert!(!young.is_stale(&without), "without {label}");
        }
    }
}
