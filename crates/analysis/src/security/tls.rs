//! Broken TLS versions.

use menace_model::inventory::FindingSeverity::{High, Low, Medium};

use super::argument_value::ArgumentValue;
use super::call::CheckedCall;
use super::report::{SecurityIssue, SecurityReport};
use crate::syntax::{Expr, Ranged, TextRange, ast};

pub(super) const CALLEES: &[&str] = &["wrap_socket"];

/// Keywords that select a version.
pub(super) const KEYWORDS: &[&str] = &["method", "ssl_version"];

const BAD_VERSIONS: &[&str] = &[
    "PROTOCOL_SSLv2",
    "SSLv2_METHOD",
    "SSLv23_METHOD",
    "PROTOCOL_SSLv3",
    "PROTOCOL_TLSv1",
    "SSLv3_METHOD",
    "TLSv1_METHOD",
    "PROTOCOL_TLSv1_1",
    "TLSv1_1_METHOD",
];

/// B502: a broken version selected by name.
pub(super) fn bad_version(call: &CheckedCall) -> Option<SecurityIssue> {
    let (keywords, level) = match call.qualified.as_ref() {
        "ssl.wrap_socket" => (&["ssl_version"][..], High),
        "pyOpenSSL.SSL.Context" => (&["method"][..], High),
        _ => (KEYWORDS, Medium),
    };
    let is_bad = |keyword: &&str| {
        call.keyword_value(keyword)
            .and_then(ArgumentValue::text)
            .is_some_and(|version| BAD_VERSIONS.contains(&version))
    };
    if !keywords.iter().any(is_bad) {
        return None;
    }
    let place = keywords.iter().find_map(|keyword| call.keyword_offset(keyword));
    Some(SecurityIssue::new("B502", level, level, "broken TLS version").at(place))
}

/// B504: `ssl.wrap_socket` with the default version.
pub(super) fn no_version(call: &CheckedCall) -> Option<SecurityIssue> {
    (call.is("ssl.wrap_socket") && call.keyword_value("ssl_version").is_none()).then(|| {
        let issue = SecurityIssue::new("B504", Low, Medium, "the default allows broken TLS versions");
        issue.at(call.keyword_offset("ssl_version"))
    })
}

/// B503: a broken version as a parameter's default.
pub(super) fn bad_default(function: &ast::StmtFunctionDef, report: &mut SecurityReport) {
    let parameters = &function.parameters;
    let mut defaults =
        parameters.posonlyargs.iter().chain(&parameters.args).filter_map(|one| one.default.as_deref());
    let is_bad =
        |default: &Expr| matches!(default, Expr::Attribute(one) if BAD_VERSIONS.contains(&one.attr.as_str()));
    if defaults.any(is_bad) {
        let issue = SecurityIssue::new("B503", Medium, Medium, "the default TLS version is broken");
        report.add(issue, TextRange::new(function.name.start(), function.end()));
    }
}
