//! Resource usage of cycles, as covariates of forecasts: `SANDBOX_RESOURCE_DB`.

use std::path::Path;

use menace_runner::RunReport;
use menace_store::{MetricRecord, Store};

use crate::AppError;
use crate::calling::now_ms;
use crate::measure::absolute;

/// Recorded values of each cycle.
const NAMES: [&str; 3] = ["cpu_seconds", "seconds", "calls"];

/// Records the resource usage of a run, and returns that of all runs as columns.
pub(super) async fn record_resources(
    path: Option<&Path>,
    report: &RunReport,
    cpu_seconds: f64,
) -> Result<Vec<Vec<f64>>, AppError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let path = absolute(path)?;
    let store = Store::open(&format!("sqlite:///{}", path.display()), Path::new("/")).await?;
    let run = report.run.as_ref().map_or_else(String::new, ToString::to_string);
    let values = [cpu_seconds, report.seconds, report.calls as f64];
    let cycle = store.metrics(NAMES[0], "").await?.len() as u64 + 1;
    let records: Vec<MetricRecord> = NAMES
        .iter()
        .zip(values)
        .map(|(name, value)| MetricRecord {
            run: run.clone(),
            cycle,
            at_ms: now_ms(),
            module: String::new(),
            scenario: String::new(),
            name: (*name).to_owned(),
            value,
        })
        .collect();
    store.add_metrics(&records).await?;
    let mut columns = Vec::new();
    for name in NAMES {
        columns.push(store.metrics(name, "").await?.into_iter().map(|record| record.value).collect());
    }
    store.close().await?;
    Ok(columns)
}

/// The last `length` values of each column; shorter columns are left out.
pub(super) fn last_values(columns: &[Vec<f64>], length: usize) -> Vec<Vec<f64>> {
    let last = |column: &Vec<f64>| Some(column[column.len().checked_sub(length)?..].to_vec());
    columns.iter().filter_map(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_shorter_than_the_series_are_left_out() {
        let columns = [vec![1.0, 2.0, 3.0], vec![1.0]];
        assert_eq!(last_values(&columns, 2), [vec![2.0, 3.0]]);
        assert!(last_values(&columns, 4).is_empty());
    }
}
