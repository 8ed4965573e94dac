//! Issue that a test reports for a construct, and the report of all issues in a file.

use std::borrow::Cow;

use menace_model::inventory::{Finding, Severity};

use super::nosec::Suppressions;
use crate::syntax::{Ranged, Source, TextRange, TextSize};

/// Result of a test for one construct.
#[derive(Debug)]
pub(super) struct Issue {
    pub(super) id: &'static str,
    pub(super) severity: Severity,
    pub(super) confidence: Severity,
    pub(super) message: Cow<'static, str>,
    /// Position of the issue, if it is not on the line on which the construct starts.
    place: Option<TextSize>,
}

impl Issue {
    pub(super) fn new(
        id: &'static str,
        severity: Severity,
        confidence: Severity,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { id, severity, confidence, message: message.into(), place: None }
    }

    /// Moves the issue to `place`, if it is given.
    pub(super) fn at(mut self, place: Option<TextSize>) -> Self {
        self.place = place;
        self
    }
}

/// Issues of one file by offset: lines and comments are computed only for files with findings.
#[derive(Debug, Default)]
pub(super) struct Report {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    issue: Issue,
    start: TextSize,
    /// Range in which a `nosec` comment suppresses the issue.
    span: TextRange,
}

impl Report {
    /// Adds an issue of `node`.
    pub(super) fn add(&mut self, issue: Issue, node: impl Ranged) {
        self.add_within(issue, node.range(), node.range());
    }

    /// Adds the issues of `node`.
    pub(super) fn extend(&mut self, issues: impl IntoIterator<Item = Issue>, node: impl Ranged) {
        for issue in issues {
            self.add(issue, node.range());
        }
    }

    /// Adds an issue of `node` that comments anywhere in `span` suppress.
    pub(super) fn add_within(&mut self, issue: Issue, node: impl Ranged, span: TextRange) {
        self.entries.push(Entry { issue, start: node.start(), span });
    }

    /// Findings that no comment suppresses, by line and id.
    pub(super) fn into_findings(self, source: &Source) -> Vec<Finding> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let suppressions = Suppressions::of(source);
        let mut findings: Vec<Finding> = self
            .entries
            .into_iter()
            .filter(|entry| !suppressions.as_ref().is_some_and(|all| all.silence(entry, source)))
            .map(|entry| entry.into_finding(source))
            .collect();
        findings.sort_by(|one, other| (one.line, &one.id).cmp(&(other.line, &other.id)));
        findings
    }
}

impl Entry {
    fn into_finding(self, source: &Source) -> Finding {
        Finding {
            id: self.issue.id.to_owned(),
            severity: self.issue.severity,
            confidence: self.issue.confidence,
            line: source.line_of(self.issue.place.unwrap_or(self.start)),
            message: self.issue.message.into_owned(),
        }
    }
}

impl Suppressions {
    /// The comment on the line that the test chose counts in addition to the first one within the construct.
    fn silence(&self, entry: &Entry, source: &Source) -> bool {
        let chosen = entry.issue.place.map(|place| source.line_of(place));
        let lines = source.first_line(entry.span)..=source.last_line(entry.span);
        self.apply(entry.issue.id, chosen, lines)
    }
}
