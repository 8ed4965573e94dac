//! Metrics of runs, self-tests and restarts, read from a data directory.

use std::collections::BTreeMap;
use std::path::PathBuf;

use menace_store::Store;
use menace_tracker::history::{RoiHistory, read};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::endpoint::MetricsSource;
use super::scrape_values::ScrapeValues;

/// Metrics of a data directory.
pub struct DirectoryMetricsSource {
    data: PathBuf,
    database: String,
    store: OnceCell<Store>,
}

/// Number of newest runs that are counted.
const MAX_RUNS: u64 = 500;

impl DirectoryMetricsSource {
    /// Metrics of a data directory and its database, which may be located elsewhere.
    pub fn new(data: PathBuf, database: String) -> Self {
        Self { data, database, store: OnceCell::new() }
    }

    fn file(&self, name: &str) -> Result<Value, String> {
        match std::fs::read(self.data.join(name)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Value::Null),
            Err(error) => Err(format!("{name}: {error}")),
            Ok(text) => serde_json::from_slice(&text).map_err(|error| format!("{name}: {error}")),
        }
    }

    fn history(&self) -> Result<Option<RoiHistory>, String> {
        match std::fs::read_to_string(self.data.join("roi_history.json")) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("roi_history.json: {error}")),
            Ok(text) => read(&text).map(Some).map_err(|error| format!("roi_history.json: {error}")),
        }
    }

    async fn store(&self) -> Result<Option<&Store>, String> {
        if self.store.get().is_none() && !Store::exists(&self.database, &self.data) {
            return Ok(None);
        }
        let opened = self.store.get_or_try_init(|| Store::open(&self.database, &self.data)).await;
        opened.map(Some).map_err(|error| error.to_string())
    }
}

impl MetricsSource for DirectoryMetricsSource {
    async fn text(&self) -> Result<String, String> {
        let mut values = ScrapeValues::default();
        restarts(&mut values, &self.file("recovery.json")?)?;
        self_tests(&mut values, &self.file("self_test_metrics.json")?)?;
        orphans(&mut values, &self.file("orphan_classifications.json")?);
        if let Some(history) = self.history()? {
            roi(&mut values, &history);
        }
        if let Some(store) = self.store().await? {
            runs(&mut values, store).await.map_err(|error| error.to_string())?;
        }
        Ok(values.text())
    }
}

/// A number from a file. It is 0 if the file does not exist yet; a file without the number is an error.
fn count_in(file: &Value, name: &str) -> Result<Option<f64>, String> {
    if file.is_null() {
        return Ok(Some(0.0));
    }
    file[name].as_f64().map(Some).ok_or_else(|| format!("{name} is missing or not a number"))
}

fn restarts(values: &mut ScrapeValues, recovery: &Value) -> Result<(), String> {
    let name = "sandbox_restart_total";
    values.counter(name, "Resumed runs", count_in(recovery, name)?);
    let (name, help) = (
        "sandbox_last_failure_ts",
        "Time of the last failure of a run, in seconds since 1970; 0 if none failed",
    );
    values.gauge(name, help, count_in(recovery, name)?);
    Ok(())
}

fn self_tests(values: &mut ScrapeValues, totals: &Value) -> Result<(), String> {
    let counters = [
        ("self_test_passed_total", "Modules that passed self-tests"),
        ("self_test_failed_total", "Modules that failed self-tests"),
        ("orphan_modules_tested_total", "Orphans tested"),
        ("orphan_modules_reintroduced_total", "Orphans that passed and were added to the repository again"),
        ("orphan_modules_failed_total", "Orphans that failed"),
    ];
    for (name, help) in counters {
        values.counter(name, help, count_in(totals, name)?);
    }
    let help = "Mean duration of a self-test";
    let name = "self_test_average_runtime_seconds";
    values.gauge(name, help, totals[name].as_f64());
    let help = "Mean share of functions that self-tests reach in modules without tests";
    let name = "self_test_average_coverage";
    values.gauge(name, help, totals[name].as_f64());
    Ok(())
}

