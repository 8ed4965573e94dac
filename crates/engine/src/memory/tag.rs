//! The four tags of memories, with the names of the first editions.

use serde::{Serialize, Serializer};

/// Kind of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum MemoryTag {
    /// Judgement of an earlier change.
    Feedback,
    /// Possible improvement.
    ImprovementPath,
    /// Defect or its fix.
    ErrorFix,
    /// Observation; also the default.
    #[default]
    Insight,
}

impl MemoryTag {
    /// All tags.
    pub const ALL: [Self; 4] = [Self::Feedback, Self::ImprovementPath, Self::ErrorFix, Self::Insight];

    /// Name of the tag.
    pub fn name(self) -> &'static str {
        match self {
            Self::Feedback => "FEEDBACK",
            Self::ImprovementPath => "IMPROVEMENT_PATH",
            Self::ErrorFix => "ERROR_FIX",
            Self::Insight => "INSIGHT",
        }
    }

    /// Parses a name, ignoring case, spaces, hyphens and underscores.
    pub fn parse(label: &str) -> Option<Self> {
        let letters = letters(label);
        Self::ALL.into_iter().find(|tag| letters == self::letters(tag.name()))
    }

    /// First known tag among labels. Every memory has a tag, so the default is an insight.
    pub fn of_labels<'a>(labels: impl IntoIterator<Item = &'a str>) -> Self {
        labels.into_iter().find_map(Self::parse).unwrap_or_default()
    }

    /// All names, for messages.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl Serialize for MemoryTag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl std::fmt::Display for MemoryTag {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.name())
    }
}

fn letters(label: &str) -> String {
    let is_between = |letter: &char| letter.is_whitespace() || matches!(letter, '-' | '_');
    label.chars().filter(|letter| !is_between(letter)).map(|letter| letter.to_ascii_uppercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_parsed_in_every_spelling() {
        for (label, expected) in [
            ("FEEDBACK", Some(MemoryTag::Feedback)),
            (" improvement-path ", Some(MemoryTag::ImprovementPath)),
            ("Improvement Path", Some(MemoryTag::ImprovementPath)),
            ("errorFix", Some(MemoryTag::ErrorFix)),
            ("__error__fix", Some(MemoryTag::ErrorFix)),
            ("insight", Some(MemoryTag::Insight)),
            ("insights", None),
            ("error.fix", None),
            ("note", None),
            ("ınsight", None),
            ("", None),
        ] {
            assert_eq!(MemoryTag::parse(label), expected, "{label:?}");
        }
    }

    #[test]
    fn unknown_labels_default_to_insight() {
        assert_eq!(MemoryTag::of_labels(["note", "error fix", "feedback"]), MemoryTag::ErrorFix);
        assert_eq!(MemoryTag::of_labels(["note"]), MemoryTag::Insight);
        assert_eq!(MemoryTag::of_labels([]), MemoryTag::Insight);
        for tag in MemoryTag::ALL {
            assert_eq!(MemoryTag::parse(tag.name()), Some(tag));
        }
    }
}
