//! Shared parts of the review transforms: the scope of a cause, syntax queries and small edits of calls.

use super::resolved_names::ResolvedNames;
use super::{Cause, ProposalGain, SectionFailure, SourceRewrite};
use crate::editable_source::{EditableSource, PythonFunction, SourceEdits};
use crate::syntax::ast::helpers::any_over_expr;
use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Ranged, Stmt, TextRange, TextSize, ast};

/// The part of a file that a cause is about.
#[derive(Debug)]
pub(in crate::transforms) struct TransformScope<'a> {
    /// Source file.
    pub(in crate::transforms) source: &'a EditableSource,
    /// Meaning of the names in the file.
    pub(in crate::transforms) names: ResolvedNames,
    /// Function of the section; `None` for a module body.
    pub(in crate::transforms) function: Option<PythonFunction<'a>>,
    /// Statements of the section.
    pub(in crate::transforms) body: &'a [Stmt],
    /// Failure of the section; `None` in a review.
    pub(in crate::transforms) failed: Option<&'a SectionFailure>,
}

impl<'a> TransformScope<'a> {
    /// Scope of a cause; `None` if the file has no such section.
    pub(in crate::transforms) fn of(source: &'a EditableSource, cause: &'a Cause) -> Option<Self> {
        let (section, failed) = match cause {
            Cause::Review(section) => (section, None),
            Cause::Failure(failed) => (&failed.section, Some(failed)),
        };
        // The innermost frame can be in a function that the section calls.
        let at_line =
            failed.filter(|failed| failed.line > 0).and_then(|failed| source.function_at(failed.line));
        let function = at_line.or_else(|| source.function(section));
        let body = match function {
            Some(function) => &function.node.body[..],
            None if section == "<module>" => source.body(),
            None => return None,
        };
        Some(Self { source, names: ResolvedNames::of(source), function, body, failed })
    }

    /// Scope of a review; `None` for a failure.
    pub(in crate::transforms) fn of_review(source: &'a EditableSource, cause: &'a Cause) -> Option<Self> {
        if matches!(cause, Cause::Failure(_)) { None } else { Self::of(source, cause) }
    }

    /// Whether a part can be the failing one. In a review every part qualifies.
    pub(in crate::transforms) fn touches(&self, part: impl Ranged) -> bool {
        self.failed.is_none_or(|failed| failed.line == 0 || self.source.is_in(failed.line, part))
    }

    /// Statements, expressions and blocks of the scope, without nested functions and classes.
    pub(in crate::transforms) fn parts(&self) -> SyntaxParts<'a> {
        SyntaxParts::of(self.body)
    }

    /// Calls with a known full name.
    pub(in crate::transforms) fn calls(&self) -> Vec<(&'a ast::ExprCall, String)> {
        let calls = self.parts().expressions.into_iter().filter_map(Expr::as_call_expr);
        calls.filter_map(|call| Some((call, self.names.full(&call.func)?))).collect()
    }

    /// Annotation of a parameter.
    pub(in crate::transforms) fn annotation(&self, name: &str) -> Option<&'a str> {
        let parameter = self.function?.node.parameters.find(name)?;
        parameter.annotation().map(|annotation| self.source.of(annotation).trim_matches(['"', '\'']))
    }

    /// Whether a name is a parameter other than `self`.
    pub(in crate::transforms) fn is_parameter(&self, name: &str) -> bool {
        let is_own = |function: PythonFunction| function.node.parameters.find(name).is_some();
        name != "self" && name != "cls" && self.function.is_some_and(is_own)
    }
}

/// The statements, expressions and blocks of a part of a file.
#[derive(Debug, Default)]
pub(in crate::transforms) struct SyntaxParts<'a> {
    /// Statements in source order.
    pub(in crate::transforms) statements: Vec<&'a Stmt>,
    /// Expressions in source order, outer ones first.
    pub(in crate::transforms) expressions: Vec<&'a Expr>,
    /// Blocks of consecutive statements.
    pub(in crate::transforms) blocks: Vec<&'a [Stmt]>,
}

