//! Settings of alignment: review rules over the diff of each commit.

use std::path::PathBuf;

use crate::settings::Probability;

settings! {
    /// Alignment.
    pub struct AlignmentSettings;

    /// Check each commit for removed safeguards and risky changes
    enable_alignment_flagger: bool = "1" {
        env: "ENABLE_ALIGNMENT_FLAGGER",
        status: Active,
    }

    /// Score above which a commit gets a warning, from 0 to 1
    alignment_warning_threshold: Probability = "0.5" {
        env: "ALIGNMENT_WARNING_THRESHOLD",
        status: Active,
    }

    /// Score above which a commit fails the check, from 0 to 1
    alignment_failure_threshold: Probability = "0.9" {
        env: "ALIGNMENT_FAILURE_THRESHOLD",
        status: Active,
    }

    /// File with the metrics that commits are compared with
    alignment_baseline_metrics_path: Option<PathBuf> = "" {
        env: "ALIGNMENT_BASELINE_METRICS_PATH",
        status: Active,
    }
}
