//! Regular expressions with catastrophic backtracking.

use super::regex_syntax::{found_anywhere, without_nesting};
use super::site::{callee, expressions, robustness_rewrite, statements};
use super::{Cause, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::visitor::{Visitor, walk_expr, walk_stmt};
use crate::syntax::{Expr, Ranged, Stmt, TextRange, ast};

/// Rewrites a nested repetition, which tries every way to split a string.
pub(in crate::transforms) struct CatastrophicRegex;

impl Transform for CatastrophicRegex {
    fn name(&self) -> &'static str {
        "catastrophic-regex"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Cause::Failure(failed) = cause else { return Vec::new() };
        let function =
            if failed.line > 0 { source.function_at(failed.line) } else { source.function(&failed.section) };
        let Some(function) = function.filter(|_| failed.kind == "timeout") else { return Vec::new() };
        let mut found: Vec<SourceRewrite> = Vec::new();
        for expr in expressions(&function.node.body) {
            let use_of = match expr {
                Expr::Call(call) => direct(source, call).or_else(|| compiled(source, call)),
                _ => None,
            };
            found.extend(use_of.and_then(|used| rewritten(source, &used)));
        }
        found.dedup_by(|second, first| second.text == first.text);
        found
    }
}

/// A pattern and its use.
struct RegexUse<'a> {
    literal: &'a ast::ExprStringLiteral,
    /// Whether the pattern is used only with `match`, `search` or `fullmatch`, and only the truth of the result matters.
    only_asked: bool,
    /// Whether the pattern is used only with `search`.
    only_searched: bool,
}

/// Pattern of `re.match(r"…", text)`.
fn direct<'a>(source: &EditableSource, call: &'a ast::ExprCall) -> Option<RegexUse<'a>> {
    let method = callee(source, call)?.strip_prefix("re.")?;
    let literal = plain_pattern(source, call)?;
    let is_tested =
        matches!(method, "match" | "search" | "fullmatch") && truths(source).contains(&call.range());
    Some(RegexUse { literal, only_asked: is_tested, only_searched: method == "search" })
}

/// Pattern of `PATTERN.match(text)` with `PATTERN = re.compile(r"…")` in the module.
fn compiled<'a>(source: &'a EditableSource, call: &ast::ExprCall) -> Option<RegexUse<'a>> {
    let Expr::Attribute(method) = &*call.func else { return None };
    let Expr::Name(name) = &*method.value else { return None };
    let literal = statements(source.body()).into_iter().find_map(|statement| match statement {
        Stmt::Assign(assign) if matches!(&*assign.targets, [Expr::Name(target)] if target.id == name.id) => {
            match &*assign.value {
                Expr::Call(compile) if callee(source, compile) == Some("re.compile") => {
                    plain_pattern(source, compile)
                }
                _ => None,
            }
        }
        _ => None,
    })?;
    let truths = truths(source);
    let all = expressions(source.body());
    let names = all.iter().filter(|expr| matches!(expr, Expr::Name(found) if found.id == name.id)).count();
    let methods: Vec<&str> = all
        .iter()
        .filter_map(|expr| {
            let Expr::Call(call) = expr else { return None };
            let Expr::Attribute(method) = &*call.func else { return None };
            let is_same = matches!(&*method.value, Expr::Name(found) if found.id == name.id);
            (is_same && truths.contains(&call.range())).then(|| method.attr.as_str())
        })
        .collect();
    // The assignment is one more occurrence of the name.
    let only_asked = methods.len() + 1 == names
        && methods.iter().all(|method| matches!(*method, "match" | "search" | "fullmatch"));
    Some(RegexUse { literal, only_asked, only_searched: methods.iter().all(|method| *method == "search") })
}

fn plain_pattern<'a>(source: &EditableSource, call: &'a ast::ExprCall) -> Option<&'a ast::ExprStringLiteral> {
    let Some(Expr::StringLiteral(literal)) = call.arguments.args.first() else { return None };
    let arguments = source.of(&call.arguments);
    // In verbose mode white space is ignored.
    let is_verbose = arguments.contains("VERBOSE") || arguments.contains("re.X");
    (!literal.value.is_implicit_concatenated() && !is_verbose).then_some(literal)
}

