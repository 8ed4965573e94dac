//! Numbers outside the domain of a calculation: negative, infinite, NaN or too large.

use super::exception_names::{import_from, imported_as};
use super::messages::about_inputs;
use super::site::{FailureSite, callee, is_pure, quoted, robustness_rewrite, statements};
use super::{Cause, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Stmt, ast};

/// Checks an argument against the domain of a `math` function.
pub(in crate::transforms) struct MathDomain;

impl Transform for MathDomain {
    fn name(&self) -> &'static str {
        "math-domain"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        if site.exception() != "ValueError" {
            return Vec::new();
        }
        let mut found: Vec<SourceRewrite> =
            site.calls().filter_map(|(call, always)| in_domain(&site, call, always)).collect();
        found.dedup_by(|second, first| second.text == first.text);
        found
    }
}

/// Name of the `math` function that is called, if any.
fn of_math<'a>(source: &'a EditableSource, call: &ast::ExprCall) -> Option<&'a str> {
    let name = callee(source, call)?;
    let local = imported_as(source, "math").unwrap_or("math");
    let qualified = name.strip_prefix(local).and_then(|rest| rest.strip_prefix('.'));
    let is_imported = || {
        import_from(source, "math")
            .is_some_and(|import| import.names.iter().any(|alias| alias.name.as_str() == name))
    };
    qualified.or_else(|| is_imported().then_some(name))
}

fn in_domain(site: &FailureSite<'_>, call: &ast::ExprCall, always: bool) -> Option<SourceRewrite> {
    let function = of_math(site.source, call)?;
    let argument = call.arguments.args.first().filter(|argument| is_pure(argument) && always)?;
    let text = site.source.of(argument);
    // NaN fails every comparison and math functions return it unchanged, so it passes each of these checks.
    let (condition, wrong) = match function {
        "sqrt" | "isqrt" | "factorial" => (format!("{text} < 0"), "must not be negative"),
        "log" | "log2" | "log10" => (format!("{text} <= 0"), "must be greater than 0"),
        "log1p" => (format!("{text} <= -1"), "must be greater than -1"),
        "asin" | "acos" => (format!("{text} < -1 or {text} > 1"), "must be between -1 and 1"),
        "atanh" => (format!("{text} <= -1 or {text} >= 1"), "must be between -1 and 1"),
        "acosh" => (format!("{text} < 1"), "must be at least 1"),
        "sin" | "cos" | "tan" => (format!("math.isinf({text})"), "must be finite"),
        _ => return None,
    };
    let edits = site.guard(&condition, &quoted(&format!("{text} {wrong}")));
    let edits = if condition.starts_with("math.") { edits.import("math") } else { edits };
    robustness_rewrite(Some(edits), format!("Validate the argument of `{function}`: `{text}` {wrong}."))
}

/// Checks a float that can be NaN or infinite before its conversion to an integer or to JSON.
pub(in crate::transforms) struct NonFiniteFloat;

impl Transform for NonFiniteFloat {
    fn name(&self) -> &'static str {
        "not-finite"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        let message = &site.failed.message;
        let is_json = message.contains("not JSON compliant");
        let is_number = message.contains("cannot convert float") || message.contains("cannot convert NaN");
        if !is_json && !is_number {
            return Vec::new();
        }
        let mut found: Vec<SourceRewrite> = finite_parameters(&site);
        found.extend(finite_element(&site));
        found.extend(finite_list(&site));
        if !is_json {
            let text = about_inputs(&site, "must be finite");
            let both = |text: &String| site.translate_as(&["ValueError", "OverflowError"], |_| text.clone());
            let why = "Raise an error that names the input for a number that is not finite.";
            found.extend(robustness_rewrite(text.as_ref().and_then(both), why));
        }
        found
    }
}

