//! What commands that call functions have in common: the interpreter, the executor, the store, the ledger.

mod executor;
mod interpreter;
mod ledger;
mod progress;
mod settings;
mod stored;

pub(crate) use executor::{Calling, runtime};
pub(crate) use interpreter::find_interpreter;
pub(crate) use ledger::StoreLedger;
pub(crate) use progress::CallProgress;
pub(crate) use settings::{RunSettings, fingerprints};
pub(crate) use stored::{now_ms, open_store};
