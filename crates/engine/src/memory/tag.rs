//! The four tags of memories. The names are those of the first editions.

use serde::{Serialize, Serializer};

/// What kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Tag {
    /// A judgement of something that was done.
    Feedback,
    /// A way to improve something.
    ImprovementPath,
    /// A defect, or how it was repaired.
    ErrorFix,
    /// Something that was noticed; also everything that says nothing else.
    #[default]
    Insight,
}

impl Tag {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Feedback, Self::ImprovementPath, Self::ErrorFix, Self::Insight];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Feedback => "FEEDBACK",
            Self::ImprovementPath => "IMPROVEMENT_PATH",
            Self::ErrorFix => "ERROR_FIX",
            Self::Insight => "INSIGHT",
        }
    }

    /// The tag with this name, in any case, and whether words are joined by spaces, hyphens, underscores or nothing.
    pub fn parse(label: &str) -> Option<Self> {
        let letters = letters(label);
        Self::ALL.into_iter().find(|tag| letters == self::letters(tag.name()))
    }

    /// The tag of something with these labels: the first that is known. Every memory has a tag, so that without a known
    /// label it is an insight.
    pub fn of_labels<'a>(labels: impl IntoIterator<Item = &'a str>) -> Self {
        labels.into_iter().find_map(Self::parse).unwrap_or_default()
    }

    /// All names, for people.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl Serialize for Tag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl std::fmt::Display for Tag {
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
    fn labels_of_memories_are_read_in_every_spelling() {
        for (label, expected) in [
            ("FEEDBACK", Some(Tag::Feedback)),
            (" improvement-path ", Some(Tag::ImprovementPath)),
            ("Improvement Path", Some(Tag::ImprovementPath)),
            ("errorFix", Some(Tag::ErrorFix)),
            ("__error__fix", Some(Tag::ErrorFix)),
            ("insight", Some(Tag::Insight)),
            ("insights", None),
            ("error.fix", None),
            ("note", None),
            ("ınsight", None),
            ("", None),
        ] {
            assert_eq!(Tag::parse(label), expected, "{label:?}");
        }
    }

    #[test]
    fn every_memory_ends_with_a_tag() {
        assert_eq!(Tag::of_labels(["note", "error fix", "feedback"]), Tag::ErrorFix);
        assert_eq!(Tag::of_labels(["note"]), Tag::Insight);
        assert_eq!(Tag::of_labels([]), Tag::Insight);
        for tag in Tag::ALL {
            assert_eq!(Tag::parse(tag.name()), Some(tag));
        }
    }
}
