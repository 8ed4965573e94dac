//! `menace auto`: only improvements are kept on a branch, and a model can be a proposer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use menace_tests::{InvocationOutcome, RepositoryTree};
use serde_json::{Value, json};

const SHOP: &str = "\"\"\"A shop.\"\"\"\n\n\ndef mean(prices: list[float]) -> float:\n    \"\"\"The mean of prices.\"\"\"\n    return sum(prices) / len(prices)\n";
const TEST: &str = "from shop import mean\n\n\ndef test_mean():\n    assert mean([1.0, 3.0]) == 2.0\n";

/// A git repository with a function that fails, and a test that passes.
fn shop() -> RepositoryTree {
    let tree = RepositoryTree::with(&[("shop.py", SHOP), ("tests/test_shop.py", TEST)]);
    let repository = tree.repository();
    git(&repository, &["init", "--quiet", "--initial-branch", "main"]);
    git(&repository, &["add", "--all"]);
    git(&repository, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "first"]);
    tree
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The shortest possible run.
fn auto(tree: &RepositoryTree, more: &[&str], variables: &[(&str, &str)]) -> InvocationOutcome {
    let arguments =
        ["--python", "/usr/bin/python3", "--preset-count", "1", "--max-iterations", "1", "--json"];
    let all = arguments.into_iter().chain(more.iter().copied());
    let mut invocation = tree.on_repository("auto", all).wall_limit(Duration::from_mins(4));
    for (name, value) in variables {
        invocation = invocation.variable(name, value);
    }
    invocation.run()
}

fn report(outcome: &InvocationOutcome) -> Value {
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn kept(report: &Value) -> Vec<&Value> {
    report["patches"].as_array().unwrap().iter().filter(|patch| patch["state"] == "kept").collect()
}

#[test]
fn a_kept_patch_is_a_commit_with_metrics_and_a_test() {
    let tree = shop();
    let report = report(&auto(&tree, &[], &[]));
    let kept = kept(&report);
    assert_eq!(kept.len(), 1, "{}", report["patches"]);
    assert_eq!(kept[0]["section"], "shop:mean");
    let repository = tree.repository();
    // The user's files are unchanged.
    assert_eq!(read(&tree.repository().join("shop.py")), SHOP);
    assert_eq!(git(&repository, &["status", "--porcelain"]), "");
    let branch = report["branch"].as_str().unwrap();
    let message = git(&repository, &["log", "-1", "--format=%B", branch]);
    for part in ["better on held-out inputs", "existing tests: 1 passed", "Menace-Patch: p_"] {
        assert!(message.contains(part), "{message}");
    }
    let names = git(&repository, &["diff", "--name-only", "main", branch]);
    assert!(names.contains("shop.py") && names.contains("tests/test_menace_shop_mean_"), "{names}");
    let run = report["run"].as_str().unwrap();
    let page = read(&tree.work().join(format!("sandbox_data/auto/{run}/report.html")));
    assert!(page.contains("<svg") && page.contains("must not be empty"));
    let flags = read(&tree.work().join("sandbox_data/alignment_flags.jsonl"));
    assert_eq!(flags.lines().count(), 1, "{flags}");
    // The patch is in the memory, and can be shown.
    let memories = tree.menace(["memory", "list", "--json"]).run();
    assert!(
        memories.stdout.contains("ERROR_FIX") && memories.stdout.contains("shop:mean"),
        "{}",
        memories.stdout
    );
    let id = kept[0]["proposal"].as_str().unwrap();
    let shown = tree.menace(["patches", "show", id]).run();
    assert!(shown.stdout.contains("better on held-out inputs"), "{}", shown.stdout);
    assert_eq!(tree.menace(["patches", "revert", id, "--reason", "wrong"]).run().code, Some(0));
    assert_eq!(tree.menace(["patches", "revert", id, "--reason", "wrong"]).run().code, Some(2));
}

#[test]
fn a_kept_patch_is_the_baseline_of_the_next() {
    let more = format!(
        "{SHOP}\n\ndef surname(full_name: str) -> str:\n    \"\"\"The last name.\"\"\"\n    return full_name.split(\" \")[1]\n"
    );
    let tree = shop();
    let repository = tree.repository();
    std::fs::write(repository.join("shop.py"), &more).unwrap();
    git(&repository, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-am", "second"]);
    let report = report(&auto(&tree, &[], &[]));
    let sections: Vec<&str> = kept(&report).iter().map(|patch| patch["section"].as_str().unwrap()).collect();
    assert_eq!(sections.len(), 2, "{}", report["patches"]);
    assert!(sections.contains(&"shop:mean") && sections.contains(&"shop:surname"), "{sections:?}");
    let branch = report["branch"].as_str().unwrap();
    let text = git(&repository, &["show", &format!("{branch}:shop.py")]);
    // Both changes are in the code, the second on top of the first.
    assert!(text.matches("raise ").count() >= 2, "{text}");
    let commits = git(&repository, &["log", "--format=%s", &format!("main..{branch}")]);
    assert_eq!(commits.lines().count(), 2, "{commits}");
    let run = report["run"].as_str().unwrap();
    let directory = tree.work().join(format!("sandbox_data/auto/{run}"));
    assert!(read(&directory.join("elapsed")).trim().parse::<f64>().unwrap() > 0.0);
    assert!(!directory.join("candidates").exists());
}

#[test]
fn an_interruption_between_calls_and_verification_is_recorded() {
    let tree = shop();
    let short = ["--python", "/usr/bin/python3", "--preset-count", "1", "--max-iterations", "1"];
    let mut running = tree.on_repository("auto", short).wall_limit(Duration::from_mins(4)).start();
    let states = || {
        let runs = tree.menace(["show", "--json"]).run().success().json()["runs"].clone();
        runs.as_array().unwrap().iter().map(|run| run["state"].clone()).collect::<Vec<_>>()
    };
    // The calls of a cycle are a separate run, which ends before the first proposal.
    while !states().contains(&json!("finished")) {
        assert!(running.is_running(), "{}", running.finish().stderr);
    }
    running.interrupt();
    running.finish().exits_with(4);
    assert!(states().contains(&json!("interrupted")), "{:?}", states());
}

#[test]
fn resuming_nothing_and_a_missing_interpreter_are_errors() {
    let tree = shop();
    let none = tree.menace(["auto", "--recover"]).run();
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("no unfinished run"), "{}", none.stderr);
    let without = tree.on_repository("auto", ["--python", "/nowhere/python3"]).run();
    assert_ne!(without.code, Some(0));
    assert!(without.stderr.contains("hint:"), "{}", without.stderr);
}

#[test]
fn a_failing_or_missing_git_is_an_error_of_the_environment() {
    let tree = shop();
    let programs = tree.work().join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    std::fs::write(programs.join("git"), "#!/bin/sh\necho 'fatal: no more inodes' >&2\nexit 128\n").unwrap();
    std::fs::set_permissions(programs.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let failing = auto(&tree, &[], &[("PATH", &path)]);
    failing.exits_with(3).stderr_contains(&["git ", "no more inodes"]);
    let missing = auto(&tree, &[], &[("PATH", "/nonexistent")]);
    missing.exits_with(3).stderr_contains(&["failed to start git", "\nhint: install git"]);
}

/// Starts a model server that answers each request with the next text, and then always with the last one. Returns its
/// address and its request counter.
fn model(answers: Vec<String>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let number = count.fetch_add(1, Ordering::SeqCst);
            let answer = answers.get(number).or(answers.last()).unwrap();
            // The client may have disconnected.
            let _ = answered(&stream, answer);
        }
    });
    (address, asked)
}

