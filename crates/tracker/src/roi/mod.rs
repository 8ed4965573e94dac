//! ROI of a module, a section or a workflow, and the same adjusted for risk.

mod borderline;
mod profile;
mod rank;
mod raroi;

pub use borderline::{Borderline, BorderlineRules, Pilot, Placed};
pub use profile::{Factor, Level, Profile, ProfileError, Veto};
pub use rank::{Ranked, confidence, rank};
pub use raroi::{Bottleneck, Raroi, Risks, Severities};
