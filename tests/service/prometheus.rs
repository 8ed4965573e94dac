//! Exported metrics and the files in `deploy/`, checked by the real Prometheus.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use menace_tests::{MenaceInvocation, TestServer, http, menace_binary};
use serde_json::{Value, json};

/// A process of a test, which ends with it.
struct RunningProcess(Child);

impl Drop for RunningProcess {
    fn drop(&mut self) {
        // It may have exited by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(name)
}

#[track_caller]
fn lint(text: &str) {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("script/bootstrap installs promtool");
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let said = promtool.wait_with_output().unwrap();
    let problems =
        String::from_utf8_lossy(&said.stderr).into_owned() + &String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success() && problems.is_empty(), "{problems}\n{text}");
}

/// Fills a data directory as a run, self-tests and a restart leave it.
fn fill(directory: &Path) {
    let code = directory.join("repository");
    fs::create_dir(&code).unwrap();
    fs::write(code.join("one.py"), "def half(number: int) -> float:\n    return number / 2\n").unwrap();
    let data = directory.to_str().unwrap();
    for _ in 0..2 {
        MenaceInvocation::new(directory, directory)
            .arguments(["run", "repository", "--preset-count", "1", "--data-dir", data])
            .run();
    }
    let write = |name: &str, content: &Value| fs::write(directory.join(name), content.to_string()).unwrap();
    write(
        "recovery.json",
        &json!({"version": 1, "sandbox_restart_total": 2, "sandbox_last_failure_ts": 1_700_000_000.5}),
    );
    write(
        "self_test_metrics.json",
        &json!({"version": 1, "rounds": 1, "self_test_passed_total": 5,
        "self_test_failed_total": 1, "self_test_average_runtime_seconds": 2.5, "self_test_average_coverage": 0.75,
        "orphan_modules_tested_total": 3, "orphan_modules_reintroduced_total": 2, "orphan_modules_failed_total": 1}),
    );
    write(
        "orphan_classifications.json",
        &json!({"version": 1, "modules": {"a.py": {"classification": "legacy"}, "b.py": {"classification": "redundant"}}}),
    );
    write("synergy_weights.json", &json!({"version": 1, "weights": {"roi": 1.5}}));
    write("synergy_trainer.json", &json!({"version": 1, "iterations": 4, "last_id": 2}));
    write(
        "synergy_history.json",
        &json!([{"synergy_roi": 0.1}, {"synergy_roi": -0.25, "synergy_reliability": 0.5}]),
    );
}

/// Imports the history of the first editions, as the first measurement does.
fn make_history(directory: &Path) {
    let script = "import sqlite3, sys\n\
        base = sqlite3.connect(sys.argv[1])\n\
        base.execute('CREATE TABLE synergy_history (id INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, entry TEXT NOT NULL)')\n\
        base.execute('INSERT INTO synergy_history (at_ms, entry) VALUES (1, ?)', ('{\"synergy_roi\": -0.25}',))\n\
        base.commit()";
    let made =
        Command::new("python3").args(["-c", script]).arg(directory.join("synergy_history.db")).status();
    assert!(made.unwrap().success());
}

fn exporter(directory: &Path) -> (RunningProcess, String) {
    let mut child = Command::new(menace_binary())
        .args(["synergy-exporter", "--port", "0", "--data-dir"])
        .arg(directory)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    lines.read_line(&mut said).unwrap();
    let port = said.trim().rsplit(' ').next().unwrap().to_owned();
    assert!(said.starts_with("Synergy metrics exporter running"), "{said}");
    (RunningProcess(child), format!("127.0.0.1:{port}"))
}

/// Names of metrics, without the series of histograms.
fn names(text: &str) -> BTreeSet<String> {
    let declared = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    declared.filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect()
}

#[test]
fn exported_metrics_pass_promtool_and_are_scraped() {
    let server = TestServer::start();
    let directory = server.directory.path();
    fill(directory);
    make_history(directory);
    let sandbox = server.sandbox(&json!({}));
    server.shell(&sandbox, "true");
    let (_exporter, synergy) = exporter(directory);
    let of_server = server.ask("GET", "/metrics").text();
    let health = http::ask(&synergy, "GET", "/health", &[], b"");
    assert_eq!((health.status, health.json()), (200, json!({"status": "ok"})));
    let of_synergy = http::ask(&synergy, "GET", "/metrics", &[], b"").text();
    lint(&of_server);
    lint(&of_synergy);
    for line in [
        "sandbox_restart_total 2",
        "sandbox_last_failure_ts 1700000000.5",
        "self_test_passed_total 5",
        "self_test_average_coverage 0.75",
        "orphan_modules_legacy_total 1",
        "orphan_modules_reintroduced_total 2",
        "menace_cycles 2",
        "menace_runs{state=\"finished\"} 2",
        "menace_data_up 1",
    ] {
        assert!(of_server.lines().any(|said| said.starts_with(line)), "{line} is missing in\n{of_server}");
    }
    for line in [
        "synergy_roi -0.25",
        "synergy_weight{kind=\"roi\"} 1.5",
        "synergy_trainer_iterations 4",
        "synergy_history_entries 1",
    ] {
        assert!(of_synergy.lines().any(|said| said.starts_with(line)), "{line} is missing in\n{of_synergy}");
    }
    let scraped = scraped(directory, &[&server.address, &synergy], "synergy_roi or sandbox_restart_total");
    let values: BTreeSet<String> =
        scraped.iter().map(|one| one["value"][1].as_str().unwrap().to_owned()).collect();
    assert_eq!(values, BTreeSet::from(["-0.25".to_owned(), "2".to_owned()]));
    // An unreadable file is reported, and other metrics are still exported.
    fs::write(directory.join("recovery.json"), "no JSON").unwrap();
    let broken = server.ask("GET", "/metrics").text();
    assert!(broken.contains("menace_data_up 0") && broken.contains("sandbox_commands_total"), "{broken}");
    fs::write(directory.join("synergy_weights.json"), "no JSON").unwrap();
    assert_eq!(http::ask(&synergy, "GET", "/health", &[], b"").status, 503);
}

