//! Errors in arguments that clap cannot find.

use thiserror::Error;

/// Invalid arguments of a command.
#[derive(Debug, Error)]
pub(crate) enum UsageError {
    /// `menace help` of an unknown command.
    #[error("no help topic '{0}'\nhint: use a command such as 'run' or 'sandbox run', or 'settings'")]
    NoHelpTopic(String),
    /// No active key has this name or id.
    #[error("no active API key {0:?}\nhint: list keys with 'menace keys list'")]
    NoSuchKey(String),
    /// No sandbox id has this prefix.
    #[error("no sandbox with id {0}\nhint: list them with 'menace sandbox list'")]
    NoSuchSandbox(String),
    /// Several sandbox ids have this prefix.
    #[error("the ids of {1} sandboxes begin with {0}\nhint: use a longer prefix")]
    SeveralSandboxes(String, usize),
    /// Neither or both sides are in a sandbox.
    #[error(
        "one side must be SANDBOX:PATH and the other a path on this machine\nhint: for example, menace sandbox cp a.txt sb-1f:/workspace/"
    )]
    Copy,
    /// The file does not exist.
    #[error("no such file: {}\nhint: check the path", .0.display())]
    NoSuchFile(std::path::PathBuf),
    /// Another supervisor uses the data directory.
    #[error("menace up is already running for {}\nhint: stop it first, or pass another --data-dir", .0.display())]
    AlreadyUp(std::path::PathBuf),
    /// Neither the synergy exporter nor the trainer is enabled.
    #[error(
        "neither the synergy exporter nor the trainer is enabled\nhint: set EXPORT_SYNERGY_METRICS=1 or AUTO_TRAIN_SYNERGY=1"
    )]
    NoSynergyTool,
    /// The file was not written by menace.
    #[error("{0} was not written by menace\nhint: --force overwrites it")]
    NotOurs(String),
    #[error("--threshold {0} is out of range\nhint: pass a number from 0 to 1")]
    Threshold(f64),
    #[error("no patch with id {0}\nhint: list them with 'menace patches list'")]
    UnknownPatch(String),
    #[error("{0} is {1}; only kept patches can be reverted")]
    NotKept(String, &'static str),
    #[error(
        "failed to set up traces: {0}\nhint: set OTEL_EXPORTER_OTLP_ENDPOINT to an HTTP collector such as http://HOST:4318, or unset it"
    )]
    Collector(String),
    #[error("there is no network to shape\nhint: add --net deny, --net allow=HOST or --net mock=FILE")]
    NoNetwork,
    #[error("--net none cannot be combined with another --net")]
    NoneAndMore,
    #[error("nothing to store: prompt and response are empty\nhint: pass --prompt or --response")]
    NothingToRemember,
    #[error(
        "no retention is set\nhint: pass --retention insight=40,error_fix=20, or set GPT_MEMORY_RETENTION"
    )]
    NoRetention,
}
