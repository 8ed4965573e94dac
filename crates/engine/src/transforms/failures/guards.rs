//! Checks before a statement that needs a value that is not zero, not empty, or long enough.

use super::exception_names::{import_from, imported_as};
use super::messages::about_inputs;
use super::site::{FailureSite, callee, is_pure, path_in_message, quoted, robustness_rewrite, root_of};
use super::{Cause, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// Guards a division by a value that can be 0.
pub(in crate::transforms) struct DivideByZero;

impl Transform for DivideByZero {
    fn name(&self) -> &'static str {
        "divide-by-zero"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        let is_undefined = site.failed.message.contains("DivisionUndefined");
        if !matches!(site.exception(), "ZeroDivisionError" | "DivisionByZero") && !is_undefined {
            return Vec::new();
        }
        let divisors = divisors(&site);
        let mut found: Vec<SourceRewrite> = divisors
            .iter()
            .filter(|(_, always)| *always)
            .filter_map(|(divisor, _)| not_zero(&site, divisor))
            .collect();
        if found.is_empty() && !divisors.is_empty() && site.exception() == "ZeroDivisionError" {
            let why = "Raise an error that names the input for a division by zero.";
            found.extend(
                about_inputs(&site, "leads to a division by zero")
                    .and_then(|text| robustness_rewrite(site.translate(&text), why)),
            );
        }
        found
    }
}

fn divisors<'a>(site: &FailureSite<'a>) -> Vec<(&'a Expr, bool)> {
    let divides =
        |op: ast::Operator| matches!(op, ast::Operator::Div | ast::Operator::FloorDiv | ast::Operator::Mod);
    let assigned = match site.statement {
        Stmt::AugAssign(assign) if divides(assign.op) => Some((&*assign.value, true)),
        _ => None,
    };
    let parts = site.parts.iter().filter_map(|part| match part.expr {
        // With a string on the left, `%` formats.
        Expr::BinOp(operation) if divides(operation.op) && !operation.left.is_string_literal_expr() => {
            Some((&*operation.right, part.always))
        }
        Expr::Call(call) if matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "divmod") => {
            call.arguments.args.get(1).map(|divisor| (divisor, part.always))
        }
        _ => None,
    });
    assigned.into_iter().chain(parts).filter(|(divisor, _)| !divisor.is_number_literal_expr()).collect()
}

fn not_zero(site: &FailureSite<'_>, divisor: &Expr) -> Option<SourceRewrite> {
    if let Some(sequence) = length_of(divisor) {
        return not_empty(site, sequence);
    }
    if !is_pure(divisor) || (root_of(divisor).is_some() && !site.may_check(divisor)) {
        return None;
    }
    let text = site.source.of(divisor);
    let message = quoted(&format!("{} must not be 0", path_in_message(site.source, divisor)));
    let why = format!("Raise an error if `{text}` is 0, before dividing by it.");
    robustness_rewrite(Some(site.guard(&format!("{text} == 0"), &message)), why)
}

fn length_of(expr: &Expr) -> Option<&Expr> {
    let Expr::Call(call) = expr else { return None };
    let [argument] = &*call.arguments.args else { return None };
    let is_len = matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "len");
    (is_len && root_of(argument).is_some()).then_some(argument)
}

fn not_empty(site: &FailureSite<'_>, sequence: &Expr) -> Option<SourceRewrite> {
    if !site.may_check(sequence) {
        return None;
    }
    let text = site.source.of(sequence);
    let condition = match site.annotation(text) {
        // Arrays have no truth value, and iterators are always true.
        Some(annotation) if annotation.contains("ndarray") || annotation.contains("Series") => {
            format!("len({text}) == 0")
        }
        Some(annotation) if annotation.contains("Iter") || annotation.contains("Generator") => return None,
        None if uses_arrays(site.source) => format!("len({text}) == 0"),
        _ => format!("not {text}"),
    };
    let message = quoted(&format!("{} must not be empty", path_in_message(site.source, sequence)));
    let why = format!("Raise an error if `{text}` is empty, before it is used.");
    robustness_rewrite(Some(site.guard(&condition, &message)), why)
}

/// Whether values can be arrays, which have no truth value.
fn uses_arrays(source: &EditableSource) -> bool {
    ["numpy", "pandas", "torch"]
        .iter()
        .any(|module| imported_as(source, module).is_some() || import_from(source, module).is_some())
}

/// Guards access to an element of a sequence that can be empty or too short.
pub(in crate::transforms) struct EmptySequence;

impl Transform for EmptySequence {
    fn name(&self) -> &'static str {
        "empty-sequence"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        let mut found = Vec::new();
        for part in &site.parts {
            let Some((sequence, least)) = needed(&site, part.expr) else { continue };
            found.extend(match (part.always, least) {
                (true, 1) => not_empty(&site, sequence),
                (true, _) => long_enough(&site, sequence, least),
                _ => None,
            });
        }
        found.dedup_by(|second, first| second.text == first.text);
        found
    }
}

