//! Lint and security findings of the changed files, before and after.

use std::fmt;

use menace_model::inventory::{Inventory, PythonModule};

/// Number of findings before and after a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FindingCountChange {
    pub(super) security_before: usize,
    pub(super) security_after: usize,
    pub(super) lint_before: usize,
    pub(super) lint_after: usize,
}

impl FindingCountChange {
    /// Whether findings of one kind decreased and those of the other did not increase.
    pub(super) fn is_better(&self) -> bool {
        self.security_after <= self.security_before
            && self.lint_after <= self.lint_before
            && self.security_after + self.lint_after < self.security_before + self.lint_before
    }
}

impl FindingCountChange {
    /// Measurement compared with earlier patches.
    pub(super) fn figures(&self) -> [(String, f64); 1] {
        let before = (self.security_before + self.lint_before) as f64;
        [("findings_removed".to_owned(), before - (self.security_after + self.lint_after) as f64)]
    }
}

impl fmt::Display for FindingCountChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { security_before, security_after, lint_before, lint_after } = self;
        write!(
            formatter,
            "security findings {security_before} → {security_after}, lint {lint_before} → {lint_after}"
        )
    }
}

pub(super) fn change<'a>(
    before: &Inventory,
    after: &Inventory,
    paths: impl Iterator<Item = &'a String>,
) -> FindingCountChange {
    let mut all = FindingCountChange::default();
    let of = |inventory: &Inventory, path: &str| -> (usize, usize) {
        let module: Option<&PythonModule> = inventory.modules.iter().find(|module| module.path == path);
        module.map_or((0, 0), |module| (module.findings.len(), module.lint.len()))
    };
    for path in paths {
        let ((security_before, lint_before), (security_after, lint_after)) =
            (of(before, path), of(after, path));
        all.security_before += security_before;
        all.lint_before += lint_before;
        all.security_after += security_after;
        all.lint_after += lint_after;
    }
    all
}
