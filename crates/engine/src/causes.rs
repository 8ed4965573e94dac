//! Causes for changes, from the failures and findings of a run, the most valuable first.

use std::collections::BTreeMap;

use menace_model::calls::{OutcomeKind, SectionDescription};
use menace_model::inventory::Inventory;
use menace_runner::{Call, CallClassification, CallableSection, DistinctFailure, RunReport};

use crate::transforms::{Cause, SectionFailure};
use crate::verify::ReproducingCall;

/// A cause with its weight in the ranking.
#[derive(Debug, Clone)]
pub struct RankedCause {
    /// The section, as `module:qualname`.
    pub section: String,
    /// One-line description of the failure or the findings.
    pub summary: String,
    /// Failing calls; empty for findings.
    pub shown: Vec<ReproducingCall>,
    /// Possible gain: the share of calls that would no longer fail, weighted by the worth of the module.
    pub weight: f64,
}

/// Failures of a run, the largest possible gain first, then sections with findings. `modules` are the paths of the
/// modules that may change; empty means all.
pub fn ranked_causes(
    report: &RunReport,
    inventory: &Inventory,
    ranking: &BTreeMap<String, f64>,
    modules: &[String],
) -> Vec<RankedCause> {
    let mut found: Vec<RankedCause> =
        report.failures.iter().filter_map(|failure| of_failure(report, failure, ranking)).collect();
    found.sort_by(|one, other| {
        other.weight.total_cmp(&one.weight).then_with(|| one.section.cmp(&other.section))
    });
    found.extend(of_findings(inventory, modules));
    found
}

fn of_failure(
    report: &RunReport,
    failure: &DistinctFailure,
    ranking: &BTreeMap<String, f64>,
) -> Option<RankedCause> {
    let call = failure.example()?.clone();
    let cells = report.cells.iter().filter(|cell| {
        cell.section == failure.section
            && cell.scenario == failure.scenario
            && cell.severity == call.circumstances.severity
    });
    // A failure is counted over all scenarios; its frequency is that of the scenario of the example call.
    let frequency = cells.filter_map(|cell| cell.robustness).map(|share| 1.0 - share).fold(0.0, f64::max);
    let share = if frequency > 0.0 { frequency } else { 1.0 };
    let exception = failure.exception.as_deref().unwrap_or(failure.kind.name());
    let summary = format!(
        "{exception} under {}: {}",
        failure.scenario,
        failure.message.lines().next().unwrap_or_default()
    );
    let is_slow =
        |other: &DistinctFailure| other.section == failure.section && other.kind == OutcomeKind::Timeout;
    let ended = if report.failures.iter().any(is_slow) {
        slowest_ended(report, &failure.section)
    } else {
        BTreeMap::new()
    };
    // Modules of low worth have the most to gain.
    let worth = ranking.get(&failure.path).copied().unwrap_or(0.0);
    Some(RankedCause {
        section: failure.section.clone(),
        summary,
        shown: vec![ReproducingCall { call, seen: failure.verdict().clone(), share, ended }],
        weight: share * (2.0 - worth.clamp(-1.0, 1.0)),
    })
}

/// Duration of the slowest call of a section that did not time out, by scenario.
fn slowest_ended(report: &RunReport, section: &str) -> BTreeMap<String, f64> {
    let mut slowest: BTreeMap<String, f64> = BTreeMap::new();
    for cell in report.cells.iter().filter(|cell| cell.section == section) {
        if let Some(took) = cell.usage.slowest_ended_ms {
            let known = slowest.entry(cell.scenario.clone()).or_insert(took);
            *known = known.max(took);
        }
    }
    slowest
}

/// Sections with lint or security findings.
fn of_findings(inventory: &Inventory, modules: &[String]) -> Vec<RankedCause> {
    let mut found = Vec::new();
    for module in &inventory.modules {
        let is_selected = modules.is_empty() || modules.contains(&module.path);
        if !is_selected || crate::verify::is_protected(&module.path) {
            continue;
        }
        let lines = module.findings.iter().map(|finding| (finding.line, finding.id.clone()));
        let lint = module.lint.iter().map(|finding| (finding.line, format!("{:?}", finding.rule)));
        let mut of_section: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (line, rule) in lines.chain(lint) {
            let section =
                module.sections.iter().rfind(|section| (section.line..=section.end_line).contains(&line));
            let name = section.map_or("<module>", |section| section.name.as_str());
            of_section.entry(name.to_owned()).or_default().push(rule);
        }
        found.extend(of_section.into_iter().map(|(name, rules)| RankedCause {
            section: format!("{}:{name}", module.name),
            summary: format!("findings: {}", rules.join(", ")),
            shown: Vec::new(),
            weight: rules.len() as f64,
        }));
    }
    found
}

/// File to change and cause of the failure, from the outcome of a failing call.
pub fn cause_of_call(target: &CallableSection, call: &Call, verdict: &CallClassification) -> (String, Cause) {
    let (path, line) = verdict.frame().unwrap_or((target.path.as_str(), 0));
    let exception = verdict.facts.as_ref().map(|facts| {
        let name = facts.exception.as_str();
        name.rsplit('.').next().unwrap_or(name).to_owned()
    });
    let failed = SectionFailure {
        section: target.section.name.clone(),
        line,
        kind: verdict.kind.name().to_owned(),
        exception,
        message: verdict.message().unwrap_or_default(),
        scenario: call.circumstances.scenario.clone(),
        arguments: arguments(target, call),
    };
    (path.to_owned(), Cause::Failure(failed))
}

/// Arguments of a call, by parameter name.
fn arguments(target: &CallableSection, call: &Call) -> Vec<(String, String)> {
    let names: Vec<&str> = match &target.described {
        Some(SectionDescription::Callable { parameters, .. }) => {
            parameters.iter().map(|parameter| parameter.name.as_str()).collect()
        }
        _ => Vec::new(),
    };
    let by_position =
        names.into_iter().zip(&call.stub.arguments).map(|(name, value)| (name.to_owned(), value.to_string()));
    by_position
        .chain(call.stub.keywords.iter().map(|(name, value)| (name.clone(), value.to_string())))
        .collect()
}
