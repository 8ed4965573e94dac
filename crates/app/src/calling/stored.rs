//! The database of the data directory.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::AppContext;
use menace_store::{Store, StoreError};

/// Opens the database, and creates it if it does not exist.
pub async fn open_store(context: &AppContext) -> Result<Store, StoreError> {
    let address = context.settings().storage.database_url.expose();
    Store::open(address, &context.data_directory()).await
}

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
