//! Merges several histories into one cycle: those of containers, each under its own preset.

use std::collections::{BTreeMap, BTreeSet};

use super::{CycleMeasurements, HistorySample, HistorySeries, RoiHistory};
use crate::statistics::mean;

/// History of one container.
#[derive(Debug, Clone, Copy)]
pub struct HistoryPart<'a> {
    /// Its history; only the last cycle is used.
    pub history: &'a RoiHistory,
    /// Its baseline scenario, which is taken from another part.
    pub compared_with: Option<&'a str>,
}

impl HistoryPart<'_> {
    fn takes(&self, scenario: &str) -> bool {
        self.compared_with != Some(scenario)
    }
}

/// Merges the last cycles: each scenario as its own part measured it, and the mean of everything else.
pub fn merged(parts: &[HistoryPart<'_>], run: String, at_ms: i64) -> CycleMeasurements {
    let names: BTreeSet<&String> = parts.iter().flat_map(|part| part.history.modules.keys()).collect();
    let levels: Vec<f64> = parts.iter().filter_map(|part| part.history.roi_levels.last().copied()).collect();
    CycleMeasurements {
        at_ms,
        run,
        roi: mean(&levels),
        modules: names.into_iter().filter_map(|name| module(parts, name)).collect(),
        scenarios: scenarios(parts)
            .into_iter()
            .map(|(name, roi)| HistorySample { name, roi, ..HistorySample::default() })
            .collect(),
        metrics: metrics(parts.iter().map(|part| &part.history.metrics_history)),
        predicted_roi: None,
        predicted_metrics: BTreeMap::new(),
    }
}

fn module(parts: &[HistoryPart<'_>], name: &str) -> Option<HistorySample> {
    let found: Vec<(&HistoryPart<'_>, &HistorySeries)> =
        parts.iter().filter_map(|part| Some((part, part.history.modules.get(name)?))).collect();
    let mean_of_last = |values: fn(&HistorySeries) -> &Vec<f64>| {
        mean(&found.iter().filter_map(|(_, tracked)| values(tracked).last().copied()).collect::<Vec<_>>())
    };
    let mut scenarios = BTreeMap::new();
    for (part, tracked) in &found {
        let own = tracked.scenarios.iter().filter(|(scenario, _)| part.takes(scenario));
        scenarios.extend(own.filter_map(|(scenario, levels)| Some((scenario.clone(), *levels.last()?))));
    }
    Some(HistorySample {
        name: name.to_owned(),
        roi: mean_of_last(|tracked| &tracked.levels)?,
        raroi: mean_of_last(|tracked| &tracked.raroi),
        scenarios: scenarios.into_iter().collect(),
        metrics: metrics(found.iter().map(|(_, tracked)| &tracked.metrics)),
        entropy: mean_of_last(|tracked| &tracked.entropy),
    })
}

/// Last ROI of each scenario, from the part that measured it.
fn scenarios(parts: &[HistoryPart<'_>]) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for part in parts {
        let own = part.history.scenarios.iter().filter(|(scenario, _)| part.takes(scenario));
        found.extend(own.filter_map(|(scenario, tracked)| Some((scenario.clone(), *tracked.levels.last()?))));
    }
    found
}

/// Mean of each metric over the parts that measured it.
fn metrics<'a>(all: impl Iterator<Item = &'a BTreeMap<String, Vec<Option<f64>>>>) -> BTreeMap<String, f64> {
    let mut seen: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, values) in all.flatten() {
        if let Some(value) = values.last().copied().flatten() {
            seen.entry(name.clone()).or_default().push(value);
        }
    }
    seen.into_iter().filter_map(|(name, values)| Some((name, mean(&values)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(roi: f64, scenario: &str, normal: f64) -> RoiHistory {
        let scenarios = [(scenario, roi), ("normal", normal)];
        let of =
            |(name, roi): (&str, f64)| HistorySample { name: name.into(), roi, ..HistorySample::default() };
        let mut history = RoiHistory::default();
        history.update(CycleMeasurements {
            roi: Some(roi),
            modules: vec![HistorySample {
                name: "a.py".into(),
                roi,
                scenarios: scenarios.map(|(name, roi)| (name.to_owned(), roi)).to_vec(),
                metrics: [("security_score".to_owned(), roi)].into(),
                ..HistorySample::default()
            }],
            scenarios: scenarios.into_iter().map(of).collect(),
            metrics: [("security_score".to_owned(), roi)].into(),
            ..CycleMeasurements::default()
        });
        history
    }

    #[test]
    fn scenarios_come_from_their_own_part_and_other_values_are_means() {
        let (normal, hostile) = (measured(0.8, "normal", 0.8), measured(0.4, "hostile_input", 0.1));
        let parts = [
            HistoryPart { history: &normal, compared_with: None },
            HistoryPart { history: &hostile, compared_with: Some("normal") },
        ];
        let cycle = merged(&parts, "r".into(), 7);
        assert!(cycle.roi.is_some_and(|roi| (roi - 0.6).abs() < 1e-9), "{:?}", cycle.roi);
        let scenarios: Vec<(&str, f64)> =
            cycle.scenarios.iter().map(|one| (one.name.as_str(), one.roi)).collect();
        assert_eq!(scenarios, [("hostile_input", 0.4), ("normal", 0.8)]);
        let module = &cycle.modules[0];
        assert_eq!(module.scenarios, [("hostile_input".to_owned(), 0.4), ("normal".to_owned(), 0.8)]);
        assert!((cycle.metrics["security_score"] - 0.6).abs() < 1e-9);
        let mut host = RoiHistory::default();
        assert_eq!(host.update(cycle), Vec::<String>::new());
        assert_eq!(host.cycles.len(), 1);
    }

    #[test]
    fn merging_no_parts_gives_an_empty_cycle() {
        let cycle = merged(&[], String::new(), 0);
        assert_eq!((cycle.roi, cycle.modules.len(), cycle.scenarios.len()), (None, 0, 0));
    }
}
