//! The last synergy that was measured, how much each kind counts, and how far whoever learns that is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use menace_store::SynergyHistory;
use menace_tracker::weights::SynergyWeights;
use serde_json::Value;
use tokio::sync::Mutex;

use super::listen::Collect;
use super::values::Values;

/// Synergy of a file, with the files beside it.
pub struct SynergyFigures {
    history: PathBuf,
    restarts: Arc<AtomicU64>,
    /// What is said may be so old.
    age: Duration,
    said: Mutex<Option<(Instant, String)>>,
}

impl SynergyFigures {
    /// Of a `synergy_history.db`, which is looked at again after `age`. `restarts` counts how often the exporter was started
    /// again.
    pub fn new(history: PathBuf, age: Duration, restarts: Arc<AtomicU64>) -> Self {
        Self { history, restarts, age, said: Mutex::default() }
    }

    /// A file beside the history; nothing if there is none.
    fn text_beside(&self, name: &str) -> Result<Option<String>, String> {
        match std::fs::read_to_string(self.history.with_file_name(name)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            text => text.map(Some).map_err(|error| format!("{name}: {error}")),
        }
    }
}

impl Collect for SynergyFigures {
    async fn text(&self) -> Result<String, String> {
        let mut said = self.said.lock().await;
        if let Some((_, text)) = said.as_ref().filter(|(at, _)| at.elapsed() < self.age) {
            return Ok(text.clone());
        }
        let text = self.looked_at().await?;
        *said = Some((Instant::now(), text.clone()));
        Ok(text)
    }
}

impl SynergyFigures {
    async fn looked_at(&self) -> Result<String, String> {
        let mut values = Values::default();
        let failed = |error: menace_store::StoreError| error.to_string();
        let records = match SynergyHistory::look(&self.history).await.map_err(failed)? {
            Some(history) => history.after(0).await.map_err(failed)?,
            None => Vec::new(),
        };
        let help = "How often synergy was measured";
        values.gauge("synergy_history_entries", help, Some(records.len() as f64));
        for (name, value) in records.last().into_iter().flat_map(|last| &last.values) {
            // A name that somebody else wrote into the file may be no name of a metric.
            let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if is_name && name.starts_with("synergy_") {
                values.gauge(name, "Synergy of workflows, as it was measured last", Some(*value));
            }
        }
        let weights = match self.text_beside("synergy_weights.json")? {
            None => BTreeMap::new(),
            Some(text) => {
                let read = SynergyWeights::read(&text);
                let read = read.map_err(|problem| format!("synergy_weights.json: {problem}"))?;
                read.all().map(|(kind, weight)| (kind.to_owned(), weight)).collect()
            }
        };
        values.gauges("synergy_weight", "How much a kind of synergy counts", "kind", weights);
        let trainer: Value = match self.text_beside("synergy_trainer.json")? {
            None => Value::Null,
            Some(text) => {
                serde_json::from_str(&text).map_err(|error| format!("synergy_trainer.json: {error}"))?
            }
        };
        let help = "Times that weights were learned";
        values.gauge("synergy_trainer_iterations", help, trainer["iterations"].as_f64());
        let help = "The last row of the history that was learned from";
        values.gauge("synergy_trainer_last_id", help, trainer["last_id"].as_f64());
        let restarts = self.restarts.load(Ordering::Relaxed) as f64;
        let help = "Times that this exporter was started again because it did not answer";
        values.counter("synergy_exporter_restarts_total", help, Some(restarts));
        Ok(values.text())
    }
}
