//! Responses of the endpoints about a finished run.

use menace_tests::http::ask;
use serde_json::{Value, json};

use crate::data::{DashboardProcess, ELEMENT, FinishedRun};

#[test]
fn everything_that_a_run_stored_is_served() {
    let finished = FinishedRun::with_dashboard(check_running);
    let shown = DashboardProcess::of(&finished.data(), &[]);
    let about = shown.json("/api/dashboard/about");
    assert_eq!((&about["missing"]["runs"], &about["missing"]["history"]), (&Value::Null, &Value::Null));
    assert!(about["missing"]["sandboxes"].as_str().unwrap().contains("menace serve"));
    let run = check_run(&shown);
    let calls = check_cycle(&shown, &run);
    check_cells(&shown, &calls);
    check_failure(&shown, &calls);
    check_patches(&shown, &run);
    check_history(&shown, &finished);
    check_modules(&shown);
    check_events(&shown, &run);
    check_seeds(&shown);
}

/// Checks that the dashboard of a running run shows its progress and streams events until the cycle ends.
fn check_running(shown: &DashboardProcess) {
    let run = latest_run(shown);
    let view = shown.json(&format!("/api/dashboard/runs/{run}"));
    assert_eq!((&view["state"], &view["kind"]), (&json!("running"), &json!("auto")));
    assert!(
        ["preparing", "measuring"].contains(&view["progress"]["stage"]["name"].as_str().unwrap()),
        "{view}"
    );
    let kinds: Vec<String> = shown
        .events(&[("Last-Event-ID", "0")])
        .map(|event| event.data["kind"].as_str().unwrap().to_owned())
        .take_while(|kind| kind != "cycle:ended")
        .collect();
    assert!(
        kinds.contains(&"cycle:measured".to_owned()) && kinds.contains(&"patch:kept".to_owned()),
        "{kinds:?}"
    );
}