/// Despite their names these are gauges: the numbers decrease when modules are fixed.
fn orphans(values: &mut ScrapeValues, classified: &Value) {
    let Some(modules) = classified["modules"].as_object() else { return };
    let count = |class: &str| {
        let of_class = modules.values().filter(|module| module["classification"] == class);
        Some(of_class.count() as f64)
    };
    let help = "Redundant modules";
    values.gauge("orphan_modules_redundant_total", help, count("redundant"));
    values.gauge("orphan_modules_legacy_total", "Legacy modules", count("legacy"));
}

fn roi(values: &mut ScrapeValues, history: &RoiHistory) {
    values.gauge("menace_cycles", "Measured cycles", Some(history.cycles.len() as f64));
    values.gauge("menace_roi", "ROI of the repository", history.roi_levels.last().copied());
    let risky: Vec<f64> =
        history.modules.values().filter_map(|module| module.raroi.last().copied()).collect();
    let mean = (!risky.is_empty()).then(|| risky.iter().sum::<f64>() / risky.len() as f64);
    values.gauge("menace_raroi", "Mean risk-adjusted ROI of modules", mean);
    let scenarios = history.scenarios.iter();
    let scenarios = scenarios.filter_map(|(name, tracked)| Some((name.clone(), *tracked.levels.last()?)));
    values.gauges("menace_scenario_roi", "ROI under a scenario", "scenario", scenarios.collect());
    let expected = history.predicted_roi.last().copied().flatten();
    let interval = expected.and_then(|expected| expected.interval);
    let help = "Forecast of the ROI of the last cycle";
    values.gauge("menace_roi_forecast", help, expected.map(|expected| expected.value));
    let help = "Lower bound of the forecast";
    values.gauge("menace_roi_forecast_low", help, interval.map(|(low, _)| low));
    let help = "Upper bound of the forecast";
    values.gauge("menace_roi_forecast_high", help, interval.map(|(_, high)| high));
}

async fn runs(values: &mut ScrapeValues, store: &Store) -> Result<(), menace_store::StoreError> {
    let runs = store.runs(MAX_RUNS).await?;
    let mut states: BTreeMap<String, f64> = BTreeMap::new();
    for run in &runs {
        *states.entry(run.state.name().to_owned()).or_default() += 1.0;
    }
    values.gauges("menace_runs", "Newest 500 runs by state", "state", states);
    let loops = runs.iter().filter(|run| run.known_options().begun.is_some());
    let mut patches: BTreeMap<String, f64> = BTreeMap::new();
    if let Some(newest) = loops.max_by_key(|run| run.began_ms) {
        for patch in store.patches(&newest.id).await? {
            *patches.entry(patch.state.name().to_owned()).or_default() += 1.0;
        }
    }
    values.gauges("menace_patches", "Proposals of the newest run by state", "state", patches);
    if let Some(newest) = runs.iter().filter(|run| run.planned > 0).max_by_key(|run| run.began_ms) {
        let made: u64 = store.kinds(&newest.id).await?.iter().map(|(_, count)| count).sum();
        values.gauge("menace_calls_planned", "Planned calls of the newest run", Some(newest.planned as f64));
        let help = "Recorded calls of the newest run; calls without informative value are skipped";
        values.gauge("menace_calls_made", help, Some(made as f64));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_without_the_number_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let figures =
            DirectoryMetricsSource::new(directory.path().to_owned(), "sqlite:///menace.db".to_owned());
        let text = figures.text().await.unwrap();
        assert!(text.contains("sandbox_restart_total 0"), "no file exists yet: {text}");
        assert!(!text.contains("menace_roi") && !text.contains("self_test_average"), "{text}");
        std::fs::write(directory.path().join("recovery.json"), r#"{"version": 1}"#).unwrap();
        assert!(figures.text().await.unwrap_err().contains("sandbox_restart_total"));
    }
}
