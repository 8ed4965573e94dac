//! Function arguments: defaults that all calls share, and checks that `-O` removes.

use super::scope::{
    TransformScope, begins_line, contains_name, deeper, is_alone, name_of, single_rewrite, text_of,
};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::{EditableSource, SourceEdits};
use crate::syntax::ast::helpers::{any_over_body, any_over_expr};
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// Replaces a mutable default, which is created once and shared by all calls.
#[derive(Debug)]
pub(in crate::transforms) struct MutableDefault;

impl Transform for MutableDefault {
    fn name(&self) -> &'static str {
        "mutable-default"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        let Some(function) = scene.function else { return Vec::new() };
        let Some(first) = source.after_docstring(function.node).first() else { return Vec::new() };
        if !begins_line(source, first) || is_stub(source.after_docstring(function.node)) {
            return Vec::new();
        }
        let shared: Vec<_> = function
            .node
            .parameters
            .iter_non_variadic_params()
            .filter_map(|parameter| Some((parameter, parameter.default()?)))
            .filter(|(parameter, default)| is_shared(&scene, parameter, default))
            .collect();
        let mut edits = source.edit();
        let mut guards = Vec::new();
        for (parameter, default) in &shared {
            let name = parameter.name();
            guards.push(format!("if {name} is None:"));
            guards.push(format!("{}{name} = {}", indent(source, first), source.of(default)));
            edits = edits.replace(default, "None");
            if let Some(annotation) = parameter.annotation() {
                edits = edits.replace(annotation, or_none(source, annotation));
            }
        }
        let text =
            if guards.is_empty() { None } else { guarded(source, function.node, first, edits, &guards) };
        single_rewrite(
            text,
            "Create the mutable default in each call instead of sharing it between calls.",
            ProposalGain::Findings,
        )
    }
}

/// Inserts the guards directly after the docstring: a comment there belongs to the statement that follows it.
fn guarded(
    source: &EditableSource,
    function: &ast::StmtFunctionDef,
    first: &Stmt,
    edits: SourceEdits,
    guards: &[String],
) -> Option<String> {
    match function.body.first().filter(|docstring| docstring.range() != first.range()) {
        Some(docstring) if is_alone(source, docstring) => edits.after(docstring, guards).finish(),
        Some(_) => None,
        None => edits.before(first, guards).finish(),
    }
}

fn indent<'a>(source: &EditableSource, statement: &Stmt) -> &'a str {
    if source.indentation(statement).contains('\t') { "\t" } else { "    " }
}

fn is_stub(body: &[Stmt]) -> bool {
    matches!(body, [Stmt::Pass(_)])
        || matches!(body, [Stmt::Expr(only)] if only.value.is_ellipsis_literal_expr())
}

fn is_shared(scene: &TransformScope, parameter: &ast::ParameterWithDefault, default: &Expr) -> bool {
    let name = parameter.name().as_str();
    // A cache is shared on purpose.
    let is_cache = ["cache", "memo"].iter().any(|word| name.to_lowercase().contains(word));
    let is_container = matches!(default, Expr::List(_) | Expr::Dict(_) | Expr::Set(_))
        || matches!(default, Expr::Call(call) if is_container_type(scene, &call.func));
    let annotation = parameter.annotation().map_or("", |annotation| scene.source.of(annotation));
    !is_cache
        && is_container
        && is_fresh(scene, default)
        && !says_none(annotation)
        && !is_read_only(annotation)
        && !compares_to_none(scene.body, name)
}

/// Whether an expression has the same value when it is evaluated later.
fn is_fresh(scene: &TransformScope, expression: &Expr) -> bool {
    !any_over_expr(expression, |part| match part {
        Expr::List(_) | Expr::Dict(_) | Expr::Set(_) | Expr::Tuple(_) | Expr::UnaryOp(_) => false,
        Expr::Call(call) => !is_container_type(scene, &call.func),
        Expr::Name(_) | Expr::Attribute(_) => scene.names.full(part).is_none_or(|full| !is_type(&full)),
        other => !other.is_literal_expr(),
    })
}

fn is_container_type(scene: &TransformScope, callee: &Expr) -> bool {
    scene.names.full(callee).is_some_and(|full| {
        matches!(full.as_str(), "list" | "dict" | "set")
            || matches!(
                full.strip_prefix("collections."),
                Some("Counter" | "OrderedDict" | "defaultdict" | "deque")
            )
    })
}

fn is_type(full: &str) -> bool {
    matches!(full, "list" | "dict" | "set" | "int" | "float" | "str" | "collections")
        || full.starts_with("collections.")
}

fn says_none(annotation: &str) -> bool {
    annotation.contains("None") || annotation.contains("Optional")
}

/// Whether the annotation is a read-only type; such a default is not a finding.
fn is_read_only(annotation: &str) -> bool {
    let name = annotation.trim_matches(['"', '\'']).split('[').next().unwrap_or("");
    matches!(
        name.rsplit('.').next().unwrap_or(name),
        "Sequence"
            | "Mapping"
            | "Iterable"
            | "Collection"
            | "Container"
            | "AbstractSet"
            | "tuple"
            | "frozenset"
    )
}

fn compares_to_none(body: &[Stmt], name: &str) -> bool {
    any_over_body(body, |part| match part {
        Expr::Compare(compare) => {
            name_of(&compare.left) == Some(name) && compare.comparators.iter().any(Expr::is_none_literal_expr)
        }
        _ => false,
    })
}

fn or_none(source: &EditableSource, annotation: &Expr) -> String {
    let text = source.of(annotation);
    match text_of(annotation).map(|inner| (inner, text.replacen(inner, &format!("{inner} | None"), 1))) {
        Some((_, quoted)) => quoted,
        None => format!("{text} | None"),
    }
}

