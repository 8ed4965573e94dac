//! `menace audit`: verification of the audit trail.

use menace_store::audit::{AuditVerification, verify};
use serde_json::json;

use crate::arguments::AuditCommand;
use crate::commands::UsageError;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{count, print, print_json};

pub(super) fn run(configuration: &Configuration, command: &AuditCommand) -> anyhow::Result<MenaceExit> {
    let AuditCommand::Verify { file, output } = command;
    let path = file.clone().unwrap_or_else(|| configuration.audit_path());
    if !path.is_file() {
        return Err(UsageError::NoSuchFile(path).into());
    }
    let verified = verify(&path)?;
    if output.json {
        print_json(
            &json!({"version": 1, "path": path, "whole": verified.problems.is_empty(), "trail": verified}),
        )?;
    } else {
        print(&text(&path.display().to_string(), &verified))?;
    }
    Ok(if verified.problems.is_empty() { MenaceExit::Done } else { MenaceExit::Found })
}

fn text(path: &str, verified: &AuditVerification) -> String {
    let lines = count(usize::try_from(verified.lines).unwrap_or(usize::MAX), "line");
    let mut text = match verified.problems.len() {
        0 => format!("{path}: {lines}, unchanged\n"),
        problems => format!("{path}: {lines}, {}\n", count(problems, "problem")),
    };
    for problem in &verified.problems {
        text += &format!("  line {}: {}\n", problem.line, problem.what);
    }
    if verified.before > 0 {
        text += &format!("  {} without hashes, written by an older version\n", verified.before);
    }
    if let Some(last) = &verified.last {
        text += &format!("  last hash: {last}\n");
    }
    text
}
