//! Prompts: the cause, the metrics and code of a section, and earlier rejected attempts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::model::{ChatMessage, ChatRole};
use super::template::{PromptTemplateError, PromptTemplates};
use crate::editable_source::EditableSource;
use crate::proposers::ProposalRequest;
use crate::secrets::scrubbed;
use crate::syntax::{Ranged, Stmt};
use crate::transforms::Cause;

/// Required format of answers.
const RULES: &str = "You change Python code. Answer with SEARCH/REPLACE blocks and nothing else. Each block is\n\
PATH\n<<<<<<< SEARCH\nlines that are in the file, exactly as they are\n=======\nreplacement lines\n>>>>>>> REPLACE\n\
A unified diff is accepted too. Change only the file that is shown. Lines that show ******** are hidden: leave them alone.";

/// Metrics of a module over the last cycles.
#[derive(Debug, Clone, Default)]
pub struct ModuleMetricHistory {
    /// Current value of each metric, and its value in the previous cycle.
    pub metrics: BTreeMap<String, (f64, Option<f64>)>,
    /// Changes of ROI from cycle to cycle, the newest last.
    pub roi_deltas: Vec<f64>,
}

/// Smallest decrease of a metric that counts as a decrease.
const LITTLE: f64 = 0.005;
/// Efficiency below which the prompt is about efficiency.
const POOR: f64 = 0.5;

impl ModuleMetricHistory {
    /// Topic of the prompt: the metric that decreased, or `roi` if ROI stalled.
    pub fn topic(&self) -> Option<&'static str> {
        let fell = |name: &str| {
            self.metrics
                .get(name)
                .is_some_and(|(now, before)| before.is_some_and(|before| *now < before - LITTLE))
        };
        let is_poor = self.metrics.get("efficiency").is_some_and(|(now, _)| *now < POOR);
        let is_stalled = !self.roi_deltas.is_empty() && self.roi_deltas.iter().all(|delta| *delta <= LITTLE);
        if fell("security_score") {
            Some("security")
        } else if fell("efficiency") || is_poor {
            Some("efficiency")
        } else {
            is_stalled.then_some("roi")
        }
    }
}

/// Settings from which prompts are built.
#[derive(Debug)]
pub struct PromptSettings {
    /// Prompt templates.
    pub templates: PromptTemplates,
    /// Maximum length of a prompt, in characters.
    pub max_length: Option<usize>,
    /// Custom background text; `{path}`, `{description}`, `{context}` and `{func}` are replaced.
    pub background: Option<String>,
    /// Text at the start of every prompt.
    pub prefix: String,
    /// Files of the repository that the prompt lists.
    pub layout: Vec<String>,
    /// Python version.
    pub python: String,
    /// Test command of the repository.
    pub testing: String,
    /// Metrics of modules, by path.
    pub standings: BTreeMap<String, ModuleMetricHistory>,
}

impl PromptSettings {
    /// Messages of a request. `memories` are lessons from earlier runs.
    pub(super) fn messages(
        &self,
        question: &ProposalRequest<'_>,
        memories: &[String],
    ) -> Result<Vec<ChatMessage>, PromptTemplateError> {
        let snippet = snippet(question);
        let mut prompt = self.rendered(question, memories, &snippet, true)?;
        if let Some(most) = self.max_length {
            let length = prompt.chars().count();
            if length > most {
                let all = snippet.chars().count();
                let left = all.saturating_sub(length - most);
                let shorter: String = snippet.chars().take(left).collect();
                prompt = self.rendered(question, memories, &shorter, left > 0)?;
                prompt = prompt.chars().take(most).collect();
            }
        }
        let say = |role, content: &str| ChatMessage { role, content: scrubbed(content) };
        Ok(vec![say(ChatRole::System, RULES), say(ChatRole::User, &prompt)])
    }

