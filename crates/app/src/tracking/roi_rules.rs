//! ROI profile and impact severities, from their files.

use std::path::{Path, PathBuf};

use crate::{AppContext, AppError, RequestError};
use menace_tracker::roi::{ImpactSeverities, RoiProfile};
use serde::de::DeserializeOwned;

/// Rules for scoring ROI.
#[derive(Debug, Clone, Default)]
pub struct RoiScoringRules {
    /// Weights and vetoes of the ROI.
    pub profile: RoiProfile,
    /// Impact severity by module.
    pub severities: ImpactSeverities,
}

impl RoiScoringRules {
    /// Reads the rules of the settings. A missing file is an error, except for the default one.
    pub fn read(context: &AppContext, root: &Path) -> Result<Self, AppError> {
        let roi = &context.settings().roi;
        let profile = match &roi.roi_profile {
            Some(path) => read_yaml::<RoiProfile>(path)?,
            None => RoiProfile::default(),
        };
        let of_profile = roi.roi_profile.clone().unwrap_or_default();
        profile
            .check()
            .map_err(|error| RequestError::Rules { path: of_profile, problem: error.to_string() })?;
        let mut severities = ImpactSeverities::default();
        let path = &roi.impact_severity_config;
        let is_default = path == Path::new("config/impact_severity.yaml");
        let found = if is_default { root.join(path) } else { path.clone() };
        if !is_default || found.is_file() {
            severities.0.extend(read_yaml::<ImpactSeverities>(&found)?.0);
        }
        let is_out_of_range = |severity: &f64| !(0.0..=1.0).contains(severity);
        if let Some((name, severity)) = severities.0.iter().find(|(_, severity)| is_out_of_range(severity)) {
            let problem = format!("the severity of {name} is {severity}; it must be between 0 and 1");
            return Err(RequestError::Rules { path: found, problem }.into());
        }
        Ok(Self { profile, severities })
    }
}

fn read_yaml<T: DeserializeOwned>(path: &Path) -> Result<T, RequestError> {
    let wrong = |problem: String| RequestError::Rules { path: PathBuf::from(path), problem };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    serde_saphyr::from_str(&text).map_err(|error| wrong(error.to_string()))
}
