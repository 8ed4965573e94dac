//! Settings of ROI: prices, convergence, risk and borderline candidates.

use std::path::PathBuf;

use crate::settings::Probability;

choice! {
    /// Handling of borderline candidates.
    pub enum MicropilotMode {
        /// Queued and tried immediately.
        Auto = "auto",
        /// Queued until the queue is processed.
        Queue = "queue",
        /// Not queued.
        Off = "off",
    }
}

settings! {
    /// ROI and convergence.
    pub struct RoiSettings;

    /// Value of a successful call, in the currency of the prices below
    value_per_call: f64 = "0.001" {
        env: "SANDBOX_VALUE_PER_CALL",
        status: Active,
    }

    /// Price of one CPU core for one second
    price_per_cpu_second: f64 = "0.0000133" {
        env: "SANDBOX_PRICE_PER_CPU_SECOND",
        status: Active,
    }

    /// Price of one gigabyte of memory for one second
    price_per_gb_second: f64 = "0.0000018" {
        env: "SANDBOX_PRICE_PER_GB_SECOND",
        status: Active,
    }

    /// YAML file with the weights and vetoes of ROI; if unset, the built-in profile
    roi_profile: Option<PathBuf> = "" {
        env: "SANDBOX_ROI_PROFILE",
        status: Active,
    }

    /// ROI change below which a run may stop early
    roi_tolerance: f64 = "0.01" {
        env: "SANDBOX_ROI_TOLERANCE",
        status: Active,
    }

    /// ROI change that counts as diminishing; if unset, adapted to the history
    roi_threshold: Option<f64> = "" {
        env: "ROI_THRESHOLD",
        status: Active,
    }

    /// Confidence of the test that marks a module as complete, from 0 to 1
    roi_confidence: Probability = "0.95" {
        env: "ROI_CONFIDENCE",
        status: Active,
    }

    /// Consecutive cycles below the ROI threshold that end a run
    roi_cycles: u32 = "3" {
        env: "ROI_CYCLES",
        flag: "--roi-cycles",
        status: Active,
    }

    /// YAML file with the severity of failures per kind of workflow
    impact_severity_config: PathBuf = "config/impact_severity.yaml" {
        env: "IMPACT_SEVERITY_CONFIG",
        status: Active,
    }

    /// Risk-adjusted ROI below which a candidate is borderline
    borderline_raroi_threshold: f64 = "0.1" {
        env: "BORDERLINE_RAROI_THRESHOLD",
        status: Active,
    }

    /// Confidence below which a candidate is borderline, from 0 to 1
    borderline_confidence_threshold: Probability = "0.5" {
        env: "BORDERLINE_CONFIDENCE_THRESHOLD",
        status: Active,
    }

    /// Handling of borderline candidates
    micropilot_mode: MicropilotMode = "queue" {
        env: "MICROPILOT_MODE",
        status: Active,
    }

    /// Database of resource histories for forecasts
    resource_db: Option<PathBuf> = "" {
        env: "SANDBOX_RESOURCE_DB",
        status: Active,
    }
}
