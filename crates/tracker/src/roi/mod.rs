//! ROI of a module, a section or a workflow, and the same adjusted for risk.

mod borderline;
mod profile;
mod rank;
mod raroi;

pub use borderline::{BorderlineCandidates, BorderlineRules, PilotCandidate, PilotStatus};
pub use profile::{RoiFactor, RoiLevel, RoiProfile, RoiProfileError, RoiVeto};
pub use rank::{ModuleRank, confidence, rank};
pub use raroi::{ImpactSeverities, ModuleRisks, RiskAdjustedRoi, RoiBottleneck};
