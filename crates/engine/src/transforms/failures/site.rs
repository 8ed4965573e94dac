//! The failing statement, and the two ways to change it: a check before it, or another error instead of its exception.

use super::evaluated_exprs::{EvaluatedExpr, parts_at};
use super::exception_names::{ExceptionSpelling, own_exception, spelled};
pub(in crate::transforms) use super::syntax_queries::{
    callee, expressions, is_alone, is_pure, is_simple, names_in, parameters, path_in_message, quoted,
    root_of, statements,
};
use super::{Cause, ProposalGain, SectionFailure, SourceRewrite};
use crate::editable_source::{EditableSource, PythonFunction, SourceEdits};
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// The statement that fails, in its function.
pub(in crate::transforms) struct FailureSite<'a> {
    /// Source file.
    pub(in crate::transforms) source: &'a EditableSource,
    /// Failure to answer.
    pub(in crate::transforms) failed: &'a SectionFailure,
    /// Function that contains the line.
    pub(in crate::transforms) function: PythonFunction<'a>,
    /// Innermost statement at the line.
    pub(in crate::transforms) statement: &'a Stmt,
    /// Expressions of the statement; for a compound statement only those of its header.
    pub(in crate::transforms) parts: Vec<EvaluatedExpr<'a>>,
}

impl<'a> FailureSite<'a> {
    /// Site of a failure; `None` unless it is a crash at a statement that has its lines to itself.
    pub(in crate::transforms) fn of(source: &'a EditableSource, cause: &'a Cause) -> Option<Self> {
        let Cause::Failure(failed) = cause else { return None };
        if failed.kind != "crash" || failed.line == 0 || failed.exception.is_none() {
            return None;
        }
        let function = source.function_at(failed.line)?;
        let statement = source.statement_at(failed.line)?;
        if !is_in_body(source, function.node, statement) || !is_alone(source, statement) {
            return None;
        }
        let parts = parts_at(source, statement, failed.line)?;
        let site = Self { source, failed, function, statement, parts };
        // Another error would escape a caller that handles this one.
        (!site.is_handled_by_caller()).then_some(site)
    }

    /// The same failure, answered at another simple statement of the function.
    pub(in crate::transforms) fn moved_to(mut self, statement: &'a Stmt) -> Option<Self> {
        self.parts = parts_at(self.source, statement, self.source.line(statement.start()))?;
        self.statement = statement;
        Some(self)
    }

    /// Whether a function of the file calls this one and handles exactly this exception.
    fn is_handled_by_caller(&self) -> bool {
        let call = format!("{}(", self.function.node.name);
        let base = match self.exception() {
            "KeyError" | "IndexError" => "LookupError",
            "ZeroDivisionError" | "OverflowError" => "ArithmeticError",
            _ => "",
        };
        let handles = |handler: &ast::ExceptHandler| {
            let ast::ExceptHandler::ExceptHandler(handler) = handler;
            let caught = handler.type_.as_deref().map_or("", |caught| self.source.of(caught));
            let is_this = caught.contains(self.exception()) || (!base.is_empty() && caught.contains(base));
            is_this && !caught.contains("ValueError")
        };
        statements(self.source.body()).into_iter().any(|statement| match statement {
            Stmt::Try(attempt) if !self.function.node.range.contains_range(attempt.range) => {
                attempt.handlers.iter().any(handles)
                    && attempt.body.iter().any(|inner| self.source.of(inner).contains(&call))
            }
            _ => false,
        })
    }

