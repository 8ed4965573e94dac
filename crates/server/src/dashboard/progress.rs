//! Progress of a run: its stage, budget and remaining time, where known.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use menace_model::patches::StepCost;
use menace_model::runs::{RunKind, StoredRunOptions};
use menace_store::{EventRecord, PatchRecord, RunRecord, RunState};
use serde_json::{Value, json};

/// A run writes its elapsed time every two seconds. After this time without a write it counts as dead.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of calls needed to estimate the remaining time.
const MIN_CALLS: u64 = 20;

/// Inputs of the progress of a run.
pub(super) struct ProgressInputs<'a> {
    pub(super) at_ms: i64,
    pub(super) last_event: Option<&'a EventRecord>,
    /// Run that owns the calls: that of the last cycle, or the run itself.
    pub(super) calls: &'a RunRecord,
    /// Options of the run.
    pub(super) options: &'a StoredRunOptions,
    /// File with the elapsed time of a run.
    pub(super) clock: PathBuf,
    pub(super) patches: &'a [PatchRecord],
}

/// Progress of a run.
pub(super) fn progress(run: &RunRecord, now: &ProgressInputs<'_>) -> Value {
    json!({
        "stage": stage(run, now.options.kind, now.last_event),
        "alive": alive(run, &now.clock),
        "budget": budget(run, now),
        "calls_run": now.calls.id.to_string(),
        "planned": now.calls.planned,
    })
}

/// Stage of a run, derived from its last event.
fn stage(run: &RunRecord, kind: RunKind, last: Option<&EventRecord>) -> Value {
    let detail = |name: &str| last.map_or("", |event| event.detail[name].as_str().unwrap_or_default());
    let (name, text) = match (run.state, last.map(|event| event.kind.as_str())) {
        (RunState::Finished, _) => ("ended", detail("reason").to_owned()),
        (RunState::Interrupted, _) if kind == RunKind::Auto => {
            ("interrupted", format!("resume with 'menace auto --recover {}'", run.id))
        }
        (RunState::Interrupted, _) => {
            ("interrupted", format!("resume with 'menace run --resume {}'", run.id))
        }
        (RunState::Running, None) if kind == RunKind::Auto => {
            ("preparing", "scanning the code and running its tests".to_owned())
        }
        (RunState::Running, None | Some("cycle:began")) => ("measuring", "calling every function".to_owned()),
        (RunState::Running, Some("patch:proposed")) => {
            ("proving", format!("{}: {}", detail("section"), detail("why")))
        }
        (RunState::Running, Some("cycle:ended")) => ("deciding", "checking for convergence".to_owned()),
        (RunState::Running, Some(_)) => ("proposing", "waiting for the next proposal".to_owned()),
    };
    json!({"name": name, "text": text})
}

/// True if the process of the run is alive, false if not, null if unknown.
fn alive(run: &RunRecord, clock: &Path) -> Value {
    if run.state != RunState::Running {
        return json!(false);
    }
    let age = std::fs::metadata(clock)
        .and_then(|file| file.modified())
        .ok()
        .map(|written| SystemTime::now().duration_since(written).unwrap_or_default());
    age.map_or(Value::Null, |age| json!(age < HEARTBEAT_TIMEOUT))
}

/// Budget limits and spending. Values that were not measured are null.
fn budget(run: &RunRecord, now: &ProgressInputs<'_>) -> Value {
    let limits = &now.options.limits;
    let recorded = std::fs::read_to_string(&now.clock).ok().and_then(|text| text.trim().parse::<f64>().ok());
    let whole = run.ended_ms.map(|ended| (ended - run.began_ms) as f64 / 1e3);
    let so_far = || (run.state == RunState::Running).then(|| (now.at_ms - run.began_ms) as f64 / 1e3);
    let spent = now
        .patches
        .iter()
        .fold(StepCost { money: Some(0.0), ..StepCost::default() }, |sum, patch| sum.plus(&patch.cost));
    json!({
        "seconds": recorded.or(whole).or_else(so_far),
        "max_seconds": limits.seconds,
        "tokens": spent.tokens,
        "max_tokens": limits.tokens,
        "money": spent.money,
        "max_money": limits.cost,
        "cpu_seconds": spent.cpu_seconds,
        "cycles": now.options.begun.as_ref().map(Vec::len),
        "max_cycles": now.options.cycles,
    })
}

