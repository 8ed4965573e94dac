//! Debian's Chromium, driven by ui/tests.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use menace_tests::workspace_directory;

/// Tests of ui/tests that run.
pub(crate) struct Looking {
    process: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    said: Vec<String>,
}

/// Whether there is a browser. Without one tests are skipped, and fail where everything has to be tested.
pub(crate) fn is_there() -> bool {
    let modules = workspace_directory().join("ui/node_modules/playwright-core");
    let missing =
        [Path::new("/usr/bin/chromium").to_owned(), modules].into_iter().find(|path| !path.exists());
    let Some(missing) = missing else { return true };
    let problem = format!("{} is not there: script/bootstrap installs it", missing.display());
    assert!(std::env::var_os("CI").is_none(), "{problem}");
    eprintln!("skipped: {problem}");
    false
}

/// Where pictures go, if somebody wants some: `DASHBOARD_SHOTS`.
fn pictures() -> Option<PathBuf> {
    std::env::var_os("DASHBOARD_SHOTS").map(PathBuf::from)
}

impl Looking {
    /// Starts tests, each by its name and what it looks at.
    pub(crate) fn start(tests: &[(&str, &str)]) -> Self {
        let mut command = Command::new("node");
        command.arg(workspace_directory().join("ui/tests/all.mjs"));
        command.args(tests.iter().map(|(name, address)| format!("{name}={address}")));
        command.envs(pictures().map(|directory| ("SHOTS", directory)));
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines, said: Vec::new() }
    }

    /// Waits until it says something.
    pub(crate) fn wait_for(&mut self, text: &str) {
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            self.said.push(line.clone());
            if line.contains(text) {
                return;
            }
        }
        panic!("{text:?} was not said:\n{}", self.said.join("\n"));
    }

    /// Waits for the end, which has to be a good one.
    pub(crate) fn end(mut self) {
        self.said.extend(self.lines.by_ref().map(Result::unwrap));
        let ended = self.process.wait().unwrap();
        assert!(ended.success(), "{}", self.said.join("\n"));
        eprintln!("{}", self.said.join("\n"));
    }
}
