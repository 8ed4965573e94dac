//! What people see while it works: a line for each thing that happens.

use menace_engine::events::RunEvent;
use menace_runner::RunReport;
use menace_tracker::convergence::{ConvergenceCheck, SynergyConvergence};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::commands::run::shortened;
use crate::terminal::{count, grouped, note};
use crate::tracking::CycleReport;

/// What a cycle measured.
pub(super) fn measured(number: usize, report: &RunReport, roi: Option<f64>) {
    let roi = roi.map_or("ROI unknown".to_owned(), |roi| format!("ROI {roi:.3}"));
    let failures = count(report.failures.len(), "way to fail").replace("way to fails", "ways to fail");
    note(&format!("cycle {}: {} calls, {failures}, {roi}", number + 1, grouped(report.calls)));
}

/// What a cycle says about the next one: its forecast, what counts as little, and whether synergy rests.
pub(super) fn expected(worth: &CycleReport, synergy: &SynergyConvergence) {
    let forecast = match &worth.forecast {
        Some(forecast) => forecast.summary_line(),
        None => "nothing can be said yet".to_owned(),
    };
    note(&format!("next ROI: {forecast}"));
    let (roi, of_synergy) = (worth.roi_threshold, worth.synergy_threshold);
    note(&format!("thresholds: ROI {roi:.4}, synergy {of_synergy:.4}"));
    if !synergy.checks.is_empty() {
        let said =
            |check: &ConvergenceCheck| format!("{} {:.4} of {:.4}", check.name, check.figure, check.limit);
        let checks: Vec<String> = synergy.checks.iter().map(said).collect();
        let rests = if synergy.converged { "rests" } else { "does not rest" };
        note(&format!("synergy {rests} over {} values: {}", synergy.length, checks.join(", ")));
    }
}

/// Says what is judged.
pub(super) async fn listen(mut events: Receiver<(u64, RunEvent)>) {
    let mut last: Option<(String, String, String)> = None;
    loop {
        match events.recv().await {
            Ok((_, event)) => print_event(&event, &mut last),
            Err(RecvError::Lagged(missed)) => note(&format!("… {missed} more")),
            Err(RecvError::Closed) => return,
        }
    }
}

fn print_event(event: &RunEvent, last: &mut Option<(String, String, String)>) {
    match event {
        RunEvent::Proposed { proposer, section, why, .. } => {
            *last = Some((section.clone(), proposer.clone(), why.clone()));
        }
        RunEvent::Judged { kept, reason, gain, .. } => {
            let Some((section, proposer, why)) = last.take() else { return };
            let (mark, rest) = if *kept {
                let gain = gain.map_or(String::new(), |gain| format!("  {gain:+.3}"));
                ("kept    ", format!("{why}{gain}"))
            } else {
                let reason = shortened(reason.as_deref().unwrap_or("not reached"), 110);
                ("rejected", reason)
            };
            note(&format!("{mark} {section}  {proposer}: {rest}"));
        }
        _ => {}
    }
}