/// Remaining time, extrapolated from the calls made so far.
pub(super) fn time_left(calls: &RunRecord, made: u64, at_ms: i64) -> Value {
    let because = |reason: &str| json!({"seconds": null, "because": reason});
    match calls.state {
        RunState::Running => {}
        RunState::Interrupted => return because("the run is interrupted"),
        RunState::Finished => return because("all calls of this cycle are done"),
    }
    if calls.planned == 0 {
        return because("calls are not planned yet");
    }
    if made < MIN_CALLS {
        return because("too few calls for an estimate");
    }
    let left = calls.planned.saturating_sub(made);
    if left == 0 {
        return because("failures are being rerun and shrunk; the duration is unknown");
    }
    let each = (at_ms - calls.began_ms).max(0) as f64 / 1e3 / made as f64;
    json!({"seconds": left as f64 * each, "because": null})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(state: RunState, planned: u64) -> RunRecord {
        RunRecord {
            id: "r_01kbz7q3m9x4vt".parse().unwrap(),
            repository: "/src/shop".into(),
            state,
            seed: 0,
            began_ms: 10_000,
            ended_ms: None,
            planned,
            options: json!({"kind": "auto", "limits": {"seconds": 60.0}}),
            report: None,
        }
    }

    #[test]
    fn remaining_time_is_estimated_only_while_calls_are_made() {
        let left = |state, planned, made| time_left(&run(state, planned), made, 15_000)["seconds"].as_f64();
        // 100 calls in five seconds, and 300 to come.
        assert_eq!(left(RunState::Running, 400, 100), Some(15.0));
        assert_eq!(left(RunState::Running, 400, 3), None);
        assert_eq!(left(RunState::Running, 0, 100), None);
        assert_eq!(left(RunState::Running, 400, 400), None);
        assert_eq!(left(RunState::Finished, 400, 100), None);
    }

    #[test]
    fn the_stage_follows_from_the_last_event() {
        let event = |kind: &str, detail: Value| EventRecord {
            id: 1,
            run: String::new(),
            at_ms: 0,
            kind: kind.into(),
            detail,
        };
        let name =
            |state, event: Option<&EventRecord>| stage(&run(state, 1), RunKind::Auto, event)["name"].clone();
        assert_eq!(name(RunState::Running, None), "preparing");
        assert_eq!(name(RunState::Running, Some(&event("cycle:began", json!({})))), "measuring");
        let proposed = event("patch:proposed", json!({"section": "shop.cart:add", "why": "a guard"}));
        assert_eq!(
            stage(&run(RunState::Running, 1), RunKind::Auto, Some(&proposed))["text"],
            "shop.cart:add: a guard"
        );
        let stopped = event("run:stopped", json!({"reason": "every module is complete"}));
        assert_eq!(
            stage(&run(RunState::Finished, 1), RunKind::Auto, Some(&stopped))["text"],
            "every module is complete"
        );
    }

    #[test]
    fn a_run_without_heartbeat_is_not_alive() {
        let directory = tempfile::tempdir().unwrap();
        let clock = directory.path().join("elapsed");
        assert_eq!(alive(&run(RunState::Running, 1), &clock), Value::Null);
        std::fs::write(&clock, "41.5\n").unwrap();
        assert_eq!(alive(&run(RunState::Running, 1), &clock), json!(true));
        let old = SystemTime::now() - 2 * HEARTBEAT_TIMEOUT;
        std::fs::File::options().write(true).open(&clock).unwrap().set_modified(old).unwrap();
        assert_eq!(alive(&run(RunState::Running, 1), &clock), json!(false));
        let run = run(RunState::Running, 1);
        let options = run.known_options();
        let now = ProgressInputs {
            at_ms: 0,
            last_event: None,
            calls: &run,
            options: &options,
            clock,
            patches: &[],
        };
        let budget = budget(&run, &now);
        assert_eq!(budget["tokens"].to_string(), "0", "nothing was spent");
        assert_eq!((&budget["seconds"], &budget["max_seconds"]), (&json!(41.5), &json!(60.0)));
    }
}
