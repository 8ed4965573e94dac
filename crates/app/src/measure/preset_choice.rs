//! The presets of a run, from its request and the settings.

use std::path::PathBuf;

use crate::error::FileContext;
use crate::{AppContext, AppError, AppEvent};
use menace_model::presets::{Preset, PresetOrigin, PresetSelection, SelectedPreset, choose, keywords, read};
use menace_model::settings::StubStrategy;
use menace_runner::{CallsPerCell, RandomStream, StressProfile};

/// Default number of generated presets.
const DEFAULT_COUNT: usize = 3;

/// Presets that a run requests.
pub(super) struct PresetRequest<'a> {
    pub(super) files: &'a [PathBuf],
    pub(super) count: Option<usize>,
    pub(super) seed: u64,
    /// Number of the run; files take turns.
    pub(super) round: usize,
    /// Whether no preset is added to the given ones.
    pub(super) only_these: bool,
}

/// The presets of a run over these modules.
pub(super) fn chosen(
    context: &AppContext,
    request: &PresetRequest<'_>,
    modules: &[String],
) -> Result<Vec<SelectedPreset>, AppError> {
    let settings = &context.settings().presets;
    let mut given = given(context, request)?;
    if let Some(count) = request.count.filter(|_| !given.is_empty()) {
        given.truncate(count);
    }
    let choice = PresetSelection {
        given,
        generate: settings.generate_presets,
        mode: settings.preset_mode,
        count: request.count.unwrap_or(DEFAULT_COUNT),
        keywords: keywords(context.keyword_profiles())?,
        only_these: request.only_these,
    };
    let mut random = RandomStream::new(request.seed, &["presets"]);
    let mut chosen = choose(&choice, modules, |end| random.below(end));
    if let Some(strategy) = forced(context) {
        for one in chosen.iter_mut().filter(|one| !one.preset.is_baseline()) {
            one.preset = std::mem::take(&mut one.preset).or_strategy(strategy);
        }
    }
    report_choice(context, &chosen);
    Ok(chosen)
}

/// Input strategy of all calls except the baseline, from `SANDBOX_STUB_STRATEGY=hostile` or `misuse`.
fn forced(context: &AppContext) -> Option<&'static str> {
    match context.settings().stubs.stub_strategy? {
        StubStrategy::Hostile => Some("hostile"),
        StubStrategy::Misuse => Some("misuse"),
        StubStrategy::History
        | StubStrategy::Templates
        | StubStrategy::Signature
        | StubStrategy::Smart
        | StubStrategy::Synthetic
        | StubStrategy::Random => None,
    }
}

fn given(context: &AppContext, request: &PresetRequest<'_>) -> Result<Vec<Preset>, AppError> {
    if !request.files.is_empty() {
        let path = &request.files[request.round % request.files.len()];
        let text = std::fs::read_to_string(path).file("read", path)?;
        return read(&text)
            .map_err(|source| AppError::Presets { origin: path.display().to_string(), source });
    }
    match &context.settings().presets.env_presets {
        Some(text) => read(text.as_str())
            .map_err(|source| AppError::Presets { origin: "SANDBOX_ENV_PRESETS".to_owned(), source }),
        None => Ok(Vec::new()),
    }
}

/// Reports the origins of presets, and keys of given presets that have no effect.
fn report_choice(context: &AppContext, chosen: &[SelectedPreset]) {
    let mut origins: Vec<(PresetOrigin, usize)> = Vec::new();
    for one in chosen {
        match origins.iter_mut().find(|(origin, _)| *origin == one.origin) {
            Some((_, count)) => *count += 1,
            None => origins.push((one.origin, 1)),
        }
    }
    context.emit(AppEvent::PresetsChosen { origins });
    for one in chosen.iter().filter(|one| one.origin == PresetOrigin::Given) {
        let without = StressProfile::of(&one.preset, CallsPerCell::default()).without_effect;
        if !without.is_empty() {
            tracing::warn!("preset {}: no effect: {}", one.preset.name(), without.join(", "));
        }
    }
}
