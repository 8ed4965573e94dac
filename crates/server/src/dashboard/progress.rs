//! How far a run is: its stage, what it has spent, and how long it will still take, where that is known.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use menace_store::{EventRecord, PatchRecord, Run, RunState};
use serde_json::{Value, json};

use super::runs::kind;

/// A loop says every two seconds how long it has run. One that has not said so for so long is dead.
const SILENCE: Duration = Duration::from_secs(10);
/// So many calls have to be made before they say how long the others will take.
const ENOUGH: u64 = 20;

/// What is known now.
pub(super) struct Now<'a> {
    pub(super) at_ms: i64,
    pub(super) last_event: Option<&'a EventRecord>,
    /// The run of its calls: of the last cycle, or itself.
    pub(super) calls: &'a Run,
    /// The file in which a loop says how long it has run.
    pub(super) clock: PathBuf,
    pub(super) patches: &'a [PatchRecord],
}

/// How far a run is.
pub(super) fn progress(run: &Run, now: &Now<'_>) -> Value {
    json!({
        "stage": stage(run, now.last_event),
        "alive": alive(run, &now.clock),
        "budget": budget(run, now),
        "calls_run": now.calls.id.to_string(),
        "planned": now.calls.planned,
    })
}

/// What it does, by the last thing that happened.
fn stage(run: &Run, last: Option<&EventRecord>) -> Value {
    let detail = |name: &str| last.map_or("", |event| event.detail[name].as_str().unwrap_or_default());
    let (name, text) = match (run.state, last.map(|event| event.kind.as_str())) {
        (RunState::Finished, _) => ("ended", detail("reason").to_owned()),
        (RunState::Interrupted, _) if kind(run) == "auto" => {
            ("interrupted", format!("menace auto --recover {} goes on", run.id))
        }
        (RunState::Interrupted, _) => ("interrupted", format!("menace run --resume {} goes on", run.id)),
        (RunState::Running, None) if kind(run) == "auto" => {
            ("preparing", "reads the code, runs its tests".to_owned())
        }
        (RunState::Running, None | Some("cycle:began")) => ("measuring", "calls every function".to_owned()),
        (RunState::Running, Some("patch:proposed")) => {
            ("proving", format!("{}: {}", detail("section"), detail("why")))
        }
        (RunState::Running, Some("cycle:ended")) => {
            ("deciding", "whether another cycle is worth it".to_owned())
        }
        (RunState::Running, Some(_)) => ("proposing", "looks for the next change".to_owned()),
    };
    json!({"name": name, "text": text})
}

/// Whether its process is there: true, false, or null if nothing says so.
fn alive(run: &Run, clock: &Path) -> Value {
    if run.state != RunState::Running {
        return json!(false);
    }
    let age = std::fs::metadata(clock)
        .and_then(|file| file.modified())
        .ok()
        .map(|said| SystemTime::now().duration_since(said).unwrap_or_default());
    age.map_or(Value::Null, |age| json!(age < SILENCE))
}

/// What it may spend and has spent. What nobody counted is null.
fn budget(run: &Run, now: &Now<'_>) -> Value {
    let limits = &run.options["limits"];
    let said = std::fs::read_to_string(&now.clock).ok().and_then(|text| text.trim().parse::<f64>().ok());
    let whole = run.ended_ms.map(|ended| (ended - run.began_ms) as f64 / 1e3);
    let so_far = || (run.state == RunState::Running).then(|| (now.at_ms - run.began_ms) as f64 / 1e3);
    // The sum of nothing would be −0.
    let spent =
        |name: &str| now.patches.iter().try_fold(0.0, |sum, patch| Some(sum + patch.cost[name].as_f64()?));
    json!({
        "seconds": said.or(whole).or_else(so_far),
        "max_seconds": limits["seconds"],
        "tokens": spent("tokens"),
        "max_tokens": limits["tokens"],
        "money": spent("money"),
        "max_money": limits["cost"],
        "cpu_seconds": spent("cpu_seconds"),
        "cycles": run.options["begun"].as_array().map(Vec::len),
        "max_cycles": run.options["cycles"],
    })
}

/// How long the calls that are left will take, if they take as long as those that were made.
pub(super) fn time_left(calls: &Run, made: u64, at_ms: i64) -> Value {
    let because = |reason: &str| json!({"seconds": null, "because": reason});
    match calls.state {
        RunState::Running => {}
        RunState::Interrupted => return because("nobody goes on with it now"),
        RunState::Finished => return because("all calls of this cycle were made"),
    }
    if calls.planned == 0 {
        return because("the calls are not planned yet");
    }
    if made < ENOUGH {
        return because("too few calls were made to know");
    }
    let left = calls.planned.saturating_sub(made);
    if left == 0 {
        return because("failures are made again and made smaller; nobody knows how long that takes");
    }
    let each = (at_ms - calls.began_ms).max(0) as f64 / 1e3 / made as f64;
    json!({"seconds": left as f64 * each, "because": null})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(state: RunState, planned: u64) -> Run {
        Run {
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
    fn the_time_that_is_left_is_known_or_said_to_be_unknown() {
        let left = |state, planned, made| time_left(&run(state, planned), made, 15_000)["seconds"].as_f64();
        // 100 calls in five seconds, and 300 to come.
        assert_eq!(left(RunState::Running, 400, 100), Some(15.0));
        assert_eq!(left(RunState::Running, 400, 3), None);
        assert_eq!(left(RunState::Running, 0, 100), None);
        assert_eq!(left(RunState::Running, 400, 400), None);
        assert_eq!(left(RunState::Finished, 400, 100), None);
    }

    #[test]
    fn the_stage_follows_from_what_happened_last() {
        let event = |kind: &str, detail: Value| EventRecord {
            id: 1,
            run: String::new(),
            at_ms: 0,
            kind: kind.into(),
            detail,
        };
        let name = |state, event: Option<&EventRecord>| stage(&run(state, 1), event)["name"].clone();
        assert_eq!(name(RunState::Running, None), "preparing");
        assert_eq!(name(RunState::Running, Some(&event("cycle:began", json!({})))), "measuring");
        let proposed = event("patch:proposed", json!({"section": "shop.cart:add", "why": "a guard"}));
        assert_eq!(stage(&run(RunState::Running, 1), Some(&proposed))["text"], "shop.cart:add: a guard");
        let stopped = event("run:stopped", json!({"reason": "every module is complete"}));
        assert_eq!(stage(&run(RunState::Finished, 1), Some(&stopped))["text"], "every module is complete");
    }

    #[test]
    fn a_loop_that_says_nothing_is_not_said_to_be_alive() {
        let directory = tempfile::tempdir().unwrap();
        let clock = directory.path().join("elapsed");
        assert_eq!(alive(&run(RunState::Running, 1), &clock), Value::Null);
        std::fs::write(&clock, "41.5\n").unwrap();
        assert_eq!(alive(&run(RunState::Running, 1), &clock), json!(true));
        let old = SystemTime::now() - 2 * SILENCE;
        std::fs::File::options().write(true).open(&clock).unwrap().set_modified(old).unwrap();
        assert_eq!(alive(&run(RunState::Running, 1), &clock), json!(false));
        let run = run(RunState::Running, 1);
        let now = Now { at_ms: 0, last_event: None, calls: &run, clock, patches: &[] };
        let budget = budget(&run, &now);
        assert_eq!(budget["tokens"].to_string(), "0.0", "nothing was spent");
        assert_eq!((&budget["seconds"], &budget["max_seconds"]), (&json!(41.5), &json!(60.0)));
    }
}