/// Result of a query to the real Prometheus after it has scraped all targets.
fn scraped(directory: &Path, targets: &[&str], question: &str) -> Vec<Value> {
    let configuration = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: menace\n    static_configs:\n      - targets: {targets:?}\n"
    );
    fs::write(directory.join("prometheus.yml"), configuration).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let _prometheus = RunningProcess(
        Command::new("prometheus")
            .arg(format!("--config.file={}", directory.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", directory.join("tsdb").display()))
            .arg(format!("--web.listen-address={address}"))
            .stderr(Stdio::null())
            .spawn()
            .expect("script/bootstrap installs prometheus"),
    );
    let deadline = Instant::now() + Duration::from_mins(1);
    let query = |question: &str| -> Vec<Value> {
        if std::net::TcpStream::connect(&address).is_err() {
            return Vec::new();
        }
        let encoded = question.replace(' ', "%20");
        let answer = http::ask(&address, "GET", &format!("/api/v1/query?query={encoded}"), &[], b"");
        if answer.status != 200 {
            return Vec::new();
        }
        answer.json()["data"]["result"].as_array().cloned().unwrap_or_default()
    };
    while query("up == 1").len() < targets.len() {
        assert!(Instant::now() < deadline, "not all of {targets:?} were scraped");
        std::thread::sleep(Duration::from_millis(100));
    }
    query(question)
}

#[test]
fn alert_rules_and_dashboards_use_exported_metrics() {
    for arguments in [
        &["check", "config", "prometheus/prometheus.yml"][..],
        &["check", "rules", "prometheus/alerts.yml"],
        &["test", "rules", "prometheus/alerts_test.yml"],
    ] {
        let said = Command::new("promtool").args(arguments).current_dir(deploy("")).output().unwrap();
        assert!(
            said.status.success(),
            "{arguments:?}: {}{}",
            String::from_utf8_lossy(&said.stdout),
            String::from_utf8_lossy(&said.stderr)
        );
    }
    let directory = tempfile::tempdir().unwrap();
    let server = TestServer::start();
    fill(server.directory.path());
    make_history(directory.path());
    let (_exporter, synergy) = exporter(directory.path());
    server.sandbox(&json!({}));
    let mut exported = names(&server.ask("GET", "/metrics").text());
    exported.extend(names(&http::ask(&synergy, "GET", "/metrics", &[], b"").text()));
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let described: BTreeSet<String> = rows.map(|(name, _)| name.to_owned()).collect();
    let untold: Vec<&String> = exported.difference(&described).collect();
    assert!(untold.is_empty(), "exported but not in docs/metrics.md: {untold:?}");
    let dashboard: Value =
        serde_json::from_str(&fs::read_to_string(deploy("grafana/menace.json")).unwrap()).unwrap();
    // Only the expressions of the rules count: other lines name files as well.
    let rules = fs::read_to_string(deploy("prometheus/alerts.yml")).unwrap();
    let mut asked: String =
        rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect::<Vec<_>>().join("\n");
    assert!(asked.lines().count() == rules.matches("- alert: ").count(), "each rule is one line: {asked}");
    expressions(&dashboard, &mut asked);
    let words = asked.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let prefixes =
        ["menace_", "sandbox_", "self_test_", "orphan_modules_", "synergy_", "container_", "cleanup_"];
    let is_ours =
        |word: &&str| prefixes.iter().any(|start| word.starts_with(start) && word.len() > start.len());
    let is_described = |word: &str| {
        let part = ["_bucket", "_sum", "_count"].iter().find_map(|ending| word.strip_suffix(ending));
        described.contains(word) || part.is_some_and(|plain| described.contains(plain))
    };
    let missing: BTreeSet<&str> = words.filter(is_ours).filter(|word| !is_described(word)).collect();
    assert!(missing.is_empty(), "queried but not exported: {missing:?}");
}

fn expressions(value: &Value, into: &mut String) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "expr" => {
                        into.push_str(text);
                        into.push('\n');
                    }
                    other => expressions(other, into),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|one| expressions(one, into)),
        _ => {}
    }
}
