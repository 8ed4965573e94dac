//! Settings of ROI: when gains count as over, how risk is weighed, what happens to borderline cases.

use std::path::PathBuf;

use crate::settings::Probability;

choice! {
    /// What happens to borderline candidates.
    pub enum MicropilotMode {
        /// Queued, and tried at once.
        Auto = "auto",
        /// Queued until something processes the queue.
        Queue = "queue",
        /// Not queued.
        Off = "off",
    }
}

settings! {
    /// ROI and convergence.
    pub struct RoiSettings;

    /// What a call that ends well is worth, in the unit of the prices below
    value_per_call: f64 = "0.001" {
        env: "SANDBOX_VALUE_PER_CALL",
        status: Active,
    }

    /// What a second of a CPU core costs
    price_per_cpu_second: f64 = "0.0000133" {
        env: "SANDBOX_PRICE_PER_CPU_SECOND",
        status: Active,
    }

    /// What a second of a gigabyte of memory costs
    price_per_gb_second: f64 = "0.0000018" {
        env: "SANDBOX_PRICE_PER_GB_SECOND",
        status: Active,
    }

    /// YAML file with the weights and vetoes of ROI; nothing means those of menace
    roi_profile: Option<PathBuf> = "" {
        env: "SANDBOX_ROI_PROFILE",
        status: Active,
    }

    /// ROI change under which a run may stop early
    roi_tolerance: f64 = "0.01" {
        env: "SANDBOX_ROI_TOLERANCE",
        status: Active,
    }

    /// ROI change that counts as diminishing; nothing means it follows the history
    roi_threshold: Option<f64> = "" {
        env: "ROI_THRESHOLD",
        status: Active,
    }

    /// Confidence of the test that flags a module as finished, from 0 to 1
    roi_confidence: Probability = "0.95" {
        env: "ROI_CONFIDENCE",
        status: Active,
    }

    /// Consecutive cycles under the ROI threshold that end a run
    roi_cycles: u32 = "3" {
        env: "ROI_CYCLES",
        flag: "--roi-cycles",
        status: Active,
    }

    /// YAML file with the severity of failures by kind of workflow
    impact_severity_config: PathBuf = "config/impact_severity.yaml" {
        env: "IMPACT_SEVERITY_CONFIG",
        status: Active,
    }

    /// Risk-adjusted ROI under which a candidate is borderline
    borderline_raroi_threshold: f64 = "0.1" {
        env: "BORDERLINE_RAROI_THRESHOLD",
        status: Active,
    }

    /// Confidence under which a candidate is borderline, from 0 to 1
    borderline_confidence_threshold: Probability = "0.5" {
        env: "BORDERLINE_CONFIDENCE_THRESHOLD",
        status: Active,
    }

    /// What happens to borderline candidates
    micropilot_mode: MicropilotMode = "queue" {
        env: "MICROPILOT_MODE",
        status: Active,
    }

    /// Database with resource histories for forecasts
    resource_db: Option<PathBuf> = "" {
        env: "SANDBOX_RESOURCE_DB",
        status: Active,
    }
}
