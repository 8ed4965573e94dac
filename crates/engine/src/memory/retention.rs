//! Number of memories that are kept.

use std::collections::BTreeMap;

use menace_model::{ErrorClass, ErrorDetails};
use thiserror::Error;

use super::MemoryTag;

/// Maximum number of memories by tag, the newest are kept; tags without a number keep all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryRetention(BTreeMap<MemoryTag, u64>);

/// An unknown tag.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown memory tag {label:?}: expected one of {}", MemoryTag::names())]
pub struct MemoryRetentionError {
    /// The unknown tag, as written.
    pub label: String,
}

impl ErrorDetails for MemoryRetentionError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }

    fn hint(&self) -> Option<String> {
        Some("write counts by tag, as in insight=40,error_fix=20".into())
    }
}

impl MemoryRetention {
    /// Reads counts by name, as in `GPT_MEMORY_RETENTION`. For a tag in two spellings the larger count applies.
    pub fn of_counts(counts: &BTreeMap<String, usize>) -> Result<Self, MemoryRetentionError> {
        let mut kept = BTreeMap::new();
        for (label, count) in counts {
            let tag = MemoryTag::parse(label).ok_or_else(|| MemoryRetentionError { label: label.clone() })?;
            let most = kept.entry(tag).or_insert(0);
            *most = (*count as u64).max(*most);
        }
        Ok(Self(kept))
    }

    /// Whether everything is kept.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts of the named tags.
    pub(super) fn counts(&self) -> Vec<(String, u64)> {
        self.0.iter().map(|(tag, most)| (tag.name().to_owned(), *most)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &[(&str, usize)]) -> Result<MemoryRetention, MemoryRetentionError> {
        MemoryRetention::of_counts(&text.iter().map(|(label, count)| ((*label).to_owned(), *count)).collect())
    }

    #[test]
    fn retention_is_read_by_tag() {
        let retention = of(&[("insight", 40), ("error-fix", 20), ("INSIGHT", 50)]).unwrap();
        assert_eq!(retention.counts(), [("ERROR_FIX".to_owned(), 20), ("INSIGHT".to_owned(), 50)]);
        assert!(!retention.is_everything() && of(&[]).unwrap().is_everything());
        let error = of(&[("insigt", 40)]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("insigt") && text.contains("IMPROVEMENT_PATH"), "{text}");
        assert!(!text.contains('\n') && error.hint().is_some(), "{text}");
    }
}
