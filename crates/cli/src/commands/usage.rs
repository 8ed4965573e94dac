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
    /// A file is somebody else's.
    #[error("{0} was written by somebody else\nhint: --force replaces it")]
    NotOurs(String),
    #[error("--threshold is {0}, which is not a share\nhint: pass a number from 0 to 1")]
    Threshold(f64),
    #[error("{0} is no patch of this data directory\nhint: menace patches list shows them")]
    UnknownPatch(String),
    #[error("{0} is {1}, and only what is kept can be taken back")]
    NotKept(String, &'static str),
    #[error(
        "traces cannot be sent: {0}\nhint: OTEL_EXPORTER_OTLP_ENDPOINT=http://HOST:4318, the port of collectors for HTTP; without the variable there are no traces"
    )]
    Collector(String),
    #[error("there is no network to shape\nhint: add --net deny, --net allow=HOST or --net mock=FILE")]
    NoNetwork,
    #[error("--net none goes with nothing else")]
    NoneAndMore,
    #[error("there is nothing to remember\nhint: --prompt says what was asked, --response what was answered")]
    NothingToRemember,
    #[error(
        "nothing says how many memories are kept\nhint: pass --retention insight=40,error_fix=20, or set GPT_MEMORY_RETENTION"
    )]
    NoRetention,
}
