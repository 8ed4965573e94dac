//! Settings of the source of presets and of their adaptation between runs.

use std::path::PathBuf;

use crate::settings::JsonText;

choice! {
    /// How presets are generated when none are given.
    pub enum PresetMode {
        /// Randomly, from the seed of the run.
        Random = "random",
        /// The canonical profiles, each at both severities.
        Canonical = "canonical",
    }
}

settings! {
    /// Presets.
    pub struct PresetSettings;

    /// Presets to run under, as a JSON list of objects
    env_presets: Option<JsonText> = "" {
        env: "SANDBOX_ENV_PRESETS",
        status: Active,
    }

    /// Generate presets when none are given; otherwise one empty preset is used
    generate_presets: bool = "1" {
        env: "SANDBOX_GENERATE_PRESETS",
        status: Active,
    }

    /// How presets are generated when none are given
    preset_mode: PresetMode = "random" {
        env: "SANDBOX_PRESET_MODE",
        status: Active,
    }

    /// Fail when a module was not run under every canonical scenario
    fail_on_missing_scenarios: bool = "0" {
        env: "SANDBOX_FAIL_ON_MISSING_SCENARIOS",
        status: Active,
    }

    /// Log each decision that adapts a preset
    preset_debug: bool = "0" {
        env: "PRESET_DEBUG",
        flag: "--preset-debug",
        status: Active,
    }

    /// File with the learned policy that adapts presets
    preset_rl_path: Option<PathBuf> = "" {
        env: "SANDBOX_PRESET_RL_PATH",
        status: Active,
    }

    /// Learning algorithm of the policy that adapts presets
    preset_rl_strategy: Option<String> = "" {
        env: "SANDBOX_PRESET_RL_STRATEGY",
        status: Active,
    }

    /// File with the state of the adaptive agent
    adaptive_agent_path: Option<PathBuf> = "" {
        env: "SANDBOX_ADAPTIVE_AGENT_PATH",
        status: Planned,
    }

    /// Learning algorithm of the adaptive agent
    adaptive_agent_strategy: Option<String> = "" {
        env: "SANDBOX_ADAPTIVE_AGENT_STRATEGY",
        status: Planned,
    }
}
