//! The database of the data directory.

use std::time::{SystemTime, UNIX_EPOCH};

use menace_store::{Store, StoreError};

use crate::configuration::Configuration;

/// Opens it, and makes it when it is not there.
pub(crate) async fn open_store(configuration: &Configuration) -> Result<Store, StoreError> {
    let address = configuration.settings().storage.database_url.expose();
    Store::open(address, &configuration.data_directory()).await
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