fn rewritten(source: &EditableSource, used: &RegexUse<'_>) -> Option<SourceRewrite> {
    let text = source.of(used.literal);
    let start = text.find(['"', '\''])?;
    let (prefix, quoted) = text.split_at(start);
    let quote = &quoted[..1];
    let inner = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
    let is_plain = matches!(prefix, "r" | "R") || (prefix.is_empty() && !inner.contains('\\'));
    if !is_plain || inner.starts_with(quote) {
        return None;
    }
    let flat = without_nesting(inner)
        .filter(|(_, loses_group)| used.only_asked || !loses_group)
        .map(|(pattern, _)| pattern);
    let found = (used.only_asked && used.only_searched)
        .then(|| found_anywhere(flat.as_deref().unwrap_or(inner)))
        .flatten();
    let pattern = found.or(flat)?;
    let why = "Rewrite the pattern without catastrophic backtracking; it matches the same strings.";
    robustness_rewrite(
        Some(source.edit().replace(used.literal, format!("{prefix}{quote}{pattern}{quote}"))),
        why,
    )
}

/// Ranges of expressions of which only the truth value is used.
fn truths(source: &EditableSource) -> Vec<TextRange> {
    let mut truths = TruthTestCollector(Vec::new());
    truths.visit_body(source.body());
    truths.0
}

struct TruthTestCollector(Vec<TextRange>);

impl TruthTestCollector {
    fn truth(&mut self, expr: &Expr) {
        self.0.push(expr.range());
        if let Expr::BoolOp(operation) = expr {
            operation.values.iter().for_each(|value| self.truth(value));
        }
    }
}

impl<'a> Visitor<'a> for TruthTestCollector {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::If(branch) => {
                self.truth(&branch.test);
                branch
                    .elif_else_clauses
                    .iter()
                    .filter_map(|clause| clause.test.as_ref())
                    .for_each(|test| self.truth(test));
            }
            Stmt::While(repeat) => self.truth(&repeat.test),
            Stmt::Assert(assert) => self.truth(&assert.test),
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::If(choice) => self.truth(&choice.test),
            Expr::UnaryOp(operation) if operation.op == ast::UnaryOp::Not => self.truth(&operation.operand),
            Expr::Compare(compare) if matches!(&*compare.comparators, [Expr::NoneLiteral(_)]) => {
                self.truth(&compare.left);
            }
            Expr::Call(call) => match (&*call.func, call.arguments.args.first()) {
                (Expr::Name(name), Some(first)) if name.id.as_str() == "bool" => self.truth(first),
                (Expr::Name(name), Some(Expr::Generator(each)))
                    if matches!(name.id.as_str(), "all" | "any") =>
                {
                    self.truth(&each.elt);
                }
                _ => {}
            },
            _ => {}
        }
        walk_expr(self, expr);
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        comprehension.ifs.iter().for_each(|test| self.truth(test));
        crate::syntax::visitor::walk_comprehension(self, comprehension);
    }
}

#[cfg(test)]
mod tests {
    use super::super::SectionFailure;
    use super::super::site::testing::rewritten as rewrite;
    use super::*;

    fn timeout() -> SectionFailure {
        SectionFailure { section: "f".to_owned(), kind: "timeout".to_owned(), ..SectionFailure::default() }
    }

    #[test]
    fn patterns_are_rewritten() {
        let text = "import re\ndef f(text):\n    return re.match(r\"^([a-z0-9]+-?)+$\", text) is not None\n";
        assert_eq!(
            rewrite(&CatastrophicRegex, text, timeout()),
            [text.replace("([a-z0-9]+-?)+", "[a-z0-9]+(?:-[a-z0-9]+)*-?")]
        );
        let text = "import re\ndef f(text):\n    return re.search(r\"[\\w.]+@[\\w.]+\", text) is not None\n";
        assert_eq!(
            rewrite(&CatastrophicRegex, text, timeout()),
            [text.replace("[\\w.]+@[\\w.]+", "[\\w.]@[\\w.]")]
        );
        let text = "import re\nTAGS = re.compile('^(a+-?)+$')\ndef f(text):\n    if TAGS.match(text):\n        return 1\n";
        assert_eq!(rewrite(&CatastrophicRegex, text, timeout()), [text.replace("(a+-?)+", "a+(?:-a+)*-?")]);
    }

    #[test]
    fn patterns_whose_match_is_used_stay() {
        let text = "import re\ndef f(text):\n    return re.match(r\"^([a-z0-9]+-?)+$\", text)\n";
        assert!(rewrite(&CatastrophicRegex, text, timeout()).is_empty());
        let text = "import re\ndef f(text):\n    return re.search(r\"[\\w.]+@[\\w.]+\", text).group()\n";
        assert!(rewrite(&CatastrophicRegex, text, timeout()).is_empty());
        let text = "import re\ndef f(text):\n    return re.match(r\"^[a-z]+$\", text) is None\n";
        assert!(rewrite(&CatastrophicRegex, text, timeout()).is_empty());
    }
}
