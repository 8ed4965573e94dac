//! Ideas of a model for failures that no proposal fixed. Ideas are not changes: they are stored as memories, and later
//! prompts show the relevant ones.

use super::model::{ChatMessage, ChatRole, LanguageModel, ModelError, ModelRequest};
use super::proposer::ModelPricing;
use super::token_count;
use crate::budget::{RemainingBudget, StepCost};
use crate::secrets::scrubbed;

const RULES: &str = "You advise engineers who improve Python code. Answer with at most five ideas, each on a line of its own \
that begins with \"- \", names the function it is about as module:function, and says in one sentence what is wrong and what to do.";
/// Maximum number of ideas in one answer, and of characters in one idea.
const MOST: usize = 5;
const LONGEST: usize = 400;

/// Asks a model for ideas about the remaining failures, unless the request could exceed the remaining budget.
pub async fn ideas(
    model: &dyn LanguageModel,
    failing: &[String],
    pricing: &ModelPricing,
    left: &RemainingBudget,
) -> Result<(Vec<String>, StepCost), ModelError> {
    let nothing = StepCost { money: Some(0.0), ..StepCost::default() };
    let question =
        format!("These failures remain, and no proposal so far fixed them:\n{}", failing.join("\n"));
    let say = |role, text: &str| ChatMessage { role, content: scrubbed(text) };
    let messages = vec![say(ChatRole::System, RULES), say(ChatRole::User, &question)];
    let input = token_count::tokens_of(&messages);
    let Ok(max_tokens) = pricing.allowed(model.name(), input, left) else { return Ok((Vec::new(), nothing)) };
    let began = std::time::Instant::now();
    let reply = model.ask(&ModelRequest { messages, max_tokens }).await?;
    let found = reply
        .text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "))
        .map(|line| line.chars().take(LONGEST).collect())
        .take(MOST)
        .collect();
    Ok((found, pricing.cost(&reply, began.elapsed().as_secs_f64())))
}