    fn rendered(
        &self,
        question: &ProposalRequest<'_>,
        memories: &[String],
        snippet: &str,
        with_metrics: bool,
    ) -> Result<String, PromptTemplateError> {
        let empty = ModuleMetricHistory::default();
        let standing = self.standings.get(question.path).unwrap_or(&empty);
        let number = |value: f64| format!("{value:.3}");
        let metrics: Vec<Value> = standing
            .metrics
            .iter()
            .filter(|_| with_metrics)
            .map(|(name, (value, before))| {
                json!({"name": name, "value": number(*value), "before": before.map(number)})
            })
            .collect();
        let attempts: Vec<Value> = question
            .earlier
            .iter()
            .map(|attempt| json!({"diff": attempt.diff, "problem": attempt.problem}))
            .collect();
        let deltas: Vec<String> = standing.roi_deltas.iter().map(|delta| format!("{delta:+.3}")).collect();
        let (call, line) = shown(question);
        let name = self.templates.chosen(standing.topic(), question.earlier.len());
        let values = json!({
            "section": question.reason.section,
            "path": question.path,
            "prefix": self.prefix,
            "background": self.background_of(question, snippet),
            "snippet": snippet,
            "cause": question.reason.summary,
            "call": call,
            "line": line.map(|(number, text)| json!({"number": number, "text": text})),
            "metrics": metrics,
            "roi_deltas": deltas,
            "memories": memories,
            "attempts": attempts,
        });
        self.templates.render(&name, &values)
    }

    /// Background block with labelled parts: layout, environment, tests and code.
    fn background_of(&self, question: &ProposalRequest<'_>, snippet: &str) -> String {
        let function = question.reason.section.split_once(':').map_or("", |(_, name)| name);
        if let Some(template) = &self.background {
            return template
                .replace("{path}", question.path)
                .replace("{description}", &question.reason.summary)
                .replace("{context}", snippet)
                .replace("{func}", function);
        }
        let dependencies = imports(question.text);
        let parts = [
            ("Introduction", format!("Change `{function}` in `{}` so that this does not happen: {}", question.path, question.reason.summary)),
            ("Functions", format!("- `{function}`")),
            ("Dependencies", if dependencies.is_empty() { "standard library".into() } else { dependencies.join(", ") }),
            ("Coding standards", "Keep the style of the file: indentation, quotes, names, length of lines. No comments about the change itself.".into()),
            ("Repository layout", self.layout.join("\n")),
            ("Environment", self.python.clone()),
            ("Metadata", format!("section: {}", question.reason.section)),
            ("Version control", "menace commits accepted changes".into()),
            ("Testing", self.testing.clone()),
            ("Snippet context", format!("`{}`\n{snippet}", question.path)),
        ];
        parts.map(|(title, text)| format!("### {title}\n{text}")).join("\n\n")
    }
}

