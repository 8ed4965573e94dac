//! Metrics of synergy: the last measurement, the learned weights, and the progress of the trainer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use menace_store::SynergyHistory;
use menace_tracker::weights::SynergyWeights;
use serde_json::Value;
use tokio::sync::Mutex;

use super::endpoint::MetricsSource;
use super::scrape_values::ScrapeValues;

/// Metrics of a `synergy_history.db` and the files next to it.
pub struct SynergyMetricsSource {
    history: PathBuf,
    restarts: Arc<AtomicU64>,
    /// Maximum age of the cached text.
    age: Duration,
    said: Mutex<Option<(Instant, String)>>,
}

impl SynergyMetricsSource {
    /// Metrics of a `synergy_history.db`, cached for `age`. `restarts` counts restarts of the exporter.
    pub fn new(history: PathBuf, age: Duration, restarts: Arc<AtomicU64>) -> Self {
        Self { history, restarts, age, said: Mutex::default() }
    }

    /// Text of a file next to the history; `None` if it does not exist.
    fn text_beside(&self, name: &str) -> Result<Option<String>, String> {
        match std::fs::read_to_string(self.history.with_file_name(name)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            text => text.map(Some).map_err(|error| format!("{name}: {error}")),
        }
    }
}

impl MetricsSource for SynergyMetricsSource {
    async fn text(&self) -> Result<String, String> {
        let mut cached = self.said.lock().await;
        if let Some((_, text)) = cached.as_ref().filter(|(at, _)| at.elapsed() < self.age) {
            return Ok(text.clone());
        }
        let text = self.collect().await?;
        *cached = Some((Instant::now(), text.clone()));
        Ok(text)
    }
}

impl SynergyMetricsSource {
    async fn collect(&self) -> Result<String, String> {
        let mut values = ScrapeValues::default();
        let failed = |error: menace_store::StoreError| error.to_string();
        let records = match SynergyHistory::open_existing(&self.history).await.map_err(failed)? {
            Some(history) => history.after(0).await.map_err(failed)?,
            None => Vec::new(),
        };
        let help = "Number of synergy measurements";
        values.gauge("synergy_history_entries", help, Some(records.len() as f64));
        for (name, value) in records.last().into_iter().flat_map(|last| &last.values) {
            // Names in the file come from other programs and may not be valid metric names.
            let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if is_name && name.starts_with("synergy_") {
                values.gauge(name, "Last measured synergy of workflows", Some(*value));
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
        values.gauges("synergy_weight", "Weight of a kind of synergy", "kind", weights);
        let trainer: Value = match self.text_beside("synergy_trainer.json")? {
            None => Value::Null,
            Some(text) => {
                serde_json::from_str(&text).map_err(|error| format!("synergy_trainer.json: {error}"))?
            }
        };
        let help = "Training iterations of the weights";
        values.gauge("synergy_trainer_iterations", help, trainer["iterations"].as_f64());
        let help = "Last row of the history used for training";
        values.gauge("synergy_trainer_last_id", help, trainer["last_id"].as_f64());
        let restarts = self.restarts.load(Ordering::Relaxed) as f64;
        let help = "Restarts of this exporter because it did not respond";
        values.counter("synergy_exporter_restarts_total", help, Some(restarts));
        Ok(values.text())
    }
}