/// Sequence that an expression takes elements from, and the required length.
fn needed<'a>(site: &FailureSite<'a>, expr: &'a Expr) -> Option<(&'a Expr, u64)> {
    let (sequence, least) = match (expr, site.exception()) {
        (Expr::Subscript(item), "IndexError") => (&*item.value, elements_for(&item.slice)?),
        (Expr::Call(call), exception) => (needed_by_call(site, call, exception)?, 1),
        _ => return None,
    };
    root_of(sequence).map(|_| (sequence, least))
}

fn needed_by_call<'a>(site: &FailureSite<'a>, call: &'a ast::ExprCall, exception: &str) -> Option<&'a Expr> {
    let arguments = &call.arguments;
    if let Expr::Attribute(method) = &*call.func {
        let takes = match method.attr.as_str() {
            "pop" => exception == "IndexError" && arguments.args.iter().all(Expr::is_number_literal_expr),
            "popleft" => exception == "IndexError",
            "popitem" => exception == "KeyError",
            "choice" => return (exception == "IndexError").then(|| arguments.args.first()).flatten(),
            _ => false,
        };
        return takes.then_some(&*method.value);
    }
    let first = arguments.args.first()?;
    let is_single = arguments.args.len() == 1;
    match (callee(site.source, call)?, exception) {
        ("max" | "min", "ValueError") if is_single && arguments.find_keyword("default").is_none() => {
            Some(first)
        }
        ("next", "StopIteration") if is_single => match first {
            Expr::Call(inner) if callee(site.source, inner) == Some("iter") => inner.arguments.args.first(),
            _ => None,
        },
        ("choice", "IndexError") | ("mean" | "median" | "mode", "StatisticsError") => Some(first),
        _ => None,
    }
}

/// Required length for an index.
fn elements_for(index: &Expr) -> Option<u64> {
    match index {
        Expr::NumberLiteral(ast::ExprNumberLiteral { value: ast::Number::Int(number), .. }) => {
            Some(number.as_u64()? + 1)
        }
        Expr::UnaryOp(ast::ExprUnaryOp { op: ast::UnaryOp::USub, operand, .. }) => {
            Some(elements_for(operand)? - 1)
        }
        _ => None,
    }
}

fn long_enough(site: &FailureSite<'_>, sequence: &Expr, least: u64) -> Option<SourceRewrite> {
    if !site.may_check(sequence) {
        return None;
    }
    let text = site.source.of(sequence);
    let message =
        quoted(&format!("{} must have at least {least} items", path_in_message(site.source, sequence)));
    let why = format!("Raise an error if `{text}` has fewer than {least} items.");
    robustness_rewrite(Some(site.guard(&format!("len({text}) < {least}"), &message)), why)
}

/// Checks the number of parts of a split string.
pub(in crate::transforms) struct SplitPartCount;

impl Transform for SplitPartCount {
    fn name(&self) -> &'static str {
        "too-few-parts"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        let found = match site.exception() {
            "IndexError" => indexed_parts(&site),
            "ValueError" if site.failed.message.contains("to unpack") => unpacked_parts(&site),
            _ => None,
        };
        found.into_iter().collect()
    }
}

fn split_text(expr: &Expr) -> Option<&Expr> {
    let Expr::Call(call) = expr else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    let splits = matches!(method.attr.as_str(), "split" | "rsplit" | "splitlines");
    (splits && root_of(&method.value).is_some()).then_some(&*method.value)
}

fn indexed_parts(site: &FailureSite<'_>) -> Option<SourceRewrite> {
    let mut found = site.parts.iter().filter_map(|part| match part.expr {
        Expr::Subscript(item) => {
            Some((&*item.value, split_text(&item.value)?, elements_for(&item.slice)?, part.always))
        }
        _ => None,
    });
    let (split, text, least, always) = found.find(|(_, _, least, _)| *least > 1)?;
    let name = path_in_message(site.source, text);
    let message = format!("f\"{name} has too few parts: {{{}!r}}\"", site.source.of(text));
    let why = format!("Raise an error if `{name}` has fewer than {least} parts.");
    if !always || !site.may_check(text) {
        return robustness_rewrite(site.translate(&message), why);
    }
    let parts = site.free_name(&["parts", "pieces", "split_parts"])?;
    let lines = [
        format!("{parts} = {}", site.source.of(split)),
        format!("if len({parts}) < {least}:"),
        format!("    {}", site.refusal("ValueError", &message)),
    ];
    robustness_rewrite(Some(site.source.edit().before(site.statement, &lines).replace(split, parts)), why)
}

