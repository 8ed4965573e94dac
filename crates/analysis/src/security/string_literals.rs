//! Strings that are findings in any context: an address for all interfaces, a path in a shared directory.

use menace_model::inventory::FindingSeverity::Medium;

use super::report::SecurityIssue;

const SHARED_DIRECTORIES: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// B104 and B108.
pub(super) fn check(text: &str) -> Option<SecurityIssue> {
    if text.starts_with('/') && SHARED_DIRECTORIES.iter().any(|directory| text.starts_with(directory)) {
        return Some(SecurityIssue::new(
            "B108",
            Medium,
            Medium,
            "path in a directory that other users can write to",
        ));
    }
    (text == "0.0.0.0").then(|| SecurityIssue::new("B104", Medium, Medium, "address of all interfaces"))
}
