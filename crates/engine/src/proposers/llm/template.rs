//! Prompt templates in Jinja: the built-in ones and those of the user.

use std::path::Path;

use menace_model::{ErrorClass, ErrorDetails};
use minijinja::Environment;
use minijinja::value::Serde;
use thiserror::Error;

/// Built-in templates.
const BUILT_IN: [(&str, &str); 4] = [
    ("base.j2", include_str!("../../../../../templates/auto_prompts/base.j2")),
    ("efficiency.j2", include_str!("../../../../../templates/auto_prompts/efficiency.j2")),
    ("roi.j2", include_str!("../../../../../templates/auto_prompts/roi.j2")),
    ("security.j2", include_str!("../../../../../templates/auto_prompts/security.j2")),
];
/// Template that the others extend.
const BASE: &str = "base.j2";
/// Name of the template that the user selected for all prompts.
const OWN: &str = "GPT_SECTION_TEMPLATE";

/// Failure to load or render a template.
#[derive(Debug, Error)]
pub enum PromptTemplateError {
    /// A template could not be read.
    #[error("failed to read template {path}: {source}")]
    Read {
        /// Path of the template.
        path: String,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A template is not valid Jinja.
    #[error("invalid template {name}: {problem}")]
    Wrong {
        /// Name of the template.
        name: String,
        /// Error of the template engine.
        problem: String,
    },
}

impl ErrorDetails for PromptTemplateError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                ErrorClass::NotFound
            }
            Self::Read { .. } => ErrorClass::Environment,
            Self::Wrong { .. } => ErrorClass::Usage,
        }
    }
}

/// All prompt templates.
#[derive(Debug)]
pub struct PromptTemplates {
    environment: Environment<'static>,
    names: Vec<String>,
    has_own: bool,
}

impl PromptTemplates {
    /// Loads the built-in templates, those of a directory, which override them by name, and `own`, which is used for
    /// every topic.
    pub fn load(directory: Option<&Path>, own: Option<&Path>) -> Result<Self, PromptTemplateError> {
        let mut environment = Environment::new();
        let mut all: Vec<(String, String)> =
            BUILT_IN.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        if let Some(directory) = directory.filter(|directory| directory.is_dir()) {
            all.extend(of_directory(directory)?);
        }
        if let Some(path) = own {
            all.push((OWN.to_owned(), read(path)?));
        }
        let mut names = Vec::new();
        for (name, text) in all {
            let wrong = |error: minijinja::Error| PromptTemplateError::Wrong {
                name: name.clone(),
                problem: format!("{error:#}"),
            };
            environment.add_template_owned(name.clone(), text).map_err(wrong)?;
            if name != BASE && name != OWN && !names.contains(&name) {
                names.push(name);
            }
        }
        names.sort();
        Ok(Self { environment, names, has_own: own.is_some() })
    }

    /// Name of the template for a topic such as `security`; without a topic, the templates take turns.
    pub(super) fn chosen(&self, fell: Option<&str>, turn: usize) -> String {
        if self.has_own {
            return OWN.into();
        }
        let by_name = fell.map(|fell| format!("{fell}.j2")).filter(|name| self.names.contains(name));
        by_name
            .or_else(|| self.names.get(turn % self.names.len().max(1)).cloned())
            .unwrap_or_else(|| BASE.into())
    }

    pub(super) fn render(
        &self,
        name: &str,
        values: &serde_json::Value,
    ) -> Result<String, PromptTemplateError> {
        let wrong = |error: minijinja::Error| PromptTemplateError::Wrong {
            name: name.into(),
            problem: format!("{error:#}"),
        };
        self.environment.get_template(name).map_err(wrong)?.render(Serde(values)).map_err(wrong)
    }
}

fn of_directory(directory: &Path) -> Result<Vec<(String, String)>, PromptTemplateError> {
    let wrong = |source| PromptTemplateError::Read { path: directory.display().to_string(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
        if path.extension().is_some_and(|extension| extension == "j2") {
            found.push((name, read(&path)?));
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<String, PromptTemplateError> {
    std::fs::read_to_string(path)
        .map_err(|source| PromptTemplateError::Read { path: path.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topic_selects_a_template_and_otherwise_they_take_turns() {
        let templates = PromptTemplates::load(None, None).unwrap();
        assert_eq!(templates.chosen(Some("security"), 0), "security.j2");
        assert_eq!(templates.chosen(Some("unheard_of"), 1), templates.chosen(None, 1));
        let turns: std::collections::BTreeSet<String> =
            (0..3).map(|turn| templates.chosen(None, turn)).collect();
        assert_eq!(turns.len(), 3);
    }

    #[test]
    fn templates_of_the_user_are_used_and_errors_name_the_template() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        std::fs::write(place("security.j2"), "mine {{ section }}").unwrap();
        std::fs::write(place("own.txt"), "all {{ section }}").unwrap();
        let templates = PromptTemplates::load(Some(directory.path()), None).unwrap();
        let values = serde_json::json!({"section": "cart:total"});
        assert_eq!(templates.render("security.j2", &values).unwrap(), "mine cart:total");
        let own = PromptTemplates::load(None, Some(&place("own.txt"))).unwrap();
        assert_eq!(own.render(&own.chosen(Some("roi"), 0), &values).unwrap(), "all cart:total");
        std::fs::write(place("roi.j2"), "{% block %}").unwrap();
        assert!(
            PromptTemplates::load(Some(directory.path()), None).unwrap_err().to_string().contains("roi.j2")
        );
        assert!(PromptTemplates::load(None, Some(&place("none"))).unwrap_err().to_string().contains("none"));
    }
}
