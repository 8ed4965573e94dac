//! Django functions that bypass its query builder.

use menace_model::inventory::FindingSeverity::Medium;

use super::argument_value;
use super::call::CheckedCall;
use super::report::SecurityIssue;
use crate::syntax::Expr;

pub(super) const CALLEES: &[&str] = &["extra", "RawSQL"];

/// B610: `.extra()` with arguments other than literal strings.
pub(super) fn extra(call: &CheckedCall) -> Option<SecurityIssue> {
    if call.name() != "extra" {
        return None;
    }
    let passed = |index: usize, name: &str| call.arguments().get(index).or_else(|| call.keyword(name));
    let is_safe = passed(0, "select").is_none_or(is_literal_dictionary)
        && passed(1, "where").is_none_or(is_literal_list)
        && passed(3, "tables").is_none_or(is_literal_list);
    (!is_safe).then(|| SecurityIssue::new("B610", Medium, Medium, "extra() inserts unescaped text into SQL"))
}

fn is_literal_list(expr: &Expr) -> bool {
    matches!(expr, Expr::List(list) if list.elts.iter().all(Expr::is_string_literal_expr))
}

fn is_literal_dictionary(expr: &Expr) -> bool {
    let Expr::Dict(dictionary) = expr else { return false };
    dictionary.items.iter().all(|item| {
        item.key.as_ref().is_some_and(Expr::is_string_literal_expr) && item.value.is_string_literal_expr()
    })
}

/// B611: `RawSQL` of an expression other than a literal string.
pub(super) fn raw_sql(call: &CheckedCall) -> Option<SecurityIssue> {
    if call.name() != "RawSQL" || !call.names.imports_name_containing("django.db.models") {
        return None;
    }
    let sql = call.arguments().first().or_else(|| call.keyword("sql"))?;
    argument_value::string(sql)
        .is_none()
        .then(|| SecurityIssue::new("B611", Medium, Medium, "RawSQL does not escape its text"))
}
