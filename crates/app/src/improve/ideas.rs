//! New ideas, from a model, when cycles bring little or when it is time for some.

use menace_engine::budget::Budget;
use menace_engine::events::RunEventBus;
use menace_engine::memory::{MemoryTag, PromptInteraction};
use menace_engine::proposers::llm::ideas;
use menace_runner::RunReport;
use menace_store::Store;

use super::{proposers, recall};
use crate::calling::now_ms;
use crate::{AppContext, AppError, AppEvent};

/// What a loop has done so far.
pub(super) struct IdeaRequestContext<'a> {
    pub(super) context: &'a AppContext,
    pub(super) store: &'a Store,
    /// The directory of the run.
    pub(super) directory: &'a std::path::Path,
    pub(super) repository: &'a str,
    /// Cycles that ended.
    pub(super) cycles: usize,
    /// Of them, those at the end whose ROI did not rise.
    pub(super) low: usize,
}

/// Failures that are shown.
const SHOWN: usize = 12;

/// Whether it is time: every so many cycles, and after so many that brought little.
fn is_time((every, retries): (usize, usize), cycles: usize, low: usize) -> bool {
    every > 0 && (cycles.is_multiple_of(every) || (retries > 0 && low >= retries))
}

/// Asks for ideas if it is time, and remembers them: later questions show those that fit.
pub(super) async fn request_ideas(
    so_far: &IdeaRequestContext<'_>,
    report: &RunReport,
    budget: &mut Budget,
    bus: &RunEventBus,
) -> Result<(), AppError> {
    let settings = &so_far.context.settings().improvement;
    let rhythm = (settings.brainstorm_interval as usize, settings.brainstorm_retries as usize);
    if !is_time(rhythm, so_far.cycles, so_far.low) || report.failures.is_empty() {
        return Ok(());
    }
    let Some(model) = proposers::model(so_far.context, so_far.directory)? else { return Ok(()) };
    let failing: Vec<String> = report
        .failures
        .iter()
        .take(SHOWN)
        .map(|failure| {
            let what = failure.exception.as_deref().unwrap_or(failure.kind.name());
            let message = failure.message.lines().next().unwrap_or_default();
            format!("{} under {}: {what}: {message}", failure.section, failure.scenario)
        })
        .collect();
    let pricing = proposers::pricing(so_far.context);
    let (found, cost) = match ideas(&*model, &failing, &pricing, &budget.left()).await {
        Ok(answer) => answer,
        Err(error) => {
            so_far.context.emit(AppEvent::IdeasFailed { error: error.to_string() });
            return Ok(());
        }
    };
    budget.spend(&cost);
    let memory = recall::memory(so_far.context, so_far.store)?;
    for idea in &found {
        let section = idea.split_whitespace().find(|word| word.contains(':')).unwrap_or_default();
        let interaction = PromptInteraction {
            tag: MemoryTag::Insight,
            repository: so_far.repository.to_owned(),
            section: section.trim_end_matches(':').to_owned(),
            prompt: "What still fails, and what to do about it".into(),
            response: idea.clone(),
        };
        memory.log(&interaction, now_ms(), Some(bus)).await?;
    }
    so_far.context.emit(AppEvent::IdeasAdded { count: found.len(), model: model.name().to_owned() });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_time;

    #[test]
    fn ideas_come_in_turn_and_when_nothing_helps_and_not_at_all_unless_wanted() {
        assert!(!is_time((0, 3), 4, 9));
        assert!(is_time((2, 3), 4, 0) && !is_time((2, 3), 3, 0));
        assert!(is_time((10, 3), 4, 3) && !is_time((10, 3), 4, 2) && !is_time((10, 0), 4, 9));
    }
}
