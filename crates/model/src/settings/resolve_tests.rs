//! Layers, mirrors, deprecated names, errors and secrets.

use super::*;

fn layer(source: SettingSource, values: &[(&str, &str)]) -> SettingsLayer {
    SettingsLayer::new(source, values.iter().copied())
}

fn row<'a>(resolved: &'a ResolvedSettings, env: &str) -> &'a SettingRow {
    resolved.rows.iter().find(|row| row.env == env).unwrap()
}

#[test]
fn the_stronger_source_wins_in_any_order_of_the_layers() {
    let weakest_first = [
        (SettingSource::Yaml, "4"),
        (SettingSource::DotEnv, "3"),
        (SettingSource::Environment, "2"),
        (SettingSource::Flag, "1"),
    ];
    let layers =
        weakest_first.map(|(source, depth)| layer(source, &[("SANDBOX_MAX_RECURSION_DEPTH", depth)]));
    for (strongest, (source, depth)) in weakest_first.into_iter().enumerate() {
        let resolved = resolve(&layers[..=strongest]).unwrap();
        let found = row(&resolved, "SANDBOX_MAX_RECURSION_DEPTH");
        assert_eq!((found.value.as_str(), found.source.as_str()), (depth, source.to_string().as_str()));
        assert_eq!(resolved.settings.orphans.max_recursion_depth, depth.parse().ok());
    }
    let resolved = resolve(&[]).unwrap();
    assert_eq!(resolved.settings.orphans.max_recursion_depth, None);
    assert_eq!(row(&resolved, "SANDBOX_MAX_RECURSION_DEPTH").source, "default");
}

#[test]
fn rows_are_in_table_order_with_the_declared_values() {
    let resolved = resolve(&[]).unwrap();
    let in_table: Vec<&str> = declarations().map(|(_, declaration)| declaration.env).collect();
    let in_rows: Vec<&str> = resolved.rows.iter().map(|row| row.env).collect();
    assert_eq!(in_rows, in_table);
    let depth = row(&resolved, "SANDBOX_MAX_RECURSION_DEPTH");
    assert_eq!((depth.flag, depth.key), (Some("--max-recursion-depth"), "max_recursion_depth"));
    assert_eq!((depth.group, depth.status), ("Orphan discovery", SettingStatus::Active));
}

#[test]
fn a_mirror_takes_the_mirrored_value_until_it_is_set() {
    let follows =
        resolve(&[layer(SettingSource::Environment, &[("SANDBOX_RECURSIVE_ORPHANS", "0")])]).unwrap();
    assert!(!follows.settings.self_test.self_test_recursive_orphans);
    let mirror = row(&follows, "SELF_TEST_RECURSIVE_ORPHANS");
    assert_eq!(mirror.source, "environment (SANDBOX_RECURSIVE_ORPHANS)");

    let own = [("SANDBOX_RECURSIVE_ORPHANS", "0"), ("SELF_TEST_RECURSIVE_ORPHANS", "1")];
    let overridden = resolve(&[layer(SettingSource::Environment, &own)]).unwrap();
    assert!(overridden.settings.self_test.self_test_recursive_orphans);
    assert!(!overridden.settings.orphans.recursive_orphans);

    let unset = resolve(&[]).unwrap();
    assert_eq!(row(&unset, "SELF_TEST_RECURSIVE_ORPHANS").source, "default");
}

#[test]
fn a_flag_reaches_mirrors_that_a_weaker_source_sets() {
    let layers = [
        layer(SettingSource::Flag, &[("SANDBOX_TEST_REDUNDANT", "0")]),
        layer(SettingSource::DotEnv, &[("SELF_TEST_INCLUDE_REDUNDANT", "1")]),
    ];
    assert!(!resolve(&layers).unwrap().settings.self_test.self_test_include_redundant);
}

