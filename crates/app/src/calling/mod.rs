//! Services for use cases that make calls: the interpreter, the executor, the store, the journal of calls.

mod docker_engine;
mod endpoint;
mod executor;
mod interpreter;
mod ledger;
mod memory;
mod plugin;
mod settings;
mod stored;

pub use docker_engine::{container_user, docker_options};
pub use endpoint::endpoint;
pub use executor::{RepositoryExecutor, runtime};
pub use interpreter::{RepositoryInterpreter, choose_interpreter};
pub(crate) use ledger::StoreLedger;
pub use memory::memory;
pub(crate) use plugin::{call_plugin, python_files};
pub(crate) use settings::fingerprints;
pub use settings::{RunSettings, StoredPreset};
pub use stored::{now_ms, open_store};