/// Names of the modules that a file imports.
fn imports(text: &str) -> Vec<String> {
    let Some(source) = EditableSource::parse(text) else { return Vec::new() };
    let mut found: Vec<String> = source
        .body()
        .iter()
        .flat_map(|statement| match statement {
            Stmt::Import(import) => import.names.iter().map(|alias| alias.name.to_string()).collect(),
            Stmt::ImportFrom(import) => import.module.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Relevant statements of the module: imports, assignments, the section, and the statement with the failing line.
fn snippet(question: &ProposalRequest<'_>) -> String {
    let Some(source) = EditableSource::parse(question.text) else { return question.text.to_owned() };
    let name = question.reason.section.split_once(':').map_or("", |(_, name)| name);
    let (section, line) = match question.cause {
        Cause::Failure(failed) => (failed.section.as_str(), failed.line),
        Cause::Review(section) => (section.as_str(), 0),
    };
    let outer = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let wanted = [outer(name), outer(section)];
    let is_wanted = |statement: &&Stmt| match statement {
        Stmt::Import(_) | Stmt::ImportFrom(_) | Stmt::Assign(_) | Stmt::AnnAssign(_) => true,
        Stmt::FunctionDef(function) => {
            wanted.iter().any(|name| name == function.name.as_str()) || source.is_in(line, *statement)
        }
        Stmt::ClassDef(class) => {
            wanted.iter().any(|name| name == class.name.as_str()) || source.is_in(line, *statement)
        }
        _ => source.is_in(line, *statement),
    };
    let parts: Vec<&str> =
        source.body().iter().filter(is_wanted).map(|part| source.of(part.range())).collect();
    if section == "<module>" { question.text.to_owned() } else { parts.join("\n") }
}

/// Text of the failing call, and the failing line with its number.
fn shown(question: &ProposalRequest<'_>) -> (Option<String>, Option<(u32, String)>) {
    let Cause::Failure(failed) = question.cause else { return (None, None) };
    let arguments: Vec<String> =
        failed.arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let call = format!(
        "{}({}) under {} ends with {}: {}",
        failed.section,
        arguments.join(", "),
        failed.scenario,
        failed.exception.as_deref().unwrap_or(&failed.kind),
        failed.message.lines().next().unwrap_or_default()
    );
    let text = question.text.lines().nth((failed.line as usize).wrapping_sub(1));
    (Some(call), text.map(|text| (failed.line, text.trim().to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::RankedCause;
    use crate::proposers::RejectedAttempt;
    use crate::transforms::SectionFailure;

    const CART: &str = "import os\nfrom math import sqrt\n\nAPI_KEY = 'sk-abcdefghijklmnopqrstuv'\n\n\ndef mean(prices):\n    return sum(prices) / len(prices)\n\n\ndef other():\n    return 1\n";

    fn wording(max_length: Option<usize>) -> PromptSettings {
        PromptSettings {
            templates: PromptTemplates::load(None, None).unwrap(),
            max_length,
            background: None,
            prefix: "[internal]".into(),
            layout: vec!["cart.py".into()],
            python: "3.11".into(),
            testing: "pytest".into(),
            standings: BTreeMap::new(),
        }
    }

    fn prompt(wording: &PromptSettings, earlier: &[RejectedAttempt]) -> String {
        let reason = RankedCause {
            section: "cart:mean".into(),
            summary: "ZeroDivisionError under normal: division by zero".into(),
            shown: Vec::new(),
            weight: 1.0,
        };
        let failed = SectionFailure {
            section: "mean".into(),
            line: 8,
            kind: "crash".into(),
            exception: Some("ZeroDivisionError".into()),
            message: "division by zero".into(),
            scenario: "normal".into(),
            arguments: vec![("prices".into(), "[]".into())],
        };
        let cause = Cause::Failure(failed);
        let question = ProposalRequest {
            reason: &reason,
            cause: &cause,
            path: "cart.py",
            text: CART,
            earlier,
            left: crate::budget::RemainingBudget::default(),
        };
        let messages = wording.messages(&question, &["a guard helped in cart:total".to_owned()]).unwrap();
        messages[1].content.clone()
    }

    #[test]
    fn a_prompt_has_the_cause_and_only_its_section_and_no_secret() {
        let text = prompt(&wording(None), &[]);
        assert!(text.starts_with("[internal]\n"));
        for part in [
            "### Introduction",
            "mean(prices=[]) under normal ends with ZeroDivisionError",
            "return sum(prices) / len(prices)",
            "API_KEY = '********'",
            "a guard helped in cart:total",
            "Failing line 8 of cart.py",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("sk-abc") && !text.contains("def other"), "{text}");
    }

    #[test]
    fn a_prompt_shows_why_earlier_attempts_were_rejected() {
        let attempt = RejectedAttempt {
            proposal: None,
            diff: "-    return sum(prices)".into(),
            problem: "regressions: cart:mean".into(),
        };
        let text = prompt(&wording(None), &[attempt]);
        assert!(text.contains("### Attempt 1") && text.contains("regressions: cart:mean"), "{text}");
        assert!(text.contains("-    return sum(prices)"));
    }

    #[test]
    fn a_prompt_respects_the_maximum_length() {
        for most in [10, 500, 1500] {
            assert!(prompt(&wording(Some(most)), &[]).chars().count() <= most);
        }
    }

    #[test]
    fn the_metric_that_decreased_selects_the_topic() {
        let standing = |name: &str, now: f64, before: Option<f64>| ModuleMetricHistory {
            metrics: BTreeMap::from([(name.to_owned(), (now, before))]),
            roi_deltas: Vec::new(),
        };
        assert_eq!(standing("security_score", 0.5, Some(0.9)).topic(), Some("security"));
        assert_eq!(standing("security_score", 0.9, Some(0.5)).topic(), None);
        assert_eq!(standing("efficiency", 0.2, None).topic(), Some("efficiency"));
        let stalled = ModuleMetricHistory { roi_deltas: vec![0.0, 0.001], ..ModuleMetricHistory::default() };
        assert_eq!(stalled.topic(), Some("roi"));
        assert_eq!(
            ModuleMetricHistory { roi_deltas: vec![0.0, 0.1], ..ModuleMetricHistory::default() }.topic(),
            None
        );
    }
}
