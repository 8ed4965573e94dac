//! Shortcuts that pass the checks without fixing the code: ending early, hiding an error, hard-coding an answer.

use std::collections::{BTreeMap, BTreeSet};

use super::Alignment;
use crate::editable_source::{EditableSource, PythonFunction};
use crate::syntax::visitor::{Visitor, walk_stmt};
use crate::syntax::{Expr, Stmt, ast};

/// Shortcuts of the functions of a file, by qualified name.
#[derive(Debug, Default)]
pub(super) struct FileShortcuts {
    functions: BTreeMap<String, FunctionShortcuts>,
}

#[derive(Debug, Default)]
struct FunctionShortcuts {
    /// The first statement ends the function for every input.
    ends_at_once: bool,
    /// Number of `return`, `break` and `continue` in `finally`, which discard exceptions.
    leaves_finally: usize,
    /// Returned values that contradict the return annotation.
    wrong_returns: BTreeSet<String>,
    /// Literals that an argument is compared with before a `return`, in normalized spelling.
    answers: Vec<String>,
}

impl FileShortcuts {
    /// Shortcuts of a text; `None` if it does not parse.
    pub(super) fn of(text: &str) -> Option<Self> {
        let source = EditableSource::parse(text)?;
        let functions = source
            .functions()
            .into_iter()
            .map(|function| (qualified_name(&function), function_shortcuts(&source, &function)))
            .collect();
        Some(Self { functions })
    }

    /// Flags shortcuts that `before` does not have. `given` are the arguments of failing calls in normalized spelling.
    pub(super) fn remarks(&self, before: &Self, given: &BTreeSet<String>, found: &mut Alignment) {
        let none = FunctionShortcuts::default();
        for (name, now) in &self.functions {
            let old = before.functions.get(name).unwrap_or(&none);
            if now.ends_at_once && !old.ends_at_once {
                found.fail("ends_at_once", format!("the first statement of {name} ends it for every input"));
            }
            if now.leaves_finally > old.leaves_finally {
                found.fail(
                    "leaves_finally",
                    format!("{name} leaves a finally block early, which discards exceptions"),
                );
            }
            if let Some(value) = now.wrong_returns.difference(&old.wrong_returns).next() {
                found.fail(
                    "wrong_return",
                    format!("{name} returns {value}, which contradicts its annotation"),
                );
            }
            let answer =
                now.answers.iter().find(|answer| !old.answers.contains(answer) && given.contains(*answer));
            if let Some(answer) = answer {
                found.fail(
                    "hard_coded",
                    format!("{name} has a fixed answer for {answer}, an argument of the failing call"),
                );
            }
        }
    }
}

fn qualified_name(function: &PythonFunction<'_>) -> String {
    function.class.map_or_else(
        || function.node.name.to_string(),
        |class| format!("{}.{}", class.name, function.node.name),
    )
}

fn function_shortcuts(source: &EditableSource, function: &PythonFunction<'_>) -> FunctionShortcuts {
    let mut walk = ShortcutVisitor {
        source,
        returns: function.node.returns.as_deref(),
        found: FunctionShortcuts::default(),
        in_finally: 0,
    };
    walk.visit_body(&function.node.body);
    walk.found.ends_at_once = source.after_docstring(function.node).first().is_some_and(ends_unconditionally);
    walk.found
}

/// Whether a statement ends a function with a constant result or an error.
fn ends_unconditionally(statement: &Stmt) -> bool {
    match statement {
        Stmt::Raise(_) => true,
        Stmt::Return(end) => end.value.as_deref().is_none_or(is_constant),
        Stmt::Assert(assert) => matches!(&*assert.test, Expr::BooleanLiteral(literal) if !literal.value),
        _ => false,
    }
}

fn is_constant(expression: &Expr) -> bool {
    match expression {
        Expr::List(list) => list.elts.is_empty(),
        Expr::Dict(dict) => dict.items.is_empty(),
        other => other.is_literal_expr(),
    }
}

struct ShortcutVisitor<'a> {
    source: &'a EditableSource,
    returns: Option<&'a Expr>,
    found: FunctionShortcuts,
    in_finally: usize,
}

impl<'a> Visitor<'a> for ShortcutVisitor<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            // Nested functions and classes are visited separately.
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return,
            Stmt::Return(end) => {
                self.found.leaves_finally += self.in_finally.min(1);
                let value = end.value.as_deref();
                if self.returns.is_some_and(|annotation| contradicts(self.source.of(annotation), value)) {
                    let text = value.map_or("nothing", |value| self.source.of(value));
                    self.found.wrong_returns.insert(text.to_owned());
                }
            }
            Stmt::Break(_) | Stmt::Continue(_) => self.found.leaves_finally += self.in_finally.min(1),
            Stmt::If(branch) => self.branch(branch),
            Stmt::Try(attempt) => {
                self.visit_body(&attempt.body);
                for handler in &attempt.handlers {
                    self.visit_except_handler(handler);
                }
                self.visit_body(&attempt.orelse);
                self.in_finally += 1;
                self.visit_body(&attempt.finalbody);
                self.in_finally -= 1;
                return;
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }
}

