//! Minor lint findings.

use super::scope::{TransformScope, assigned, fills_lines, lines, name_of, single_rewrite};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Ranged, TextRange, ast};

/// Removes the prefix of an f-string without placeholders.
#[derive(Debug)]
pub(in crate::transforms) struct EmptyFString;

impl Transform for EmptyFString {
    fn name(&self) -> &'static str {
        "empty-f-string"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
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
        single_rewrite(
            edits.finish(),
            "Remove the f prefix from a string without placeholders.",
            ProposalGain::Findings,
        )
    }
}

/// Replaces `== None`, which calls `__eq__` of the object, by `is None`.
#[derive(Debug)]
pub(in crate::transforms) struct NoneComparison;

impl Transform for NoneComparison {
    fn name(&self) -> &'static str {
        "none-comparison"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        // Objects of these libraries overload the comparison.
        let overloading = ["numpy", "pandas", "polars", "sqlalchemy", "peewee", "pony", "__eq__"];
        if overloading.iter().any(|word| source.text().contains(word)) {
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
            // A comparison with a literal or display is deliberate.
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
        single_rewrite(edits.finish(), "Compare with None by identity.", ProposalGain::Findings)
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

/// Removes the assignment of a parameter to itself.
#[derive(Debug)]
pub(in crate::transforms) struct SelfAssignment;

impl Transform for SelfAssignment {
    fn name(&self) -> &'static str {
        "self-assignment"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        if scene.function.is_none() {
            return Vec::new();
        }
        let mut edits = source.edit();
        for block in scene.parts().blocks {
            for statement in block {
                let Some((name, value)) = assigned(statement) else { continue };
                // A name that is not a parameter may be unbound, and then the assignment raises.
                let does_nothing = name_of(value) == Some(name) && scene.is_parameter(name);
                let can_go = statement.is_assign_stmt() && block.len() > 1 && fills_lines(source, statement);
                if does_nothing && can_go {
                    edits = edits.replace(lines(source, statement), "");
                }
            }
        }
        single_rewrite(
            edits.finish(),
            "Remove the assignment of a parameter to itself.",
            ProposalGain::Findings,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::review;
    use super::*;

    #[test]
    fn f_strings_without_placeholders_lose_their_prefix() {
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
    fn self_assignments_of_parameters_are_removed() {
        assert_eq!(
            review(&SelfAssignment, "def f(x):\n    x = x\n    return x\n", "f").unwrap(),
            "def f(x):\n    return x\n"
        );
        assert_eq!(review(&SelfAssignment, "def f(x):\n    y = x\n    return y\n", "f"), None);
        assert_eq!(review(&SelfAssignment, "def f(x):\n    if x:\n        x = x\n    return x\n", "f"), None);
    }
}