impl<'a> SyntaxParts<'a> {
    /// Collects the parts of some statements.
    pub(in crate::transforms) fn of(body: &'a [Stmt]) -> Self {
        let mut parts = Self::default();
        parts.visit_body(body);
        parts
    }
}

impl<'a> Visitor<'a> for SyntaxParts<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        self.blocks.push(body);
        visitor::walk_body(self, body);
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.statements.push(statement);
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            visitor::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        self.expressions.push(expression);
        visitor::walk_expr(self, expression);
    }

    // Annotations are not executed.
    fn visit_annotation(&mut self, _: &'a Expr) {}
}

/// The only rewrite of a transform; empty without a text.
pub(in crate::transforms) fn single_rewrite(
    text: Option<String>,
    why: impl Into<String>,
    gain: ProposalGain,
) -> Vec<SourceRewrite> {
    text.map(|text| SourceRewrite { text, why: why.into(), gain }).into_iter().collect()
}

/// Whether a statement has its lines to itself, except for a trailing comment.
pub(in crate::transforms) fn is_alone(source: &EditableSource, statement: &Stmt) -> bool {
    begins_line(source, statement) && {
        let rest = &source.text()[statement.end().to_usize()..];
        let rest = rest.lines().next().unwrap_or("").trim_start();
        rest.is_empty() || rest.starts_with('#')
    }
}

/// Whether a statement is the first on its line.
pub(in crate::transforms) fn begins_line(source: &EditableSource, statement: &Stmt) -> bool {
    let before = &source.text()[..statement.start().to_usize()];
    let (previous, line) = before.rsplit_once('\n').unwrap_or(("", before));
    line.trim_matches([' ', '\t']).is_empty() && !previous.trim_end().ends_with('\\')
}

/// Whether a statement has its lines to itself, without a trailing comment.
pub(in crate::transforms) fn fills_lines(source: &EditableSource, statement: &Stmt) -> bool {
    let rest = source.text()[statement.end().to_usize()..].lines().next().unwrap_or("");
    begins_line(source, statement) && rest.trim().is_empty()
}

/// Range of the lines of a statement, including the last line break.
pub(in crate::transforms) fn lines(source: &EditableSource, statement: &Stmt) -> TextRange {
    let text = source.text();
    let start = text[..statement.start().to_usize()].rfind('\n').map_or(0, |at| at + 1);
    let end = statement.end().to_usize();
    let end = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    TextRange::new(size(start), size(end))
}

fn size(offset: usize) -> TextSize {
    TextSize::try_from(offset).unwrap_or_default()
}

/// Indentation one level below a statement.
pub(in crate::transforms) fn deeper(source: &EditableSource, statement: &Stmt) -> String {
    let own = source.indentation(statement);
    format!("{own}{}", if own.contains('\t') { "\t" } else { "    " })
}

/// Empty range at an offset.
pub(in crate::transforms) fn at(offset: TextSize) -> TextRange {
    TextRange::empty(offset)
}

/// Whether a call lists all its arguments, without `*` and `**`.
pub(in crate::transforms) fn is_plain(call: &ast::ExprCall) -> bool {
    !call.arguments.args.iter().any(Expr::is_starred_expr)
        && call.arguments.keywords.iter().all(|keyword| keyword.arg.is_some())
}

/// Adds a keyword to a call, on its own line if the other arguments have their own lines.
pub(in crate::transforms) fn add_keyword<'s>(
    edits: SourceEdits<'s>,
    source: &EditableSource,
    call: &ast::ExprCall,
    keyword: &str,
) -> SourceEdits<'s> {
    let Some(last) = call.arguments.iter_source_order().last() else {
        return edits.replace(at(call.arguments.start() + TextSize::from(1)), keyword);
    };
    let before = &source.text()[..last.start().to_usize()];
    let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    let after = &source.text()[last.end().to_usize()..call.end().to_usize()];
    if line.trim().is_empty() && after.contains('\n') {
        return edits.replace(at(last.end()), format!(",\n{line}{keyword}"));
    }
    edits.replace(at(last.end()), format!(", {keyword}"))
}