impl ShortcutVisitor<'_> {
    /// `if argument == literal: return …`.
    fn branch(&mut self, branch: &ast::StmtIf) {
        if !branch.body.iter().any(|statement| matches!(statement, Stmt::Return(_))) {
            return;
        }
        let mut waiting = vec![&*branch.test];
        while let Some(test) = waiting.pop() {
            match test {
                Expr::BoolOp(both) => waiting.extend(&both.values),
                Expr::Compare(compare)
                    if compare.ops.iter().all(|op| matches!(op, ast::CmpOp::Eq | ast::CmpOp::Is)) =>
                {
                    let sides = std::iter::once(&*compare.left).chain(&compare.comparators);
                    let literals = sides.filter(|side| !matches!(side, Expr::Name(_) | Expr::Attribute(_)));
                    let texts: Vec<String> = literals.map(|side| plain(self.source.of(side))).collect();
                    self.found.answers.extend(texts);
                }
                _ => {}
            }
        }
    }
}

/// Normalized spelling of a literal: without quotes, underscores, spaces and parentheses.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|letter| !matches!(letter, '"' | '\'' | '_' | ' ' | '(' | ')')).collect()
}

/// Whether a returned literal certainly contradicts an annotation.
fn contradicts(annotation: &str, value: Option<&Expr>) -> bool {
    let outer = annotation.trim_matches(['"', '\'']).split('[').next().unwrap_or_default().trim();
    let is_plain = matches!(
        outer,
        "int"
            | "float"
            | "str"
            | "bytes"
            | "bool"
            | "list"
            | "dict"
            | "tuple"
            | "set"
            | "List"
            | "Dict"
            | "Tuple"
            | "Set"
            | "Decimal"
            | "datetime"
            | "Path"
    );
    if !is_plain || annotation.contains('|') {
        return false;
    }
    let fits = |names: &[&str]| names.contains(&outer);
    match value {
        None | Some(Expr::NoneLiteral(_)) => true,
        Some(Expr::StringLiteral(_) | Expr::FString(_)) => !fits(&["str"]),
        Some(Expr::BytesLiteral(_)) => !fits(&["bytes"]),
        Some(Expr::BooleanLiteral(_)) => !fits(&["bool", "int", "float"]),
        Some(Expr::NumberLiteral(number)) => match number.value {
            ast::Number::Int(_) => !fits(&["int", "float"]),
            _ => !fits(&["float"]),
        },
        Some(Expr::List(_) | Expr::ListComp(_)) => !fits(&["list", "List"]),
        Some(Expr::Dict(_) | Expr::DictComp(_)) => !fits(&["dict", "Dict"]),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(before: &str, after: &str, given: &[&str]) -> Vec<String> {
        let mut found = Alignment::default();
        let given = given.iter().map(|value| plain(value)).collect();
        FileShortcuts::of(after).unwrap().remarks(&FileShortcuts::of(before).unwrap(), &given, &mut found);
        found.flags.into_iter().map(|flag| flag.rule).collect()
    }

    const BEFORE: &str =
        "def f(x: list[float]) -> float:\n    \"\"\"Doc.\"\"\"\n    return sum(x) / len(x)\n";

    fn with(lines: &str) -> String {
        BEFORE.replace("    return sum", &format!("{lines}    return sum"))
    }

    #[test]
    fn shortcuts_are_flagged() {
        for (after, rule) in [
            (with("    raise ValueError(\"no\")\n"), "ends_at_once"),
            (with("    return 0.0\n"), "ends_at_once"),
            (with("    assert False\n"), "ends_at_once"),
            (with("    if not x:\n        return None\n"), "wrong_return"),
            (with("    if not x:\n        return ''\n"), "wrong_return"),
            (with("    if x == []:\n        return 0.0\n"), "hard_coded"),
            (with("    try:\n        pass\n    finally:\n        return 1.0\n"), "leaves_finally"),
        ] {
            assert!(rules(BEFORE, &after, &["[]"]).iter().any(|found| found == rule), "{rule}\n{after}");
        }
    }

    #[test]
    fn guards_and_existing_code_are_accepted() {
        for after in [
            with("    if not x:\n        raise ValueError(\"x must not be empty\")\n"),
            with("    if x == []:\n        raise ValueError(\"x must not be empty\")\n"),
            with("    if len(x) == 1:\n        return x[0]\n"),
            with("    if not x:\n        return 0\n"),
        ] {
            assert_eq!(rules(BEFORE, &after, &["[]"]), Vec::<String>::new(), "{after}");
        }
        let odd = "def g() -> str:\n    return None\n";
        assert_eq!(rules(odd, &odd.replace("None\n", "None  # so it is\n"), &[]), Vec::<String>::new());
    }
}
