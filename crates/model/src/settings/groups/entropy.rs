//! Settings of entropy: when a module is complete because changes only add complexity.

settings! {
    /// Entropy.
    pub struct EntropySettings;

    /// Minimum ROI gain per unit of entropy change; if unset, the tracker's own threshold
    entropy_threshold: Option<f64> = "" {
        env: "ENTROPY_THRESHOLD",
        flag: "--entropy-threshold",
        status: Active,
    }

    /// Maximum entropy change of a plateau sample, in bits per token
    entropy_plateau_threshold: f64 = "0.01" {
        env: "ENTROPY_PLATEAU_THRESHOLD",
        status: Active,
    }

    /// Consecutive plateau samples after which a module is complete
    entropy_plateau_consecutive: u32 = "3" {
        env: "ENTROPY_PLATEAU_CONSECUTIVE",
        flag: "--entropy-plateau-consecutive",
        flag_aliases: ["--consecutive"],
        status: Active,
    }
}