/// Removes an argument other than the first from a call.
pub(in crate::transforms) fn without<'s>(
    edits: SourceEdits<'s>,
    call: &ast::ExprCall,
    argument: TextRange,
) -> SourceEdits<'s> {
    let before = call.arguments.iter_source_order().map(|other| other.range());
    match before.filter(|other| other.end() <= argument.start()).last() {
        Some(previous) => edits.replace(TextRange::new(previous.end(), argument.end()), ""),
        None => edits,
    }
}

/// Identifier of a name expression.
pub(in crate::transforms) fn name_of(expression: &Expr) -> Option<&str> {
    expression.as_name_expr().map(|name| name.id.as_str())
}

/// Value of a string literal without placeholders.
pub(in crate::transforms) fn text_of(expression: &Expr) -> Option<&str> {
    expression.as_string_literal_expr().map(|text| text.value.to_str())
}

/// Whether an expression contains a name.
pub(in crate::transforms) fn contains_name(expression: &Expr, name: &str) -> bool {
    any_over_expr(expression, |part| name_of(part) == Some(name))
}

/// Number of uses of a name in statements, including nested functions.
pub(in crate::transforms) fn mentions(body: &[Stmt], name: &str) -> usize {
    struct MentionCounter<'n>(&'n str, usize);
    impl<'a> Visitor<'a> for MentionCounter<'_> {
        fn visit_expr(&mut self, expression: &'a Expr) {
            self.1 += usize::from(name_of(expression) == Some(self.0));
            visitor::walk_expr(self, expression);
        }
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            let count =
                |names: &[ast::Identifier]| names.iter().filter(|name| name.as_str() == self.0).count();
            self.1 += match statement {
                Stmt::Global(global) => count(&global.names),
                Stmt::Nonlocal(outer) => count(&outer.names),
                _ => 0,
            };
            visitor::walk_stmt(self, statement);
        }
    }
    let mut counter = MentionCounter(name, 0);
    counter.visit_body(body);
    counter.1
}

/// Name and value of `name = value`.
pub(in crate::transforms) fn assigned(statement: &Stmt) -> Option<(&str, &Expr)> {
    match statement {
        Stmt::Assign(assign) => match assign.targets.as_slice() {
            [target] => Some((name_of(target)?, &*assign.value)),
            _ => None,
        },
        Stmt::AnnAssign(assign) => Some((name_of(&assign.target)?, assign.value.as_deref()?)),
        _ => None,
    }
}

/// Expression that a simple statement assigns, returns or consists of.
pub(in crate::transforms) fn value_of(statement: &Stmt) -> Option<&Expr> {
    match statement {
        Stmt::Return(result) => result.value.as_deref(),
        Stmt::Expr(expression) => Some(&*expression.value),
        Stmt::Assign(assign) if assign.targets.iter().all(Expr::is_name_expr) => Some(&*assign.value),
        Stmt::AnnAssign(assign) if assign.target.is_name_expr() => assign.value.as_deref(),
        _ => None,
    }
}

/// Helpers for tests of transforms.
#[cfg(test)]
pub(in crate::transforms) mod testing {
    use super::super::{Cause, SectionFailure, Transform};
    use super::EditableSource;

    /// Text of the first rewrite for a review.
    pub(in crate::transforms) fn review(
        transform: &dyn Transform,
        text: &str,
        section: &str,
    ) -> Option<String> {
        let source = EditableSource::parse(text).unwrap();
        let cause = Cause::Review(section.to_owned());
        transform.rewrite(&source, &cause).into_iter().next().map(|rewrite| rewrite.text)
    }

    /// Text of the first rewrite for a failure.
    pub(in crate::transforms) fn failure(
        transform: &dyn Transform,
        text: &str,
        failed: SectionFailure,
    ) -> Option<String> {
        let source = EditableSource::parse(text).unwrap();
        transform.rewrite(&source, &Cause::Failure(failed)).into_iter().next().map(|rewrite| rewrite.text)
    }
}
