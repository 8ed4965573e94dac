//! Events of the use cases, as lines on stderr.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use menace_app::ScanProgress as ScanDisplay;
use menace_app::text::{count, grouped, shortened};
use menace_app::{AppEvent, CallProgress, FrontEnd, ModelChoice, OrphanSelection};
use menace_model::inventory::OrphanClass;
use menace_model::presets::PresetOrigin;
use tokio::sync::watch;

use super::call_progress::CallProgressBar;
use super::note;
use super::progress::{ScanProgress, StageSpinner};
use crate::interruption::interruption;

/// Maximum length of the reason of a rejection, in characters.
const LONGEST_REASON: usize = 110;

/// The terminal as a front end.
#[derive(Default)]
pub(crate) struct TerminalFrontEnd {
    /// Spinner with the name of the running workflow.
    spinner: Mutex<Option<StageSpinner>>,
}

impl FrontEnd for TerminalFrontEnd {
    fn event(&self, event: AppEvent) {
        let mut spinner = self.spinner.lock().unwrap_or_else(PoisonError::into_inner);
        if let AppEvent::WorkflowStarted { workflow, step } = &event {
            let text =
                step.as_ref().map_or_else(|| workflow.clone(), |step| format!("{workflow}: {step} alone"));
            spinner.get_or_insert_with(StageSpinner::new).show_message(&text);
            return;
        }
        drop(spinner.take());
        for line in lines(event) {
            note(&line);
        }
    }

    fn interruption(&self) -> watch::Receiver<bool> {
        interruption()
    }

    fn scan_progress(&self, repository: &Path) -> Box<dyn ScanDisplay> {
        Box::new(ScanProgress::new(repository))
    }

    fn call_progress(&self) -> Box<dyn CallProgress> {
        Box::<CallProgressBar>::default()
    }
}

/// Lines for an event.
fn lines(event: AppEvent) -> Vec<String> {
    vec![match event {
        AppEvent::InterpreterChosen(found) => format!("interpreter: {} ({})", found.python, found.reason),
        AppEvent::PresetsChosen { origins } => presets(&origins),
        AppEvent::StubsGiven { count: sets } => format!("{} given", count(sets, "argument set")),
        AppEvent::MicroPilotStarted { module } => format!("micro-pilot: {module}"),
        AppEvent::TestsWritten { count: tests, omitted, directory, repository } => {
            let omitted = match omitted {
                0 => String::new(),
                failures => format!("; {} only reproducible in a sandbox", count(failures, "failure")),
            };
            let directory = directory.display();
            let path = repository.display();
            format!(
                "wrote {} to {directory} (PYTHONPATH={path} pytest {directory}){omitted}",
                count(tests, "test")
            )
        }
        AppEvent::RunInterrupted { run, made, planned } => format!(
            "interrupted after {} of {}; resume with: menace run --resume {run}",
            grouped(made),
            count(planned, "call")
        ),
        AppEvent::ContainerStarted { number, total, preset } => {
            format!("preset {number} of {total}: {preset}")
        }
        AppEvent::AutoStarted { run, repository, branch } => {
            format!("{run}: {} on branch {branch}", repository.display())
        }
        AppEvent::TestsChecked { files: 0, .. } => "tests: none; verdicts use calls only".to_owned(),
        AppEvent::TestsChecked { passing, files } => {
            format!("tests: {} in {} pass", grouped(passing), count(files, "file"))
        }
        AppEvent::ProposersChosen(choice) => model(&choice),
        AppEvent::OrphansClassified(orphans) => orphan_line(&orphans),
        AppEvent::OrphanScanDisabled => "orphans: not classified (SANDBOX_DISABLE_ORPHAN_SCAN)".to_owned(),
        AppEvent::PresetsReused { origin } => format!("presets: {origin}, as at the start of the cycle"),
        AppEvent::PresetsAdapted { cycle, origin, changed, observations } => {
            let changed =
                if changed == 0 { String::new() } else { format!(", {} changed", count(changed, "value")) };
            format!("presets of cycle {cycle}: {origin}{changed} ({})", observations.join("; "))
        }
        AppEvent::PresetAdaptationDetail { line } => line,
        AppEvent::ModulesUnchanged { count: modules } => {
            format!("{} unchanged since the last cycle and not measured again", count(modules, "module"))
        }
        AppEvent::CycleMeasured { cycle, calls, failures, roi } => {
            let roi = roi.map_or("ROI unknown".to_owned(), |roi| format!("ROI {roi:.3}"));
            let failures = count(failures, "distinct failure");
            format!("cycle {cycle}: {}, {failures}, {roi}", count(calls, "call"))
        }
        AppEvent::CycleForecast { forecast, roi_threshold, synergy_threshold, synergy } => {
            let forecast = forecast.map_or("no forecast yet".to_owned(), |forecast| forecast.summary_line());
            let mut all = vec![
                format!("next ROI: {forecast}"),
                format!("thresholds: ROI {roi_threshold:.4}, synergy {synergy_threshold:.4}"),
            ];
            if !synergy.checks.is_empty() {
                let checks: Vec<String> = synergy
                    .checks
                    .iter()
                    .map(|check| format!("{} {:.4} of {:.4}", check.name, check.figure, check.limit))
                    .collect();
                let state = if synergy.converged { "converged" } else { "not converged" };
                all.push(format!(
                    "synergy {state} over {}: {}",
                    count(synergy.length, "value"),
                    checks.join(", ")
                ));
            }
            return all;
        }
        AppEvent::ProposalJudged { section, proposer, kept: true, why, gain, .. } => {
            let gain = gain.map_or(String::new(), |gain| format!("  {gain:+.3}"));
            format!("kept     {section}  {proposer}: {why}{gain}")
        }
        AppEvent::ProposalJudged { section, proposer, reason, .. } => {
            let reason = reason.as_deref().unwrap_or("verification did not finish");
            format!("rejected {section}  {proposer}: {}", shortened(reason, LONGEST_REASON))
        }
        AppEvent::EventsDropped { count: events } => {
            format!("{} not shown", count(usize::try_from(events).unwrap_or(usize::MAX), "event"))
        }
        AppEvent::IdeasAdded { count: ideas, model } => {
            format!("ideas: {} from {model}", count(ideas, "new idea"))
        }
        AppEvent::IdeasFailed { error } => format!("ideas: none, {error}"),
        AppEvent::PatchScoresLocal => {
            "scores: s3:// is not supported; they stay in the data directory".to_owned()
        }
        AppEvent::AutoInterrupted { run } => {
            format!("interrupted; resume with: menace auto --recover {run}")
        }
        AppEvent::SelfTestResumed { known } => {
            format!("resuming an interrupted round: {} already done", count(known, "part"))
        }
        AppEvent::TestFilesStarted { count: files } => format!("running {}", count(files, "test file")),
        AppEvent::UntestedModulesCalled { count: modules } => {
            format!("calling {} without tests", count(modules, "module"))
        }
        AppEvent::IntegrationDisabled { count: orphans } => format!(
            "{} passed but not integrated (SELF_TEST_DISABLE_AUTO_INTEGRATION)",
            count(orphans, "orphan")
        ),
        AppEvent::WorkflowsFromGroups => "no workflow is stored: using one for each module group".to_owned(),
        AppEvent::WorkflowStarted { .. } => return Vec::new(),
        AppEvent::SynergyWeightsLearned { samples, path } => {
            format!("synergy weights learned from {}: {}", count(samples, "sample"), path.display())
        }
        AppEvent::SynergySamplesMissing { history: Some(path), .. } => {
            format!("no synergy history yet: {}", path.display())
        }
        AppEvent::SynergySamplesMissing { samples, history: None } => {
            format!("too few measurements to learn from: {samples}")
        }
    }]
}

