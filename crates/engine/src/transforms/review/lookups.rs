//! Membership tests of lists in loops.

use super::scope::{SyntaxParts, TransformScope, assigned, begins_line, mentions, name_of, single_rewrite};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Ranged, Stmt, TextRange, ast};

/// Replaces a list by a set for membership tests in a loop.
#[derive(Debug)]
pub(in crate::transforms) struct MembershipSet;

impl Transform for MembershipSet {
    fn name(&self) -> &'static str {
        "membership-set"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        let mut tests = MembershipTestFinder::default();
        for statement in scene.body {
            tests.visit_stmt(statement);
        }
        let hashable = HashableNames::of(&scene);
        tests.found.retain(|test| hashable.is_hashable(test.item));
        let inline = replace_inline(source, &tests.found);
        let named = tests.found.iter().find_map(|test| {
            let name = name_of(test.list)?;
            replace_named(&scene, name, test, &tests.found)
        });
        let why = "Use a set for the membership test in the loop: a list is scanned each time.";
        single_rewrite(named.or(inline), why, ProposalGain::Speed)
    }
}

/// `item in list` inside a loop.
struct MembershipTest<'a> {
    item: &'a Expr,
    list: &'a Expr,
    /// Outermost enclosing loop.
    outermost: Option<&'a Stmt>,
}

#[derive(Default)]
struct MembershipTestFinder<'a> {
    loops: Vec<&'a Stmt>,
    comprehensions: usize,
    found: Vec<MembershipTest<'a>>,
}

impl<'a> Visitor<'a> for MembershipTestFinder<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::For(_) | Stmt::While(_) => {
                self.loops.push(statement);
                visitor::walk_stmt(self, statement);
                self.loops.pop();
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        let is_loop = matches!(
            expression,
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_)
        );
        self.comprehensions += usize::from(is_loop);
        if let Expr::Compare(compare) = expression
            && let ([ast::CmpOp::In | ast::CmpOp::NotIn], [list]) = (&*compare.ops, &*compare.comparators)
            && (self.comprehensions > 0 || !self.loops.is_empty())
        {
            self.found.push(MembershipTest {
                item: &compare.left,
                list,
                outermost: self.loops.first().copied(),
            });
        }
        visitor::walk_expr(self, expression);
        self.comprehensions -= usize::from(is_loop);
    }
}

/// Names whose values are certainly hashable, as a set requires and a list does not.
struct HashableNames<'a> {
    names: Vec<&'a str>,
}

impl<'a> HashableNames<'a> {
    fn of(scene: &TransformScope<'a>) -> Self {
        let parts = scene.parts();
        let mut names = Vec::new();
        let mut each = |target: &'a Expr, iter: &'a Expr| {
            if gives_hashable(scene, iter) {
                names.extend(name_of(target));
            }
        };
        for statement in &parts.statements {
            if let Stmt::For(each_of) = statement {
                each(&each_of.target, &each_of.iter);
            }
        }
        for expression in &parts.expressions {
            for generator in generators(expression) {
                each(&generator.target, &generator.iter);
            }
        }
        if let Some(function) = scene.function {
            let parameters = function.node.parameters.iter_non_variadic_params();
            let names_of = parameters.map(|parameter| parameter.name().as_str());
            names.extend(names_of.filter(|name| scene.annotation(name).is_some_and(is_scalar)));
        }
        names.retain(|name| {
            is_bound_once(&parts, name) || scene.is_parameter(name) && !is_bound(&parts, name)
        });
        Self { names }
    }

    fn is_hashable(&self, item: &Expr) -> bool {
        match item {
            Expr::Name(name) => self.names.contains(&name.id.as_str()),
            Expr::FString(_) => true,
            Expr::Call(call) => match &*call.func {
                // Methods of strings that return strings.
                Expr::Attribute(method) => {
                    matches!(
                        method.attr.as_str(),
                        "lower" | "upper" | "strip" | "casefold" | "lstrip" | "rstrip"
                    )
                }
                callee => matches!(name_of(callee), Some("str" | "int" | "len" | "float" | "ord" | "chr")),
            },
            other => other.is_literal_expr(),
        }
    }
}

