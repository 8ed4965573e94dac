//! Settings of synergy: its convergence test and the training of its weights.

use std::time::Duration;

use crate::settings::Probability;

settings! {
    /// Synergy.
    pub struct SynergySettings;

    /// Synergy below which it counts as zero; if unset, adapted to the history
    synergy_threshold: Option<f64> = "" {
        env: "SYNERGY_THRESHOLD",
        flag: "--synergy-threshold",
        status: Active,
    }

    /// Number of recent samples for the adaptive synergy threshold
    synergy_threshold_window: usize = "5" {
        env: "SYNERGY_THRESHOLD_WINDOW",
        flag: "--synergy-threshold-window",
        status: Active,
    }

    /// Weight of newer samples in the adaptive synergy threshold
    synergy_threshold_weight: f64 = "1.0" {
        env: "SYNERGY_THRESHOLD_WEIGHT",
        flag: "--synergy-threshold-weight",
        status: Active,
    }

    /// Cycles that synergy must stay converged; if unset, the length of the history, at least 3
    synergy_cycles: Option<u32> = "" {
        env: "SYNERGY_CYCLES",
        flag: "--synergy-cycles",
        status: Active,
    }

    /// Confidence of the convergence test of synergy, from 0 to 1
    synergy_confidence: Probability = "0.95" {
        env: "SYNERGY_CONFIDENCE",
        status: Active,
    }

    /// Samples of the moving average and the stationarity test; if unset, the number of cycles
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

    /// Weight of the synergy of ROI, from 0 to 10; if unset, the learned weight
    synergy_weight_roi: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_ROI",
        status: Active,
    }

    /// Weight of the synergy of efficiency, from 0 to 10; if unset, the learned weight
    synergy_weight_efficiency: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_EFFICIENCY",
        status: Active,
    }

    /// Weight of the synergy of resilience, from 0 to 10; if unset, the learned weight
    synergy_weight_resilience: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_RESILIENCE",
        status: Active,
    }

    /// Weight of the synergy of antifragility, from 0 to 10; if unset, the learned weight
    synergy_weight_antifragility: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_ANTIFRAGILITY",
        status: Active,
    }

    /// Weight of the synergy of reliability, from 0 to 10; if unset, the learned weight
    synergy_weight_reliability: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_RELIABILITY",
        status: Active,
    }

    /// Weight of the synergy of maintainability, from 0 to 10; if unset, the learned weight
    synergy_weight_maintainability: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_MAINTAINABILITY",
        status: Active,
    }

    /// Weight of the synergy of throughput, from 0 to 10; if unset, the learned weight
    synergy_weight_throughput: Option<f64> = "" {
        env: "SYNERGY_WEIGHT_THROUGHPUT",
        status: Active,
    }

    /// Train the synergy weights in the background
    auto_train_synergy: bool = "0" {
        env: "AUTO_TRAIN_SYNERGY",
        status: Active,
    }

    /// Interval between trainings of the synergy weights, in seconds
    auto_train_interval: Duration = "600" {
        env: "AUTO_TRAIN_INTERVAL",
        status: Active,
    }
}
