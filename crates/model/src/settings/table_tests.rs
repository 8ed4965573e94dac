//! Invariants of the settings table as a whole.

use std::collections::BTreeSet;

use super::*;

fn find(env: &str) -> Option<&'static SettingDeclaration> {
    declarations().map(|(_, row)| row).find(|row| row.env == env)
}

/// Names that occur more than once.
fn repeated(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|name| !seen.insert(name.clone())).collect()
}

#[test]
fn every_default_parses() {
    for (_, row) in declarations() {
        assert!((row.check)(row.default), "{}={:?}, but takes {}", row.env, row.default, (row.accepted)());
    }
}

#[test]
fn names_are_unique() {
    let nothing: Vec<String> = vec![];
    assert_eq!(repeated(declarations().map(|(_, row)| row.env.to_owned())), nothing);
    assert_eq!(repeated(declarations().map(|(_, row)| row.key.to_owned())), nothing);
    assert_eq!(repeated(declarations().flat_map(|(_, row)| row.flag_spellings())), nothing);
    assert_eq!(repeated(groups().map(|(heading, _)| heading.to_owned())), nothing);
}

#[test]
fn flags_are_long_and_lowercase() {
    for flag in declarations().flat_map(|(_, row)| row.flag_spellings()) {
        let name = flag.strip_prefix("--").unwrap_or_default();
        let is_plain = |character: char| character.is_ascii_lowercase() || character == '-';
        assert!(!name.is_empty() && name.chars().all(is_plain), "{flag}");
    }
}

#[test]
fn switches_have_a_negative_form() {
    let spellings = find("SANDBOX_RECURSIVE_ORPHANS").unwrap().flag_spellings();
    let expected =
        ["--recursive-orphans", "--no-recursive-orphans", "--recursive-include", "--no-recursive-include"];
    assert_eq!(spellings, expected);
    assert_eq!(find("SANDBOX_MAX_RECURSION_DEPTH").unwrap().flag_spellings(), ["--max-recursion-depth"]);
}

#[test]
fn a_mirror_has_the_type_and_default_of_the_mirrored_setting() {
    let mirrors: Vec<_> = declarations().filter_map(|(_, row)| Some((row, row.mirrors?))).collect();
    assert!(mirrors.len() > 5);
    for (row, followed) in mirrors {
        let target =
            find(followed).unwrap_or_else(|| panic!("{} mirrors {followed}, which does not exist", row.env));
        assert!(["", row.default].contains(&target.default), "{}", row.env);
        assert!((target.accepted)().starts_with(&(row.accepted)()), "{}", row.env);
        assert_eq!(row.secret, target.secret, "{}", row.env);
        assert_eq!(target.mirrors, None, "{} mirrors a mirror", row.env);
    }
}

#[test]
fn exactly_the_deprecated_rows_name_a_replacement() {
    for (_, row) in declarations() {
        assert_eq!(row.status == SettingStatus::Deprecated, row.replaced_by.is_some(), "{}", row.env);
        if let Some(replacement) = row.replaced_by.and_then(find) {
            assert_ne!(replacement.status, SettingStatus::Deprecated, "{}", row.env);
        }
        assert!(row.replaced_by.is_none_or(|name| find(name).is_some()), "{}", row.env);
    }
}

#[test]
fn help_is_one_short_line() {
    for (heading, row) in declarations() {
        let help = row.help();
        assert!(!help.is_empty() && help.len() <= 100 && !help.contains('\n'), "{}: {help}", row.env);
        assert!(!help.ends_with('.'), "{}: {help}", row.env);
        assert!(!heading.is_empty() && !heading.ends_with('.'), "{heading}");
    }
}

#[test]
fn tokens_keys_and_urls_are_secrets() {
    for (_, row) in declarations() {
        let is_key = row.env.contains("TOKEN") || row.env.ends_with("API_KEY") || row.env.ends_with("_URL");
        assert_eq!(row.secret, is_key, "{}", row.env);
    }
}