/// Checks of float parameters that every execution of the statement converts.
fn finite_parameters(site: &FailureSite<'_>) -> Vec<SourceRewrite> {
    let is_used = |name: &str| {
        let uses = |part: &&super::evaluated_exprs::EvaluatedExpr<'_>| matches!(part.expr, Expr::Name(found) if found.id.as_str() == name);
        site.parts.iter().filter(|part| part.always).any(|part| uses(&part))
    };
    let names =
        site.parameters().into_iter().filter(|name| site.annotation(name) == Some("float") && is_used(name));
    names
        .filter_map(|name| {
            let is_bounded = bounded(site, name);
            let check =
                if is_bounded { format!("math.isnan({name})") } else { format!("not math.isfinite({name})") };
            let wrong = if is_bounded { "must be a number, not NaN" } else { "must be finite" };
            let edits = site.guard(&check, &quoted(&format!("{name} {wrong}"))).import("math");
            robustness_rewrite(Some(edits), format!("Validate `{name}`: it {wrong}."))
        })
        .collect()
}

/// Whether `min` or `max` bounds the value, so that only NaN is left to check.
fn bounded(site: &FailureSite<'_>, name: &str) -> bool {
    site.calls().any(|(call, _)| {
        matches!(callee(site.source, call), Some("min" | "max"))
            && call
                .arguments
                .args
                .iter()
                .any(|argument| matches!(argument, Expr::Name(found) if found.id.as_str() == name))
    })
}

/// Check of the element in a loop over a parameter.
fn finite_element(site: &FailureSite<'_>) -> Option<SourceRewrite> {
    let loops = statements(&site.function.node.body);
    let (element, list) = loops.into_iter().rev().find_map(|statement| match statement {
        Stmt::For(each) if site.source.is_in(site.failed.line, each) => {
            let (Expr::Name(element), Expr::Name(list)) = (&*each.target, &*each.iter) else { return None };
            Some((element.id.as_str(), list.id.as_str()))
        }
        _ => None,
    })?;
    let is_float = site.annotation(list).is_some_and(|annotation| annotation.contains("float"));
    let is_used = site
        .parts
        .iter()
        .any(|part| part.always && matches!(part.expr, Expr::Name(name) if name.id.as_str() == element));
    if !is_float || !is_used {
        return None;
    }
    let edits = site
        .guard(&format!("not math.isfinite({element})"), &quoted(&format!("{list} must be finite")))
        .import("math");
    robustness_rewrite(Some(edits), format!("Validate `{list}`: every element must be finite."))
}

/// Check of all elements of a parameter that a comprehension iterates over.
fn finite_list(site: &FailureSite<'_>) -> Option<SourceRewrite> {
    let (element, list) = site.parts.iter().filter(|part| part.always).find_map(|part| {
        let generators = match part.expr {
            Expr::ListComp(list) => &list.generators,
            Expr::SetComp(set) => &set.generators,
            Expr::Generator(generator) => &generator.generators,
            _ => return None,
        };
        let [only] = &**generators else { return None };
        let (Expr::Name(element), Expr::Name(list)) = (&only.target, &only.iter) else { return None };
        only.ifs.is_empty().then(|| (element.id.as_str(), list.id.as_str()))
    })?;
    if !site.annotation(list).is_some_and(|annotation| annotation.contains("float")) {
        return None;
    }
    let check = format!("any(not math.isfinite({element}) for {element} in {list})");
    let edits = site.guard(&check, &quoted(&format!("{list} must be finite"))).import("math");
    robustness_rewrite(Some(edits), format!("Validate `{list}`: every element must be finite."))
}

/// Replaces the `OverflowError` of a number that is too large.
pub(in crate::transforms) struct NumberOverflow;

impl Transform for NumberOverflow {
    fn name(&self) -> &'static str {
        "out-of-range"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        if site.exception() != "OverflowError" {
            return Vec::new();
        }
        let why = "Raise an error that names the input when the calculation overflows.";
        let wrong = match site.inputs().as_slice() {
            [only]
                if site
                    .annotation(only)
                    .is_some_and(|annotation| annotation.to_lowercase().starts_with("list[")) =>
            {
                "has a value that is out of range"
            }
            _ => "is out of range",
        };
        about_inputs(&site, wrong)
            .and_then(|text| robustness_rewrite(site.translate(&text), why))
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::site::testing::{crash, rewritten};
    use super::*;

