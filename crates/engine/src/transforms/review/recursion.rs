//! Recursive functions that compute the same values repeatedly.

use super::scope::{SyntaxParts, TransformScope, name_of, single_rewrite};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::ast::helpers::any_over_expr;
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// Caches the results of a pure function that calls itself twice.
#[derive(Debug)]
pub(in crate::transforms) struct CachedRecursion;

impl Transform for CachedRecursion {
    fn name(&self) -> &'static str {
        "cached-recursion"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        let Some(function) = scene.function else { return Vec::new() };
        let node = function.node;
        let definition = source.body().iter().find(|part| part.range() == node.range());
        let is_bare = !node.is_async && node.decorator_list.is_empty();
        let Some(definition) = definition.filter(|_| is_bare) else { return Vec::new() };
        let can_import = scene.names.can_import("functools", "functools");
        if !can_import
            || !has_scalars(&scene, node)
            || !is_pure(&scene, node)
            || !is_branching(&scene, &node.name)
        {
            return Vec::new();
        }
        // Without `typed`, `1` and `1.0` would share a result.
        let decorator = "@functools.lru_cache(maxsize=4096, typed=True)".to_owned();
        let text = source.edit().import("functools").before(definition, &[decorator]).finish();
        single_rewrite(
            text,
            "Cache the results of the pure function, which computes the same values repeatedly.",
            ProposalGain::Speed,
        )
    }
}

/// Whether all parameters are annotated with hashable types.
fn has_scalars(scene: &TransformScope, node: &ast::StmtFunctionDef) -> bool {
    let parameters = &node.parameters;
    let is_scalar = |parameter: &ast::ParameterWithDefault| {
        let annotation = scene.annotation(parameter.name()).unwrap_or("");
        matches!(annotation, "int" | "str" | "bool" | "bytes" | "float")
            || annotation.starts_with("tuple[int")
    };
    parameters.vararg.is_none()
        && parameters.kwarg.is_none()
        && !parameters.is_empty()
        && parameters.iter_non_variadic_params().all(is_scalar)
}

/// Whether a function only computes from its parameters, without side effects.
fn is_pure(scene: &TransformScope, node: &ast::StmtFunctionDef) -> bool {
    let parts = SyntaxParts::of(scene.source.after_docstring(node));
    let own = node.name.as_str();
    let names = parts.expressions.iter().filter_map(|part| part.as_name_expr());
    let stored: Vec<&str> = names.filter(|name| name.ctx.is_store()).map(|name| name.id.as_str()).collect();
    let is_known = |name: &str| {
        name == own || scene.is_parameter(name) || stored.contains(&name) || is_builtin(scene, name)
    };
    let is_callee = |name: &str| name == own || is_builtin(scene, name);
    parts.statements.iter().all(|statement| is_plain(statement))
        && parts.expressions.iter().all(|part| match part {
            Expr::Name(name) => is_known(&name.id),
            Expr::Call(call) => name_of(&call.func).is_some_and(is_callee),
            other => is_value(other),
        })
}

fn is_plain(statement: &Stmt) -> bool {
    matches!(
        statement,
        Stmt::If(_)
            | Stmt::Return(_)
            | Stmt::Assign(_)
            | Stmt::AugAssign(_)
            | Stmt::For(_)
            | Stmt::Raise(_)
            | Stmt::Pass(_)
    )
}

/// Whether an expression yields an immutable value. A mutable result would be shared between calls, and an attribute can be
/// anything.
fn is_value(expression: &Expr) -> bool {
    let is_operation = matches!(
        expression,
        Expr::BinOp(_)
            | Expr::BoolOp(_)
            | Expr::UnaryOp(_)
            | Expr::Compare(_)
            | Expr::If(_)
            | Expr::Subscript(_)
            | Expr::Slice(_)
            | Expr::Tuple(_)
    );
    is_operation || expression.is_literal_expr()
}

fn is_builtin(scene: &TransformScope, name: &str) -> bool {
    let is_pure = matches!(
        name,
        "min"
            | "max"
            | "abs"
            | "len"
            | "range"
            | "int"
            | "str"
            | "float"
            | "bool"
            | "pow"
            | "divmod"
            | "ord"
            | "chr"
            | "ValueError"
            | "TypeError"
    );
    is_pure && scene.names.is_free(name)
}

/// Whether one path through the function calls it twice: only then are values computed repeatedly.
fn is_branching(scene: &TransformScope, name: &str) -> bool {
    let is_simple =
        |statement: &&Stmt| matches!(statement, Stmt::Return(_) | Stmt::Assign(_) | Stmt::AugAssign(_));
    scene.parts().blocks.iter().any(|block| {
        let statements = block.iter().filter(is_simple);
        statements.map(|statement| own_calls(std::slice::from_ref(statement), name)).sum::<usize>() >= 2
    })
}

/// Maximum number of recursive calls on one path through a statement: only one side of a conditional is evaluated.
fn own_calls(body: &[Stmt], name: &str) -> usize {
    let in_conditionals = SyntaxParts::of(body)
        .expressions
        .into_iter()
        .filter_map(Expr::as_if_expr)
        .map(|choice| calls_in(&choice.body, name).min(calls_in(&choice.orelse, name)));
    let all = SyntaxParts::of(body).expressions.into_iter().filter(|part| is_call(part, name)).count();
    all.saturating_sub(in_conditionals.sum())
}

fn calls_in(expression: &Expr, name: &str) -> usize {
    let mut count = 0;
    any_over_expr(expression, |part| {
        count += usize::from(is_call(part, name));
        false
    });
    count
}

fn is_call(part: &Expr, name: &str) -> bool {
    matches!(part, Expr::Call(call) if name_of(&call.func) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::review;
    use super::*;

    #[test]
    fn branching_recursion_is_cached() {
        let text = "def fib(n: int) -> int:\n    \"\"\"Doc.\"\"\"\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\n";
        assert_eq!(
            review(&CachedRecursion, text, "fib").unwrap(),
            "import functools\n\n@functools.lru_cache(maxsize=4096, typed=True)\ndef fib(n: int) -> int:\n    \"\"\"Doc.\"\"\"\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\n"
        );
        let text = "import os\n\ndef d(a: str, b: str, i: int) -> int:\n    if i == 0:\n        return len(a)\n    x = d(a, b, i - 1)\n    y = d(b, a, i - 1)\n    return min(x, y) + (a[i] == b[i])\n";
        assert!(review(&CachedRecursion, text, "d").unwrap().contains("typed=True)\ndef d("));
    }

    #[test]
    fn other_functions_are_not_cached() {
        for text in [
            "def f(n):\n    return f(n - 1) + f(n - 2)\n",
            "def f(n: int):\n    return f(n - 1)\n",
            "def f(n: int):\n    print(n)\n    return f(n - 1) + f(n - 2)\n",
            "def f(n: int):\n    return [f(n - 1), f(n - 2)]\n",
            "def f(n: int):\n    if n % 2:\n        return f(n - 1)\n    else:\n        return f(n // 2)\n",
            "def f(n: int):\n    return f(n - 1) if n % 2 else f(n // 2)\n",
            "@g\ndef f(n: int):\n    return f(n - 1) + f(n - 2)\n",
            "def f(n: int):\n    return f(n - 1) + f(n - 2) + TOTAL\n",
            "class A:\n    def f(self, n: int):\n        return f(n - 1) + f(n - 2)\n",
            "def f(n: list):\n    return f(n - 1) + f(n - 2)\n",
        ] {
            assert_eq!(review(&CachedRecursion, text, "f"), None, "{text}");
        }
    }
}
