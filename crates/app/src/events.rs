//! Events of the use cases, in the order in which they happen. A front end prints, stores or forwards them.

use std::path::{Path, PathBuf};

use menace_analysis::scan::ScanObserver;
use menace_model::ids::RunId;
use menace_model::inventory::OrphanClass;
use menace_model::presets::PresetOrigin;
use menace_runner::RunObserver;
use menace_tracker::convergence::SynergyConvergence;
use serde::Serialize;
use tokio::sync::watch;

use crate::calling::RepositoryInterpreter;
use crate::tracking::ForecastReport;

/// Progress display of a scan; removed when it is dropped.
pub trait ScanProgress: ScanObserver + Send {}
impl<T: ScanObserver + Send> ScanProgress for T {}

/// Progress display of the calls of a run; removed when it is dropped.
pub trait CallProgress: RunObserver {}
impl<T: RunObserver> CallProgress for T {}

/// The user interface of a use case.
pub trait FrontEnd: Send + Sync {
    /// Receives an event.
    fn event(&self, event: AppEvent);
    /// Becomes true when the user asks to stop. Calls in progress end first.
    fn interruption(&self) -> watch::Receiver<bool>;
    /// Display for a scan of this repository.
    fn scan_progress(&self, repository: &Path) -> Box<dyn ScanProgress>;
    /// Display for the calls of a run.
    fn call_progress(&self) -> Box<dyn CallProgress>;
}

/// An event of a use case.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AppEvent {
    /// The interpreter for calls and tests was selected.
    InterpreterChosen(RepositoryInterpreter),
    /// Presets were chosen: how many of each origin.
    PresetsChosen {
        /// Origins with their number of presets.
        origins: Vec<(PresetOrigin, usize)>,
    },
    /// Sets of arguments were given by the user, earlier runs, templates or plugins.
    StubsGiven {
        /// Number of sets.
        count: usize,
    },
    /// A micro-pilot run of a borderline module started.
    MicroPilotStarted {
        /// Path of the module.
        module: String,
    },
    /// Regression tests were written.
    TestsWritten {
        /// Number of tests.
        count: usize,
        /// Number of failures that occur only in a sandbox and have no test.
        omitted: usize,
        /// Directory of the tests.
        directory: PathBuf,
        /// Repository that has to be on `PYTHONPATH`.
        repository: PathBuf,
    },
    /// A run was interrupted.
    RunInterrupted {
        /// Id of the run.
        run: RunId,
        /// Calls that were made.
        made: usize,
        /// Calls that were planned.
        planned: usize,
    },
    /// The container of a preset is being started.
    ContainerStarted {
        /// Number of the preset, from 1.
        number: usize,
        /// Number of presets.
        total: usize,
        /// Name of the preset.
        preset: String,
    },
    /// A run of `menace auto` started or was resumed.
    AutoStarted {
        /// Id of the run.
        run: RunId,
        /// The repository.
        repository: PathBuf,
        /// Branch of the kept patches.
        branch: String,
    },
    /// The tests of the repository passed before any change.
    TestsChecked {
        /// Tests that pass.
        passing: usize,
        /// Test files.
        files: usize,
    },
    /// The source of proposals was selected: a language model, or only the built-in transforms.
    ProposersChosen(ModelChoice),
    /// Orphans were classified before a cycle.
    OrphansClassified(OrphanSelection),
    /// Orphans are not classified, because a setting disables it.
    OrphanScanDisabled,
    /// A resumed cycle reuses its presets.
    PresetsReused {
        /// Origin of the presets.
        origin: String,
    },
    /// Presets were adapted to earlier cycles, or kept.
    PresetsAdapted {
        /// Number of the cycle, from 1.
        cycle: usize,
        /// Origin of the presets.
        origin: String,
        /// Number of changed values.
        changed: usize,
        /// Observations on which the adaptation is based.
        observations: Vec<String>,
    },
    /// Details of an adaptation, if `PRESET_DEBUG` is set.
    PresetAdaptationDetail {
        /// Text of the decision.
        line: String,
    },
    /// Outcomes of the previous cycle are reused for modules whose code is unchanged.
    ModulesUnchanged {
        /// Number of modules.
        count: usize,
    },
    /// The calls of a cycle are complete.
    CycleMeasured {
        /// Number of the cycle, from 1.
        cycle: usize,
        /// Number of calls.
        calls: usize,
        /// Distinct failures.
        failures: usize,
        /// ROI of the cycle.
        roi: Option<f64>,
    },
    /// Forecast for the next cycle.
    CycleForecast {
        /// Forecast of the ROI.
        forecast: Option<Box<ForecastReport>>,
        /// ROI threshold of diminishing returns.
        roi_threshold: f64,
        /// Threshold of synergy.
        synergy_threshold: f64,
        /// State of the synergy tests.
        synergy: Box<SynergyConvergence>,
    },
    /// A proposal was verified.
    ProposalJudged {
        /// Name of the section.
        section: String,
        /// Name of the proposer.
        proposer: String,
        /// Whether it was kept.
        kept: bool,
        /// Description of the change.
        why: String,
        /// Gain in robustness of a kept proposal.
        gain: Option<f64>,
        /// Condition that a rejected proposal did not meet.
        reason: Option<String>,
    },
    /// Events were dropped because the front end is too slow.
    EventsDropped {
        /// Number of events.
        count: u64,
    },
    /// A model suggested ideas.
    IdeasAdded {
        /// Number of new ideas.
        count: usize,
        /// Name of the model.
        model: String,
    },
    /// The request for ideas to the model failed.
    IdeasFailed {
        /// The error.
        error: String,
    },
    /// Patch scores are stored locally because the remote store is not supported.
    PatchScoresLocal,
    /// A run of `menace auto` was interrupted; its state is saved.
    AutoInterrupted {
        /// Id of the run.
        run: RunId,
    },
    /// An interrupted round of self-tests was resumed.
    SelfTestResumed {
        /// Number of recorded results.
        known: usize,
    },
    /// Test files are being run.
    TestFilesStarted {
        /// Number of files.
        count: usize,
    },
    /// Modules without tests are being called.
    UntestedModulesCalled {
        /// Number of modules.
        count: usize,
    },
    /// Orphans passed, but a setting disables their integration.
    IntegrationDisabled {
        /// Number of orphans.
        count: usize,
    },
    /// Workflows are built from the module groups because none is stored.
    WorkflowsFromGroups,
    /// A workflow, or one of its steps alone, started.
    WorkflowStarted {
        /// Name of the workflow.
        workflow: String,
        /// The step that runs alone.
        step: Option<String>,
    },
    /// Synergy weights were learned.
    SynergyWeightsLearned {
        /// Number of samples.
        samples: usize,
        /// File of the weights.
        path: PathBuf,
    },
    /// Too few samples to learn synergy weights.
    SynergySamplesMissing {
        /// Number of samples.
        samples: usize,
        /// Database of the samples; `None` if it does not exist.
        history: Option<PathBuf>,
    },
}

