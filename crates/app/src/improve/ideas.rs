//! Ideas from a model, requested at intervals and after cycles without a gain.

use menace_engine::budget::Budget;
use menace_engine::events::RunEventBus;
use menace_engine::memory::{MemoryTag, PromptInteraction};
use menace_engine::proposers::llm::ideas;
use menace_runner::RunReport;
use menace_store::Store;

use super::{proposers, recall};
use crate::calling::now_ms;
use crate::{AppContext, AppError, AppEvent};

/// Context of a request for ideas.
pub(super) struct IdeaRequestContext<'a> {
    pub(super) context: &'a AppContext,
    pub(super) store: &'a Store,
    /// The directory of the run.
    pub(super) directory: &'a std::path::Path,
    pub(super) repository: &'a str,
    /// Number of finished cycles.
    pub(super) cycles: usize,
    /// Number of the latest cycles in a row without a gain in ROI.
    pub(super) low: usize,
}

/// Maximum number of failures in the prompt.
const MAX_FAILURES: usize = 12;

/// Whether ideas are due: every `every` cycles, and after `retries` cycles without a gain.
fn is_due((every, retries): (usize, usize), cycles: usize, low: usize) -> bool {
    every > 0 && (cycles.is_multiple_of(every) || (retries > 0 && low >= retries))
}

/// Requests ideas if they are due, and stores them in the memory for later prompts.
pub(super) async fn request_ideas(
    so_far: &IdeaRequestContext<'_>,
    report: &RunReport,
    budget: &mut Budget,
    bus: &RunEventBus,
) -> Result<(), AppError> {
    let settings = &so_far.context.settings().improvement;
    let schedule = (settings.brainstorm_interval as usize, settings.brainstorm_retries as usize);
    if !is_due(schedule, so_far.cycles, so_far.low) || report.failures.is_empty() {
        return Ok(());
    }
    let Some(model) = proposers::model(so_far.context, so_far.directory)? else { return Ok(()) };
    let failing: Vec<String> = report
        .failures
        .iter()
        .take(MAX_FAILURES)
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
    use super::is_due;

    #[test]
    fn ideas_are_due_at_intervals_and_after_cycles_without_a_gain_if_enabled() {
        assert!(!is_due((0, 3), 4, 9));
        assert!(is_due((2, 3), 4, 0) && !is_due((2, 3), 3, 0));
        assert!(is_due((10, 3), 4, 3) && !is_due((10, 3), 4, 2) && !is_due((10, 0), 4, 9));
    }
}
