//! Settings of the inputs that sections are called with.

use std::path::PathBuf;

use crate::settings::JsonText;

choice! {
    /// Where inputs come from.
    pub enum StubStrategy {
        /// Inputs of earlier runs.
        History = "history",
        /// Template files.
        Templates = "templates" | "template",
        /// Defaults and annotations of the section.
        Signature = "signature",
        /// Plausible values by parameter name and type.
        Smart = "smart",
        /// Values written by a language model.
        Synthetic = "synthetic",
        /// Adversarial values.
        Hostile = "hostile",
        /// Mistakes: missing fields and wrong types.
        Misuse = "misuse",
        /// Random values of the right type.
        Random = "random",
    }
}

settings! {
    /// Inputs.
    pub struct StubSettings;

    /// Inputs to call sections with, as a JSON list of objects
    input_stubs: Option<JsonText> = "" {
        env: "SANDBOX_INPUT_STUBS",
        status: Active,
    }

    /// Where inputs come from; nothing means the first source that has any
    stub_strategy: Option<StubStrategy> = "" {
        env: "SANDBOX_STUB_STRATEGY",
        status: Active,
    }

    /// Plugin files or directories that add or replace inputs
    stub_plugins: Vec<PathBuf> = "" {
        env: "SANDBOX_STUB_PLUGINS",
        status: Active,
    }
}
