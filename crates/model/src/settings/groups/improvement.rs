//! Settings of improvement runs: number of cycles, proposers and retries.

choice! {
    /// Source of proposals.
    pub enum ProposerKind {
        /// Built-in source transforms, which need no model.
        Transforms = "transforms",
        /// A language model.
        Llm = "llm",
    }
}

settings! {
    /// Improvement runs.
    pub struct ImprovementSettings;

    /// Start a run at the first launch
    auto_sandbox: bool = "1" {
        env: "AUTO_SANDBOX",
        status: Planned,
    }

    /// Maximum number of cycles in one run
    cycles: u32 = "5" {
        env: "SANDBOX_CYCLES",
        status: Active,
    }

    /// Number of runs started by the orchestrator; 0 means no limit
    run_cycles: u32 = "0" {
        env: "RUN_CYCLES",
        status: Active,
    }

    /// Sources of proposals
    proposers: Vec<ProposerKind> = "transforms,llm" {
        env: "SANDBOX_PROPOSERS",
        status: Active,
    }

    /// Maximum number of attempts at one patch
    patch_retries: u32 = "3" {
        env: "SANDBOX_PATCH_RETRIES",
        status: Active,
    }

    /// Cycles between requests for new ideas; 0 means never
    brainstorm_interval: u32 = "0" {
        env: "SANDBOX_BRAINSTORM_INTERVAL",
        status: Active,
    }

    /// Consecutive low-ROI cycles that trigger a request for new ideas
    brainstorm_retries: u32 = "3" {
        env: "SANDBOX_BRAINSTORM_RETRIES",
        status: Active,
    }
}
