//! Findings during collection: offsets and borrowed names, before `# noqa` comments are applied.

use std::borrow::Cow;

use menace_model::inventory::LintRule;

use crate::syntax::TextSize;

#[derive(Debug)]
pub(super) struct UnfilteredFinding<'a> {
    pub(super) rule: LintRule,
    pub(super) offset: TextSize,
    /// Start of the enclosing statement, when a `# noqa` on its line also suppresses the finding.
    pub(super) statement: Option<TextSize>,
    pub(super) name: Cow<'a, str>,
}

#[derive(Debug, Default)]
pub(super) struct FindingCollector<'a> {
    found: Vec<UnfilteredFinding<'a>>,
}

impl<'a> FindingCollector<'a> {
    pub(super) fn add(&mut self, rule: LintRule, offset: TextSize, name: impl Into<Cow<'a, str>>) {
        self.found.push(UnfilteredFinding { rule, offset, statement: None, name: name.into() });
    }

    pub(super) fn add_in_statement(
        &mut self,
        rule: LintRule,
        offset: TextSize,
        name: &'a str,
        statement: TextSize,
    ) {
        self.found.push(UnfilteredFinding { rule, offset, statement: Some(statement), name: name.into() });
    }

    pub(super) fn into_found(self) -> Vec<UnfilteredFinding<'a>> {
        self.found
    }
}