fn presets(origins: &[(PresetOrigin, usize)]) -> String {
    let total: usize = origins.iter().map(|(_, count)| count).sum();
    let word = |origin: &PresetOrigin| match origin {
        PresetOrigin::Given => "given",
        PresetOrigin::Generated => "generated",
        PresetOrigin::Canonical => "canonical",
        PresetOrigin::Baseline => "baseline",
        PresetOrigin::Coverage => "added for coverage",
        PresetOrigin::Keyword => "added for keywords in paths",
    };
    let parts: Vec<String> =
        origins.iter().map(|(origin, count)| format!("{count} {}", word(origin))).collect();
    format!("{}: {}", count(total, "preset"), parts.join(", "))
}

fn model(choice: &ModelChoice) -> String {
    match choice {
        ModelChoice::Recorded { name, path } => {
            format!("model: recorded answers of {name} from {}", path.display())
        }
        ModelChoice::Live { name, price: Some((input, output)) } => {
            format!("model: {name} ({input} in, {output} out per million tokens)")
        }
        ModelChoice::Live { name, price: None } => format!("model: {name} (price unknown)"),
        ModelChoice::None => {
            "model: none, built-in transforms only (set OPENAI_API_KEY or OPENAI_BASE_URL to add one)"
                .to_owned()
        }
    }
}

fn orphan_line(orphans: &OrphanSelection) -> String {
    let groups = [
        ("included", &orphans.included),
        ("excluded", &orphans.excluded),
        ("called but not changed", &orphans.unchanged),
    ];
    let parts: Vec<String> = groups
        .into_iter()
        .filter(|(_, orphans)| !orphans.is_empty())
        .map(|(word, orphans)| format!("{} {word} ({})", orphans.len(), names(orphans)))
        .collect();
    if parts.is_empty() { "orphans: none".to_owned() } else { format!("orphans: {}", parts.join(", ")) }
}

/// The first few orphans.
fn names(orphans: &[(OrphanClass, String)]) -> String {
    const SHOWN: usize = 3;
    let mut all: Vec<String> =
        orphans.iter().take(SHOWN).map(|(class, path)| format!("{} {path}", class.name())).collect();
    if orphans.len() > SHOWN {
        all.push(format!("{} more", orphans.len() - SHOWN));
    }
    all.join(", ")
}
