//! Synergy weights: their file, learning from measured synergy, and periodic training.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_analysis::write_atomically;
use menace_store::SynergyHistory;
use menace_tracker::weights::{
    RegressionWeightLearner, SynergyTrainingSample, SynergyWeights, SynergyWeightsError, WeightLearner,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::calling::now_ms;
use crate::error::FileContext;
use crate::tracking::append_line;
use crate::{AppContext, AppError, AppEvent, RequestError};

/// Name of the database of measured synergy in a data directory.
pub const HISTORY_FILE: &str = "synergy_history.db";
/// Share of the distance to the learned weights that one training covers.
const LEARNING_RATE: f64 = 0.5;

/// The file of weights.
#[derive(Debug, Serialize, Deserialize)]
struct SynergyWeightsFile {
    version: u32,
    weights: SynergyWeights,
}

/// Updates the weights in a file from measurements in chronological order. Returns the number of samples, or `None` if
/// there are too few.
pub fn learn_weights(file: &Path, measured: &[BTreeMap<String, f64>]) -> Result<Option<usize>, AppError> {
    let learner = RegressionWeightLearner { rate: LEARNING_RATE };
    let samples = training_samples(measured);
    let Some(trained) = learner.learn(&samples, &read_weights(file)?) else { return Ok(None) };
    write_weights(file, &trained, learner.name(), samples.len())?;
    Ok(Some(samples.len()))
}

/// Measured synergies, each with the change of `synergy_roi` that followed it.
pub fn training_samples(measured: &[BTreeMap<String, f64>]) -> Vec<SynergyTrainingSample> {
    let pairs = measured.windows(2).filter_map(|pair| {
        let roi_delta = pair[1].get("synergy_roi")? - pair[0].get("synergy_roi")?;
        let synergy = pair[0]
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix("synergy_")?.to_owned(), *value)))
            .collect();
        Some(SynergyTrainingSample { synergy, roi_delta })
    });
    pairs.collect()
}

/// Weights of a file; equal weights if it does not exist.
pub fn read_weights(file: &Path) -> Result<SynergyWeights, AppError> {
    let text = match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(SynergyWeights::default()),
        result => result.file("read", file)?,
    };
    let invalid = |error: SynergyWeightsError| RequestError::Rules {
        path: file.to_owned(),
        problem: error.to_string(),
    };
    Ok(SynergyWeights::read(&text).map_err(invalid)?)
}

/// The weights, with learned ones overridden by those of the settings.
pub fn effective_weights(
    context: &AppContext,
    mut weights: SynergyWeights,
) -> Result<SynergyWeights, AppError> {
    let settings = &context.settings().synergy;
    let chosen = [
        ("roi", settings.synergy_weight_roi),
        ("efficiency", settings.synergy_weight_efficiency),
        ("resilience", settings.synergy_weight_resilience),
        ("antifragility", settings.synergy_weight_antifragility),
        ("reliability", settings.synergy_weight_reliability),
        ("maintainability", settings.synergy_weight_maintainability),
        ("throughput", settings.synergy_weight_throughput),
    ];
    for (name, weight) in chosen.into_iter().filter_map(|(name, weight)| Some((name, weight?))) {
        if !weights.set(name, weight) {
            return Err(RequestError::SynergyWeight {
                variable: format!("SYNERGY_WEIGHT_{}", name.to_uppercase()),
                weight,
            }
            .into());
        }
    }
    Ok(weights)
}

/// Content of a weights file.
pub fn weights_json(weights: &SynergyWeights) -> Result<Vec<u8>, AppError> {
    let file = SynergyWeightsFile { version: 1, weights: weights.clone() };
    let mut text = serde_json::to_vec_pretty(&file)?;
    text.push(b'\n');
    Ok(text)
}

/// Writes weights, and a line about the change to `synergy_weights.log` beside them.
pub fn write_weights(
    file: &Path,
    weights: &SynergyWeights,
    author: &str,
    samples: usize,
) -> Result<(), AppError> {
    write_atomically(file, &weights_json(weights)?).file("write", file)?;
    append_line(
        &file.with_file_name("synergy_weights.log"),
        &json!({"timestamp": now_ms() as f64 / 1e3, "by": author, "samples": samples, "weights": weights}),
    )
}