/// Replaces `assert` on arguments, which `python -O` removes.
#[derive(Debug)]
pub(in crate::transforms) struct AssertValidation;

impl Transform for AssertValidation {
    fn name(&self) -> &'static str {
        "assert-validation"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        let Some(function) = scene.function else { return Vec::new() };
        let is_test = function.node.name.starts_with("test")
            || scene.names.imports("pytest", "pytest")
            || scene.names.imports("unittest", "unittest");
        // A caller may handle the AssertionError.
        if is_test || source.text().contains("AssertionError") {
            return Vec::new();
        }
        let mut edits = source.edit();
        for statement in source.after_docstring(function.node) {
            let Stmt::Assert(assert) = statement else { break };
            let is_ours = function.node.parameters.iter_non_variadic_params().any(|parameter| {
                scene.is_parameter(parameter.name()) && contains_name(&assert.test, parameter.name())
            });
            if is_ours && is_alone(source, statement) && !source.of(&*assert.test).contains('#') {
                edits = edits.replace(statement, check(source, statement, assert));
            }
        }
        let why = "Raise an exception for invalid arguments instead of assert, which python -O removes.";
        single_rewrite(edits.finish(), why, ProposalGain::Findings)
    }
}

fn check(source: &EditableSource, statement: &Stmt, assert: &ast::StmtAssert) -> String {
    let is_type_check =
        matches!(&*assert.test, Expr::Call(call) if name_of(&call.func) == Some("isinstance"));
    let exception = if is_type_check { "TypeError" } else { "ValueError" };
    let test = source.of(&*assert.test);
    let message = match &assert.msg {
        Some(message) => source.of(&**message).to_owned(),
        None if test.contains(['"', '\\', '\n', '{']) => "\"invalid argument\"".to_owned(),
        None => format!("\"expected {test}\""),
    };
    format!(
        "if {}:\n{}raise {exception}({message})",
        negated(source, &assert.test),
        deeper(source, statement)
    )
}

/// Negates a condition. Only operators with an exact opposite are inverted: `not x > 0` also covers NaN, `x <= 0` does not.
fn negated(source: &EditableSource, test: &Expr) -> String {
    if let Expr::Compare(compare) = test
        && let ([operator], [right]) = (&*compare.ops, &*compare.comparators)
    {
        let opposite = match operator {
            ast::CmpOp::Is => Some("is not"),
            ast::CmpOp::IsNot => Some("is"),
            ast::CmpOp::In => Some("not in"),
            ast::CmpOp::NotIn => Some("in"),
            _ => None,
        };
        if let Some(opposite) = opposite {
            return format!("{} {opposite} {}", source.of(&*compare.left), source.of(right));
        }
    }
    match test {
        Expr::Name(_) | Expr::Call(_) | Expr::Attribute(_) | Expr::Subscript(_) => {
            format!("not {}", source.of(test))
        }
        _ => format!("not ({})", source.of(test)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::review;
    use super::*;

    #[test]
    fn each_call_creates_its_default() {
        let text = "def f(x: int, seen: list[int] = [], *, by={}):\n    \"\"\"Adds.\"\"\"\n    seen.append(x)\n    return seen, by\n";
        assert_eq!(
            review(&MutableDefault, text, "f").unwrap(),
            "def f(x: int, seen: list[int] | None = None, *, by=None):\n    \"\"\"Adds.\"\"\"\n    if seen is None:\n        seen = []\n    if by is None:\n        by = {}\n    seen.append(x)\n    return seen, by\n"
        );
        let text = "class A:\n    def f(self, seen: \"list\" = list()):\n        return seen\n";
        assert_eq!(
            review(&MutableDefault, text, "A.f").unwrap(),
            "class A:\n    def f(self, seen: \"list | None\" = None):\n        if seen is None:\n            seen = list()\n        return seen\n"
        );
    }

    #[test]
    fn deliberate_defaults_stay() {
        for text in [
            "def f(n, cache={}):\n    return cache.get(n)\n",
            "def f(n, seen=[]): return seen\n",
            "def f(n, seen=[X]):\n    return seen\n",
            "def f(n, seen=()):\n    return seen\n",
            "def f(n, seen=[]):\n    return 1 if seen is None else 2\n",
            "from typing import Sequence\ndef f(n, seen: Sequence[int] = []):\n    return seen\n",
            "def f(n, seen=[]):\n    ...\n",
        ] {
            assert_eq!(review(&MutableDefault, text, "f"), None, "{text}");
        }
    }

    #[test]
    fn assertions_on_parameters_become_exceptions() {
        let text = "def f(x, y):\n    \"\"\"Doc.\"\"\"\n    assert x > 0, \"x must be positive\"\n    assert y is not None\n    assert isinstance(y, str)\n    z = x\n    assert z\n    return z\n";
        assert_eq!(
            review(&AssertValidation, text, "f").unwrap(),
            "def f(x, y):\n    \"\"\"Doc.\"\"\"\n    if not (x > 0):\n        raise ValueError(\"x must be positive\")\n    if y is None:\n        raise ValueError(\"expected y is not None\")\n    if not isinstance(y, str):\n        raise TypeError(\"expected isinstance(y, str)\")\n    z = x\n    assert z\n    return z\n"
        );
    }

    #[test]
    fn other_assertions_stay() {
        assert_eq!(review(&AssertValidation, "def test_f(x):\n    assert x\n", "test_f"), None);
        assert_eq!(review(&AssertValidation, "def f(x):\n    assert LIMIT\n    return x\n", "f"), None);
        assert_eq!(review(&AssertValidation, "def f(x): assert x\n", "f"), None);
        assert_eq!(review(&AssertValidation, "def f(x):\n    y = x\n    assert y\n", "f"), None);
    }
}
