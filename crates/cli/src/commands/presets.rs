//! `menace presets`: generates and shows presets.

use std::path::Path;

use anyhow::Context;
use menace_model::presets::{
    CanonicalProfile, Preset, PresetError, ProfileSeverity, canonical, generate, read,
};
use menace_runner::RandomStream;
use serde_json::Value;

use crate::arguments::{PresetsCommand, PresetsGenerateArguments};
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, count, note, print, print_json};

pub(super) fn run(command: &PresetsCommand) -> anyhow::Result<MenaceExit> {
    match command {
        PresetsCommand::Generate(arguments) => make(arguments),
        PresetsCommand::List { output } => list(output.json),
        PresetsCommand::Show { name, output } => show(name, output.json),
    }
}

fn make(arguments: &PresetsGenerateArguments) -> anyhow::Result<MenaceExit> {
    let presets = if arguments.profiles.is_empty() {
        let mut random = RandomStream::new(arguments.seed, &["presets"]);
        generate(arguments.count, |end| random.below(end))
    } else {
        of_profiles(&arguments.profiles, arguments.count)?
    };
    match &arguments.out {
        None => print_json(&presets)?,
        Some(path) => {
            write(path, &presets)?;
            note(&format!("wrote {} to {}", count(presets.len(), "preset"), path.display()));
        }
    }
    Ok(MenaceExit::Done)
}

/// `count` presets of each profile, alternating between low and high.
fn of_profiles(names: &[String], count: usize) -> Result<Vec<Preset>, PresetError> {
    let mut presets = Vec::new();
    for name in names {
        let profile = profile(name)?;
        presets.extend(
            (0..count)
                .map(|index| canonical(profile, ProfileSeverity::ALL[index % ProfileSeverity::ALL.len()])),
        );
    }
    Ok(presets)
}

fn profile(name: &str) -> Result<CanonicalProfile, PresetError> {
    CanonicalProfile::ALL
        .into_iter()
        .find(|profile| profile.name() == name)
        .ok_or_else(|| PresetError::unknown_profile(name))
}

fn write(path: &Path, presets: &[Preset]) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(presets).context("failed to write presets as JSON")?;
    menace_analysis::write_atomically(path, (text + "\n").as_bytes())
        .with_context(|| format!("failed to write {}", path.display()))
}

fn list(json: bool) -> anyhow::Result<MenaceExit> {
    let all: Vec<Preset> = CanonicalProfile::ALL
        .into_iter()
        .flat_map(|profile| ProfileSeverity::ALL.map(|severity| canonical(profile, severity)))
        .collect();
    if json {
        print_json(&all)?;
        return Ok(MenaceExit::Done);
    }
    let mut table = TextTable::new(&[
        ("profile", ColumnAlignment::Left),
        ("severity", ColumnAlignment::Left),
        ("values", ColumnAlignment::Left),
    ]);
    for preset in &all {
        let severity = preset.values().get("SEVERITY").and_then(Value::as_str).unwrap_or_default();
        table.row([preset.name().to_owned().into(), severity.to_owned().into(), values(preset).into()]);
    }
    print(&table.text())?;
    Ok(MenaceExit::Done)
}

fn values(preset: &Preset) -> String {
    let own = preset
        .values()
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "SCENARIO_NAME" | "FAILURE_MODES" | "SEVERITY"));
    own.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// A profile by its name, or the presets of a file.
fn show(name: &str, json: bool) -> anyhow::Result<MenaceExit> {
    let presets = if Path::new(name).is_file() {
        let text = std::fs::read_to_string(name).with_context(|| format!("failed to read {name}"))?;
        read(&text)?
    } else {
        let profile = profile(name)?;
        ProfileSeverity::ALL.map(|severity| canonical(profile, severity)).to_vec()
    };
    if json {
        print_json(&presets)?;
        return Ok(MenaceExit::Done);
    }
    let mut table = TextTable::new(&[
        ("preset", ColumnAlignment::Left),
        ("key", ColumnAlignment::Left),
        ("value", ColumnAlignment::Left),
    ]);
    for preset in &presets {
        for (key, value) in preset.values() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            table.row([preset.name().to_owned().into(), key.clone().into(), value.into()]);
        }
    }
    print(&table.text())?;
    Ok(MenaceExit::Done)
}
