//! Passwords in the source: literal strings under names that look like a password.

use menace_model::inventory::FindingSeverity::{Low, Medium};

use super::argument_value;
use super::call::CheckedCall;
use super::report::{SecurityIssue, SecurityReport};
use crate::syntax::{Expr, Ranged, TextRange, ast};

/// B105 for assignments: `password = "x"`, `self.password = "x"`, `config["password"] = "x"`.
pub(super) fn assignment(node: &ast::StmtAssign, report: &mut SecurityReport) {
    if argument_value::string(&node.value).is_none() {
        return;
    }
    if node.targets.iter().any(is_named_like_password) {
        report.add_within(string_issue(), &*node.value, node.range);
    }
    for target in node.targets.iter().filter_map(Expr::as_subscript_expr) {
        for key in [&target.value, &target.slice] {
            if argument_value::string(key).is_some_and(looks_like_password) {
                report.add_within(string_issue(), &**key, target.range);
            }
        }
    }
}

/// B105 for dictionaries: `{"password": "x"}`. Any literal counts as a value.
pub(super) fn dictionary(node: &ast::ExprDict, report: &mut SecurityReport) {
    for item in &node.items {
        let Some(key) = &item.key else { continue };
        if argument_value::is_constant(&item.value)
            && argument_value::string(key).is_some_and(looks_like_password)
        {
            report.add_within(string_issue(), key, node.range);
        }
    }
}

/// B105 for comparisons: `password == "x"`, once for every string compared with.
pub(super) fn comparison(node: &ast::ExprCompare, report: &mut SecurityReport) {
    if !node.comparators.first().is_some_and(Expr::is_string_literal_expr)
        || !is_named_like_password(&node.left)
    {
        return;
    }
    for string in node.comparators.iter().filter(|operand| operand.is_string_literal_expr()) {
        report.add_within(string_issue(), string, node.range);
    }
}

/// B106: `connect(password="x")`.
pub(super) fn keyword_argument(call: &CheckedCall) -> Option<SecurityIssue> {
    let keyword = call.node.arguments.keywords.iter().find(|keyword| is_hardcoded(keyword))?;
    let issue = SecurityIssue::new("B106", Low, Medium, "argument looks like a hardcoded password");
    Some(issue.at(Some(keyword.value.start())))
}

/// Whether a keyword passes a literal string under a name that looks like a password.
pub(super) fn is_hardcoded(keyword: &ast::Keyword) -> bool {
    keyword.value.is_string_literal_expr() && keyword.arg.as_deref().is_some_and(looks_like_password)
}

/// B107: `def connect(password="x")`. Only positional-or-keyword parameters are checked, and the defaults of
/// positional-only ones shift the rest, as in Bandit.
pub(super) fn defaults(function: &ast::StmtFunctionDef, report: &mut SecurityReport) {
    let parameters = &function.parameters;
    let mut defaults =
        parameters.posonlyargs.iter().chain(&parameters.args).filter_map(|one| one.default.as_deref());
    let count = defaults.clone().count();
    let with_default = parameters.args.iter().skip(parameters.args.len().saturating_sub(count));
    let is_password = with_default.map_while(|parameter| Some((parameter, defaults.next()?))).any(
        |(parameter, default)| default.is_string_literal_expr() && looks_like_password(parameter.name()),
    );
    if is_password {
        let issue = SecurityIssue::new("B107", Low, Medium, "default looks like a hardcoded password");
        report.add(issue, TextRange::new(function.name.start(), function.end()));
    }
}

fn string_issue() -> SecurityIssue {
    SecurityIssue::new("B105", Low, Medium, "looks like a hardcoded password")
}

fn is_named_like_password(expr: &Expr) -> bool {
    match expr {
        Expr::Name(name) => looks_like_password(&name.id),
        Expr::Attribute(attribute) => looks_like_password(&attribute.attr),
        _ => false,
    }
}

/// Whether one of the words between underscores means a secret.
fn looks_like_password(name: &str) -> bool {
    let name = name.strip_suffix('\n').unwrap_or(name);
    name.split('_').any(|word| is_secret_word(word.as_bytes()))
}

fn is_secret_word(word: &[u8]) -> bool {
    const WORDS: [&[u8]; 6] = [b"pass", b"passphrase", b"pwd", b"token", b"secret", b"secrete"];
    match word.first() {
        Some(b'p' | b'P' | b't' | b'T' | b's' | b'S') => {
            WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)) || is_password_spelling(word)
        }
        _ => false,
    }
}

/// `password` and its common misspellings: `passwd`, `pasword`, `passsword`, `passwod`.
fn is_password_spelling(word: &[u8]) -> bool {
    let strip = |word: &[u8], letter: u8| match word {
        [first, ..] if first.to_ascii_lowercase() == letter => 1,
        _ => 0,
    };
    let Some((head, rest)) = word.split_at_checked(2) else { return false };
    let s_count = rest.iter().take_while(|letter| letter.eq_ignore_ascii_case(&b's')).count();
    let [w, rest @ ..] = &rest[s_count..] else { return false };
    let rest = &rest[strip(rest, b'o')..];
    let rest = &rest[strip(rest, b'r')..];
    head.eq_ignore_ascii_case(b"pa")
        && s_count > 0
        && w.eq_ignore_ascii_case(&b'w')
        && rest.eq_ignore_ascii_case(b"d")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_between_underscores_decide() {
        for name in [
            "password",
            "PASSWORD",
            "db_passwd",
            "pasword",
            "passsswod",
            "pass_",
            "_pwd_x",
            "secrete",
            "token\n",
        ] {
            assert!(looks_like_password(name), "{name:?}");
        }
        for name in [
            "",
            "_",
            "pa",
            "paw",
            "paword",
            "passwords",
            "tokens",
            "dbpassword",
            "secret key",
            "passw",
            "token\n\n",
        ] {
            assert!(!looks_like_password(name), "{name:?}");
        }
    }
}
