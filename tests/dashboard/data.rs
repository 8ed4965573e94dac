//! Data directory of a real run over a small repository with HTML in its names and messages, and a dashboard process.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use menace_tests::http::{EventStream, HttpResponse, ask, open};
use menace_tests::{RepositoryTree, menace_binary, workspace_directory};

/// Text that becomes an element of a page if it is not escaped.
pub(crate) const ELEMENT: &str = "<img src=x onerror=alert(1)>";

const SHOP: &str = "\"\"\"A shop.\"\"\"\n\nfrom shop_tools import first_word\n\n\ndef mean(prices: list[float]) -> float:\n    \"\"\"The mean of prices.\"\"\"\n    return sum(prices) / len(prices)\n\n\ndef label(text: str) -> str:\n    \"\"\"A label.\"\"\"\n    return first_word(text).upper()\n";
const TOOLS: &str = "\"\"\"Tools <script>alert(2)</script>.\"\"\"\n\n\ndef first_word(text: str) -> str:\n    \"\"\"The first word.\"\"\"\n    words = text.split()\n    return words[0] if words else \"\"\n";
const EVIL: &str = "\"\"\"Says what a page should not believe.\"\"\"\n\n\ndef evil_lookup(name: str) -> int:\n    \"\"\"Fails with a message that wants to be an element.\"\"\"\n    return {\"a\": 1}[\"<img src=x onerror=alert(1)>\" + name]\n";
const TEST: &str = "from shop import mean\n\n\ndef test_mean():\n    assert mean([1.0, 3.0]) == 2.0\n";

/// A data directory with a finished run, and its repository.
pub(crate) struct FinishedRun {
    pub(crate) tree: RepositoryTree,
}

impl FinishedRun {
    /// Makes the shortest possible run.
    pub(crate) fn make() -> Self {
        let tree = repository();
        let ended = tree.on_repository("auto", SHORT).wall_limit(Duration::from_mins(4)).run();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        Self { tree }
    }

    /// Makes the same run with a dashboard, and calls `look` while it runs.
    pub(crate) fn with_dashboard(look: impl FnOnce(&DashboardProcess)) -> Self {
        Self::run_with_dashboard(repository(), &[], look)
    }

    /// Makes a run over a module of the example, which is long enough to be followed in a browser.
    pub(crate) fn of_example(look: impl FnOnce(&DashboardProcess)) -> Self {
        let tree = RepositoryTree::new();
        let example = workspace_directory().join("examples/shop/.");
        let copied = Command::new("cp").arg("-r").arg(example).arg(tree.repository()).status().unwrap();
        assert!(copied.success());
        Self::run_with_dashboard(tree, &["--modules", "shop/cart.py", "--timeout", "500ms"], look)
    }

    fn run_with_dashboard(tree: RepositoryTree, more: &[&str], look: impl FnOnce(&DashboardProcess)) -> Self {
        let mut command = Command::new(menace_binary());
        command.arg("auto").arg(tree.repository()).args(SHORT).args(["--dashboard-port", "0"]).args(more);
        command.current_dir(tree.work()).env("HOME", tree.home());
        let mut shown = DashboardProcess::start(command);
        look(&shown);
        let ended = shown.process.wait().unwrap();
        assert!(ended.success(), "{ended}");
        Self { tree }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.tree.work().join("sandbox_data")
    }
}

const SHORT: [&str; 6] = ["--python", "/usr/bin/python3", "--preset-count", "1", "--max-iterations", "1"];

/// Creates a git repository.
fn repository() -> RepositoryTree {
    let odd = format!("odd {ELEMENT}.py");
    let files = [
        ("shop.py", SHOP),
        ("shop_tools.py", TOOLS),
        ("evil.py", EVIL),
        ("tests/test_shop.py", TEST),
        (odd.as_str(), "X = 1\n"),
    ];
    let tree = RepositoryTree::with(&files);
    let git = |arguments: &[&str]| {
        let done = Command::new("git").arg("-C").arg(tree.repository()).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["add", "--all"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "first"]);
    tree
}

/// A menace process with a dashboard, which ends with the test.
pub(crate) struct DashboardProcess {
    process: Child,
    pub(crate) address: String,
}

impl DashboardProcess {
    pub(crate) fn of(data: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(menace_binary());
        command.args(["dashboard", "--port", "0", "--data-dir"]).arg(data).args(more);
        command.current_dir(data).env("HOME", data);
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let address =
            lines.find_map(|line| Some(line.unwrap().split_once("dashboard: http://")?.1.to_owned()));
        // Drain stderr, so that the process never blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address: address.unwrap() }
    }

    pub(crate) fn get(&self, path: &str) -> HttpResponse {
        ask(&self.address, "GET", path, &[], b"")
    }

    #[track_caller]
    pub(crate) fn json(&self, path: &str) -> serde_json::Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    pub(crate) fn events(&self, headers: &[(&str, &str)]) -> EventStream {
        EventStream::of(open(&self.address, "GET", "/api/dashboard/events/stream", headers, b""))
    }
}

impl Drop for DashboardProcess {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
