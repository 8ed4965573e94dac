//! What commands that call functions have in common: the interpreter, the executor, the store, the ledger.

mod endpoint;
mod engine;
mod executor;
mod interpreter;
mod ledger;
mod memory;
mod plugin;
mod progress;
mod settings;
mod stopping;
mod stored;

pub(crate) use endpoint::endpoint;
pub(crate) use engine::{container_user, docker_options};
pub(crate) use executor::{RepositoryExecutor, runtime};
pub(crate) use interpreter::find_interpreter;
pub(crate) use ledger::StoreLedger;
pub(crate) use memory::memory;
pub(crate) use plugin::{ask_plugin, python_files};
pub(crate) use progress::CallProgress;
pub(crate) use settings::{RunSettings, StoredPreset, fingerprints};
pub(crate) use stopping::asked_to_stop;
pub(crate) use stored::{now_ms, open_store};
