//! Settings of synergy: when it counts as converged, and how its weights are trained.

use std::time::Duration;

use crate::settings::Probability;

settings! {
    /// Synergy.
    pub struct SynergySettings;

    /// Synergy that counts as none; nothing means it follows the history
    synergy_threshold: Option<f64> = "" {
        env: "SYNERGY_THRESHOLD",
        flag: "--synergy-threshold",
        status: Active,
    }

    /// Recent samples that the adaptive synergy threshold looks at
    synergy_threshold_window: usize = "5" {
        env: "SYNERGY_THRESHOLD_WINDOW",
        flag: "--synergy-threshold-window",
        status: Active,
    }

    /// How much more newer samples weigh in the adaptive synergy threshold
    synergy_threshold_weight: f64 = "1.0" {
        env: "SYNERGY_THRESHOLD_WEIGHT",
        flag: "--synergy-threshold-weight",
        status: Active,
    }

    /// Cycles that synergy must stay converged; nothing means the length of the history, at least 3
    synergy_cycles: Option<u32> = "" {
        env: "SYNERGY_CYCLES",
        flag: "--synergy-cycles",
        status: Active,
    }

    /// Confidence that synergy has converged, from 0 to 1
    synergy_confidence: Probability = "0.95" {
        env: "SYNERGY_CONFIDENCE",
        status: Active,
    }

    /// Samples in the moving average and the stationarity test; nothing means as many as cycles
    synergy_ma_window: Option<usize> = "" {
        env: "SYNERGY_MA_WINDOW",
        status: Active,
    }

    /// Confidence of the stationarity test, from 0 to 1
    synergy_stationarity_confidence: Probability = "0.95" {
        env: "SYNERGY_STATIONARITY_CONFIDENCE",
        status: Active,
    }

    /// Confidence of the test for equal variances, from 0 to 1
    synergy_variance_confidence: Probability = "0.95" {
        env: "SYNERGY_VARIANCE_CONFIDENCE",
        status: Active,
    }

    /// How much synergy of ROI counts, from 0 to 10; nothing means what was learned
    synergy_weight_roi: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_ROI",
        status: Active,
    }

    /// How much synergy of efficiency counts, from 0 to 10; nothing means what was learned
    synergy_weight_efficiency: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_EFFICIENCY",
        status: Active,
    }

    /// How much synergy of resilience counts, from 0 to 10; nothing means what was learned
    synergy_weight_resilience: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_RESILIENCE",
        status: Active,
    }

    /// How much synergy of antifragility counts, from 0 to 10; nothing means what was learned
    synergy_weight_antifragility: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_ANTIFRAGILITY",
        status: Active,
    }

    /// How much synergy of reliability counts, from 0 to 10; nothing means what was learned
    synergy_weight_reliability: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_RELIABILITY",
        status: Active,
    }

    /// How much synergy of maintainability counts, from 0 to 10; nothing means what was learned
    synergy_weight_maintainability: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_MAINTAINABILITY",
        status: Active,
    }

    /// How much synergy of throughput counts, from 0 to 10; nothing means what was learned
    synergy_weight_throughput: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_THROUGHPUT",
        status: Active,
    }

    /// Train the synergy weights in the background
    auto_train_synergy: bool = "0" {
        env: "AUTO_TRAIN_SYNERGY",
        status: Active,
    }

    /// Time between two trainings of the synergy weights, in seconds
    auto_train_interval: Duration = "600" {
        env: "AUTO_TRAIN_INTERVAL",
        status: Active,
    }
}
