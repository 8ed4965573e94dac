//! `--emit-tests DIR`: a test of pytest for each failure.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use menace_runner::{RunReport, test_of};

use crate::calling::RunSettings;
use crate::terminal::{count, note};

pub(super) fn tests(directory: &Path, report: &RunReport, settings: &RunSettings) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("failed to make {}", directory.display()))?;
    let mut names = BTreeSet::new();
    let mut left_out = 0;
    for failure in &report.failures {
        let reason = format!("{} {}", failure.exception.as_deref().unwrap_or_default(), failure.message);
        let Some(text) = failure.example().and_then(|call| test_of(call, failure.kind, reason.trim())) else {
            left_out += 1;
            continue;
        };
        let name = free_name(&failure.section, &mut names);
        let path = directory.join(name);
        menace_analysis::write_atomically(&path, text.as_bytes())
            .with_context(|| format!("failed to write {}", path.display()))?;
    }
    let missing = if left_out == 0 {
        String::new()
    } else {
        format!("; {} only show in a sandbox", count(left_out, "failure"))
    };
    note(&format!(
        "wrote {} to {} (PYTHONPATH={} pytest {1}){missing}",
        count(names.len(), "test"),
        directory.display(),
        settings.repository.display(),
    ));
    Ok(())
}

fn free_name(section: &str, names: &mut BTreeSet<String>) -> String {
    let stem: String = section
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' })
        .collect();
    let mut name = format!("test_menace_{stem}.py");
    let mut number = 2;
    while !names.insert(name.clone()) {
        name = format!("test_menace_{stem}_{number}.py");
        number += 1;
    }
    name
}
