//! Web frameworks and template engines.

use menace_model::inventory::FindingSeverity::{High, Medium};

use super::argument_value;
use super::call::CheckedCall;
use super::report::SecurityIssue;
use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, ast};

pub(super) const CALLEES: &[&str] = &["run", "Environment", "Template", "Markup"];

/// B201: a Flask application with its debugger enabled.
pub(super) fn flask_debug(call: &CheckedCall) -> Option<SecurityIssue> {
    let is_debugged = call.qualified.ends_with(".run")
        && call.keyword_is("debug", "True")
        && call.names.imports_name_containing("flask");
    is_debugged.then(|| {
        SecurityIssue::new("B201", High, Medium, "Flask's debugger lets clients run arbitrary code")
            .at(call.keyword_offset("debug"))
    })
}

/// B701: a Jinja environment that does not escape.
pub(super) fn jinja_autoescape(call: &CheckedCall) -> Option<SecurityIssue> {
    if call.name() != "Environment" || !call.has_segment("jinja2") {
        return None;
    }
    let confidence = match autoescape(call.node) {
        None => High,
        Some(Expr::BooleanLiteral(boolean)) if boolean.value => return None,
        Some(Expr::BooleanLiteral(_)) => High,
        Some(Expr::Call(made)) if is_select_autoescape(&made.func) => return None,
        Some(_) => Medium,
    };
    Some(SecurityIssue::new("B701", High, confidence, "Jinja escapes nothing unless autoescape is on"))
}

fn is_select_autoescape(function: &Expr) -> bool {
    match function {
        Expr::Attribute(attribute) => attribute.attr.as_str() == "select_autoescape",
        Expr::Name(name) => name.id == "select_autoescape",
        _ => false,
    }
}

/// The value of the outermost `autoescape` keyword in a call, its own or that of a call inside of it.
fn autoescape(call: &ast::ExprCall) -> Option<&Expr> {
    let is_autoescape = |keyword: &&ast::Keyword| keyword.arg.as_deref() == Some("autoescape");
    if let Some(own) = call.arguments.keywords.iter().find(is_autoescape) {
        return Some(&own.value);
    }
    let mut search = AutoescapeSearch { found: None };
    search.visit_arguments(&call.arguments);
    search.found
}

struct AutoescapeSearch<'a> {
    found: Option<&'a Expr>,
}

impl<'a> Visitor<'a> for AutoescapeSearch<'a> {
    fn visit_keyword(&mut self, keyword: &'a ast::Keyword) {
        if self.found.is_none() && keyword.arg.as_deref() == Some("autoescape") {
            self.found = Some(&keyword.value);
        }
        visitor::walk_keyword(self, keyword);
    }
}

/// B702: Mako templates, which escape nothing by default.
pub(super) fn mako_template(call: &CheckedCall) -> Option<SecurityIssue> {
    (call.name() == "Template" && call.has_segment("mako"))
        .then(|| SecurityIssue::new("B702", Medium, High, "Mako escapes nothing by default"))
}

/// B704: `Markup` of an expression other than a literal.
pub(super) fn markup(call: &CheckedCall) -> Option<SecurityIssue> {
    let text = call.arguments().first()?;
    (call.is_one_of(&["markupsafe.Markup", "flask.Markup"]) && !argument_value::is_constant(text))
        .then(|| SecurityIssue::new("B704", Medium, High, "Markup is not escaped and can contain scripts"))
}
