//! Settings of entropy: when a module is complete because changes add complexity and nothing else.

settings! {
    /// Entropy.
    pub struct EntropySettings;

    /// Least ROI gain per unit of entropy change; nothing means the tracker's own threshold
    entropy_threshold: Option<f64> = "" {
        env: "ENTROPY_THRESHOLD",
        flag: "--entropy-threshold",
        status: Active,
    }

    /// Entropy change, in bits per token, up to which a sample counts towards a plateau
    entropy_plateau_threshold: f64 = "0.01" {
        env: "ENTROPY_PLATEAU_THRESHOLD",
        status: Active,
    }

    /// Consecutive samples under the plateau threshold that complete a module
    entropy_plateau_consecutive: u32 = "3" {
        env: "ENTROPY_PLATEAU_CONSECUTIVE",
        flag: "--entropy-plateau-consecutive",
        flag_aliases: ["--consecutive"],
        status: Active,
    }
}
