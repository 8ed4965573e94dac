//! Learns how much each kind of synergy counts, again and again, from what was measured meanwhile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use menace_analysis::write_atomically;
use menace_store::SynergyHistory;
use serde::{Deserialize, Serialize};

use super::super::roi::learn_weights;
use crate::calling::now_ms;
use crate::terminal::note;

/// What is learned from, and where what was learned is kept.
pub(super) struct SynergyWeightTrainer {
    pub(super) history: PathBuf,
    pub(super) weights: PathBuf,
}

/// `synergy_trainer.json`, beside the weights.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct SynergyTrainerProgress {
    version: u32,
    /// How often weights were learned.
    iterations: u64,
    /// The last row of the history that was seen.
    last_id: i64,
}

impl SynergyWeightTrainer {
    /// Learns, if something was measured since the last time.
    pub(super) async fn train(&self) -> anyhow::Result<()> {
        let Some(history) = SynergyHistory::open_existing(&self.history).await? else {
            note(&format!("nothing to learn from yet: there is no {}", self.history.display()));
            return Ok(());
        };
        let mut progress = self.progress()?;
        let records = history.after(0).await?;
        let last_id = records.last().map_or(0, |last| last.id);
        if last_id == progress.last_id {
            return Ok(());
        }
        let measured: Vec<BTreeMap<String, f64>> = records.into_iter().map(|record| record.values).collect();
        match learn_weights(&self.weights, &measured)? {
            Some(samples) => {
                progress =
                    SynergyTrainerProgress { version: 1, iterations: progress.iterations + 1, last_id };
                let text = serde_json::to_vec_pretty(&progress)?;
                let file = self.progress_file();
                write_atomically(&file, &text)
                    .with_context(|| format!("failed to write {}", file.display()))?;
                note(&format!("synergy weights learned from {samples} samples: {}", self.weights.display()));
            }
            None => note(&format!("{} measurements are too few to learn from", measured.len())),
        }
        Ok(())
    }

    fn progress_file(&self) -> PathBuf {
        self.weights.with_file_name("synergy_trainer.json")
    }

    fn progress(&self) -> anyhow::Result<SynergyTrainerProgress> {
        let file = self.progress_file();
        match std::fs::read(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(SynergyTrainerProgress::default())
            }
            Err(error) => Err(error).with_context(|| format!("failed to read {}", file.display())),
            Ok(text) => serde_json::from_slice(&text)
                .with_context(|| format!("{} is no file of menace\nhint: move it away", file.display())),
        }
    }
}

/// Learns again after each interval. What goes wrong once is said, and tried again.
pub(super) async fn train_for_ever(trainer: SynergyWeightTrainer, interval: Duration) -> anyhow::Result<()> {
    loop {
        if let Err(error) = trainer.train().await {
            tracing::error!("synergy weights were not learned: {error:#}");
        }
        tokio::time::sleep(interval.max(Duration::from_secs(1))).await;
    }
}

/// Keeps synergy that was measured where exporters and trainers look for it.
pub(in crate::commands) async fn record_synergy(
    directory: &Path,
    measured: &BTreeMap<String, f64>,
) -> anyhow::Result<()> {
    let history = SynergyHistory::open(&directory.join(super::HISTORY)).await?;
    history.add(now_ms(), measured).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_measured_is_learned_from_once() {
        let directory = tempfile::tempdir().unwrap();
        let trainer = SynergyWeightTrainer {
            history: directory.path().join("synergy_history.db"),
            weights: directory.path().join("synergy_weights.json"),
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
