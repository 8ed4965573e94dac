//! Files that are not closed.

use super::scope::{
    SyntaxParts, TransformScope, assigned, at, deeper, fills_lines, is_alone, lines, mentions, name_of,
    single_rewrite, value_of,
};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Ranged, Stmt, TextRange, ast};

/// Closes an opened file with a `with` statement, also after an exception.
#[derive(Debug)]
pub(in crate::transforms) struct UnclosedFile;

impl Transform for UnclosedFile {
    fn name(&self) -> &'static str {
        "unclosed-file"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        if scene.function.is_none() {
            return Vec::new();
        }
        let why = "Close the file with a with statement, also when an exception is raised.";
        let parts = scene.parts();
        let named = parts.blocks.iter().find_map(|block| with_name(&scene, block));
        let text =
            named.or_else(|| parts.statements.iter().find_map(|statement| without_name(&scene, statement)));
        single_rewrite(text, why, ProposalGain::Findings)
    }
}

fn is_open(scene: &TransformScope, expression: &Expr) -> bool {
    matches!(expression, Expr::Call(call) if scene.names.full(&call.func).as_deref() == Some("open"))
}

/// Rewrites `f = open(path)` followed by the statements that use it.
fn with_name(scene: &TransformScope, block: &[Stmt]) -> Option<String> {
    block.iter().enumerate().find_map(|(index, statement)| {
        let (name, value) = assigned(statement).filter(|(_, value)| is_open(scene, value))?;
        let rest = &block[index + 1..];
        // The name must stand for this file only.
        let opened = SyntaxParts::of(scene.body).statements.into_iter().filter_map(assigned);
        if !statement.is_assign_stmt() || opened.filter(|(other, _)| *other == name).count() != 1 {
            return None;
        }
        let in_rest = mentions(rest, name);
        if mentions(scene.body, name) != in_rest + 1 || !fills_lines(scene.source, statement) {
            return None;
        }
        let closed = rest.iter().position(|other| closes(other, name));
        let last = rest.iter().rposition(|other| mentions(std::slice::from_ref(other), name) > 0)?;
        let used = match closed {
            Some(close) if close == last && fills_lines(scene.source, &rest[close]) => &rest[..close],
            None if rest[..=last].iter().all(|other| uses_only_while_running(scene, other, name)) => {
                &rest[..=last]
            }
            _ => return None,
        };
        let close = closed.map(|close| &rest[close]);
        let header = format!("with {} as {name}:", scene.source.of(value));
        moved(scene.source, statement, used, close, &header)
    })
}

fn moved(
    source: &EditableSource,
    opened: &Stmt,
    used: &[Stmt],
    closed: Option<&Stmt>,
    header: &str,
) -> Option<String> {
    let (first, last) = (used.first()?, used.last()?);
    if !is_alone(source, first) || !is_alone(source, last) {
        return None;
    }
    let edits = source.edit().replace(lines(source, opened), "").wrap(used, header, &[]);
    match closed {
        Some(closed) => edits.replace(lines(source, closed), ""),
        None => edits,
    }
    .finish()
}

fn closes(statement: &Stmt, name: &str) -> bool {
    let Stmt::Expr(expression) = statement else { return false };
    let Expr::Call(call) = &*expression.value else { return false };
    matches!(&*call.func, Expr::Attribute(method) if method.attr.as_str() == "close" && name_of(&method.value) == Some(name))
}

/// Whether a statement uses a file only while it runs.
fn uses_only_while_running(scene: &TransformScope, statement: &Stmt, name: &str) -> bool {
    let body = std::slice::from_ref(statement);
    let parts = SyntaxParts::of(body);
    let is_file = |expression: &Expr| name_of(expression) == Some(name);
    let by_methods = parts.expressions.iter().filter(|part| match part {
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Attribute(method) if is_file(&method.value) && is_immediate(&method.attr))
        }
        _ => false,
    });
    let by_loops =
        parts.statements.iter().filter(|part| matches!(part, Stmt::For(each) if is_file(&each.iter)));
    let by_loads = parts.expressions.iter().filter(|part| match part {
        Expr::Call(call) => is_load(scene, call) && call.arguments.args.iter().any(is_file),
        _ => false,
    });
    let has_yield = parts.expressions.iter().any(|part| part.is_yield_expr() || part.is_yield_from_expr());
    !has_yield && by_methods.count() + by_loops.count() + by_loads.count() == mentions(body, name)
}