fn latest_run(shown: &DashboardProcess) -> String {
    let runs = shown.json("/api/dashboard/runs");
    runs["runs"].as_array().unwrap().iter().find(|run| run["kind"] == "auto").unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn check_run(shown: &DashboardProcess) -> String {
    let runs = shown.json("/api/dashboard/runs");
    let runs = runs["runs"].as_array().unwrap().clone();
    let own = runs.iter().find(|run| run["kind"] == "auto").unwrap();
    let id = own["id"].as_str().unwrap().to_owned();
    assert!(runs.iter().any(|run| run["parent"] == id.as_str()), "{runs:?}");
    assert_eq!(shown.get("/api/dashboard/runs/r_00000000000000").status, 404);
    assert_eq!(shown.get("/api/dashboard/runs/nonsense").status, 422);
    id
}

fn check_cycle(shown: &DashboardProcess, run: &str) -> String {
    let view = shown.json(&format!("/api/dashboard/runs/{run}"));
    assert_eq!((&view["state"], &view["progress"]["stage"]["name"]), (&json!("finished"), &json!("ended")));
    assert!(view["stopped"].as_str().unwrap().contains("as requested") || view["stopped"].is_string());
    assert!(view["progress"]["budget"]["seconds"].as_f64().unwrap() > 0.0);
    let cycle = &view["cycles"][0];
    assert_eq!((&cycle["number"], view["cycles"].as_array().unwrap().len()), (&json!(1), 1));
    let kept = view["patches"]["kept"].as_u64().unwrap();
    assert_eq!((kept >= 1, cycle["kept"].as_u64()), (true, Some(kept)));
    let pace = shown.json(&format!("/api/dashboard/runs/{run}/progress"));
    let counted: u64 = pace["kinds"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(pace["made"].as_u64(), Some(counted));
    assert_eq!(pace["time_left"]["seconds"], Value::Null);
    cycle["run"].as_str().unwrap().to_owned()
}

fn check_cells(shown: &DashboardProcess, calls: &str) {
    let matrix = shown.json(&format!("/api/dashboard/runs/{calls}/matrix"));
    let sections: Vec<&str> =
        matrix["sections"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(sections.contains(&"shop:mean") && sections.contains(&"evil:evil_lookup"), "{sections:?}");
    assert_eq!(matrix["is_final"], true);
    // Every cell is the same as in the report of the run.
    let evil = sections.iter().position(|name| *name == "evil:evil_lookup").unwrap();
    let cell =
        shown.json(&format!("/api/dashboard/runs/{calls}/cell?section=evil:evil_lookup&scenario=normal"));
    let n = cell["cells"][0]["n"].as_u64().unwrap();
    let columns = matrix["columns"].as_array().unwrap();
    let normal = columns.iter().position(|name| name.as_str().unwrap().starts_with("normal")).unwrap();
    let is_it = |one: &&Value| one[0] == json!(evil) && one[1] == json!(normal);
    let short = matrix["cells"].as_array().unwrap().iter().find(is_it).unwrap();
    assert_eq!((short[2].as_u64(), short[3].as_u64()), (Some(n), Some(0)), "every call fails");
    let void = matrix["cells"].as_array().unwrap().iter().find(|cell| cell[2] == 0).unwrap();
    let reason = usize::try_from(void[4].as_u64().unwrap()).unwrap();
    assert!(matrix["reasons"][reason].as_str().unwrap().len() > 3, "a void cell has a reason");
}

fn check_failure(shown: &DashboardProcess, calls: &str) {
    let found = shown.json(&format!("/api/dashboard/runs/{calls}/cell?section=evil:evil_lookup"));
    let failure = &found["failures"][0];
    assert!(failure["message"].as_str().unwrap().contains(ELEMENT), "{failure}");
    assert!(failure["input"].as_str().unwrap().starts_with('('), "{failure}");
    let call = failure["call"].as_str().unwrap();
    assert_eq!(failure["replay"], format!("menace replay {call}"));
    let view = shown.json(&format!("/api/dashboard/calls/{call}"));
    let lines = view["frames"][0]["source"]["lines"].as_array().unwrap();
    let here = lines.iter().find(|line| line[0] == view["frames"][0]["line"]).unwrap();
    assert!(here[1].as_str().unwrap().contains("return {\"a\": 1}["), "{lines:?}");
    let page =
        shown.json(&format!("/api/dashboard/runs/{calls}/calls?section=evil:evil_lookup&kind=crash&limit=2"));
    assert_eq!(page["calls"].as_array().unwrap().len(), 2);
    let rest = shown.json(&format!(
        "/api/dashboard/runs/{calls}/calls?section=evil:evil_lookup&kind=crash&limit=2&after={}",
        page["next"]
    ));
    assert!(rest["calls"][0]["number"].as_u64() > page["calls"][1]["number"].as_u64());
    assert_eq!(shown.get(&format!("/api/dashboard/runs/{calls}/calls?kind=nonsense")).status, 422);
}

fn check_patches(shown: &DashboardProcess, run: &str) {
    let ledger = shown.json(&format!("/api/dashboard/runs/{run}/patches"));
    let patches = ledger["patches"].as_array().unwrap();
    let kept = patches.iter().find(|patch| patch["state"] == "kept").unwrap();
    let path = format!("/api/dashboard/runs/{run}/patches/{}", kept["number"]);
    let view = shown.json(&path);
    assert_eq!(view["conditions"].as_array().unwrap().len(), 8);
    assert!(view["diff"].as_str().unwrap().contains("+++"));
    let decide = |state: &str, reason: &str, headers: &[(&str, &str)]| {
        let body = json!({"state": state, "reason": reason}).to_string();
        let all: Vec<(&str, &str)> =
            headers.iter().copied().chain([("Content-Type", "application/json")]).collect();
        ask(&shown.address, "POST", &format!("{path}/decision"), &all, body.as_bytes())
    };
    let ours = [("X-Menace-Dashboard", "1")];
    // A form of another page cannot send our header, and a page of another origin may not send anything.
    assert_eq!(decide("reverted", "x", &[]).status, 403);
    assert_eq!(decide("reverted", "x", &[ours[0], ("Origin", "http://evil.example")]).status, 403);
    assert_eq!(decide("reverted", " ", &ours).status, 422);
    assert_eq!(decide("kept", "it is kept already", &ours).status, 409);
    let done = decide("reverted", "it was wrong", &ours);
    assert_eq!((done.status, done.json()["state"].clone()), (200, json!("reverted")), "{}", done.text());
    assert!(done.json()["hint"].as_str().unwrap().starts_with("git revert "));
    assert_eq!(shown.json(&path)["reason"], "it was wrong");
    assert_eq!(decide("kept", "it was right", &ours).status, 200);
    let decisions = shown.json(&path)["decisions"].clone();
    assert_eq!(
        (&decisions[0]["state"], &decisions[1]["reason"]),
        (&json!("reverted"), &json!("it was right"))
    );
}

fn check_history(shown: &DashboardProcess, finished: &FinishedRun) {
    let roi = shown.json("/api/dashboard/roi");
    let stored: Value =
        serde_json::from_slice(&std::fs::read(finished.data().join("roi_history.json")).unwrap()).unwrap();
    assert_eq!((&roi["levels"], &roi["repository"]), (&stored["roi_levels"], &stored["repository"]));
    assert_eq!(roi["forecast"]["model"], "last value");
    assert!(roi["raroi"]["cycles"][0]["modules"].as_u64().unwrap() >= 2, "{roi}");
    let series = shown.json("/api/dashboard/metrics/reliability");
    assert_eq!(
        (&series["source"], &series["points"][0]["value"]),
        (&json!("metrics.db"), &stored["metrics_history"]["reliability"][0])
    );
    assert!(series["forecasts"]["unavailable"].is_string(), "the first cycle has no forecast");
    let of_module = shown.json("/api/dashboard/metrics/roi?module=shop.py&scenario=normal");
    assert_eq!(of_module["points"][0]["value"], stored["modules"]["shop.py"]["scenarios"]["normal"][0]);
    // The same from `roi_history.json` without a database.
    let alone = tempfile::tempdir().unwrap();
    let file = finished.data().join("roi_history.json");
    let other = DashboardProcess::of(alone.path(), &["--file", file.to_str().unwrap()]);
    assert_eq!(other.json("/roi"), shown.json("/roi"));
    assert_eq!(other.json("/api/dashboard/metrics/reliability")["source"], "roi_history.json");
    assert!(other.json("/api/dashboard/roi")["raroi"]["unavailable"].is_string());
    assert_eq!(other.get("/api/dashboard/runs").status, 404);
    assert!(!alone.path().join("menace.db").exists(), "viewing must not create a database");
}

fn check_modules(shown: &DashboardProcess) {
    let graph = shown.json("/api/dashboard/modules");
    let paths: Vec<&str> =
        graph["modules"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    let at = |path: &str| paths.iter().position(|one| *one == path).unwrap();
    assert!(
        graph["imports"].as_array().unwrap().contains(&json!([at("shop.py"), at("shop_tools.py")])),
        "{graph}"
    );
    assert!(paths.iter().any(|path| path.contains(ELEMENT)));
}

fn check_events(shown: &DashboardProcess, run: &str) {
    let events = shown.json(&format!("/api/dashboard/events?run={run}"));
    let events = events["events"].as_array().unwrap();
    assert_eq!(
        (&events[0]["kind"], &events[events.len() - 1]["kind"]),
        (&json!("cycle:began"), &json!("run:stopped"))
    );
    // A disconnected client resumes after the last event that it has seen.
    let seen = events[events.len() - 3]["id"].to_string();
    let mut stream = shown.events(&[("Last-Event-ID", &seen)]);
    let next = stream.next().unwrap().data;
    assert_eq!(next["id"], events[events.len() - 2]["id"]);
}

fn check_seeds(shown: &DashboardProcess) {
    let roi = shown.json("/roi");
    assert_eq!(roi["roi"], json!([0.0]));
    assert_eq!(shown.json("/roi?scenario=normal")["roi"], json!([0.0]));
    assert_eq!(shown.get("/roi?scenario=none").status, 404);
    let metric = shown.json("/metrics/security_score");
    assert_eq!(
        (metric["predicted"].as_array().unwrap().len(), metric["actual"].as_array().unwrap().len()),
        (1, 1)
    );
    assert_eq!(shown.get("/metrics/luck").status, 404);
    assert_eq!(shown.json("/weights")["weights"]["roi"], 1.0);
    assert_eq!(shown.json("/roi_data")["labels"], json!([1]));
    let svg = shown.get("/plots/predictions.svg");
    assert!(svg.text().starts_with("<svg") && svg.status == 200);
    assert!(shown.get("/plots/predictions.png").body.starts_with(b"\x89PNG"));
    assert_eq!(shown.json("/api/dashboard/settings")["settings"][0]["env"], "SANDBOX_DATA_DIR");
}
