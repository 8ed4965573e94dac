//! Proposer that asks a language model.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use menace_model::ErrorDetails;
use menace_model::settings::ModelPrice;

use super::edits;
use super::model::{LanguageModel, ModelReply, ModelRequest};
use super::prompt::PromptSettings;
use super::token_count;
use crate::budget::{RemainingBudget, StepCost};
use crate::proposal::{Proposal, ProposalPurpose};
use crate::proposers::{PatchRecall, ProposalRequest, Proposer, ProposerAnswer};
use crate::secrets::MASK;
use crate::transforms::{Cause, ProposalGain};
use crate::workbench::EngineError;

/// Price of a model, and the limit of its answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelPricing {
    /// Prices of its tokens; `None` if unknown.
    pub price: Option<ModelPrice>,
    /// Maximum tokens of an answer.
    pub max_tokens: u64,
}

impl ModelPricing {
    /// Maximum tokens of an answer to a request of `input` tokens, or the reason why the request exceeds the budget.
    pub(super) fn allowed(&self, model: &str, input: u64, left: &RemainingBudget) -> Result<u64, String> {
        let mut most = self.max_tokens;
        if let Some(tokens) = left.tokens {
            most = most.min(tokens.saturating_sub(input));
        }
        if let Some(money) = left.money {
            let Some(price) = self.price else {
                return Err(format!(
                    "--max-cost cannot be enforced: the price of {model} is unknown (set it in SANDBOX_MODEL_PRICES)"
                ));
            };
            // Halve the answer until the budget can pay for it.
            while most > 0 && price.of(input, most) > money {
                most /= 2;
            }
        }
        if most < SHORTEST_ANSWER.min(self.max_tokens) {
            return Err(format!("a request of {input} tokens and its answer could exceed the budget"));
        }
        Ok(most)
    }

    /// Cost of a request and its answer.
    pub(super) fn cost(&self, reply: &ModelReply, seconds: f64) -> StepCost {
        StepCost {
            seconds,
            cpu_seconds: 0.0,
            tokens: reply.input_tokens + reply.output_tokens,
            money: self.price.map(|price| price.of(reply.input_tokens, reply.output_tokens)),
        }
    }
}

/// Minimum useful length of an answer, in tokens.
const SHORTEST_ANSWER: u64 = 256;
/// Number of memories in a prompt.
const MEMORIES: usize = 3;

/// Proposer that asks a language model.
pub struct LlmProposer {
    model: Box<dyn LanguageModel>,
    wording: PromptSettings,
    pricing: ModelPricing,
    retries: usize,
    recall: Option<Box<dyn PatchRecall>>,
    /// Set after an error that every other request would meet too.
    is_off: AtomicBool,
}

impl LlmProposer {
    /// Creates the proposer. `retries` is the maximum number of follow-up requests per cause.
    pub fn new(
        model: Box<dyn LanguageModel>,
        wording: PromptSettings,
        pricing: ModelPricing,
        retries: usize,
        recall: Option<Box<dyn PatchRecall>>,
    ) -> Self {
        Self { model, wording, pricing, retries, recall, is_off: AtomicBool::new(false) }
    }

    fn proposal(
        &self,
        question: &ProposalRequest<'_>,
        text: &str,
    ) -> Result<(Proposal, Vec<String>), String> {
        let before = BTreeMap::from([(question.path.to_owned(), question.text.to_owned())]);
        let found = edits::read(text).map_err(|error| with_hint(&error))?;
        let applied = edits::apply(&found, &before).map_err(|error| with_hint(&error))?;
        if applied.files.is_empty() {
            return Err("the answer changes nothing".into());
        }
        if applied
            .files
            .iter()
            .any(|(path, text)| text.matches(MASK).count() > before[path].matches(MASK).count())
        {
            return Err(format!(
                "the answer writes {MASK} into the file, which is the placeholder of a hidden secret"
            ));
        }
        let meant = ProposalPurpose {
            proposer: format!("llm:{}", self.model.name()),
            section: question.reason.section.clone(),
            cause: question.reason.summary.clone(),
            why: why(text),
            gain: match question.cause {
                Cause::Failure(_) => ProposalGain::Robustness,
                Cause::Review(_) => ProposalGain::Findings,
            },
        };
        Ok((Proposal::new(meant, &before, applied.files), applied.audit))
    }
}

