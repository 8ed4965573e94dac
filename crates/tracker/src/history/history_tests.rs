use std::time::{Duration, Instant};

use super::*;

fn cycle(at_ms: i64, roi: f64) -> CycleMeasurements {
    let metrics = BTreeMap::from([("reliability".to_owned(), roi)]);
    let modules = vec![HistorySample {
        name: "a.py".into(),
        roi,
        raroi: Some(roi / 2.0),
        metrics: metrics.clone(),
        ..HistorySample::default()
    }];
    CycleMeasurements {
        at_ms,
        run: "r".into(),
        roi: Some(roi),
        modules,
        metrics,
        ..CycleMeasurements::default()
    }
}

#[test]
fn series_stay_aligned_with_their_cycles() {
    let mut history = RoiHistory::default();
    assert_eq!(history.update(cycle(1, 0.5)), Vec::<String>::new());
    let mut second = cycle(2, 0.75);
    second.metrics = BTreeMap::from([("throughput".to_owned(), 9.0)]);
    history.update(second);
    assert_eq!(history.roi_history, [0.0, 0.25]);
    assert_eq!(history.metrics_history["reliability"], [Some(0.5), None]);
    assert_eq!(history.metrics_history["throughput"], [None, Some(9.0)]);
    assert_eq!(history.modules["a.py"].deltas, [0.0, 0.25]);
    assert_eq!(history.series("throughput"), [9.0]);
    let text = serde_json::to_string(&history).unwrap();
    assert_eq!(read(&text).unwrap(), history);
}

#[test]
fn impossible_values_are_reported_and_left_out() {
    let mut history = RoiHistory::default();
    history.update(cycle(5_000, 0.5));
    let mut wrong = cycle(4_000, f64::NAN);
    wrong.metrics = BTreeMap::from([("recovery_time".to_owned(), -1.0)]);
    let problems = history.update(wrong).join("; ");
    for problem in
        ["clock moved backwards", "ROI of this cycle", "recovery_time is out of range: -1", "ROI of a.py"]
    {
        assert!(problems.contains(problem), "{problem} in {problems}");
    }
    assert_eq!(history.cycles[1].at_ms, 5_000);
    assert_eq!((history.roi_levels.len(), history.modules["a.py"].levels.len()), (1, 1));
    assert!(history.series("recovery_time").is_empty());
}

#[test]
fn the_legacy_layout_is_read() {
    let text = r#"{"roi_history": [0.2, 0.4], "module_deltas": {"m.py": [0.1, 0.3]}, "predicted_roi": [0.1, 0.5],
        "metrics_history": {"security_score": [0.8, 0.9], "synergy_roi": [0.01, 0.03]},
        "scenario_roi_deltas": {"hostile_input": [0.5]}}"#;
    let history = read(text).unwrap();
    assert!((history.roi_levels[1] - 0.6).abs() < 1e-12);
    assert_eq!(history.series("synergy_roi"), [0.01, 0.03]);
    assert_eq!(history.series("security_score"), [0.8, 0.9]);
    assert_eq!(history.forecasts("roi").len(), 2);
    assert_eq!(rank_scenarios(&[history])[0].security_score, Some(0.9));
    assert_eq!(read("[0.1, 0.2]").unwrap().roi_history, [0.1, 0.2]);
}

#[test]
fn other_files_are_rejected_with_the_reason() {
    let said = |text: &str| read(text).unwrap_err().to_string();
    assert!(said(r#"{"roi_history": [0.1, "#).contains("truncated"));
    assert!(
        said(r#"{"roi_history": [0.1, NaN]}"#).contains("NaN"),
        "{}",
        said(r#"{"roi_history": [0.1, NaN]}"#)
    );
    assert!(said(r#"{"name": "package"}"#).contains("not an ROI history"));
    assert!(said(r#"{"version": 99, "roi_levels": []}"#).contains("99"));
    assert!(said("").contains("not JSON"));
}

#[test]
fn a_chosen_model_is_reused_until_there_are_more_values() {
    let mut history = RoiHistory::default();
    for at in 0..30_i32 {
        history.update(cycle(i64::from(at), 0.3 + 0.01 * f64::from(at) + 0.02 * f64::from(at % 3)));
    }
    let chosen = history.forecast_next("roi", &[]).unwrap().model;
    history.store_models([("roi", chosen)]);
    assert_eq!(history.models["roi"], ForecastModelChoice { model: chosen, values: 30 });
    // A known model is used even if it would not be chosen.
    history.models.insert("roi".into(), ForecastModelChoice { model: ForecastModel::Linear, values: 30 });
    let asked = history.forecast_next("roi", &[]).unwrap();
    assert!(asked.model == ForecastModel::Linear || asked.reason.is_some(), "{asked:?}");
    history.models.insert("roi".into(), ForecastModelChoice { model: ForecastModel::Linear, values: 20 });
    assert_eq!(history.forecast_next("roi", &[]).unwrap().model, chosen);
}

#[test]
fn scenarios_and_synergy_are_ranked() {
    let mut history = RoiHistory::default();
    for (scenario, roi) in [("normal", 0.2), ("hostile_input", 0.9)] {
        let measured = HistorySample { name: scenario.into(), roi, ..HistorySample::default() };
        history.scenarios.insert(
            scenario.into(),
            HistorySeries { levels: vec![measured.roi], ..HistorySeries::default() },
        );
        let synergy = BTreeMap::from([("synergy_roi".to_owned(), -roi)]);
        history.add_synergy(synergy.clone(), BTreeMap::from([(scenario.to_owned(), synergy)]));
    }
    assert_eq!(rank_scenarios(std::slice::from_ref(&history))[0].scenario, "hostile_input");
    assert_eq!(rank_scenario_synergy(std::slice::from_ref(&history), "roi")[0].scenario, "normal");
    let twice = rank_synergy(&[history.clone(), history.clone()], "roi");
    assert!(twice.iter().all(|rank| rank.count == 4 && (rank.total + 2.2).abs() < 1e-12), "{twice:?}");
    let summary = summarise_synergy(&history, 3);
    assert_eq!((summary.len(), summary[0].count), (1, 2));
}

#[test]
fn large_histories_are_fast() {
    let mut history = RoiHistory::default();
    let scenarios: Vec<(String, f64)> = (0..12).map(|number| (format!("scenario_{number}"), 0.5)).collect();
    let large = || CycleMeasurements {
        roi: Some(0.5),
        modules: (0..10_000)
            .map(|number| HistorySample {
                name: format!("package/module_{number}.py"),
                roi: 0.5,
                scenarios: scenarios.clone(),
                ..HistorySample::default()
            })
            .collect(),
        ..CycleMeasurements::default()
    };
    history.update(large());
    let took = least_of_five(|| {
        let next = large();
        let began = Instant::now();
        history.update(next);
        began.elapsed()
    });
    assert!(took < Duration::from_millis(50), "{took:?}");

    let mut long = RoiHistory::default();
    for at in 0..10_000 {
        long.update(cycle(at, 0.5));
    }
    let text = serde_json::to_string(&long).unwrap();
    let took = least_of_five(|| {
        let began = Instant::now();
        read(&text).unwrap();
        began.elapsed()
    });
    assert!(took < Duration::from_millis(300), "{took:?}");
}

/// Best of five timings, because the machine may be busy.
fn least_of_five(once: impl FnMut() -> Duration) -> Duration {
    std::iter::repeat_with(once).take(5).min().unwrap()
}
