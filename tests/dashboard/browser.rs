//! Debian's Chromium, driven by the scripts in ui/tests.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use menace_tests::workspace_directory;

/// Running browser tests of ui/tests.
pub(crate) struct BrowserTests {
    process: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    said: Vec<String>,
}

/// Whether a browser is installed. Without one tests are skipped, and fail in CI.
pub(crate) fn is_browser_installed() -> bool {
    let modules = workspace_directory().join("ui/node_modules/playwright-core");
    let missing =
        [Path::new("/usr/bin/chromium").to_owned(), modules].into_iter().find(|path| !path.exists());
    let Some(missing) = missing else { return true };
    let problem = format!("{} is missing: script/bootstrap installs it", missing.display());
    assert!(std::env::var_os("CI").is_none(), "{problem}");
    eprintln!("skipped: {problem}");
    false
}

/// Directory for screenshots, from `DASHBOARD_SHOTS`.
fn screenshot_directory() -> Option<PathBuf> {
    std::env::var_os("DASHBOARD_SHOTS").map(PathBuf::from)
}

impl BrowserTests {
    /// Starts tests, each by its name and the address that it opens.
    pub(crate) fn start(tests: &[(&str, &str)]) -> Self {
        let mut command = Command::new("node");
        command.arg(workspace_directory().join("ui/tests/all.mjs"));
        command.args(tests.iter().map(|(name, address)| format!("{name}={address}")));
        command.envs(screenshot_directory().map(|directory| ("SHOTS", directory)));
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines, said: Vec::new() }
    }

    /// Waits until the output contains `text`.
    pub(crate) fn wait_for(&mut self, text: &str) {
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            self.said.push(line.clone());
            if line.contains(text) {
                return;
            }
        }
        panic!("{text:?} was not printed:\n{}", self.said.join("\n"));
    }

    /// Waits for the exit and asserts success.
    pub(crate) fn end(mut self) {
        self.said.extend(self.lines.by_ref().map(Result::unwrap));
        let ended = self.process.wait().unwrap();
        assert!(ended.success(), "{}", self.said.join("\n"));
        eprintln!("{}", self.said.join("\n"));
    }
}