/// Error and hint for the model, which gets both in the next request.
fn with_hint(error: &impl ErrorDetails) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

/// The model's explanation of its change: the first line of prose before the edits.
fn why(text: &str) -> String {
    let is_prose = |line: &&str| {
        let first = line.chars().next();
        first.is_some_and(char::is_alphabetic) && line.contains(' ') && line.ends_with(['.', ':'])
    };
    let before = text.split("<<<<<<<").next().unwrap_or_default();
    let said = before.lines().map(str::trim).find(is_prose);
    said.map_or_else(
        || "Change by a model, without an explanation.".into(),
        |line| line.chars().take(200).collect(),
    )
}

#[async_trait]
impl Proposer for LlmProposer {
    fn name(&self) -> &'static str {
        "llm"
    }

    fn tries(&self) -> usize {
        self.retries + 1
    }

    fn retries(&self) -> usize {
        self.retries
    }

    async fn propose(&self, question: &ProposalRequest<'_>) -> Result<ProposerAnswer, EngineError> {
        let free = StepCost { money: Some(0.0), ..StepCost::default() };
        let nothing = |problem: Option<String>| ProposerAnswer {
            proposals: Vec::new(),
            cost: free,
            problem,
            is_over: true,
        };
        if self.is_off.load(Ordering::Relaxed) {
            return Ok(nothing(None));
        }
        let memories = match &self.recall {
            Some(recall) => recall.relevant(&question.reason.summary, MEMORIES).await,
            None => Vec::new(),
        };
        let messages = match self.wording.messages(question, &memories) {
            Ok(messages) => messages,
            Err(error) => return Ok(nothing(Some(error.to_string()))),
        };
        let max_tokens = match self.pricing.allowed(
            self.model.name(),
            token_count::tokens_of(&messages),
            &question.left,
        ) {
            Ok(most) => most,
            Err(problem) => return Ok(nothing(Some(problem))),
        };
        let began = std::time::Instant::now();
        let reply = match self.model.ask(&ModelRequest { messages, max_tokens }).await {
            Ok(reply) => reply,
            Err(error) => {
                self.is_off.fetch_or(error.is_final(), Ordering::Relaxed);
                return Ok(nothing(Some(error.to_string())));
            }
        };
        let cost = self.pricing.cost(&reply, began.elapsed().as_secs_f64());
        if reply.is_cut {
            let problem = format!("the answer was cut off after {} tokens", reply.output_tokens);
            return Ok(ProposerAnswer {
                proposals: Vec::new(),
                cost,
                problem: Some(problem),
                is_over: false,
            });
        }
        Ok(match self.proposal(question, &reply.text) {
            Ok((proposal, audit)) => {
                for note in audit {
                    tracing::info!("{}: {note}", proposal.id);
                }
                ProposerAnswer { proposals: vec![proposal], cost, problem: None, is_over: false }
            }
            Err(problem) => {
                ProposerAnswer { proposals: Vec::new(), cost, problem: Some(problem), is_over: false }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::ModelError;
    use super::super::template::PromptTemplates;
    use super::*;
    use crate::causes::RankedCause;

    /// Gives the same answer to every request.
    struct FixedAnswerModel(Result<&'static str, ModelError>);

    #[async_trait]
    impl LanguageModel for FixedAnswerModel {
        fn name(&self) -> &'static str {
            "says"
        }

        async fn ask(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
            let text = self.0.clone()?.to_owned();
            let is_cut = text.ends_with('…');
            let output_tokens = request.max_tokens;
            Ok(ModelReply { text, input_tokens: 100, output_tokens, is_counted_there: true, is_cut })
        }
    }

    fn llm(says: Result<&'static str, ModelError>, price: Option<ModelPrice>) -> LlmProposer {
        let wording = PromptSettings {
            templates: PromptTemplates::load(None, None).unwrap(),
            max_length: None,
            background: None,
            prefix: String::new(),
            layout: Vec::new(),
            python: String::new(),
            testing: String::new(),
            standings: BTreeMap::new(),
        };
        LlmProposer::new(
            Box::new(FixedAnswerModel(says)),
            wording,
            ModelPricing { price, max_tokens: 1000 },
            3,
            None,
        )
    }

    async fn asked(llm: &LlmProposer, left: RemainingBudget) -> ProposerAnswer {
        let reason =
            RankedCause { section: "a:f".into(), summary: "it fails".into(), shown: Vec::new(), weight: 1.0 };
        let cause = Cause::Review("f".into());
        let text = "def f(x):\n    return 1 / x\n";
        let question =
            ProposalRequest { reason: &reason, cause: &cause, path: "a.py", text, earlier: &[], left };
        llm.propose(&question).await.unwrap()
    }

    const GOOD: &str = "Zero is refused.\na.py\n<<<<<<< SEARCH\n    return 1 / x\n=======\n    if x == 0:\n        raise ValueError(\"x must not be 0\")\n    return 1 / x\n>>>>>>> REPLACE\n";

    #[tokio::test]
    async fn an_answer_is_a_proposal_with_its_price() {
        let answer =
            asked(&llm(Ok(GOOD), Some(ModelPrice { input: 1.0, output: 2.0 })), RemainingBudget::default())
                .await;
        let proposal = &answer.proposals[0];
        assert_eq!((proposal.proposer.as_str(), proposal.why.as_str()), ("llm:says", "Zero is refused."));
        assert!(proposal.files["a.py"].contains("x must not be 0"));
        assert_eq!(answer.cost.tokens, 1100);
        assert!((answer.cost.money.unwrap() - 0.0021).abs() < 1e-9);
        let unknown = asked(&llm(Ok(GOOD), None), RemainingBudget::default()).await;
        assert_eq!(unknown.cost.money, None);
    }

    #[tokio::test]
    async fn a_request_that_could_exceed_the_budget_is_not_sent() {
        let price = Some(ModelPrice { input: 1.0, output: 1.0 });
        let few = RemainingBudget { tokens: Some(300), money: None };
        let answer = asked(&llm(Ok(GOOD), price), few).await;
        assert!(answer.proposals.is_empty() && answer.is_over && answer.cost.tokens == 0);
        let poor = RemainingBudget { tokens: None, money: Some(0.000_1) };
        assert!(asked(&llm(Ok(GOOD), price), poor).await.problem.unwrap().contains("budget"));
        let unknown = RemainingBudget { tokens: None, money: Some(1.0) };
        assert!(asked(&llm(Ok(GOOD), None), unknown).await.problem.unwrap().contains("unknown"));
        // The maximum length of the answer is what the budget can pay for.
        let enough = RemainingBudget { tokens: Some(2000), money: Some(0.001) };
        assert!(asked(&llm(Ok(GOOD), price), enough).await.cost.tokens <= 1100);
    }

    #[tokio::test]
    async fn an_answer_without_a_change_is_a_problem_and_a_final_error_disables_the_model() {
        let prose = asked(&llm(Ok("I cannot help with that."), None), RemainingBudget::default()).await;
        assert!(prose.proposals.is_empty() && prose.problem.is_some() && !prose.is_over);
        let hidden =
            "a.py\n<<<<<<< SEARCH\n    return 1 / x\n=======\n    return \"********\"\n>>>>>>> REPLACE\n";
        assert!(
            asked(&llm(Ok(hidden), None), RemainingBudget::default())
                .await
                .problem
                .unwrap()
                .contains("hidden")
        );
        let cut = "a.py\n<<<<<<< SEARCH\n    return 1 / x\n=======\n    return 2\n>>>>>>> REPLACE\n…";
        assert!(
            asked(&llm(Ok(cut), None), RemainingBudget::default()).await.problem.unwrap().contains("cut off")
        );
        let refusing = llm(Err(ModelError::Refused { status: 401, message: "who are you".into() }), None);
        assert!(asked(&refusing, RemainingBudget::default()).await.problem.unwrap().contains("401"));
        assert_eq!(asked(&refusing, RemainingBudget::default()).await.problem, None);
    }
}
