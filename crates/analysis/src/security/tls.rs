//! Broken TLS versions.

use menace_model::inventory::Severity::{High, Low, Medium};

use super::call::Call;
use super::report::{Issue, Report};
use super::value::Value;
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
pub(super) fn bad_version(call: &Call) -> Option<Issue> {
    let (keywords, level) = match call.qualified.as_ref() {
        "ssl.wrap_socket" => (&["ssl_version"][..], High),
        "pyOpenSSL.SSL.Context" => (&["method"][..], High),
        _ => (KEYWORDS, Medium),
    };
    let is_bad = |keyword: &&str| {
        call.keyword_value(keyword)
            .and_then(Value::text)
            .is_some_and(|version| BAD_VERSIONS.contains(&version))
    };
    if !keywords.iter().any(is_bad) {
        return None;
    }
    let place = keywords.iter().find_map(|keyword| call.keyword_place(keyword));
    Some(Issue::new("B502", level, level, "broken TLS version").at(place))
}

/// B504: `ssl.wrap_socket` with the default version.
pub(super) fn no_version(call: &Call) -> Option<Issue> {
    (call.is("ssl.wrap_socket") && call.keyword_value("ssl_version").is_none()).then(|| {
        let issue = Issue::new("B504", Low, Medium, "the default allows broken TLS versions");
        issue.at(call.keyword_place("ssl_version"))
    })
}

/// B503: a broken version as a parameter's default.
pub(super) fn bad_default(function: &ast::StmtFunctionDef, report: &mut Report) {
    let parameters = &function.parameters;
    let mut defaults =
        parameters.posonlyargs.iter().chain(&parameters.args).filter_map(|one| one.default.as_deref());
    let is_bad =
        |default: &Expr| matches!(default, Expr::Attribute(one) if BAD_VERSIONS.contains(&one.attr.as_str()));
    if defaults.any(is_bad) {
        let issue = Issue::new("B503", Medium, Medium, "the default TLS version is broken");
        report.add(issue, TextRange::new(function.name.start(), function.end()));
    }
}