fn answered(mut stream: &TcpStream, answer: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}});
    let said = json!({"choices": [{"delta": {"content": answer}}]});
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {said}\n\ndata: {usage}\n\ndata: [DONE]\n\n"
    )
}

fn replaced(body: &str) -> String {
    format!(
        "Mended.\nshop.py\n<<<<<<< SEARCH\n    return sum(prices) / len(prices)\n=======\n{body}>>>>>>> REPLACE\n"
    )
}

#[test]
fn a_model_gets_feedback_and_its_correct_patch_is_kept() {
    let tree = shop();
    let hides =
        "    try:\n        return sum(prices) / len(prices)\n    except Exception:\n        return 0.0\n";
    let right =
        "    if not prices:\n        raise ValueError(\"no prices\")\n    return sum(prices) / len(prices)\n";
    let (address, asked) = model(vec!["I cannot do that.".into(), replaced(hides), replaced(right)]);
    let variables = [
        ("OPENAI_BASE_URL", address.as_str()),
        ("SANDBOX_MODEL", "scripted"),
        ("SANDBOX_PROPOSERS", "llm"),
        ("SANDBOX_MODEL_PRICES", "scripted=1/1"),
        ("SANDBOX_MODEL_REQUESTS_PER_MINUTE", "0"),
    ];
    let report = report(&auto(&tree, &["--max-cost", "1"], &variables));
    let kept = kept(&report);
    assert_eq!(kept.len(), 1, "{}", report["patches"]);
    assert_eq!(kept[0]["proposer"], "llm:scripted");
    let states: Vec<&Value> =
        report["patches"].as_array().unwrap().iter().map(|patch| &patch["state"]).collect();
    assert_eq!(states, ["rejected", "kept"]);
    assert_eq!(report["cost"]["tokens"], 45);
    // The third prompt has the verdict about the second answer.
    let run = report["run"].as_str().unwrap();
    let answers = read(&tree.work().join(format!("sandbox_data/auto/{run}/answers.jsonl")));
    let third: Value = serde_json::from_str(answers.lines().nth(2).unwrap()).unwrap();
    let prompt = third["request"]["messages"][1]["content"].as_str().unwrap();
    assert!(
        prompt.contains("handlers that catch everything") && prompt.contains("except Exception"),
        "{prompt}"
    );
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}
