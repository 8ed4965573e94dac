//! Issue that a test reports for a construct, and the report of all issues in a file.

use std::borrow::Cow;

use menace_model::inventory::{FindingSeverity, SecurityFinding};

use super::nosec::NosecSuppressions;
use crate::syntax::{ParsedPythonSource, Ranged, TextRange, TextSize};

/// Result of a test for one construct.
#[derive(Debug)]
pub(super) struct SecurityIssue {
    pub(super) id: &'static str,
    pub(super) severity: FindingSeverity,
    pub(super) confidence: FindingSeverity,
    pub(super) message: Cow<'static, str>,
    /// Position of the issue, if it is not on the line on which the construct starts.
    place: Option<TextSize>,
}

impl SecurityIssue {
    pub(super) fn new(
        id: &'static str,
        severity: FindingSeverity,
        confidence: FindingSeverity,
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
pub(super) struct SecurityReport {
    entries: Vec<ReportedIssue>,
}

#[derive(Debug)]
struct ReportedIssue {
    issue: SecurityIssue,
    start: TextSize,
    /// Range in which a `nosec` comment suppresses the issue.
    span: TextRange,
}

impl SecurityReport {
    /// Adds an issue of `node`.
    pub(super) fn add(&mut self, issue: SecurityIssue, node: impl Ranged) {
        self.add_within(issue, node.range(), node.range());
    }

    /// Adds the issues of `node`.
    pub(super) fn extend(&mut self, issues: impl IntoIterator<Item = SecurityIssue>, node: impl Ranged) {
        for issue in issues {
            self.add(issue, node.range());
        }
    }

    /// Adds an issue of `node` that comments anywhere in `span` suppress.
    pub(super) fn add_within(&mut self, issue: SecurityIssue, node: impl Ranged, span: TextRange) {
        self.entries.push(ReportedIssue { issue, start: node.start(), span });
    }

    /// Findings that no comment suppresses, by line and id.
    pub(super) fn into_findings(self, source: &ParsedPythonSource) -> Vec<SecurityFinding> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let suppressions = NosecSuppressions::of(source);
        let mut findings: Vec<SecurityFinding> = self
            .entries
            .into_iter()
            .filter(|entry| !suppressions.as_ref().is_some_and(|all| all.suppresses_issue(entry, source)))
            .map(|entry| entry.into_finding(source))
            .collect();
        findings.sort_by(|one, other| (one.line, &one.id).cmp(&(other.line, &other.id)));
        findings
    }
}

impl ReportedIssue {
    fn into_finding(self, source: &ParsedPythonSource) -> SecurityFinding {
        SecurityFinding {
            id: self.issue.id.to_owned(),
            severity: self.issue.severity,
            confidence: self.issue.confidence,
            line: source.line_of(self.issue.place.unwrap_or(self.start)),
            message: self.issue.message.into_owned(),
        }
    }
}

impl NosecSuppressions {
    /// The comment on the line that the test chose counts in addition to the first one within the construct.
    fn suppresses_issue(&self, entry: &ReportedIssue, source: &ParsedPythonSource) -> bool {
        let chosen = entry.issue.place.map(|place| source.line_of(place));
        let lines = source.first_line(entry.span)..=source.last_line(entry.span);
        self.apply(entry.issue.id, chosen, lines)
    }
}