fn unpacked_parts(site: &FailureSite<'_>) -> Option<SourceRewrite> {
    let Stmt::Assign(assign) = site.statement else { return None };
    let text = split_text(&assign.value)?;
    let [Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. })] =
        &*assign.targets
    else {
        return None;
    };
    let parts = site.free_name(&["parts", "pieces", "split_parts"])?;
    let name = path_in_message(site.source, text);
    let has_rest = elts.iter().any(Expr::is_starred_expr);
    let (condition, count) = if has_rest {
        (format!("len({parts}) < {}", elts.len() - 1), format!("at least {}", elts.len() - 1))
    } else {
        (format!("len({parts}) != {}", elts.len()), elts.len().to_string())
    };
    let message = format!("f\"{name} must have {count} parts: {{{}!r}}\"", site.source.of(text));
    let lines = [
        format!("{parts} = {}", site.source.of(&*assign.value)),
        format!("if {condition}:"),
        format!("    {}", site.refusal("ValueError", &message)),
    ];
    let why = format!("Raise an error if `{name}` does not have {count} parts.");
    robustness_rewrite(
        Some(site.source.edit().before(site.statement, &lines).replace(assign.value.range(), parts)),
        why,
    )
}

#[cfg(test)]
mod tests {
    use super::super::site::testing::{crash, rewritten};
    use super::*;

    #[test]
    fn divisors_are_checked() {
        let text = "def mean(prices):\n    \"\"\"Mean.\"\"\"\n    return sum(prices) / len(prices)\n";
        let found = rewritten(&DivideByZero, text, crash(3, "ZeroDivisionError", "division by zero"));
        let expected = "def mean(prices):\n    \"\"\"Mean.\"\"\"\n    if not prices:\n        raise ValueError(\"prices must not be empty\")\n    return sum(prices) / len(prices)\n";
        assert_eq!(found, [expected]);
        let text = "def page(index, per_page):\n    return index // per_page + 1\n";
        let found = rewritten(&DivideByZero, text, crash(2, "ZeroDivisionError", ""));
        let expected = "def page(index, per_page):\n    if per_page == 0:\n        raise ValueError(\"per_page must not be 0\")\n    return index // per_page + 1\n";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn conditional_divisions_are_not_checked_in_advance() {
        let text = "def f(a, b, c):\n    return a / b if c else 0\n";
        let found = rewritten(&DivideByZero, text, crash(2, "ZeroDivisionError", ""));
        let expected = "def f(a, b, c):\n    try:\n        return a / b if c else 0\n    except ZeroDivisionError as error:\n        raise ValueError(\"a, b or c leads to a division by zero\") from error\n";
        assert_eq!(found, [expected]);
        assert!(rewritten(&DivideByZero, text, crash(2, "TypeError", "")).is_empty());
    }

    #[test]
    fn sequence_lengths_are_checked() {
        let text = "def longest(words):\n    return max(words, key=len)\n";
        let found = rewritten(&EmptySequence, text, crash(2, "ValueError", "max() arg is an empty sequence"));
        let expected = "def longest(words):\n    if not words:\n        raise ValueError(\"words must not be empty\")\n    return max(words, key=len)\n";
        assert_eq!(found, [expected]);
        let text = "def third(words):\n    return words[2]\n";
        let found = rewritten(&EmptySequence, text, crash(2, "IndexError", ""));
        let expected = "def third(words):\n    if len(words) < 3:\n        raise ValueError(\"words must have at least 3 items\")\n    return words[2]\n";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn sequences_that_concurrent_calls_change_are_not_checked() {
        let text = "class Seats:\n    def book(self):\n        return self.free.pop()\n";
        let mut failed = crash(3, "IndexError", "pop from empty list");
        assert_eq!(rewritten(&EmptySequence, text, failed.clone()).len(), 1);
        failed.scenario = "concurrency_spike".to_owned();
        assert!(rewritten(&EmptySequence, text, failed).is_empty());
        assert!(
            rewritten(
                &EmptySequence,
                "def f():\n    made = g()\n    return made[0]\n",
                crash(3, "IndexError", "")
            )
            .is_empty()
        );
    }

    #[test]
    fn parts_are_counted() {
        let text = "def surname(full_name):\n    return full_name.split(\" \")[1]\n";
        let found = rewritten(&SplitPartCount, text, crash(2, "IndexError", "list index out of range"));
        let expected = "def surname(full_name):\n    parts = full_name.split(\" \")\n    if len(parts) < 2:\n        raise ValueError(f\"full_name has too few parts: {full_name!r}\")\n    return parts[1]\n";
        assert_eq!(found, [expected]);
        let text = "def pair(line):\n    key, value = line.split(\"=\")\n    return key, value\n";
        let found = rewritten(
            &SplitPartCount,
            text,
            crash(2, "ValueError", "not enough values to unpack (expected 2, got 1)"),
        );
        let expected = "def pair(line):\n    parts = line.split(\"=\")\n    if len(parts) != 2:\n        raise ValueError(f\"line must have 2 parts: {line!r}\")\n    key, value = parts\n    return key, value\n";
        assert_eq!(found, [expected]);
        assert!(rewritten(&SplitPartCount, text, crash(2, "AttributeError", "")).is_empty());
    }
}