#[test]
fn the_log_level_of_menace_overrides_the_general_one() {
    let general = [("LOG_LEVEL", "error")];
    let level = |layers: &[SettingsLayer]| resolve(layers).unwrap().settings.logging.log_level.word();
    assert_eq!(level(&[]), "info");
    assert_eq!(level(&[layer(SettingSource::Environment, &general)]), "error");
    let both = [("LOG_LEVEL", "error"), ("SANDBOX_LOG_LEVEL", "debug")];
    assert_eq!(level(&[layer(SettingSource::Environment, &both)]), "debug");
}

#[test]
fn a_deprecated_name_sets_its_replacement_and_warns() {
    let old = ("SANDBOX_AUTODISCOVER_MODULES", "1");
    let resolved = resolve(&[layer(SettingSource::Environment, &[old])]).unwrap();
    assert!(resolved.settings.module_map.auto_map);
    assert_eq!(row(&resolved, "SANDBOX_AUTO_MAP").source, "environment (SANDBOX_AUTODISCOVER_MODULES)");
    let warnings: Vec<String> = resolved.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["SANDBOX_AUTODISCOVER_MODULES is deprecated; use SANDBOX_AUTO_MAP instead"]);

    let new = ("SANDBOX_AUTO_MAP", "0");
    let both = resolve(&[layer(SettingSource::Environment, &[old, new])]).unwrap();
    assert!(!both.settings.module_map.auto_map);
    assert_eq!(both.warnings.len(), 1);

    let generated_file = layer(SettingSource::DotEnv, &[new]);
    let environment_wins = resolve(&[layer(SettingSource::Environment, &[old]), generated_file]).unwrap();
    assert!(environment_wins.settings.module_map.auto_map);

    assert_eq!(resolve(&[]).unwrap().warnings, []);
}

#[test]
fn an_error_names_the_variable_the_value_the_source_and_the_accepted_words() {
    let error = resolve(&[layer(SettingSource::DotEnv, &[("MICROPILOT_MODE", "sometimes")])]).unwrap_err();
    assert_eq!(error.to_string(), "invalid value \"sometimes\" for MICROPILOT_MODE from .env");
    assert_eq!(error.hint().unwrap(), "MICROPILOT_MODE takes one of auto, queue, off");
}

#[test]
fn an_error_through_a_deprecated_name_names_that_name() {
    let error = resolve(&[layer(SettingSource::Environment, &[("SANDBOX_AUTODISCOVER_MODULES", "maybe")])])
        .unwrap_err();
    assert_eq!(error.variable, "SANDBOX_AUTODISCOVER_MODULES");
}

#[test]
fn secrets_are_masked_everywhere() {
    let secrets = [
        ("OPENAI_API_KEY", "sk-hunter2"),
        ("VISUAL_AGENT_TOKEN", "hunter2"),
        ("DATABASE_URL", "postgresql://menace:hunter2@db/menace"),
        ("PATCH_SCORE_BACKEND_URL", "https://menace:hunter2@example.com"),
    ];
    let environment = layer(SettingSource::Environment, &secrets);
    assert!(!format!("{environment:?}").contains("hunter2"));
    let resolved = resolve(&[environment]).unwrap();
    for (env, _) in secrets {
        assert_eq!(row(&resolved, env).value, "********");
    }
    assert!(!format!("{resolved:?}").contains("hunter2"));
    let key = resolved.settings.language_model.openai_api_key.unwrap();
    assert_eq!(key.expose(), "sk-hunter2");

    let wrong = resolve(&[layer(SettingSource::Environment, &[("DATABASE_URL", "hunter2@db")])]).unwrap_err();
    assert!(!format!("{wrong} {wrong:?}").contains("hunter2"));
}

#[test]
fn an_unset_secret_shows_its_default() {
    let resolved = resolve(&[]).unwrap();
    assert_eq!(row(&resolved, "OPENAI_API_KEY").value, "");
    assert_eq!(row(&resolved, "DATABASE_URL").value, "sqlite:///menace.db");
}

#[test]
fn unknown_names_are_ignored() {
    let resolved =
        resolve(&[layer(SettingSource::Environment, &[("PATH", "/bin"), ("CARGO", "cargo")])]).unwrap();
    assert_eq!(resolved.settings, resolve(&[]).unwrap().settings);
}