/// Adds measured synergy to the database that exporters and trainers read.
pub async fn record_synergy(directory: &Path, measured: &BTreeMap<String, f64>) -> Result<(), AppError> {
    let history = SynergyHistory::open(&directory.join(HISTORY_FILE)).await?;
    history.add(now_ms(), measured).await?;
    Ok(())
}

/// Learns weights from a database of measured synergy.
pub struct SynergyWeightTrainer {
    /// The database.
    pub history: PathBuf,
    /// The file of weights.
    pub weights: PathBuf,
    /// Receives the events.
    pub context: AppContext,
}

/// `synergy_trainer.json`, beside the weights.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct SynergyTrainerProgress {
    version: u32,
    /// Number of trainings.
    iterations: u64,
    /// Last row of the history that was used for training.
    last_id: i64,
}

impl SynergyWeightTrainer {
    /// Updates the weights if there are measurements since the last training.
    pub async fn train(&self) -> Result<(), AppError> {
        let Some(history) = SynergyHistory::open_existing(&self.history).await? else {
            let missing = Some(self.history.clone());
            self.context.emit(AppEvent::SynergySamplesMissing { samples: 0, history: missing });
            return Ok(());
        };
        let mut progress = self.progress()?;
        let records = history.after(0).await?;
        let last_id = records.last().map_or(0, |last| last.id);
        if last_id == progress.last_id {
            return Ok(());
        }
        let measured: Vec<BTreeMap<String, f64>> = records.into_iter().map(|record| record.values).collect();
        let Some(samples) = learn_weights(&self.weights, &measured)? else {
            self.context.emit(AppEvent::SynergySamplesMissing { samples: measured.len(), history: None });
            return Ok(());
        };
        progress = SynergyTrainerProgress { version: 1, iterations: progress.iterations + 1, last_id };
        let file = self.progress_file();
        write_atomically(&file, &serde_json::to_vec_pretty(&progress)?).file("write", &file)?;
        self.context.emit(AppEvent::SynergyWeightsLearned { samples, path: self.weights.clone() });
        Ok(())
    }

    /// Trains after each interval. Errors are logged, and the training is retried.
    pub async fn train_repeatedly(&self, interval: Duration) {
        loop {
            if let Err(error) = self.train().await {
                tracing::error!("failed to learn synergy weights: {error}");
            }
            tokio::time::sleep(interval.max(Duration::from_secs(1))).await;
        }
    }

    fn progress_file(&self) -> PathBuf {
        self.weights.with_file_name("synergy_trainer.json")
    }

    fn progress(&self) -> Result<SynergyTrainerProgress, AppError> {
        let path = self.progress_file();
        match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(SynergyTrainerProgress::default())
            }
            Err(source) => Err(AppError::File { action: "read", path, source }),
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|error| AppError::ForeignFile { path, problem: error.to_string() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use menace_model::settings::resolve;

    use super::*;

    #[tokio::test]
    async fn each_measurement_is_learned_from_once() {
        let directory = tempfile::tempdir().unwrap();
        let trainer = SynergyWeightTrainer {
            history: directory.path().join(HISTORY_FILE),
            weights: directory.path().join("synergy_weights.json"),
            context: AppContext::silent(resolve(&[]).unwrap().settings),
        };
        trainer.train().await.unwrap();
        assert!(!trainer.weights.exists(), "nothing was measured");
        for number in 0..24_u32 {
            let roi = f64::from(number % 5) / 10.0;
            let measured = BTreeMap::from([
                ("synergy_roi".to_owned(), roi),
                ("synergy_reliability".to_owned(), 0.5 - roi),
            ]);
            record_synergy(directory.path(), &measured).await.unwrap();
        }
        trainer.train().await.unwrap();
        trainer.train().await.unwrap();
        assert_eq!(
            trainer.progress().unwrap(),
            SynergyTrainerProgress { version: 1, iterations: 1, last_id: 24 }
        );
        assert!(trainer.weights.exists());
        assert!(directory.path().join("synergy_weights.log").exists());
    }
}
