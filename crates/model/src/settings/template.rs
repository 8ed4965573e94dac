//! The `.env` that `menace init` writes: settings with their defaults.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::table::groups;
use super::{SettingDeclaration, SettingStatus, declarations};

/// Lines for every setting that is not in `existing`, under a heading for each group.
///
/// A setting is commented out when a line for it would change behaviour: secrets and settings without a default have
/// no value to write, and a setting that mirrors another would stop following it. Deprecated names are left out, and so
/// are settings without a default whose feature does not exist yet.
pub fn dotenv_template(existing: &BTreeSet<String>) -> String {
    let mut template = String::new();
    for (heading, table) in groups() {
        let wanted = table.iter().filter(|row| is_worth_a_line(row) && !existing.contains(row.env));
        let entries: String = wanted.map(entry).collect();
        if !entries.is_empty() {
            let separator = if template.is_empty() { "" } else { "\n" };
            // Writing to a string cannot fail.
            let _ = write!(template, "{separator}# ==== {heading} ====\n\n{entries}");
        }
    }
    template
}

/// Settings that a `.env` names, commented out or not; [`dotenv_template`] does not write these again.
pub fn mentioned_names(dotenv: &str) -> BTreeSet<String> {
    let written: BTreeSet<&str> = dotenv.lines().filter_map(name_in_line).collect();
    declarations().map(|(_, row)| row.env).filter(|env| written.contains(env)).map(str::to_owned).collect()
}

fn name_in_line(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(|character: char| character == '#' || character.is_whitespace());
    let line = line.strip_prefix("export ").unwrap_or(line);
    line.split_once('=').map(|(name, _)| name.trim())
}

fn is_worth_a_line(row: &SettingDeclaration) -> bool {
    match row.status {
        SettingStatus::Active => true,
        SettingStatus::Planned => !row.default.is_empty() || row.secret,
        SettingStatus::Deprecated => false,
    }
}

fn entry(row: &SettingDeclaration) -> String {
    let is_commented_out = row.default.is_empty() || row.secret || row.mirrors.is_some();
    let comment = if is_commented_out { "# " } else { "" };
    format!("# {}\n{comment}{}={}\n", row.help(), row.env, quoted(row.default))
}

/// Quotes values that a dotenv parser would otherwise cut at a space or `#`, or expand at `$`.
fn quoted(value: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-./:,@%+=".contains(character);
    if value.chars().all(is_plain) {
        value.to_owned()
    } else if value.contains('\'') {
        format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$"))
    } else {
        format!("'{value}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(existing: &[&str]) -> Vec<String> {
        let existing = existing.iter().map(|name| (*name).to_owned()).collect();
        dotenv_template(&existing).lines().map(str::to_owned).collect()
    }

    #[test]
    fn defaults_are_set_and_the_rest_is_commented_out() {
        let lines = lines_of(&[]);
        let expected = [
            "# ==== Paths ====",
            "SANDBOX_DATA_DIR=sandbox_data",
            "SANDBOX_OVERLAY_MAX_AGE=7d",
            "# SANDBOX_EXCLUDE_DIRS=",
            "# OPENAI_API_KEY=",
            "# DATABASE_URL=sqlite:///menace.db",
            "# SELF_TEST_RECURSIVE_ORPHANS=1",
        ];
        for line in expected {
            assert!(lines.iter().any(|written| written == line), "{line}");
        }
    }

    #[test]
    fn deprecated_names_and_empty_planned_settings_are_left_out() {
        let template = dotenv_template(&BTreeSet::new());
        assert!(!template.contains("SANDBOX_AUTODISCOVER_MODULES"));
        assert!(!template.contains("SANDBOX_ADAPTIVE_AGENT_PATH"));
    }

    #[test]
    fn existing_settings_are_not_written_again() {
        let lines = lines_of(&["SANDBOX_DATA_DIR"]);
        assert!(!lines.iter().any(|line| line.contains("SANDBOX_DATA_DIR")));
        assert!(lines.contains(&"SANDBOX_REPO_PATH=.".to_owned()));

        let complete = dotenv_template(&BTreeSet::new());
        assert_eq!(dotenv_template(&mentioned_names(&complete)), "");
    }

    #[test]
    fn names_are_found_in_every_notation() {
        let dotenv =
            "SANDBOX_DATA_DIR=x\n#VISUAL_AGENT_TOKEN_ROTATE=new\n  export LOG_LEVEL = debug\n# a=b\nTEXT";
        let expected = ["LOG_LEVEL", "SANDBOX_DATA_DIR", "VISUAL_AGENT_TOKEN_ROTATE"].map(str::to_owned);
        assert_eq!(mentioned_names(dotenv), BTreeSet::from(expected));
    }

    #[test]
    fn values_are_quoted_when_a_parser_would_change_them() {
        let cases = [
            ("sqlite:///menace.db", "sqlite:///menace.db"),
            ("insight=40,error_fix=20", "insight=40,error_fix=20"),
            ("", ""),
            ("two words", "'two words'"),
            ("a#b", "'a#b'"),
            (r#"[{"A": "$B"}]"#, r#"'[{"A": "$B"}]'"#),
            (r#"it's "$5""#, r#""it's \"\$5\"""#),
        ];
        for (value, expected) in cases {
            assert_eq!(quoted(value), expected);
        }
    }

    #[test]
    fn the_template_resolves_to_the_defaults() {
        use crate::settings::{SettingSource, SettingsLayer, resolve};
        let template = dotenv_template(&BTreeSet::new());
        let assignments =
            template.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
        let resolved = resolve(&[SettingsLayer::new(SettingSource::DotEnv, assignments)]).unwrap();
        assert_eq!(resolved.settings, resolve(&[]).unwrap().settings);
    }
}