    #[test]
    fn arguments_of_math_are_checked() {
        let text = "import math\ndef spread(variance):\n    return math.sqrt(variance)\n";
        let found = rewritten(&MathDomain, text, crash(3, "ValueError", "math domain error"));
        let expected = "import math\ndef spread(variance):\n    if variance < 0:\n        raise ValueError(\"variance must not be negative\")\n    return math.sqrt(variance)\n";
        assert_eq!(found, [expected]);
        let text = "import math\ndef east(angle):\n    return (math.sin(angle), math.cos(angle))\n";
        let found = rewritten(&MathDomain, text, crash(3, "ValueError", "math domain error"));
        let expected = "import math\ndef east(angle):\n    if math.isinf(angle):\n        raise ValueError(\"angle must be finite\")\n    return (math.sin(angle), math.cos(angle))\n";
        assert_eq!(found, [expected]);
        assert!(
            rewritten(&MathDomain, "def f(x):\n    return int(x)\n", crash(2, "ValueError", "")).is_empty()
        );
    }

    #[test]
    fn floats_that_are_not_finite_are_rejected() {
        let text = "import math\nclass Bad(Exception):\n    pass\ndef cents(price: float):\n    if price < 0:\n        raise Bad(\"no\")\n    return round(price * 100)\n";
        let found =
            rewritten(&NonFiniteFloat, text, crash(7, "ValueError", "cannot convert float NaN to integer"));
        let expected = text.replace(
            "    return",
            "    if not math.isfinite(price):\n        raise Bad(\"price must be finite\")\n    return",
        );
        assert_eq!(found[0], expected);
        let text = "def bar(ratio: float):\n    return int(min(ratio, 1.0))\n";
        let found =
            rewritten(&NonFiniteFloat, text, crash(2, "ValueError", "cannot convert float NaN to integer"));
        let expected = "import math\n\ndef bar(ratio: float):\n    if math.isnan(ratio):\n        raise ValueError(\"ratio must be a number, not NaN\")\n    return int(min(ratio, 1.0))\n";
        assert_eq!(found[0], expected);
        assert!(
            rewritten(&NonFiniteFloat, text, crash(2, "ValueError", "invalid literal for int()")).is_empty()
        );
    }

    #[test]
    fn elements_that_are_not_finite_are_rejected() {
        let text =
            "import math\ndef f(samples: list[float]):\n    return [int(sample) for sample in samples]\n";
        let found =
            rewritten(&NonFiniteFloat, text, crash(3, "ValueError", "cannot convert float NaN to integer"));
        let expected = "import math\ndef f(samples: list[float]):\n    if any(not math.isfinite(sample) for sample in samples):\n        raise ValueError(\"samples must be finite\")\n    return [int(sample) for sample in samples]\n";
        assert_eq!(found[0], expected);
        let text = "import math\ndef f(samples: list[float]):\n    for sample in samples:\n        print(int(sample))\n";
        let found =
            rewritten(&NonFiniteFloat, text, crash(4, "ValueError", "cannot convert float NaN to integer"));
        let expected = "import math\ndef f(samples: list[float]):\n    for sample in samples:\n        if not math.isfinite(sample):\n            raise ValueError(\"samples must be finite\")\n        print(int(sample))\n";
        assert_eq!(found[0], expected);
    }

    #[test]
    fn overflows_are_rejected() {
        let text = "import math\ndef delay(attempt):\n    return math.pow(2.0, attempt)\n";
        let found = rewritten(&NumberOverflow, text, crash(3, "OverflowError", "math range error"));
        let expected = "import math\ndef delay(attempt):\n    try:\n        return math.pow(2.0, attempt)\n    except OverflowError as error:\n        raise ValueError(\"attempt is out of range\") from error\n";
        assert_eq!(found, [expected]);
        assert!(rewritten(&NumberOverflow, text, crash(3, "ValueError", "")).is_empty());
    }
}