fn generators(expression: &Expr) -> &[ast::Comprehension] {
    match expression {
        Expr::ListComp(inner) => &inner.generators,
        Expr::SetComp(inner) => &inner.generators,
        Expr::DictComp(inner) => &inner.generators,
        Expr::Generator(inner) => &inner.generators,
        _ => &[],
    }
}

fn stores(parts: &SyntaxParts, name: &str) -> usize {
    let is_store =
        |part: &&&Expr| matches!(part, Expr::Name(other) if other.id == name && !other.ctx.is_load());
    parts.expressions.iter().filter(is_store).count()
}

fn is_bound(parts: &SyntaxParts, name: &str) -> bool {
    stores(parts, name) > 0
}

fn is_bound_once(parts: &SyntaxParts, name: &str) -> bool {
    stores(parts, name) == 1
}

fn gives_hashable(scene: &TransformScope, iter: &Expr) -> bool {
    match iter {
        Expr::Name(name) => {
            let annotation = scene.annotation(&name.id).unwrap_or("");
            annotation == "str" || is_scalar_list(annotation)
        }
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => {
                matches!(method.attr.as_str(), "split" | "splitlines" | "readlines" | "keys")
            }
            callee => scene.names.full(callee).as_deref() == Some("range"),
        },
        Expr::List(list) => list.elts.iter().all(Expr::is_literal_expr),
        _ => false,
    }
}

fn is_scalar(annotation: &str) -> bool {
    matches!(annotation, "str" | "int" | "float" | "bool" | "bytes")
}

fn is_scalar_list(annotation: &str) -> bool {
    let Some((outer, inner)) = annotation.split_once('[') else { return false };
    let is_list =
        matches!(outer.rsplit('.').next(), Some("list" | "List" | "Sequence" | "Iterable" | "set" | "tuple"));
    is_list && is_scalar(inner.trim_end_matches(']').trim_end_matches(", ..."))
}

/// Whether a list display has only literals, which are hashable.
fn is_fixed(list: &Expr) -> bool {
    matches!(list, Expr::List(list) if !list.elts.is_empty() && list.elts.iter().all(Expr::is_literal_expr))
}

/// Replaces list displays in membership tests by set displays.
fn replace_inline(source: &EditableSource, tests: &[MembershipTest]) -> Option<String> {
    let mut edits = source.edit();
    for test in tests.iter().filter(|test| is_fixed(test.list)) {
        edits = edits.replace(test.list, as_set_display(source, test.list.range()));
    }
    edits.finish()
}

fn as_set_display(source: &EditableSource, list: TextRange) -> String {
    let text = source.of(list);
    format!("{{{}}}", text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text))
}

/// Replaces a named list by a set, or builds a set from it before the loop.
fn replace_named(
    scene: &TransformScope,
    name: &str,
    test: &MembershipTest,
    tests: &[MembershipTest],
) -> Option<String> {
    let parts = scene.parts();
    let uses: Vec<_> = tests.iter().filter(|test| name_of(test.list) == Some(name)).collect();
    let made =
        parts.statements.iter().find_map(|statement| assigned(statement).filter(|(other, _)| *other == name));
    match made {
        Some((_, list)) if is_bound_once(&parts, name) && is_fixed(list) && !scene.is_parameter(name) => {
            // Any other use could depend on the value being a list.
            let only_tested = mentions(scene.body, name) == uses.len() + 1;
            let is_annotated = parts
                .statements
                .iter()
                .any(|part| matches!(part, Stmt::AnnAssign(other) if name_of(&other.target) == Some(name)));
            (only_tested && !is_annotated).then(|| {
                scene.source.edit().replace(list, as_set_display(scene.source, list.range())).finish()
            })?
        }
        None => with_parameter_set(scene, name, test, &uses, &parts),
        Some(_) => None,
    }
}