#[test]
fn every_variable_of_the_seeds_is_declared() {
    let missing: Vec<_> = SEED_VARIABLES.iter().filter(|name| find(name).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Catches a misspelt variable, which would otherwise count as a new one.
#[test]
fn every_declared_variable_is_known() {
    let known: BTreeSet<&str> = SEED_VARIABLES.iter().chain(DESIGN_VARIABLES).copied().collect();
    let unknown: Vec<_> = declarations().map(|(_, row)| row.env).filter(|env| !known.contains(env)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn values_from_the_seeds_are_accepted() {
    for (env, value) in SEED_EXAMPLES {
        let row = find(env).unwrap_or_else(|| panic!("{env} does not exist"));
        assert!((row.check)(value), "{env}={value:?}, but takes {}", (row.accepted)());
    }
}

const SEED_EXAMPLES: &[(&str, &str)] = &[
    ("ASYNC_TASK_BURST", "128"),
    ("AUTO_DASHBOARD_PORT", "8001"),
    ("AUTO_TRAIN_INTERVAL", "600"),
    ("BORDERLINE_RAROI_THRESHOLD", "0.1"),
    ("CPU_LIMIT", "1.0"),
    ("DATABASE_URL", "sqlite:///menace.db"),
    ("DOCKER_CERT_PATH", "/certs/client"),
    ("DOCKER_HOST", "tcp://docker-dind:2376"),
    ("DOCKER_HOST", "unix:///var/run/docker.sock"),
    ("DOCKER_TLS_CERTDIR", "/certs"),
    ("DOCKER_TLS_VERIFY", "1"),
    ("ENTROPY_THRESHOLD", "0.02"),
    ("FAILURE_MODES", "concurrency_spike"),
    ("FAILURE_MODES", "hostile_input,user_misuse"),
    ("GPT_MEMORY_COMPACT_INTERVAL", "1800"),
    ("GPT_MEMORY_RETENTION", "insight=40,error_fix=20"),
    ("MEMORY_LIMIT", "1g"),
    ("MICROPILOT_MODE", "auto"),
    ("MICROPILOT_MODE", "off"),
    ("MICROPILOT_MODE", "queue"),
    ("OPENAI_API_KEY", "sk-xxxxx"),
    ("OS_TYPE", "macos"),
    ("OS_TYPE", "windows"),
    ("PATCH_SCORE_BACKEND_URL", "http://example.com/api/scores"),
    ("PATCH_SCORE_BACKEND_URL", "s3://bucket/prefix"),
    ("RUN_CYCLES", "0"),
    ("SANDBOX_CENTRAL_LOGGING", "0"),
    ("SANDBOX_CONTAINER_DISK_LIMIT", "0"),
    ("SANDBOX_DATA_DIR", "~/menace_data"),
    ("SANDBOX_ENV_PRESETS", r#"[{"SCENARIO_NAME": "hostile_input", "CPU_LIMIT": "1"}]"#),
    ("SANDBOX_METRICS_PLUGIN_DIR", "/path/to/plugins"),
    ("SANDBOX_OVERLAY_MAX_AGE", "7d"),
    ("SANDBOX_PRESET_MODE", "canonical"),
    ("SANDBOX_ROI_TOLERANCE", "0.01"),
    ("SANDBOX_STUB_STRATEGY", "hostile"),
    ("SANDBOX_STUB_STRATEGY", "misuse"),
    ("SELF_TEST_METRICS_PORT", "8004"),
    ("SELF_TEST_STATE", "sandbox_data/self_test_state.json"),
    ("SYNERGY_STATIONARITY_CONFIDENCE", "0.99"),
    ("SYNERGY_VARIANCE_CONFIDENCE", "0.9"),
    ("THREAD_BURST", "32"),
    ("VA_PROMPT_PREFIX", "[internal]"),
    ("VA_PROMPT_TEMPLATE", "va.tmpl"),
    ("VM_SETTINGS", r#"{"windows_image": "/var/lib/vms/windows.qcow2", "memory": "2G", "timeout": 600}"#),
];

/// Variables that only the design documents name.
const DESIGN_VARIABLES: &[&str] = &[
    "ALERT_COMMAND",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "ALERT_WEBHOOK_URL",
    "MENACE_SANDBOX_IMAGE",
    "OPENAI_BASE_URL",
    "SANDBOX_EMBEDDING_MODEL",
    "SANDBOX_MODEL",
    "SANDBOX_MODEL_ANSWER_LENGTH",
    "SANDBOX_MODEL_PRICES",
    "SANDBOX_MODEL_RECORD",
    "SANDBOX_MODEL_REPLAY",
    "SANDBOX_MODEL_REQUESTS_PER_MINUTE",
    "SANDBOX_MODEL_TIMEOUT",
    "SANDBOX_BACKEND",
    "SANDBOX_POOL_SIZE",
    "SANDBOX_PROPOSERS",
    "SANDBOX_VALUE_PER_CALL",
    "SANDBOX_PRICE_PER_CPU_SECOND",
    "SANDBOX_PRICE_PER_GB_SECOND",
    "SANDBOX_EXCLUDE_DIRS",
    "SANDBOX_ROI_PROFILE",
    "SANDBOX_WATTS_PER_CORE",
    "SYNERGY_WEIGHT_ROI",
    "SYNERGY_WEIGHT_EFFICIENCY",
    "SYNERGY_WEIGHT_RESILIENCE",
    "SYNERGY_WEIGHT_ANTIFRAGILITY",
    "SYNERGY_WEIGHT_RELIABILITY",
    "SYNERGY_WEIGHT_MAINTAINABILITY",
    "SYNERGY_WEIGHT_THROUGHPUT",
    "SCHEMA_CHECKS",
    "SCHEMA_MISMATCHES",
    "UPSTREAM_FAILURES",
    "UPSTREAM_REQUESTS",
];

/// Every variable that a seed document names.
const SEED_VARIABLES: &[&str] = &[
    "ALIGNMENT_BASELINE_METRICS_PATH",
    "ALIGNMENT_FAILURE_THRESHOLD",
    "ALIGNMENT_WARNING_THRESHOLD",
    "ASYNC_TASK_BURST",
    "AUDIT_LOG_PATH",
    "AUTO_DASHBOARD_PORT",
    "AUTO_SANDBOX",
    "AUTO_TRAIN_INTERVAL",
    "AUTO_TRAIN_SYNERGY",
    "BANDWIDTH_LIMIT",
    "BORDERLINE_CONFIDENCE_THRESHOLD",
    "BORDERLINE_RAROI_THRESHOLD",
    "BOT_DB_PATH",
    "BOT_PERFORMANCE_DB",
    "CPU_LIMIT",
    "DATABASE_URL",
    "DISK_LIMIT",
    "DOCKER_CERT_PATH",
    "DOCKER_HOST",
    "DOCKER_TLS_CERTDIR",
    "DOCKER_TLS_VERIFY",
    "ENABLE_ALIGNMENT_FLAGGER",
    "ENTROPY_PLATEAU_CONSECUTIVE",
    "ENTROPY_PLATEAU_THRESHOLD",
    "ENTROPY_THRESHOLD",
    "EXPORT_SYNERGY_METRICS",
    "FAILURE_MODES",
    "GPT_MEMORY_COMPACT_INTERVAL",
    "GPT_MEMORY_RETENTION",
    "GPT_SECTION_PROMPT_MAX_LENGTH",
    "GPT_SECTION_TEMPLATE",
    "IMPACT_SEVERITY_CONFIG",
    "KAFKA_HOSTS",
    "LOG_LEVEL",
    "MAINTENANCE_DB",
    "MAX_BANDWIDTH",
    "MEMORY_LIMIT",
    "MENACE_AGENT_PORT",
    "MENACE_LIGHT_IMPORTS",
    "METRICS_PORT",
    "MICROPILOT_MODE",
    "MIN_BANDWIDTH",
    "MIN_INTEGRATION_ROI",
    "NETWORK_JITTER_MS",
    "NETWORK_LATENCY_MS",
    "OPENAI_API_KEY",
    "OS_TYPE",
    "PACKET_DUPLICATION",
    "PACKET_LOSS",
    "PATCH_SCORE_BACKEND_URL",
    "PRESET_DEBUG",
    "ROI_CONFIDENCE",
    "ROI_CYCLES",
    "ROI_THRESHOLD",
    "RUN_CYCLES",
    "SANDBOX_ACTIVE_CONTAINERS",
    "SANDBOX_ACTIVE_OVERLAYS",
    "SANDBOX_ADAPTIVE_AGENT_PATH",
    "SANDBOX_ADAPTIVE_AGENT_STRATEGY",
    "SANDBOX_AUTODISCOVER_MODULES",
    "SANDBOX_AUTO_INCLUDE_ISOLATED",
    "SANDBOX_AUTO_MAP",
    "SANDBOX_BRAINSTORM_INTERVAL",
    "SANDBOX_BRAINSTORM_RETRIES",
    "SANDBOX_CENTRAL_LOGGING",
    "SANDBOX_CLEANUP_ALERT_THRESHOLD",
    "SANDBOX_CLEAN_ORPHANS",
    "SANDBOX_CONTAINER_DISK_LIMIT",
    "SANDBOX_CONTAINER_IDLE_TIMEOUT",
    "SANDBOX_CONTAINER_MAX_LIFETIME",
    "SANDBOX_CONTAINER_USER",
    "SANDBOX_CYCLES",
    "SANDBOX_DATA_DIR",
    "SANDBOX_DEBUG",
    "SANDBOX_DISABLE_ORPHANS",
    "SANDBOX_DISABLE_ORPHAN_SCAN",
    "SANDBOX_DISCOVER_ISOLATED",
    "SANDBOX_DOCKER",
    "SANDBOX_ENV_PRESETS",
    "SANDBOX_FAILED_OVERLAYS",
    "SANDBOX_FAIL_ON_MISSING_SCENARIOS",
    "SANDBOX_GENERATE_PRESETS",
    "SANDBOX_INPUT_STUBS",
    "SANDBOX_JSON_LOGS",
    "SANDBOX_LOG_LEVEL",
    "SANDBOX_MAX_CONTAINER_COUNT",
    "SANDBOX_MAX_OVERLAY_COUNT",
    "SANDBOX_MAX_RECURSION_DEPTH",
    "SANDBOX_METRICS_FILE",
    "SANDBOX_METRICS_PLUGIN_DIR",
    "SANDBOX_OVERLAY_MAX_AGE",
    "SANDBOX_PATCH_RETRIES",
    "SANDBOX_POOL_CLEANUP_INTERVAL",
    "SANDBOX_POOL_FAIL_THRESHOLD",
    "SANDBOX_POOL_LABEL",
    "SANDBOX_POOL_LOCK",
    "SANDBOX_PRESET_MODE",
    "SANDBOX_PRESET_RL_PATH",
    "SANDBOX_PRESET_RL_STRATEGY",
    "SANDBOX_RECURSIVE_ISOLATED",
    "SANDBOX_RECURSIVE_ORPHANS",
    "SANDBOX_REFRESH_MODULE_MAP",
    "SANDBOX_REPO_PATH",
    "SANDBOX_RESOURCE_DB",
    "SANDBOX_ROI_TOLERANCE",
    "SANDBOX_SETTINGS_YAML",
    "SANDBOX_STUB_PLUGINS",
    "SANDBOX_STUB_STRATEGY",
    "SANDBOX_TEST_REDUNDANT",
    "SANDBOX_VERBOSE",
    "SANDBOX_WORKER_CHECK_INTERVAL",
    "SCENARIO_NAME",
    "SECURITY_LEVEL",
    "SELF_TEST_AUTO_INCLUDE_ISOLATED",
    "SELF_TEST_DISABLE_AUTO_INTEGRATION",
    "SELF_TEST_DISABLE_ORPHANS",
    "SELF_TEST_DISCOVER_ISOLATED",
    "SELF_TEST_DISCOVER_ORPHANS",
    "SELF_TEST_INCLUDE_ORPHANS",
    "SELF_TEST_INCLUDE_REDUNDANT",
    "SELF_TEST_INTERVAL",
    "SELF_TEST_METRICS_PORT",
    "SELF_TEST_RECURSIVE_ISOLATED",
    "SELF_TEST_RECURSIVE_ORPHANS",
    "SELF_TEST_STATE",
    "SYNERGY_CONFIDENCE",
    "SYNERGY_CYCLES",
    "SYNERGY_EXPORTER_CHECK_INTERVAL",
    "SYNERGY_MA_WINDOW",
    "SYNERGY_METRICS_PORT",
    "SYNERGY_STATIONARITY_CONFIDENCE",
    "SYNERGY_THRESHOLD",
    "SYNERGY_THRESHOLD_WEIGHT",
    "SYNERGY_THRESHOLD_WINDOW",
    "SYNERGY_VARIANCE_CONFIDENCE",
    "THREAD_BURST",
    "THREAT_INTENSITY",
    "TIMEOUT",
    "VA_PROMPT_PREFIX",
    "VA_PROMPT_TEMPLATE",
    "VA_REPO_LAYOUT_LINES",
    "VISUAL_AGENT_AUTOSTART",
    "VISUAL_AGENT_AUTO_RECOVER",
    "VISUAL_AGENT_SSL_CERT",
    "VISUAL_AGENT_SSL_KEY",
    "VISUAL_AGENT_TOKEN",
    "VISUAL_AGENT_TOKEN_ROTATE",
    "VM_SETTINGS",
];
