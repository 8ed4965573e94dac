//! Every setting of menace, declared once.
//!
//! The tables in `groups` are the only place that knows a setting's name, environment variable, flag, YAML key, type,
//! default and help. Parsing, `menace config`, the generated `.env` and the reference page are made from them.

#[macro_use]
mod declare;
mod prices;
mod reference;
mod resolve;
mod table;
mod template;
mod text_values;
mod units;
mod value;

mod groups;

pub use groups::*;
pub use prices::{ModelPrice, ModelPrices};
pub use reference::reference_markdown;
pub use resolve::{
    ResolvedSettings, SettingRow, SettingSource, SettingsError, SettingsLayer, SettingsWarning, resolve,
};
pub use table::{SettingDeclaration, SettingStatus, declarations};
pub use template::{dotenv_template, mentioned_names};
pub use text_values::{DatabaseUrl, JsonText, ScoreBackendUrl, Secret};
pub use units::{BitsPerSecond, ByteCount, Cores, Milliseconds, Percent, Probability, Watts};
pub use value::{SettingChoice, SettingValue};

groups! {
    /// Paths.
    general: GeneralSettings,
    /// Logging.
    logging: LoggingSettings,
    /// Reading a repository.
    scan: ScanSettings,
    /// The module map.
    module_map: ModuleMapSettings,
    /// Orphan discovery.
    orphans: OrphanSettings,
    /// Self-tests.
    self_test: SelfTestSettings,
    /// Presets.
    presets: PresetSettings,
    /// Preset keys: limits and faults.
    limits: LimitSettings,
    /// Preset keys: network.
    network: NetworkSettings,
    /// Inputs.
    stubs: StubSettings,
    /// Docker.
    docker: DockerSettings,
    /// The container pool.
    pool: PoolSettings,
    /// Virtual machines.
    virtual_machine: VirtualMachineSettings,
    /// Improvement runs.
    improvement: ImprovementSettings,
    /// ROI and convergence.
    roi: RoiSettings,
    /// Entropy.
    entropy: EntropySettings,
    /// Synergy.
    synergy: SynergySettings,
    /// Dashboard and metrics.
    metrics: MetricsSettings,
    /// Alignment.
    alignment: AlignmentSettings,
    /// The visual agent.
    visual_agent: VisualAgentSettings,
    /// The language model and its memory.
    language_model: LanguageModelSettings,
    /// Databases.
    storage: StorageSettings,
}