fn is_immediate(method: &str) -> bool {
    matches!(method, "read" | "readline" | "readlines" | "write" | "writelines" | "seek" | "tell" | "flush")
}

fn is_load(scene: &TransformScope, call: &ast::ExprCall) -> bool {
    scene.names.full(&call.func).is_some_and(|full| {
        matches!(
            full.as_str(),
            "json.load"
                | "json.dump"
                | "pickle.load"
                | "pickle.dump"
                | "yaml.safe_load"
                | "yaml.load"
                | "tomllib.load"
        )
    })
}

/// Rewrites `open(path).read()` in a simple statement.
fn without_name(scene: &TransformScope, statement: &Stmt) -> Option<String> {
    let source = scene.source;
    let call = leftmost(scene, value_of(statement)?)?;
    let name = scene.names.first_free(&["file", "handle", "opened"])?;
    // The `with` header is inserted as a separate line, so the statement must begin its line.
    if !is_alone(source, statement) {
        return None;
    }
    let header = format!("with {} as {name}:\n{}", source.of(call), deeper(source, statement));
    source.edit().replace(at(statement.start()), header).replace(call, name).finish()
}

/// Range of the `open` call at the start of a method chain, before which nothing else is evaluated.
fn leftmost(scene: &TransformScope, expression: &Expr) -> Option<TextRange> {
    let Expr::Call(call) = expression else { return None };
    match &*call.func {
        Expr::Attribute(method) if is_open(scene, &method.value) => {
            is_immediate(&method.attr).then(|| method.value.range())
        }
        Expr::Attribute(method) if method.value.is_call_expr() => leftmost(scene, &method.value),
        _ if is_load(scene, call) => {
            call.arguments.args.first().filter(|first| is_open(scene, first)).map(Ranged::range)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::review;
    use super::*;

    #[test]
    fn files_with_a_name_are_closed() {
        let text = "def f(p):\n    f = open(p)\n    # All of it.\n    data = f.read()\n    f.close()\n    return data\n";
        assert_eq!(
            review(&UnclosedFile, text, "f").unwrap(),
            "def f(p):\n    # All of it.\n    with open(p) as f:\n        data = f.read()\n    return data\n"
        );
        let text = "def g(p):\n    out = []\n    f = open(p)\n    for line in f:\n        out.append(line)\n    return out\n";
        assert_eq!(
            review(&UnclosedFile, text, "g").unwrap(),
            "def g(p):\n    out = []\n    with open(p) as f:\n        for line in f:\n            out.append(line)\n    return out\n"
        );
    }

    #[test]
    fn files_without_a_name_are_closed() {
        let text = "def f(p):\n    return open(p).read().split(\"\\n\")\n";
        assert_eq!(
            review(&UnclosedFile, text, "f").unwrap(),
            "def f(p):\n    with open(p) as file:\n        return file.read().split(\"\\n\")\n"
        );
        let text = "import json\ndef f(p):\n    data = json.load(open(p))\n    return data\n";
        assert_eq!(
            review(&UnclosedFile, text, "f").unwrap(),
            "import json\ndef f(p):\n    with open(p) as file:\n        data = json.load(file)\n    return data\n"
        );
    }

    #[test]
    fn files_that_outlive_the_function_stay_open() {
        for text in [
            "def f(p):\n    return open(p)\n",
            "def f(p):\n    f = open(p)\n    return f\n",
            "import csv\ndef f(p):\n    f = open(p)\n    return csv.reader(f)\n",
            "def f(p):\n    f = open(p)\n    return (l for l in f)\n",
            "def f(p):\n    with open(p) as f:\n        return f.read()\n",
            "def f(p): return open(p).read()\n",
            "def f(p):\n    return g(h(), open(p).read())\n",
            "def f(p):\n    f = open(p)\n    def g():\n        return f.read()\n    return g\n",
        ] {
            assert_eq!(review(&UnclosedFile, text, "f"), None, "{text}");
        }
    }
}
