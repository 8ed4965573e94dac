//! Arguments that parse and make no sense.

use thiserror::Error;

/// What is wrong with the arguments of a command.
#[derive(Debug, Error)]
pub(crate) enum UsageError {
    /// `menace help` of an unknown command.
    #[error("no help topic '{0}'\nhint: use a command such as 'run' or 'sandbox run', or 'settings'")]
    NoHelpTopic(String),
    /// No key has this name.
    #[error("there is no key {0:?} that could be taken back\nhint: menace keys list shows them")]
    NoSuchKey(String),
    /// No sandbox has an id that begins so.
    #[error("there is no sandbox {0:?}\nhint: menace sandbox list shows those that there are")]
    NoSuchSandbox(String),
    /// Several sandboxes have.
    #[error("{1} sandboxes begin with {0:?}\nhint: write more of its id")]
    SeveralSandboxes(String, usize),
    /// Neither or both sides are inside.
    #[error(
        "one side has to be SANDBOX:PATH, and the other a path of this machine\nhint: menace sandbox cp a.txt sb-1f:/workspace/"
    )]
    Copy,
    /// Nobody has this number.
    #[error(
        "SANDBOX_CONTAINER_USER is {0:?}, which is no user\nhint: write it as numbers, such as 1000 or 1000:1000"
    )]
    ContainerUser(String),
    /// A file is somebody else's.
    #[error("{0} was written by somebody else\nhint: --force replaces it")]
    NotOurs(String),
    #[error(
        "--emit-tests and --forecast-log cannot be used while presets run in containers\nhint: set SANDBOX_DOCKER=0"
    )]
    NotInContainers,
    #[error("--threshold is {0}, which is not a share\nhint: pass a number from 0 to 1")]
    Threshold(f64),
    #[error(
        "{0:?} is no module of this repository\nhint: pass a path such as shop/cart.py or a name such as shop.cart"
    )]
    UnknownModule(String),
    #[error("{0} is no patch of this data directory\nhint: menace patches list shows them")]
    UnknownPatch(String),
    #[error("{0} is {1}, and only what is kept can be taken back")]
    NotKept(String, &'static str),
    #[error(
        "no loop is left unfinished in this data directory\nhint: menace auto begins one; --data-dir says where they are kept"
    )]
    NothingToRecover,
    #[error(
        "the tests of the repository cannot be run: {0}\nhint: a change is kept only if the tests pass; --python PATH names an interpreter with pytest"
    )]
    Untestable(String),
    #[error(
        "{0} is a run of calls, and not one of menace auto\nhint: menace run --resume {0} goes on with it"
    )]
    NoLoop(menace_model::ids::RunId),
    #[error(
        "{0} still runs, so nobody else can go on with it\nhint: end the process that runs it, or begin another loop"
    )]
    StillRuns(menace_model::ids::RunId),
    #[error("{0} is finished, so there is nothing to go on with\nhint: menace show {0} shows what it found")]
    Finished(menace_model::ids::RunId),
    #[error(
        "SANDBOX_INPUT_STUBS cannot be used: {0}\nhint: pass a list of dictionaries such as [{{\"name\": \"value\"}}]"
    )]
    InputStubs(String),
    #[error(
        "SANDBOX_STUB_STRATEGY=synthetic needs a language model, and there is none yet\nhint: use smart, history or templates"
    )]
    NoModel,
    #[error(
        "the templates of {path} cannot be used: {problem}\nhint: docs/files.md shows the form of the file"
    )]
    Templates { path: std::path::PathBuf, problem: String },
    #[error("the stub plugin {path} cannot be used: {problem}")]
    StubPlugin { path: std::path::PathBuf, problem: String },
    #[error("the fixtures of {path} cannot be used: {problem}")]
    Fixtures { path: std::path::PathBuf, problem: String },
    #[error(
        "no workflow is stored\nhint: menace workflows add NAME MODULE:FUNCTION …, or --dynamic-workflows"
    )]
    NoWorkflows,
    #[error(
        "traces cannot be sent: {0}\nhint: OTEL_EXPORTER_OTLP_ENDPOINT=http://HOST:4318, the port of collectors for HTTP; without the variable there are no traces"
    )]
    Collector(String),
    #[error("there is no network to shape\nhint: add --net deny, --net allow=HOST or --net mock=FILE")]
    NoNetwork,
    #[error("--net none goes with nothing else")]
    NoneAndMore,
    #[error(
        "the rules of {path} cannot be used: {problem}\nhint: a list of rules with host, path, … and respond"
    )]
    Mocks { path: std::path::PathBuf, problem: String },
    #[error("{path} cannot be used: {problem}\nhint: name a roi_history.json, or a directory that has one")]
    History { path: std::path::PathBuf, problem: String },
    #[error("{path} cannot be used: {problem}")]
    Rules { path: std::path::PathBuf, problem: String },
    #[error("the metrics of {path} cannot be used: {problem}")]
    MetricsFile { path: std::path::PathBuf, problem: String },
    #[error("{0}\nhint: menace roi forecast FILE says what is in it")]
    Tracking(String),
    #[error("GPT_MEMORY_RETENTION cannot be used: {0}")]
    Retention(#[from] menace_engine::memory::MemoryRetentionError),
    #[error("there is nothing to remember\nhint: --prompt says what was asked, --response what was answered")]
    NothingToRemember,
    #[error(
        "nothing says how many memories are kept\nhint: pass --retention insight=40,error_fix=20, or set GPT_MEMORY_RETENTION"
    )]
    NoRetention,
}
