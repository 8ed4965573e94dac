//! Proposers of a run: the built-in transforms, and a model if one is configured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menace_engine::proposers::llm::{
    HttpModel, LanguageModel, LlmProposer, ModelPricing, ModelRecording, ModuleMetricHistory, PromptSettings,
    PromptTemplates, RecordedModel,
};
use menace_engine::proposers::{BuiltInProposer, PatchRecall, Proposer};
use menace_model::inventory::Inventory;
use menace_model::settings::ProposerKind;

use crate::calling::endpoint;
use crate::error::FileContext;
use crate::tracking::CycleReport;
use crate::{AppContext, AppError, ModelChoice, RequestError};

/// Directory of prompt templates that override the built-in ones.
const TEMPLATES: &str = "templates/auto_prompts";
/// File of recorded model answers in the directory of a run.
const ANSWERS: &str = "answers.jsonl";

/// Context for creating the proposers.
pub(super) struct ProposerSetup<'a> {
    pub(super) context: &'a AppContext,
    /// The directory of the run.
    pub(super) directory: &'a Path,
    pub(super) inventory: &'a Inventory,
    pub(super) python: &'a str,
    pub(super) cycle_report: Option<&'a CycleReport>,
    /// Metrics of the modules in the previous cycle.
    pub(super) previous: Option<&'a BTreeMap<String, BTreeMap<String, f64>>>,
}

/// The model that the settings choose.
pub(super) fn model_choice(context: &AppContext) -> ModelChoice {
    let settings = &context.settings().language_model;
    let name = settings.model.clone();
    match (&settings.model_replay, endpoint(context, &settings.model)) {
        (Some(path), _) => ModelChoice::Recorded { name, path: path.clone() },
        (None, Some(_)) => {
            let price = settings.model_prices.get(&settings.model).map(|price| (price.input, price.output));
            ModelChoice::Live { name, price }
        }
        (None, None) => ModelChoice::None,
    }
}

/// The model. Its answers are recorded in the directory of the run, so that a resumed run reuses them.
pub(super) fn model(
    context: &AppContext,
    directory: &Path,
) -> Result<Option<Box<dyn LanguageModel>>, AppError> {
    let settings = &context.settings().language_model;
    if let Some(path) = &settings.model_replay {
        if !path.is_file() {
            return Err(RequestError::ModelReplay(path.clone()).into());
        }
        return Ok(Some(Box::new(RecordedModel::replay(&settings.model, ModelRecording::read(path)?))));
    }
    let Some(endpoint) = endpoint(context, &settings.model) else { return Ok(None) };
    let own = directory.join(ANSWERS);
    let known = ModelRecording::read(&own)?;
    let files: Vec<PathBuf> = std::iter::once(own).chain(settings.model_record.clone()).collect();
    Ok(Some(Box::new(RecordedModel::new(Box::new(HttpModel::new(endpoint)?), known, files))))
}

/// Prices of the model.
pub(super) fn pricing(context: &AppContext) -> ModelPricing {
    let settings = &context.settings().language_model;
    ModelPricing {
        price: settings.model_prices.get(&settings.model),
        max_tokens: settings.model_answer_length,
    }
}

impl ProposerSetup<'_> {
    /// The enabled proposers, cheapest first.
    pub(super) fn proposers(
        &self,
        recall: Option<Box<dyn PatchRecall>>,
    ) -> Result<Vec<Box<dyn Proposer>>, AppError> {
        let settings = self.context.settings();
        let is_wanted = |kind: ProposerKind| settings.improvement.proposers.contains(&kind);
        let mut all: Vec<Box<dyn Proposer>> = Vec::new();
        if is_wanted(ProposerKind::Transforms) {
            all.push(Box::new(BuiltInProposer::default()));
        }
        if is_wanted(ProposerKind::Llm)
            && let Some(model) = model(self.context, self.directory)?
        {
            let pricing = pricing(self.context);
            let retries = settings.improvement.patch_retries.saturating_sub(1) as usize;
            all.push(Box::new(LlmProposer::new(model, self.prompt_settings()?, pricing, retries, recall)));
        }
        Ok(all)
    }

    fn prompt_settings(&self) -> Result<PromptSettings, AppError> {
        let settings = self.context.settings();
        let (gpt, agent) = (&settings.language_model, &settings.visual_agent);
        let templates =
            PromptTemplates::load(Some(Path::new(TEMPLATES)), gpt.gpt_section_template.as_deref())?;
        let background = agent.va_prompt_template.as_ref().map(|text| {
            let path = Path::new(text);
            if path.is_file() {
                std::fs::read_to_string(path).file("read", Path::new(text))
            } else {
                Ok(text.clone())
            }
        });
        let layout = self.inventory.modules.iter().map(|module| module.path.clone());
        Ok(PromptSettings {
            templates,
            max_length: gpt.gpt_section_prompt_max_length,
            background: background.transpose()?,
            prefix: agent.va_prompt_prefix.clone(),
            layout: layout.take(agent.va_repo_layout_lines).collect(),
            python: Path::new(self.python).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            testing: "menace runs the tests of the repository with pytest, five times, and calls of every function that is touched.".into(),
            standings: self.standings(),
        })
    }

    fn standings(&self) -> BTreeMap<String, ModuleMetricHistory> {
        let Some(cycle_report) = self.cycle_report else { return BTreeMap::new() };
        let before = |module: &str, name: &str| self.previous?.get(module)?.get(name).copied();
        let of = |row: &crate::tracking::CycleModuleRow| ModuleMetricHistory {
            metrics: row
                .metrics
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value, before(&row.module, name))))
                .collect(),
            roi_deltas: row.delta.into_iter().collect(),
        };
        cycle_report.modules.iter().map(|row| (row.module.clone(), of(row))).collect()
    }
}

/// Metrics of the modules in a cycle, for comparison in the next one.
pub(super) fn measured(cycle_report: &CycleReport) -> BTreeMap<String, BTreeMap<String, f64>> {
    let metrics = |row: &crate::tracking::CycleModuleRow| {
        row.metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    };
    cycle_report.modules.iter().map(|row| (row.module.clone(), metrics(row))).collect()
}
