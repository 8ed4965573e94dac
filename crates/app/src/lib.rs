//! The use cases of menace: scans, runs of calls, autonomous improvement, self-tests, workflows, tracking.
//!
//! Nothing here prints, parses a command line or speaks HTTP. A use case takes a request and an [`AppContext`], reports
//! [`AppEvent`]s to its [`FrontEnd`], and returns typed results or an [`AppError`]. The command line, the server and the
//! Python package are front ends.
//!
//! ```no_run
//! use menace_app::AppContext;
//! use menace_app::measure::{self, MeasureRequest};
//! use menace_model::settings::resolve;
//!
//! # async fn example() -> Result<(), menace_app::AppError> {
//! let context = AppContext::silent(resolve(&[]).expect("the defaults are valid").settings);
//! let request = MeasureRequest { repository: Some("examples/shop".into()), ..MeasureRequest::default() };
//! for run in measure::run(&context, &request).await? {
//!     println!("{}: {:?}", run.id, run.cycle.map(|cycle| cycle.roi));
//! }
//! # Ok(())
//! # }
//! ```

pub mod calling;
pub mod containers;
mod context;
mod error;
mod events;
mod git_churn;
pub mod improve;
pub mod measure;
pub mod mock_rules;
pub mod module_map;
pub mod repository;
mod request_error;
pub mod self_test;
pub mod stubs;
pub mod synergy;
pub mod text;
pub mod tracking;
pub mod workflows;

pub use context::{AppContext, expand_home};
pub use error::AppError;
pub use events::{
    AppEvent, CallProgress, FrontEnd, ModelChoice, OrphanSelection, ScanProgress, SilentFrontEnd,
};
pub use request_error::RequestError;
