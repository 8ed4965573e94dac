//! Which presets a run has, from its arguments and the settings.

use std::path::PathBuf;

use anyhow::Context;
use menace_model::presets::{Preset, PresetOrigin, PresetSelection, SelectedPreset, choose, keywords, read};
use menace_model::settings::StubStrategy;
use menace_runner::{CallsPerCell, RandomStream, StressProfile};

use crate::configuration::Configuration;
use crate::terminal::{count, note};

/// How many presets are made by chance when nobody says how many.
const USUAL_COUNT: usize = 3;

/// What was asked for.
pub(super) struct PresetSelectionRequest<'a> {
    pub(super) files: &'a [PathBuf],
    pub(super) count: Option<usize>,
    pub(super) seed: u64,
    /// Which of the runs that follow each other; files take turns.
    pub(super) round: usize,
    /// Whether nothing is added to them.
    pub(super) only_these: bool,
}

/// The presets of a run over these modules.
pub(super) fn chosen(
    configuration: &Configuration,
    asked: &PresetSelectionRequest<'_>,
    modules: &[String],
) -> anyhow::Result<Vec<SelectedPreset>> {
    let settings = &configuration.settings().presets;
    let mut given = given(configuration, asked)?;
    if let Some(count) = asked.count.filter(|_| !given.is_empty()) {
        given.truncate(count);
    }
    let choice = PresetSelection {
        given,
        generate: settings.generate_presets,
        mode: settings.preset_mode,
        count: asked.count.unwrap_or(USUAL_COUNT),
        keywords: keywords(configuration.keyword_profiles())?,
        only_these: asked.only_these,
    };
    let mut chance = RandomStream::new(asked.seed, &["presets"]);
    let mut chosen = choose(&choice, modules, |end| chance.below(end));
    if let Some(strategy) = forced(configuration) {
        for one in chosen.iter_mut().filter(|one| !one.preset.is_baseline()) {
            one.preset = std::mem::take(&mut one.preset).or_strategy(strategy);
        }
    }
    say(&chosen);
    Ok(chosen)
}

/// `SANDBOX_STUB_STRATEGY=hostile` or `misuse`: all calls but those that are compared with have such arguments.
fn forced(configuration: &Configuration) -> Option<&'static str> {
    match configuration.settings().stubs.stub_strategy? {
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

fn given(configuration: &Configuration, asked: &PresetSelectionRequest<'_>) -> anyhow::Result<Vec<Preset>> {
    if !asked.files.is_empty() {
        let path = &asked.files[asked.round % asked.files.len()];
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("failed to read presets from {}", path.display()))?;
        return read(&text).with_context(|| format!("{} is not a file of presets", path.display()));
    }
    match &configuration.settings().presets.env_presets {
        Some(text) => read(text.as_str()).context("SANDBOX_ENV_PRESETS holds no presets"),
        None => Ok(Vec::new()),
    }
}

/// Says where presets come from.
fn say(chosen: &[SelectedPreset]) {
    let words = [
        (PresetOrigin::Given, "given"),
        (PresetOrigin::Generated, "made by chance"),
        (PresetOrigin::Canonical, "canonical"),
        (PresetOrigin::Coverage, "added so that everything is met"),
        (PresetOrigin::Keyword, "added for words in paths"),
    ];
    let parts: Vec<String> = words
        .iter()
        .filter_map(|(origin, word)| {
            let count = chosen.iter().filter(|one| one.origin == *origin).count();
            (count > 0).then(|| format!("{count} {word}"))
        })
        .collect();
    note(&format!("under {}: {}", count(chosen.len(), "preset"), parts.join(", ")));
    for one in chosen.iter().filter(|one| one.origin == PresetOrigin::Given) {
        let without = StressProfile::of(&one.preset, CallsPerCell::default()).without_effect;
        if !without.is_empty() {
            tracing::warn!("preset {}: {} have no effect yet", one.preset.name(), without.join(", "));
        }
    }
}