/// Builds a set from a parameter before the loop, if the parameter is only read.
fn with_parameter_set(
    scene: &TransformScope,
    name: &str,
    test: &MembershipTest,
    uses: &[&MembershipTest],
    parts: &SyntaxParts,
) -> Option<String> {
    let is_list = scene.annotation(name).is_some_and(|annotation| {
        is_scalar_list(annotation) && !annotation.starts_with("set") && !annotation.contains("Iterable")
    });
    let outermost = test.outermost?;
    let new = format!("{name}_set");
    let is_same_loop = uses.iter().all(|other| other.outermost.map(Ranged::range) == Some(outermost.range()));
    if !is_list || is_bound(parts, name) || !scene.names.is_free(&new) || !is_same_loop {
        return None;
    }
    let is_only_read =
        mentions(scene.body, name) == uses.len() + lengths(parts, name) + iterated(parts, name);
    if !is_only_read || !begins_line(scene.source, outermost) {
        return None;
    }
    let mut edits = scene.source.edit().before(outermost, &[format!("{new} = set({name})")]);
    for test in uses {
        edits = edits.replace(test.list, new.clone());
    }
    edits.finish()
}

fn lengths(parts: &SyntaxParts, name: &str) -> usize {
    let is_length = |part: &&&Expr| match part {
        Expr::Call(call) => {
            name_of(&call.func) == Some("len")
                && matches!(&*call.arguments.args, [only] if name_of(only) == Some(name))
        }
        _ => false,
    };
    parts.expressions.iter().filter(is_length).count()
}

fn iterated(parts: &SyntaxParts, name: &str) -> usize {
    parts
        .statements
        .iter()
        .filter(|part| matches!(part, Stmt::For(each) if name_of(&each.iter) == Some(name)))
        .count()
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::review;
    use super::*;

    #[test]
    fn lists_used_only_for_membership_become_sets() {
        let text = "def f(words: list[str]):\n    stop = [\"a\", \"b\"]\n    return [w for w in words if w not in stop]\n";
        assert_eq!(
            review(&MembershipSet, text, "f").unwrap(),
            "def f(words: list[str]):\n    stop = {\"a\", \"b\"}\n    return [w for w in words if w not in stop]\n"
        );
        let text = "def f(text):\n    n = 0\n    for w in text.split():\n        if w.lower() in [\"a\", \"b\"]:\n            n += 1\n    return n\n";
        assert_eq!(
            review(&MembershipSet, text, "f").unwrap(),
            "def f(text):\n    n = 0\n    for w in text.split():\n        if w.lower() in {\"a\", \"b\"}:\n            n += 1\n    return n\n"
        );
    }

    #[test]
    fn a_set_is_built_from_a_parameter() {
        let text = "def f(words: list[str], stop: list[str]):\n    n = 0\n    for w in words:\n        if w in stop:\n            n += 1\n    return n / len(stop)\n";
        assert_eq!(
            review(&MembershipSet, text, "f").unwrap(),
            "def f(words: list[str], stop: list[str]):\n    n = 0\n    stop_set = set(stop)\n    for w in words:\n        if w in stop_set:\n            n += 1\n    return n / len(stop)\n"
        );
    }

    #[test]
    fn possibly_unhashable_items_stay_in_lists() {
        for text in [
            "def f(words):\n    return [w for w in words if w in [\"a\", \"b\"]]\n",
            "def f(w: str):\n    return w in [\"a\", \"b\"]\n",
            "def f(words: list[str], stop):\n    return [w for w in words if w in stop]\n",
            "def f(words: list[str], stop: list[str]):\n    for w in words:\n        if w in stop:\n            stop.remove(w)\n",
            "def f(words: list[str]):\n    stop = [\"a\"]\n    for w in words:\n        if w in stop:\n            stop.append(w)\n",
            "def f(words: list[str]):\n    stop = [[]]\n    return [w for w in words if w in stop]\n",
        ] {
            assert_eq!(review(&MembershipSet, text, "f"), None, "{text}");
        }
    }
}