    /// Name of the exception, empty if there is none.
    pub(in crate::transforms) fn exception(&self) -> &'a str {
        self.failed.exception.as_deref().unwrap_or_default()
    }

    /// Whether the failure needs concurrent calls.
    pub(in crate::transforms) fn is_concurrent(&self) -> bool {
        self.failed.scenario == "concurrency_spike"
    }

    /// Names of the parameters that a caller passes.
    pub(in crate::transforms) fn parameters(&self) -> Vec<&'a str> {
        parameters(self.function).into_iter().map(|parameter| parameter.parameter.name.as_str()).collect()
    }

    /// Annotation of a parameter, as text.
    pub(in crate::transforms) fn annotation(&self, name: &str) -> Option<&'a str> {
        let found = parameters(self.function)
            .into_iter()
            .find(|parameter| parameter.parameter.name.as_str() == name)?;
        let annotation: &'a Expr = found.parameter.annotation.as_deref()?;
        Some(self.source.of(annotation))
    }

    /// Parameters that the statement uses; all parameters if it uses only values derived from them.
    pub(in crate::transforms) fn inputs(&self) -> Vec<&'a str> {
        let all = self.parameters();
        let used: Vec<&str> = all.iter().copied().filter(|name| self.uses(name)).collect();
        if used.is_empty() { all } else { used }
    }

    /// Whether the statement contains a name.
    pub(in crate::transforms) fn uses(&self, name: &str) -> bool {
        self.parts.iter().any(|part| matches!(part.expr, Expr::Name(found) if found.id.as_str() == name))
    }

    /// Calls in the statement, and whether each is always evaluated.
    pub(in crate::transforms) fn calls(&self) -> impl Iterator<Item = (&'a ast::ExprCall, bool)> {
        self.parts.iter().filter_map(|part| match part.expr {
            Expr::Call(call) => Some((call, part.always)),
            _ => None,
        })
    }

    /// Whether a path such as `prices` or `self.free` may be checked here: it belongs to the input, and no concurrent call
    /// changes it between the check and the use.
    pub(in crate::transforms) fn may_check(&self, path: &Expr) -> bool {
        let Some(root) = root_of(path) else { return false };
        let names = self.parameters();
        let is_self = root == "self" && path.is_name_expr();
        !is_self && (names.contains(&root) || (!names.is_empty() || root == "self") && !self.is_concurrent())
    }

    /// `raise` statement that rejects an input, with the exception class of the module if the function uses one. The message
    /// is a Python expression.
    pub(in crate::transforms) fn refusal(&self, exception: &str, message: &str) -> String {
        let own = own_exception(self.source, self.function.node);
        format!("raise {}({message})", own.unwrap_or(exception))
    }

    /// Inserts a check before the statement.
    pub(in crate::transforms) fn guard(&self, condition: &str, message: &str) -> SourceEdits<'a> {
        let lines = [format!("if {condition}:"), format!("    {}", self.refusal("ValueError", message))];
        self.source.edit().before(self.statement, &lines)
    }

    /// Replaces the exception of the statement by another error. `None` if the statement is not simple, or if a function of
    /// the file that it calls may raise on purpose.
    pub(in crate::transforms) fn translate(&self, message: &str) -> Option<SourceEdits<'a>> {
        self.translate_as(&[self.exception()], |_| message.to_owned())
    }

    /// Like `translate`, for several exceptions and with a message that may use the name of the caught error.
    pub(in crate::transforms) fn translate_as(
        &self,
        exceptions: &[&str],
        message: impl Fn(&str) -> String,
    ) -> Option<SourceEdits<'a>> {
        if !is_simple(self.statement) || self.suspends() || self.calls_own_functions() {
            return None;
        }
        let spelled: Vec<ExceptionSpelling> =
            exceptions.iter().map(|name| spelled(self, name)).collect::<Option<_>>()?;
        let names: Vec<&str> = spelled.iter().map(|exception| exception.name.as_str()).collect();
        let caught = if let [name] = names.as_slice() {
            (*name).to_owned()
        } else {
            format!("({})", names.join(", "))
        };
        let error = self.free_name(&["error", "cause", "problem"])?;
        let tail = [
            format!("except {caught} as {error}:"),
            format!("    {} from {error}", self.refusal("ValueError", &message(error))),
        ];
        let edits = self.source.edit().wrap(std::slice::from_ref(self.statement), "try:", &tail);
        Some(spelled.into_iter().fold(edits, |edits, exception| exception.import(edits)))
    }

    /// First of several names that the function does not use.
    pub(in crate::transforms) fn free_name<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        let used = names_in(&self.function.node.body);
        let parameters = self.parameters();
        names.iter().copied().find(|name| !used.contains(name) && !parameters.contains(name))
    }

    /// Whether the statement suspends the function.
    fn suspends(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.expr, Expr::Yield(_) | Expr::YieldFrom(_)))
    }

    /// Whether the statement calls a function of the file, which may raise on purpose; such errors are not replaced.
    fn calls_own_functions(&self) -> bool {
        let is_recursion = self.exception() == "RecursionError";
        let own = self.source.functions();
        !is_recursion
            && self.calls().any(|(call, _)| match &*call.func {
                Expr::Name(name) => {
                    own.iter().any(|function| function.node.name.as_str() == name.id.as_str())
                }
                Expr::Attribute(found) => root_of(&found.value) == Some("self") && found.value.is_name_expr(),
                _ => false,
            })
    }
}

