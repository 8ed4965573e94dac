//! `menace replay CALL`: repeats one call of a run.

use menace_model::calls::OutcomeKind;
use menace_model::ids::CallId;
use menace_runner::{Call, CallMeasurements, CallOutcome, classify};
use menace_store::CallRecord;
use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{TextStyle, count, note, print, print_json, styled};
use menace_app::calling::{RepositoryExecutor, RunSettings, open_store, runtime};

use crate::terminal::input;
use menace_app::repository::{ScanPurpose, ScanRequest, read_repository};

pub(super) fn run(configuration: &Configuration, call: &str, json: bool) -> anyhow::Result<MenaceExit> {
    let id: CallId = call.parse()?;
    let (record, settings) = runtime()?.block_on(async {
        let store = open_store(configuration.app()).await?;
        let record = store.call(&id).await?;
        let settings: RunSettings = serde_json::from_value(store.run(id.run()).await?.options)?;
        anyhow::Ok((record, settings))
    })?;
    let changed = settings.changed_files();
    if !changed.is_empty() {
        note(&format!(
            "{} changed since the run: {}",
            count(changed.len(), "file"),
            changed.iter().take(5).cloned().collect::<Vec<_>>().join(", ")
        ));
    }
    let call: Call = serde_json::from_value(record.spec.clone())?;
    let now = runtime()?.block_on(repeat_call(configuration, &settings, &call))?;
    let replayed = ReplayedCall { record: &record, call: &call, now: &now, changed: &changed };
    if json {
        print_json(&replayed.json())?;
    } else {
        print(&replayed.text())?;
    }
    Ok(if now.verdict.kind.is_failure() { MenaceExit::Found } else { MenaceExit::Done })
}

/// Makes the call again, with its whole traceback.
async fn repeat_call(
    configuration: &Configuration,
    settings: &RunSettings,
    call: &Call,
) -> anyhow::Result<CallOutcome> {
    let repository = ScanRequest {
        path: Some(settings.repository.clone()),
        no_cache: false,
        exclude: settings.exclude.clone(),
    };
    let scan = read_repository(configuration.app(), &repository, ScanPurpose::Inventory)?;
    let calling = RepositoryExecutor::of(&scan.inventory, &settings.python, &settings.modules).await?;
    let raw = calling.executor.execute(&call.spec_with_traceback()).await?;
    Ok(CallOutcome { verdict: classify(&raw, call), measures: Some(CallMeasurements::of(&raw)) })
}

struct ReplayedCall<'a> {
    record: &'a CallRecord,
    call: &'a Call,
    now: &'a CallOutcome,
    changed: &'a [String],
}

impl ReplayedCall<'_> {
    /// The recorded outcome.
    fn before(&self) -> Option<CallOutcome> {
        serde_json::from_value(self.record.detail.clone()).ok()
    }

    /// The same kind, exception and innermost line of the repository.
    fn is_same(&self) -> bool {
        let signature = |outcome: &CallOutcome| {
            let verdict = &outcome.verdict;
            let frame = verdict.frame().map(|(path, line)| (path.to_owned(), line));
            (verdict.kind, verdict.facts.as_ref().map(|facts| facts.exception.clone()), frame)
        };
        self.before().is_some_and(|before| signature(&before) == signature(self.now))
    }

    fn json(&self) -> Value {
        let verdict = &self.now.verdict;
        let frame = verdict.frame();
        json!({
            "version": 1,
            "call": self.record.id,
            "section": self.record.section,
            "scenario": self.record.scenario,
            "input": self.call.stub,
            "kind": verdict.kind,
            "exception": verdict.facts.as_ref().map(|facts| &facts.exception),
            "message": verdict.message(),
            "path": frame.map(|(path, _)| path),
            "line": frame.map(|(_, line)| line),
            "frames": verdict.facts.as_ref().map(|facts| &facts.frames),
            "traceback": verdict.facts.as_ref().and_then(|facts| facts.traceback.as_ref()),
            "value": verdict.value,
            "measures": self.now.measures,
            "same": self.is_same(),
            "before": {"kind": self.record.kind},
            "changed_files": self.changed,
        })
    }

    fn text(&self) -> String {
        let verdict = &self.now.verdict;
        let bad = verdict.kind.is_failure();
        let kind = styled(verdict.kind.name(), if bad { TextStyle::Bad } else { TextStyle::Good });
        let same = if self.is_same() {
            "as before".to_owned()
        } else {
            format!("previously {}", self.record.kind.name())
        };
        let mut text = format!(
            "{} · {} · {kind}, {same}\n\n{}\n",
            styled(&self.record.section, TextStyle::Bold),
            self.record.scenario,
            if self.call.examples {
                "the examples of its docstring".to_owned()
            } else {
                input(&self.call.stub, 2000)
            },
        );
        let facts = verdict.facts.as_ref();
        if let Some(traceback) = facts.and_then(|facts| facts.traceback.as_ref()) {
            text.push_str(&format!("\n{}\n", traceback.trim_end()));
        } else if let Some(message) = verdict.message() {
            text.push_str(&format!("\n{message}\n"));
        }
        if let Some(facts) = facts.filter(|facts| !facts.frames.is_empty()) {
            text.push_str(&format!("\n{}\n", styled("In the repository", TextStyle::Bold)));
            for (path, line, function) in &facts.frames {
                text.push_str(&format!("  {path}:{line} in {function}\n"));
            }
        }
        if verdict.kind == OutcomeKind::Ok
            && let Some(value) = &verdict.value
        {
            text.push_str(&format!("\nreturned {value}\n"));
        }
        text + &self.measured()
    }

    fn measured(&self) -> String {
        let Some(measures) = &self.now.measures else { return String::new() };
        let mut parts = vec![format!("{:.1} ms", measures.wall_ms)];
        if let (Some(user), Some(system)) = (measures.cpu_user_ms, measures.cpu_system_ms) {
            parts.push(format!("{:.1} ms CPU", user + system));
        }
        if let Some(bytes) = measures.peak_rss_bytes {
            parts.push(format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)));
        }
        let mut text = format!("\n{}\n", parts.join(" · "));
        for (name, output) in [("stdout", &measures.stdout), ("stderr", &measures.stderr)] {
            if !output.is_empty() {
                text.push_str(&format!("\n{}\n{}\n", styled(name, TextStyle::Bold), output.trim_end()));
            }
        }
        text
    }
}
