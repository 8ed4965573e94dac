//! Events of a run of `menace auto` while it measures and verifies.

use menace_engine::events::RunEvent;
use menace_tracker::convergence::SynergyConvergence;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::tracking::CycleReport;
use crate::{AppContext, AppEvent};

/// Reports the forecast for the next cycle.
pub(super) fn report_forecast(context: &AppContext, cycle: &CycleReport, synergy: SynergyConvergence) {
    context.emit(AppEvent::CycleForecast {
        forecast: cycle.forecast.clone().map(Box::new),
        roi_threshold: cycle.roi_threshold,
        synergy_threshold: cycle.synergy_threshold,
        synergy: Box::new(synergy),
    });
}

/// Reports verdicts as they are reached.
pub(super) async fn report_verdicts(context: AppContext, mut events: Receiver<(u64, RunEvent)>) {
    let mut last: Option<(String, String, String)> = None;
    loop {
        match events.recv().await {
            Ok((_, RunEvent::Proposed { proposer, section, why, .. })) => {
                last = Some((section, proposer, why));
            }
            Ok((_, RunEvent::Judged { kept, reason, gain, .. })) => {
                if let Some((section, proposer, why)) = last.take() {
                    context.emit(AppEvent::ProposalJudged { section, proposer, kept, why, gain, reason });
                }
            }
            Ok(_) => {}
            Err(RecvError::Lagged(count)) => context.emit(AppEvent::EventsDropped { count }),
            Err(RecvError::Closed) => return,
        }
    }
}
