//! Arguments that contradict their annotations.

use super::annotation::{AcceptedValues, allowed};
use super::messages::join_names;
use super::site::{is_alone, parameters, robustness_rewrite};
use super::{Cause, SourceRewrite, Transform};
use crate::editable_source::{EditableSource, PythonFunction};
use crate::syntax::{Expr, Ranged};

/// Validates an argument whose wrong type or value is detected too late, or never.
pub(in crate::transforms) struct ValidateArgument;

impl Transform for ValidateArgument {
    fn name(&self) -> &'static str {
        "validate-argument"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Cause::Failure(failed) = cause else { return Vec::new() };
        if failed.scenario != "user_misuse" || !matches!(failed.kind.as_str(), "crash" | "timeout") {
            return Vec::new();
        }
        let Some(function) = source.function(&failed.section) else { return Vec::new() };
        let checked = checks(source, function);
        let offends = |(name, allowed): &(&str, AcceptedValues)| {
            failed.arguments.iter().any(|(given, value)| given == name && allowed.contradicts(source, value))
        };
        let offending: Vec<&(&str, AcceptedValues)> = checked.iter().filter(|check| offends(check)).collect();
        let mut found: Vec<SourceRewrite> =
            offending.iter().filter_map(|check| with_checks(source, function, &[*check])).collect();
        if !found.is_empty() && checked.len() > 1 {
            found.extend(with_checks(source, function, &checked.iter().collect::<Vec<_>>()));
        }
        found
    }
}

/// Parameters whose annotation can be checked.
fn checks<'a>(source: &'a EditableSource, function: PythonFunction<'a>) -> Vec<(&'a str, AcceptedValues)> {
    let body = source.of(function.node);
    parameters(function)
        .into_iter()
        .filter_map(|parameter| {
            let name = parameter.parameter.name.as_str();
            let mut allowed = allowed(source, parameter.parameter.annotation.as_deref()?)?;
            allowed.none |= matches!(parameter.default(), Some(Expr::NoneLiteral(_)));
            // A function that tests for bytes itself accepts only bytes.
            if body.contains(&format!("isinstance({name}, bytes)")) {
                allowed.classes.retain(|class| !matches!(class.as_str(), "bytearray" | "memoryview"));
            }
            Some((name, allowed))
        })
        .collect()
}

fn with_checks(
    source: &EditableSource,
    function: PythonFunction<'_>,
    checks: &[&(&str, AcceptedValues)],
) -> Option<SourceRewrite> {
    let first = source.after_docstring(function.node).first().filter(|first| is_alone(source, first))?;
    if source.line(function.node.name.start()) == source.line(first.start()) {
        return None;
    }
    let lines: Vec<String> = checks.iter().flat_map(|(name, allowed)| check(name, allowed)).collect();
    let names: Vec<String> = checks.iter().map(|(name, _)| format!("`{name}`")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let why = format!("Validate {} at the start of the function.", join_names(&names, "and"));
    robustness_rewrite(Some(source.edit().before(first, &lines)), why)
}

fn check(name: &str, allowed: &AcceptedValues) -> [String; 2] {
    let unless_none = if allowed.none { format!("{name} is not None and ") } else { String::new() };
    if !allowed.values.is_empty() {
        let comma = if allowed.values.len() == 1 { "," } else { "" };
        let values = format!("({}{comma})", allowed.values.join(", "));
        return [
            format!("if {unless_none}{name} not in {values}:"),
            format!("    raise ValueError(f\"unknown {name}: {{{name}!r}}\")"),
        ];
    }
    let classes = match allowed.classes.as_slice() {
        [one] => one.clone(),
        several => format!("({})", several.join(", ")),
    };
    let mut nouns: Vec<&str> = allowed.nouns.iter().map(String::as_str).collect();
    if allowed.none {
        nouns.push("None");
    }
    [
        format!("if {unless_none}not isinstance({name}, {classes}):"),
        format!(
            "    raise TypeError(f\"{name} must be {}, not {{type({name}).__name__}}\")",
            join_names(&nouns, "or")
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::SectionFailure;
    use super::super::site::testing::{crash, rewritten};
    use super::*;

    const POST: &str = "class Ledger:\n    def post(self, account: str, amount: float) -> float:\n        \"\"\"Adds.\"\"\"\n        self.total += amount\n        return self.total\n";

    fn misuse(section: &str, name: &str, value: &str) -> SectionFailure {
        let arguments = vec![(name.to_owned(), value.to_owned())];
        SectionFailure {
            section: section.to_owned(),
            scenario: "user_misuse".to_owned(),
            arguments,
            ..crash(4, "TypeError", "")
        }
    }

    #[test]
    fn the_wrong_argument_is_validated_first_and_then_all() {
        let found = rewritten(&ValidateArgument, POST, misuse("Ledger.post", "amount", "'much'"));
        let amount = "        if not isinstance(amount, (int, float)):\n            raise TypeError(f\"amount must be a number, not {type(amount).__name__}\")\n";
        let account = "        if not isinstance(account, str):\n            raise TypeError(f\"account must be a string, not {type(account).__name__}\")\n";
        let line = "        self.total +=";
        assert_eq!(
            found,
            [
                POST.replace(line, &format!("{amount}{line}")),
                POST.replace(line, &format!("{account}{amount}{line}"))
            ]
        );
    }

    #[test]
    fn none_and_literals_are_validated_as_declared() {
        let text = "def f(a: Optional[int] = None, b: Literal[\"x\", \"y\"] = \"x\"):\n    return g(a, b)\n";
        let found = rewritten(&ValidateArgument, text, misuse("f", "a", "'1'"));
        let expected = "    if a is not None and not isinstance(a, int):\n        raise TypeError(f\"a must be an integer or None, not {type(a).__name__}\")\n    return";
        assert_eq!(found[0], text.replace("    return", expected));
        let found = rewritten(&ValidateArgument, text, misuse("f", "b", "'z'"));
        let expected =
            "    if b not in (\"x\", \"y\"):\n        raise ValueError(f\"unknown b: {b!r}\")\n    return";
        assert_eq!(found[0], text.replace("    return", expected));
    }

    #[test]
    fn valid_arguments_and_other_scenarios_are_ignored() {
        assert!(rewritten(&ValidateArgument, POST, misuse("Ledger.post", "amount", "3")).is_empty());
        let mut failed = misuse("Ledger.post", "amount", "'much'");
        failed.scenario = "normal".to_owned();
        assert!(rewritten(&ValidateArgument, POST, failed).is_empty());
        assert!(
            rewritten(&ValidateArgument, "def f(a: int): return a + 1\n", misuse("f", "a", "'1'")).is_empty()
        );
    }
}
