//! Persistent sandboxes from the command line.

use std::path::Path;

use menace_tests::{InvocationOutcome, MenaceInvocation};
use serde_json::Value;

/// A working directory whose sandboxes are removed on drop.
struct SandboxDirectory(tempfile::TempDir);

impl SandboxDirectory {
    fn menace(&self, arguments: &[&str]) -> InvocationOutcome {
        MenaceInvocation::new(self.0.path(), self.0.path()).arguments(arguments).run()
    }

    #[track_caller]
    fn done(&self, arguments: &[&str]) -> String {
        let outcome = self.menace(arguments);
        assert_eq!(outcome.code, Some(0), "{arguments:?}: {}", outcome.stderr);
        outcome.stdout.trim_end().to_owned()
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SandboxDirectory {
    fn drop(&mut self) {
        let listed = self.menace(&["sandbox", "list", "--json"]);
        let all: Value = serde_json::from_str(&listed.stdout).unwrap_or_default();
        for one in all.as_array().into_iter().flatten() {
            self.menace(&["sandbox", "rm", one["sandbox_id"].as_str().unwrap_or_default()]);
        }
    }
}

#[test]
fn a_sandbox_is_created_used_and_removed_without_a_server() {
    let place = SandboxDirectory(tempfile::tempdir().unwrap());
    let id = place.done(&["sandbox", "create", "--project", "demo", "--memory", "256m", "--label", "a=b"]);
    assert!(id.starts_with("sb-"), "{id}");
    let short = &id[3..9];
    let ran = place.menace(&["sandbox", "exec", short, "--", "sh", "-c", "echo out; echo err >&2; exit 9"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(9), "out\n", "err\n"));
    let late = place.menace(&["sandbox", "exec", short, "--timeout", "200ms", "--", "sleep", "50"]);
    assert_eq!(late.code, Some(124));
    std::fs::create_dir(place.path().join("d")).unwrap();
    std::fs::write(place.path().join("d/f.txt"), "content").unwrap();
    place.done(&["sandbox", "cp", "d", &format!("{short}:/workspace/")]);
    place.done(&["sandbox", "cp", "d/f.txt", &format!("{short}:/workspace/g.txt")]);
    let read = ["sandbox", "exec", short, "--", "sh", "-c", "cat d/f.txt g.txt"];
    assert_eq!(place.done(&read), "contentcontent");
    place.done(&["sandbox", "cp", &format!("{short}:/workspace"), "copied"]);
    assert_eq!(std::fs::read_to_string(place.path().join("copied/d/f.txt")).unwrap(), "content");
    place.done(&["sandbox", "cp", &format!("{short}:/workspace/g.txt"), "g.txt"]);
    assert_eq!(std::fs::read_to_string(place.path().join("g.txt")).unwrap(), "content");
    let forked = place.done(&["sandbox", "fork", short]);
    assert_eq!(place.done(&["sandbox", "exec", &forked, "--", "cat", "g.txt"]), "content");
    let listed: Value = serde_json::from_str(&place.done(&["sandbox", "list", "--json"])).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert!(place.done(&["sandbox", "stats", short]).contains("memory"));
    place.done(&["sandbox", "stop", short]);
    assert_eq!(place.menace(&["sandbox", "exec", short, "--", "true"]).code, Some(2));
    place.done(&["sandbox", "rm", &id, &forked]);
    assert_eq!(place.menace(&["sandbox", "rm", &id]).code, Some(2));
    assert!(place.menace(&["sandbox", "list"]).stderr.contains("no sandboxes"));
}
