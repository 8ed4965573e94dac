//! Names that are findings by themselves: a call of a listed function, an import of a listed module.

use std::sync::LazyLock;

use menace_model::inventory::FindingSeverity;
use rustc_hash::FxHashMap;

use super::argument_value::{self, ArgumentValue};
use super::blacklist_calls::CALLS;
use super::blacklist_imports::IMPORTS;
use super::call::CheckedCall;
use super::report::{SecurityIssue, SecurityReport};
use crate::syntax::{Expr, TextRange, ast};

/// A list of names with one id.
#[derive(Debug)]
pub(super) struct BlacklistRule {
    pub(super) id: &'static str,
    /// Name of the rule in `nosec` comments.
    pub(super) name: &'static str,
    pub(super) severity: FindingSeverity,
    pub(super) message: &'static str,
    pub(super) qualified: &'static [&'static str],
}

impl BlacklistRule {
    fn issue(&self, name: &str) -> SecurityIssue {
        SecurityIssue::new(self.id, self.severity, FindingSeverity::High, format!("{name}: {}", self.message))
    }
}

/// All rules, calls first.
pub(super) fn rules() -> impl Iterator<Item = &'static BlacklistRule> {
    CALLS.iter().chain(IMPORTS)
}

/// Every listed name.
pub(super) fn qualified_names() -> impl Iterator<Item = &'static str> {
    rules().flat_map(|rule| rule.qualified).copied().chain(["__import__", "import_module"])
}

/// Checks for calls of listed functions. An import by a call counts like the statement, with the exact module name
/// only.
pub(super) fn call(call: &CheckedCall) -> Option<SecurityIssue> {
    let name = imported_name(call).unwrap_or(call.qualified);
    Some(BY_NAME.get(name)?.issue(name))
}

static BY_NAME: LazyLock<FxHashMap<&'static str, &'static BlacklistRule>> =
    LazyLock::new(|| rules().flat_map(|rule| rule.qualified.iter().map(move |name| (*name, rule))).collect());

/// The module that `__import__("module")` or `importlib.import_module("module")` imports.
fn imported_name<'a>(call: &CheckedCall<'_, 'a>) -> Option<&'a str> {
    if matches!(&*call.node.func, Expr::Name(name) if name.id == "__import__") {
        return call.arguments().first().and_then(argument_value::string).or(Some(""));
    }
    if !call.is_one_of(&["importlib.import_module", "importlib.__import__"]) {
        return None;
    }
    let module = if call.arguments().is_empty() { call.keyword_value("name") } else { call.argument(0) };
    module.and_then(ArgumentValue::text).or(Some(""))
}

pub(super) fn import(node: &ast::StmtImport, report: &mut SecurityReport) {
    check_import("", &node.names, node.range, report);
}

pub(super) fn import_from(node: &ast::StmtImportFrom, report: &mut SecurityReport) {
    check_import(node.module.as_deref().unwrap_or_default(), &node.names, node.range, report);
}

/// Reports a statement once, by the first rule that covers any of its names. A rule covers names that start with its
/// name, so `pickletools` counts as `pickle`.
fn check_import(module: &str, names: &[ast::Alias], range: TextRange, report: &mut SecurityReport) {
    let is_possible = if module.is_empty() {
        names.iter().any(|alias| has_listed_initial(alias.name.as_str()))
    } else {
        has_listed_initial(module)
    };
    if !is_possible {
        return;
    }
    let covering = IMPORTS.iter().find_map(|rule| {
        let covers = |alias: &&ast::Alias| {
            rule.qualified.iter().any(|qualified| starts_with(module, alias.name.as_str(), qualified))
        };
        Some((rule, names.iter().find(covers)?))
    });
    if let Some((rule, alias)) = covering {
        report.add(rule.issue(alias.name.as_str()), range);
    }
}

/// First letters of listed modules: most imports are ruled out by comparing one byte.
const INITIALS: [bool; 256] = {
    let mut initials = [false; 256];
    let mut rule = 0;
    while rule < IMPORTS.len() {
        let mut name = 0;
        while name < IMPORTS[rule].qualified.len() {
            initials[IMPORTS[rule].qualified[name].as_bytes()[0] as usize] = true;
            name += 1;
        }
        rule += 1;
    }
    initials
};

fn has_listed_initial(name: &str) -> bool {
    name.bytes().next().is_some_and(|initial| INITIALS[usize::from(initial)])
}

/// Whether `module.name`, or `name` alone when there is no module, starts with `prefix`.
fn starts_with(module: &str, name: &str, prefix: &str) -> bool {
    if module.is_empty() {
        return name.starts_with(prefix);
    }
    match prefix.strip_prefix(module) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('.').is_some_and(|rest| name.starts_with(rest)),
        None => module.starts_with(prefix),
    }
}
