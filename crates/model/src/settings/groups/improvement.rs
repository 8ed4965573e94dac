//! Settings of the improvement loop: how long it goes on and how often it tries.

choice! {
    /// Who proposes changes.
    pub enum ProposerKind {
        /// Built-in changes of source, which need no model.
        Transforms = "transforms",
        /// A language model.
        Llm = "llm",
    }
}

settings! {
    /// The improvement loop.
    pub struct ImprovementSettings;

    /// Run the sandbox at the first launch
    auto_sandbox: bool = "1" {
        env: "AUTO_SANDBOX",
        status: Planned,
    }

    /// Improvement cycles in one run
    cycles: u32 = "5" {
        env: "SANDBOX_CYCLES",
        status: Active,
    }

    /// Runs that the orchestrator starts; 0 means no limit
    run_cycles: u32 = "0" {
        env: "RUN_CYCLES",
        status: Active,
    }

    /// Who proposes changes
    proposers: Vec<ProposerKind> = "transforms,llm" {
        env: "SANDBOX_PROPOSERS",
        status: Active,
    }

    /// Attempts at one patch before it is given up
    patch_retries: u32 = "3" {
        env: "SANDBOX_PATCH_RETRIES",
        status: Active,
    }

    /// Cycles between two requests for new ideas; 0 means none
    brainstorm_interval: u32 = "0" {
        env: "SANDBOX_BRAINSTORM_INTERVAL",
        status: Active,
    }

    /// Consecutive cycles of low ROI that trigger a request for new ideas
    brainstorm_retries: u32 = "3" {
        env: "SANDBOX_BRAINSTORM_RETRIES",
        status: Active,
    }
}
