//! Messages of inserted errors: the parameter, and its value where formatting it is safe.

use super::site::{FailureSite, quoted};

/// Types whose values can always be formatted. An integer can have too many digits for that, and a list can be nested too
/// deeply.
const FORMATTABLE: &[&str] =
    &["str", "bytes", "float", "bool", "Decimal", "datetime", "date", "time", "timedelta", "Path", "UUID"];

/// Joins names to an enumeration, such as `a, b or c`.
pub(in crate::transforms) fn join_names(names: &[&str], word: &str) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

/// Message with the inputs of the failing statement and the problem, as a Python string: `"name is invalid"`. `None` if the
/// function has no inputs.
pub(in crate::transforms) fn about_inputs(site: &FailureSite<'_>, wrong: &str) -> Option<String> {
    let names = site.inputs();
    (!names.is_empty()).then(|| quoted(&format!("{} {wrong}", join_names(&names, "or"))))
}

/// Like `about_inputs`, with the values if they can be formatted.
pub(in crate::transforms) fn about_values(site: &FailureSite<'_>, wrong: &str) -> Option<String> {
    let names = site.inputs();
    let is_formattable =
        |name: &&str| site.annotation(name).is_some_and(|annotation| FORMATTABLE.contains(&annotation));
    if names.is_empty() || !names.iter().all(is_formattable) {
        return about_inputs(site, wrong);
    }
    let values: Vec<String> = names.iter().map(|name| format!("{{{name}!r}}")).collect();
    Some(format!("f\"{} {wrong}: {}\"", join_names(&names, "or"), values.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::Cause;
    use super::super::site::testing::crash;
    use super::*;
    use crate::editable_source::EditableSource;

    fn both(text: &str) -> (Option<String>, Option<String>) {
        let source = EditableSource::parse(text).unwrap();
        let cause = Cause::Failure(crash(2, "ValueError", ""));
        let site = FailureSite::of(&source, &cause).unwrap();
        (about_inputs(&site, "is bad"), about_values(&site, "is bad"))
    }

    #[test]
    fn values_are_shown_if_formatting_cannot_fail() {
        let (plain, value) = both("def f(a: str, b: float, c: int):\n    return g(a, b)\n");
        assert_eq!(plain.unwrap(), "\"a or b is bad\"");
        assert_eq!(value.unwrap(), "f\"a or b is bad: {a!r}, {b!r}\"");
        assert_eq!(both("def f(a: int):\n    return g(a)\n").1.unwrap(), "\"a is bad\"");
        assert_eq!(both("def f():\n    return g()\n"), (None, None));
    }
}
