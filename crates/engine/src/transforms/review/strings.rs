//! Strings that are concatenated in a loop.

use super::scope::{
    SyntaxParts, TransformScope, assigned, is_alone, mentions, name_of, single_rewrite, text_of,
};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Stmt, ast};

/// Replaces concatenation in a loop by one join after it.
#[derive(Debug)]
pub(in crate::transforms) struct JoinStrings;

impl Transform for JoinStrings {
    fn name(&self) -> &'static str {
        "join-strings"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        // In a nested block, an enclosing handler could see the incomplete string.
        let text = scene.function.and_then(|_| (0..scene.body.len()).find_map(|index| joined(&scene, index)));
        single_rewrite(
            text,
            "Collect the parts and join them once instead of copying the string in each iteration.",
            ProposalGain::Speed,
        )
    }
}

fn joined(scene: &TransformScope, index: usize) -> Option<String> {
    let source = scene.source;
    let start = &scene.body[index];
    let (name, value) = assigned(start)?;
    let rest = &scene.body[index + 1..];
    let each = rest.iter().find(|statement| mentions(std::slice::from_ref(statement), name) > 0)?;
    let Stmt::For(inner) = each else { return None };
    let additions = additions(&inner.body, name);
    // The loop must not read the incomplete string.
    let is_collected = !additions.is_empty() && mentions(std::slice::from_ref(each), name) == additions.len();
    let parts = format!("{name}_parts");
    let is_text = text_of(value).is_some() && scene.names.is_free(&parts) && !inner.is_async;
    if !is_collected || !is_text || !is_alone(source, each) || is_shared(scene, name) {
        return None;
    }
    let initial =
        if text_of(value) == Some("") { "[]".to_owned() } else { format!("[{}]", source.of(value)) };
    let mut edits = source.edit().replace(start, format!("{parts} = {initial}"));
    for addition in additions {
        edits = edits.replace(addition, format!("{parts}.append({})", source.of(&*addition.value)));
    }
    edits.after(each, &[format!("{name} = \"\".join({parts})")]).finish()
}

fn additions<'a>(body: &'a [Stmt], name: &str) -> Vec<&'a ast::StmtAugAssign> {
    let statements = SyntaxParts::of(body).statements.into_iter();
    let additions = statements.filter_map(|statement| match statement {
        Stmt::AugAssign(change) if change.op == ast::Operator::Add => Some(change),
        _ => None,
    });
    // These values would need their parentheses in a call.
    additions
        .filter(|change| name_of(&change.target) == Some(name))
        .filter(|change| !matches!(&*change.value, Expr::Yield(_) | Expr::Starred(_) | Expr::Named(_)))
        .collect()
}

/// Whether a nested function uses the string while it grows, or the name is global or nonlocal.
fn is_shared(scene: &TransformScope, name: &str) -> bool {
    scene.parts().statements.iter().any(|statement| match statement {
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) => mentions(std::slice::from_ref(statement), name) > 0,
        Stmt::Global(global) => global.names.iter().any(|other| other.as_str() == name),
        Stmt::Nonlocal(outer) => outer.names.iter().any(|other| other.as_str() == name),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::review;
    use super::*;

    #[test]
    fn parts_are_joined_once() {
        let text = "def f(rows):\n    out = \"\"\n    n = 0\n    for row in rows:\n        n += 1\n        if row:\n            out += row + \",\"\n        out += \"\\n\"\n\n    return out, n\n";
        assert_eq!(
            review(&JoinStrings, text, "f").unwrap(),
            "def f(rows):\n    out_parts = []\n    n = 0\n    for row in rows:\n        n += 1\n        if row:\n            out_parts.append(row + \",\")\n        out_parts.append(\"\\n\")\n    out = \"\".join(out_parts)\n\n    return out, n\n"
        );
        let text =
            "def f(rows):\n    out: str = \"a\"\n    for row in rows:\n        out += row\n    return out\n";
        assert_eq!(
            review(&JoinStrings, text, "f").unwrap(),
            "def f(rows):\n    out_parts = [\"a\"]\n    for row in rows:\n        out_parts.append(row)\n    out = \"\".join(out_parts)\n    return out\n"
        );
    }

    #[test]
    fn strings_read_in_the_loop_stay() {
        for text in [
            "def f(rows):\n    out = \"\"\n    for row in rows:\n        out += row\n        print(out)\n    return out\n",
            "def f(rows):\n    out = 0\n    for row in rows:\n        out += row\n    return out\n",
            "def f(rows):\n    out = \"\"\n    for row in rows:\n        out += row\n        if row == 'x':\n            return out\n    return out\n",
            "def f(rows):\n    global out\n    out = \"\"\n    for row in rows:\n        out += row\n    return out\n",
            "def f(rows):\n    out = \"\"\n    for row in rows: out += row\n    else: out += 'x'\n    return out\n",
        ] {
            assert_eq!(review(&JoinStrings, text, "f"), None, "{text}");
        }
    }
}
