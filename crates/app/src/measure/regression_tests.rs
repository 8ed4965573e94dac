//! `--emit-tests DIR`: a pytest test for each failure.

use std::collections::BTreeSet;
use std::path::Path;

use menace_runner::{RunReport, test_of};

use crate::calling::RunSettings;
use crate::error::FileContext;
use crate::{AppContext, AppError, AppEvent};

/// Writes a test for each failure that can be reproduced without a sandbox.
pub fn write_regression_tests(
    context: &AppContext,
    directory: &Path,
    report: &RunReport,
    settings: &RunSettings,
) -> Result<(), AppError> {
    std::fs::create_dir_all(directory).file("create", directory)?;
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
        menace_analysis::write_atomically(&path, text.as_bytes()).file("write", &path)?;
    }
    context.emit(AppEvent::TestsWritten {
        count: names.len(),
        omitted: left_out,
        directory: directory.to_owned(),
        repository: settings.repository.clone(),
    });
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