/// Rewrite for robustness from edits.
pub(in crate::transforms) fn robustness_rewrite(
    edits: Option<SourceEdits<'_>>,
    why: impl Into<String>,
) -> Option<SourceRewrite> {
    let text = edits?.finish()?;
    Some(SourceRewrite { text, why: why.into(), gain: ProposalGain::Robustness })
}

fn is_in_body(source: &EditableSource, function: &ast::StmtFunctionDef, statement: &Stmt) -> bool {
    let first = function.body.first().map_or(function.range.start(), Ranged::start);
    statement.start() >= first && source.line(statement.start()) > source.line(function.name.start())
}

#[cfg(test)]
pub(in crate::transforms) mod testing {
    //! Helpers for tests of transforms.
    use crate::editable_source::EditableSource;
    use crate::transforms::{Cause, SectionFailure, Transform};

    /// A crash at a line.
    pub(in crate::transforms) fn crash(line: u32, exception: &str, message: &str) -> SectionFailure {
        SectionFailure {
            line,
            kind: "crash".to_owned(),
            exception: Some(exception.to_owned()),
            message: message.to_owned(),
            scenario: "hostile_input".to_owned(),
            ..SectionFailure::default()
        }
    }

    /// Texts of all rewrites of a transform; asserts that each one parses.
    pub(in crate::transforms) fn rewritten(
        transform: &dyn Transform,
        text: &str,
        failed: SectionFailure,
    ) -> Vec<String> {
        let source = EditableSource::parse(text).expect("test source parses");
        let rewrites = transform.rewrite(&source, &Cause::Failure(failed));
        assert!(
            rewrites
                .iter()
                .all(|rewrite| !rewrite.why.is_empty() && EditableSource::parse(&rewrite.text).is_some())
        );
        rewrites.into_iter().map(|rewrite| rewrite.text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::testing::crash;
    use super::*;

    fn is_site(text: &str, line: u32) -> bool {
        let source = EditableSource::parse(text).unwrap();
        FailureSite::of(&source, &Cause::Failure(crash(line, "IndexError", ""))).is_some()
    }

    #[test]
    fn only_statements_on_their_own_lines_are_sites() {
        assert!(is_site("def f(x):\n    return x[0]  # first\n", 2));
        assert!(is_site("@cache\ndef f(x):\n    if x[0]:\n        return 1\n", 3));
        assert!(!is_site("def f(x): return x[0]\n", 1));
        assert!(!is_site("def f(x):\n    y = 1; return x[0]\n", 2));
        assert!(!is_site("def f(x):\n    return x[0]; y = 1\n", 2));
        assert!(!is_site("def f(x):\n\treturn x[0]\n", 2));
        assert!(!is_site("def f(x):\r\n    return x[0]\r\n", 2));
        assert!(!is_site("def f(x):\n    if x:\n        return 1\n    elif x[0]:\n        return 2\n", 4));
        assert!(!is_site("def f(x):\n    raise IndexError(x[0])\n", 2));
        assert!(!is_site("x = []\nx[0]\n", 2));
        assert!(!is_site(
            "def f(x):\n    return x[0]\ndef g():\n    try:\n        f(1)\n    except LookupError:\n        pass\n",
            2
        ));
    }

    #[test]
    fn conditionally_evaluated_parts_are_marked() {
        let source =
            EditableSource::parse("def f(x, y):\n    return x if y else [z[0] for z in x]\n").unwrap();
        let cause = Cause::Failure(crash(2, "IndexError", ""));
        let site = FailureSite::of(&source, &cause).unwrap();
        let always: Vec<&str> =
            site.parts.iter().filter(|part| part.always).map(|part| source.of(part.expr)).collect();
        assert_eq!(always, ["x if y else [z[0] for z in x]", "y"]);
    }
}
