//! SQL that is built from strings.

use menace_model::inventory::FindingSeverity::{Low, Medium};

use super::argument_value;
use super::check::AncestorNode;
use super::report::{SecurityIssue, SecurityReport};
use super::string_literals;
use crate::syntax::{Expr, TextRange, ast};

/// Longest chain of operands that is checked as a whole. A longer one is checked operand by operand, since each of its
/// strings would be read once for every other.
const MAX_OPERANDS: usize = 256;

/// B608 for operators: `"select ... from " + table`, `"... %s" % table`. Every string operand is checked together with
/// the strings outside of its own operation, which for additions are the following ones.
pub(super) fn concatenation(root: &ast::ExprBinOp, ancestors: &[AncestorNode], report: &mut SecurityReport) {
    if matches!(ancestors.last(), Some(AncestorNode::Expression(Expr::BinOp(_)))) {
        return;
    }
    let mut operands = Vec::new();
    collect_operands(root, &mut operands);
    let is_long = operands.len() > MAX_OPERANDS;
    for operand in &operands {
        let is_query = if operands.len() == 1 || is_long {
            is_sql(operand.text)
        } else {
            is_sql(&operand.statement(&operands))
        };
        if is_query {
            report.add_within(issue(is_executed(ancestors.last())), operand.string, operand.operation);
        }
    }
}

/// A string in a chain of operators.
struct SqlOperand<'a> {
    text: &'a str,
    string: &'a Expr,
    operation: TextRange,
    /// The operands of that operation.
    siblings: std::ops::Range<usize>,
}

impl SqlOperand<'_> {
    fn statement(&self, operands: &[SqlOperand]) -> String {
        let before = &operands[..self.siblings.start];
        let after = &operands[self.siblings.end..];
        let mut statement = self.text.to_owned();
        for operand in before.iter().chain(after) {
            statement.push(' ');
            statement.push_str(operand.text);
        }
        statement
    }
}

fn collect_operands<'a>(node: &'a ast::ExprBinOp, operands: &mut Vec<SqlOperand<'a>>) {
    let first = operands.len();
    let mut own = [None; 2];
    for (side, place) in [&node.left, &node.right].into_iter().zip(&mut own) {
        if let Expr::BinOp(inner) = &**side {
            collect_operands(inner, operands);
        } else if let Some(text) = argument_value::string(side) {
            *place = Some(operands.len());
            operands.push(SqlOperand { text, string: side, operation: node.range, siblings: 0..0 });
        }
    }
    let siblings = first..operands.len();
    for index in own.into_iter().flatten() {
        operands[index].siblings = siblings.clone();
    }
}

/// B608 for methods: `"select ... from {}".format(table)`, and `replace`.
pub(super) fn method(node: &ast::ExprAttribute, ancestors: &[AncestorNode], report: &mut SecurityReport) {
    if !matches!(node.attr.as_str(), "format" | "replace") {
        return;
    }
    let Some(text) = argument_value::string(&node.value) else { return };
    if is_sql(text) {
        let outside_of_call = ancestors.len().checked_sub(2).and_then(|index| ancestors.get(index));
        let issue = issue(node.attr.as_str() == "format" && is_executed(outside_of_call));
        report.add_within(issue, &*node.value, node.range);
    }
}

/// B608 for f-strings, checked by their whole text, and the tests of plain strings for each piece of text.
/// Python before 3.12 gives all pieces the position of the whole.
pub(super) fn f_string(node: &ast::ExprFString, ancestors: &[AncestorNode], report: &mut SecurityReport) {
    let mut statement = String::new();
    let mut piece_start = 0;
    for part in &node.value {
        match part {
            ast::FStringPart::Literal(literal) => statement.push_str(literal),
            ast::FStringPart::FString(f_string) => {
                for element in &f_string.elements {
                    match element {
                        ast::InterpolatedStringElement::Literal(literal) => statement.push_str(literal),
                        ast::InterpolatedStringElement::Interpolation(placeholder) => {
                            if let Some(debug) = &placeholder.debug_text {
                                statement.push_str(debug.as_str());
                            }
                            report.extend(string_literals::check(&statement[piece_start..]), node);
                            piece_start = statement.len();
                        }
                    }
                }
            }
        }
    }
    report.extend(string_literals::check(&statement[piece_start..]), node);
    if is_sql(&statement) {
        report.add(issue(is_executed(ancestors.last())), node);
    }
}

fn issue(is_executed: bool) -> SecurityIssue {
    let confidence = if is_executed { Medium } else { Low };
    SecurityIssue::new("B608", Medium, confidence, "SQL built from strings allows injection")
}

/// Whether text is passed directly to `execute` or `executemany`.
fn is_executed(parent: Option<&AncestorNode>) -> bool {
    let Some(AncestorNode::Expression(Expr::Call(call))) = parent else { return false };
    let name = match &*call.func {
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Name(name) => name.id.as_str(),
        _ => return false,
    };
    matches!(name, "execute" | "executemany")
}

/// Whether text looks like a query: `select … from`, `delete from`, `insert into … values` or `update … set`.
fn is_sql(text: &str) -> bool {
    if text.len() < "update set ".len() {
        return false;
    }
    let later = |text: &str, word: &str| text_after_word(text, word).any(starts_with_space);
    let first_spaced = |word: &'static str| text_after_word(text, word).find(|rest| starts_with_space(rest));
    first_spaced("select").is_some_and(|rest| later(rest, "from"))
        || first_spaced("update").is_some_and(|rest| later(rest, "set"))
        || text_after_word(text, "delete").any(|rest| spaced_word(rest, "from").is_some())
        || text_after_word(text, "insert").find_map(|rest| spaced_word(rest, "into")).is_some_and(|rest| {
            text_after_word(rest, "values").any(|rest| rest.starts_with('(') || starts_with_space(rest))
        })
}

/// Text after each occurrence of a word, ignoring case.
fn text_after_word<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    let length = word.len();
    let first = word.as_bytes().first().copied().unwrap_or_default();
    let starts = text.bytes().enumerate().filter(move |(_, byte)| byte.to_ascii_lowercase() == first);
    starts.filter_map(move |(start, _)| {
        let found = text.as_bytes().get(start..start + length)?;
        // The word is ASCII, so its end is a character boundary.
        found.eq_ignore_ascii_case(word.as_bytes()).then(|| &text[start + length..])
    })
}

/// Text after spaces, `word` and a space, if `text` starts with them.
fn spaced_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let trimmed = text.trim_start_matches(is_space);
    let found = trimmed.len() < text.len()
        && trimmed.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let rest = trimmed.get(word.len()..)?;
    (found && starts_with_space(rest)).then_some(rest)
}

fn starts_with_space(text: &str) -> bool {
    text.starts_with(is_space)
}

/// Python's definition of white space includes the four ASCII separators.
fn is_space(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_distinguished_from_prose() {
        for text in [
            "SELECT a FROM b ",
            "select\nfrom\n",
            "delete  from x",
            "delete from x",
            "Insert Into t (a) values (1)",
            "insert into t values\t",
            "update t set a = 1",
            "updated? no: update charset x",
        ] {
            assert!(is_sql(text), "{text:?}");
        }
        for text in [
            "",
            "select a from",
            "selected from here",
            "deletefrom x",
            "delete from",
            "delete all from x",
            "insert into",
            "insert intot values (1)",
            "values ( insert into x",
            "from x select y",
            "update the settings",
            "sélect fröm é ",
        ] {
            assert!(!is_sql(text), "{text:?}");
        }
    }
}