/// The model that proposes patches.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum ModelChoice {
    /// Recorded answers of a model.
    Recorded {
        /// Name of the model.
        name: String,
        /// File of the answers.
        path: PathBuf,
    },
    /// A model behind an API.
    Live {
        /// Name of the model.
        name: String,
        /// Price per million tokens, input and output; `None` if unknown.
        price: Option<(f64, f64)>,
    },
    /// No model: only built-in transforms.
    None,
}

/// Orphans in a cycle of `menace auto`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OrphanSelection {
    /// Orphans that are called.
    pub included: Vec<(OrphanClass, String)>,
    /// Orphans that are not called.
    pub excluded: Vec<(OrphanClass, String)>,
    /// Orphans that are called but not changed.
    pub unchanged: Vec<(OrphanClass, String)>,
}

/// A front end that shows nothing and is never interrupted.
pub struct SilentFrontEnd {
    interruption: watch::Receiver<bool>,
    _sender: watch::Sender<bool>,
}

impl Default for SilentFrontEnd {
    fn default() -> Self {
        let (sender, interruption) = watch::channel(false);
        Self { interruption, _sender: sender }
    }
}

impl FrontEnd for SilentFrontEnd {
    fn event(&self, _event: AppEvent) {}

    fn interruption(&self) -> watch::Receiver<bool> {
        self.interruption.clone()
    }

    fn scan_progress(&self, _repository: &Path) -> Box<dyn ScanProgress> {
        Box::new(menace_analysis::scan::SilentScanObserver)
    }

    fn call_progress(&self) -> Box<dyn CallProgress> {
        Box::new(SilentCallProgress)
    }
}

/// Progress display that shows nothing.
pub(crate) struct SilentCallProgress;

impl RunObserver for SilentCallProgress {
    fn planned(&self, _calls: usize, _made: usize) {}
    fn called(&self, _kind: menace_model::calls::OutcomeKind) {}
    fn shrinking(&self, _failures: usize) {}
    fn shrunk(&self) {}
}
