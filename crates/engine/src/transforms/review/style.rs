//! Small things that a linter finds.

use super::look::{Scene, assigned, fills_lines, lines, name_of, one};
use super::{Cause, Gain, Rewrite, Transform};
use crate::source::Source;
use crate::syntax::{Expr, Ranged, TextRange, ast};

/// An f-string without placeholders is a plain text.
#[derive(Debug)]
pub(in crate::transforms) struct EmptyFString;

impl Transform for EmptyFString {
    fn name(&self) -> &'static str {
        "empty-f-string"
    }

    fn rewrite(&self, source: &Source, cause: &Cause) -> Vec<Rewrite> {
        let Some(scene) = Scene::of_review(source, cause) else { return Vec::new() };
        let mut edits = source.edit();
        for text in scene.parts().expressions.into_iter().filter_map(Expr::as_f_string_expr) {
            // Doubled braces would have to become single ones.
            if text.value.elements().any(ast::InterpolatedStringElement::is_interpolation)
                || source.of(text).contains(['{', '}'])
            {
                continue;
            }
            for part in text.value.f_strings() {
                let written = source.of(part);
                let prefix =
                    written.len() - written.trim_start_matches(|letter: char| letter.is_alphabetic()).len();
                let plain = written[..prefix].replace(['f', 'F'], "");
                edits = edits.replace(part, format!("{plain}{}", &written[prefix..]));
            }
        }
        one(edits.finish(), "The f-string has no placeholder.", Gain::Findings)
    }
}

/// `== None` asks the object, which may answer anything.
#[derive(Debug)]
pub(in crate::transforms) struct NoneComparison;

impl Transform for NoneComparison {
    fn name(&self) -> &'static str {
        "none-comparison"
    }

    fn rewrite(&self, source: &Source, cause: &Cause) -> Vec<Rewrite> {
        let Some(scene) = Scene::of_review(source, cause) else { return Vec::new() };
        // Their objects answer with something else than a truth, or as they like.
        let others = ["numpy", "pandas", "polars", "sqlalchemy", "peewee", "pony", "__eq__"];
        if others.iter().any(|other| source.text().contains(other)) {
            return Vec::new();
        }
        let mut edits = source.edit();
        for compare in scene.parts().expressions.into_iter().filter_map(Expr::as_compare_expr) {
            let ([operator], [right]) = (&*compare.ops, &*compare.comparators) else { continue };
            let (old, new) = match operator {
                ast::CmpOp::Eq => ("==", "is"),
                ast::CmpOp::NotEq => ("!=", "is not"),
                _ => continue,
            };
            let sides = [(&*compare.left, right), (right, &*compare.left)];
            // Literals and displays are compared for a reason.
            let is_ours = sides.iter().any(|(one, other)| {
                one.is_none_literal_expr()
                    && matches!(
                        other,
                        Expr::Name(_) | Expr::Call(_) | Expr::Attribute(_) | Expr::Subscript(_)
                    )
            });
            let between = TextRange::new(compare.left.end(), right.start());
            if is_ours && source.of(between).matches(old).count() == 1 {
                edits = edits.replace(between, spaced(source.of(between), old, new));
            }
        }
        one(edits.finish(), "None is compared by identity, as nothing else is None.", Gain::Findings)
    }
}

fn spaced(text: &str, old: &str, new: &str) -> String {
    let (before, after) = text.split_once(old).unwrap_or((text, ""));
    let space = |part: &str, is_first: bool| {
        let touches = if is_first {
            part.ends_with(char::is_whitespace)
        } else {
            part.starts_with(char::is_whitespace)
        };
        if touches || part.ends_with(')') && is_first { "" } else { " " }
    };
    format!("{before}{}{new}{}{after}", space(before, true), space(after, false))
}

/// An assignment of a name to itself does nothing.
#[derive(Debug)]
pub(in crate::transforms) struct SelfAssignment;

impl Transform for SelfAssignment {
    fn name(&self) -> &'static str {
        "self-assignment"
    }

    fn rewrite(&self, source: &Source, cause: &Cause) -> Vec<Rewrite> {
        let Some(scene) = Scene::of_review(source, cause) else { return Vec::new() };
        if scene.function.is_none() {
            return Vec::new();
        }
        let mut edits = source.edit();
        for block in scene.parts().blocks {
            for statement in block {
                let Some((name, value)) = assigned(statement) else { continue };
                // A name that is no parameter may be unknown here, and then this is what fails.
                let does_nothing = name_of(value) == Some(name) && scene.is_parameter(name);
                let can_go = statement.is_assign_stmt() && block.len() > 1 && fills_lines(source, statement);
                if does_nothing && can_go {
                    edits = edits.replace(lines(source, statement), "");
                }
            }
        }
        one(edits.finish(), "Assigning a parameter to itself does nothing.", Gain::Findings)
    }
}

#[cfg(test)]
mod tests {
    use super::super::look::testing::review;
    use super::*;

    #[test]
    fn texts_without_placeholders_are_plain() {
        let text = "def f(x):\n    return f\"a\" + Rf'b\\d' + f\"{x}\" + f\"{{}}\"\n";
        assert_eq!(
            review(&EmptyFString, text, "f").unwrap(),
            "def f(x):\n    return \"a\" + R'b\\d' + f\"{x}\" + f\"{{}}\"\n"
        );
        assert_eq!(review(&EmptyFString, "def f(x):\n    return f'{x}'\n", "f"), None);
    }

    #[test]
    fn none_is_compared_by_identity() {
        let text = "def f(x):\n    return x == None or None!=x or 1 == x\n";
        assert_eq!(
            review(&NoneComparison, text, "f").unwrap(),
            "def f(x):\n    return x is None or None is not x or 1 == x\n"
        );
        assert_eq!(review(&NoneComparison, "def f(x):\n    return x == 1 == None\n", "f"), None);
        assert_eq!(review(&NoneComparison, "import numpy\ndef f(x):\n    return x == None\n", "f"), None);
    }

    #[test]
    fn parameters_are_not_assigned_to_themselves() {
        assert_eq!(
            review(&SelfAssignment, "def f(x):\n    x = x\n    return x\n", "f").unwrap(),
            "def f(x):\n    return x\n"
        );
        assert_eq!(review(&SelfAssignment, "def f(x):\n    y = x\n    return y\n", "f"), None);
        assert_eq!(review(&SelfAssignment, "def f(x):\n    if x:\n        x = x\n    return x\n", "f"), None);
    }
}
