//! Metrics, ROI, forecasts and convergence. Pure arithmetic without IO; time and randomness are arguments.
//!
//! ```
//! use menace_tracker::{CallResourceUsage, ResourcePrices};
//!
//! let prices = ResourcePrices { value_per_call: 0.01, per_cpu_second: 0.001, per_gb_second: 0.0 };
//! let taken = CallResourceUsage { calls: 10, ended_well: 9, cpu_seconds: 1.0, gb_seconds: 0.0 };
//! assert!((prices.profitability(&taken).unwrap() - 0.89).abs() < 1e-9);
//! ```

pub mod convergence;
mod economics;
pub mod forecast;
pub mod foresight;
pub mod history;
pub mod measure;
pub mod metrics;
mod paired_comparison;
mod patch_score;
mod random_numbers;
pub mod roi;
pub mod statistics;
mod synergy;
pub mod truth;
pub mod weights;
pub mod workflows;

pub use economics::{CallResourceUsage, ResourcePrices};
pub use paired_comparison::{PairedComparison, compare_pairs, pairs_needed};
pub use patch_score::composite_score;
pub use synergy::{robustness_synergy, synergy};
