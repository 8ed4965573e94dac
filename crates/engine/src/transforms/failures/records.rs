//! Records of another schema version: fields that are missing, new, or of another type.

use super::messages::join_names;
use super::site::{FailureSite, quoted, robustness_rewrite, root_of};
use super::{Cause, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, ast};

/// Checks for a field that a record does not have.
pub(in crate::transforms) struct MissingKey;

impl Transform for MissingKey {
    fn name(&self) -> &'static str {
        "missing-key"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        if site.exception() != "KeyError" || site.is_concurrent() {
            return Vec::new();
        }
        let keys = subscripts(&site);
        let mut found: Vec<SourceRewrite> = single_key(&site, &keys).into_iter().collect();
        if !keys.is_empty() || source.of(site.statement).contains("itemgetter(") {
            found.extend(without_field(&site, &keys));
            found.extend(another_shape(&site, &["KeyError", "TypeError"]));
        }
        found
    }
}

fn subscripts<'a>(site: &FailureSite<'a>) -> Vec<(&'a ast::ExprSubscript, bool)> {
    let is_read =
        |item: &ast::ExprSubscript| item.ctx == ast::ExprContext::Load && !item.slice.is_slice_expr();
    let parts = site.parts.iter().filter_map(|part| match part.expr {
        Expr::Subscript(item) if is_read(item) => Some((item, part.always)),
        _ => None,
    });
    parts.collect()
}

/// Checks for the field of `address["city"]` in advance, if it is the only subscript.
fn single_key(site: &FailureSite<'_>, keys: &[(&ast::ExprSubscript, bool)]) -> Option<SourceRewrite> {
    let [(item, true)] = keys else { return None };
    let (Expr::Name(record), Expr::StringLiteral(key)) = (&*item.value, &*item.slice) else { return None };
    let name = record.id.as_str();
    // Other mappings, such as defaultdict, may create the value on access.
    let is_plain = site.annotation(name).is_some_and(|annotation| {
        annotation.starts_with("dict")
            || annotation.starts_with("Dict")
            || super::exception_names::class_of(site.source, annotation).is_some()
    });
    let is_word = key.value.to_str().chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    if !is_plain || !is_word || !site.parameters().contains(&name) {
        return None;
    }
    let key = key.value.to_str();
    let edits = site
        .guard(&format!("{} not in {name}", quoted(key)), &quoted(&format!("{name} has no field '{key}'")));
    robustness_rewrite(
        Some(edits),
        format!("Raise an error that names the field if `{name}` has no `{key}`."),
    )
}

fn without_field(site: &FailureSite<'_>, keys: &[(&ast::ExprSubscript, bool)]) -> Option<SourceRewrite> {
    let names = site.inputs();
    let parameters = site.parameters();
    let looked_up = keys.iter().find(|(item, _)| {
        root_of(&item.value).is_some_and(|table| {
            !parameters.contains(&table) && table.chars().all(|letter| !letter.is_lowercase())
        })
    });
    let (subject, direct) = match looked_up {
        Some((item, _)) => (names.clone(), root_of(&item.slice).filter(|name| parameters.contains(name))),
        None => (names.clone(), None),
    };
    if subject.is_empty() {
        return None;
    }
    let all = join_names(&subject, "or");
    let is_list = |name: &&str| {
        site.annotation(name).is_some_and(|annotation| annotation.to_lowercase().starts_with("list["))
    };
    let message = |error: &str| match (direct, looked_up) {
        (Some(name), _) => format!("f\"unknown {name}: {{{name}!r}}\""),
        (None, Some(_)) => format!("f\"{all} has a missing or unknown field: {{{error}}}\""),
        _ if subject.iter().all(is_list) => format!("f\"an entry of {all} has no field {{{error}}}\""),
        _ => format!("f\"{all} has no field {{{error}}}\""),
    };
    let why = format!("Raise an error that names the missing field or key of `{all}`.");
    robustness_rewrite(site.translate_as(&["KeyError"], message), why)
}

/// Handles all exceptions that a record of another version can raise at the statement.
fn another_shape(site: &FailureSite<'_>, exceptions: &[&str]) -> Option<SourceRewrite> {
    let names = site.inputs();
    if names.is_empty() || site.failed.scenario != "schema_drift" {
        return None;
    }
    let all = join_names(&names, "or");
    let message = |error: &str| format!("f\"{all} does not have the expected fields: {{{error}}}\"");
    robustness_rewrite(
        site.translate_as(exceptions, message),
        format!("Raise an error if `{all}` does not have the expected fields."),
    )
}

/// Replaces the error of a field with another type, or of too many or too few fields.
pub(in crate::transforms) struct WrongFieldType;

impl Transform for WrongFieldType {
    fn name(&self) -> &'static str {
        "wrong-type-of-field"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        let is_unpacking =
            site.failed.message.contains("to unpack") || site.failed.message.contains("update sequence");
        let wrong = match site.exception() {
            "TypeError" if has_spread(&site) => "has missing or unknown fields",
            "TypeError" | "AttributeError" => "has a field of the wrong type",
            "ValueError" if is_unpacking => "has too few or too many fields",
            _ => return Vec::new(),
        };
        // Only schema drift gives a record of the right type with fields of a wrong type; unpacking can fail in any
        // scenario.
        let is_drift = site.failed.scenario == "schema_drift";
        if !is_drift && !is_unpacking || site.failed.scenario == "user_misuse" || site.is_concurrent() {
            return Vec::new();
        }
        let names = site.inputs();
        let all = join_names(&names, "or");
        let is_plain = |name: &&str| {
            site.annotation(name)
                .is_some_and(|annotation| annotation.starts_with("dict[") || annotation.starts_with("list["))
        };
        let wrong = if names.iter().all(is_plain) {
            wrong.replace("a field of", "a value of")
        } else {
            wrong.to_owned()
        };
        let message = quoted(&format!("{all} {wrong}"));
        let why = format!("Raise an error if `{all}` {wrong}.");
        let narrow = (!names.is_empty()).then(|| robustness_rewrite(site.translate(&message), why)).flatten();
        let wide = another_shape(&site, &["AttributeError", "TypeError"])
            .filter(|_| site.exception() != "ValueError");
        narrow.into_iter().chain(wide).collect()
    }
}

/// Whether a call unpacks a record with `**`.
fn has_spread(site: &FailureSite<'_>) -> bool {
    site.calls().any(|(call, _)| call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none()))
}

#[cfg(test)]
mod tests {
    use super::super::SectionFailure;
    use super::super::site::testing::{crash, rewritten};
    use super::*;

    #[test]
    fn a_single_field_is_checked_in_advance() {
        let text = "def town(address: dict[str, str]) -> str:\n    return address[\"city\"]\n";
        let found = rewritten(&MissingKey, text, crash(2, "KeyError", "'city'"));
        let expected = "def town(address: dict[str, str]) -> str:\n    if \"city\" not in address:\n        raise ValueError(\"address has no field 'city'\")\n    return address[\"city\"]\n";
        assert_eq!(found[0], expected);
    }

    #[test]
    fn missing_fields_are_named_by_the_error() {
        let text = "def label(address):\n    return f\"{address['name']}, {address['city']}\"\n";
        let found = rewritten(&MissingKey, text, crash(2, "KeyError", "'city'"));
        let expected = "def label(address):\n    try:\n        return f\"{address['name']}, {address['city']}\"\n    except KeyError as error:\n        raise ValueError(f\"address has no field {error}\") from error\n";
        assert_eq!(found, [expected]);
        let text = "def nicks(players: list[dict]):\n    return [player[\"nick\"] for player in players]\n";
        let found = rewritten(&MissingKey, text, crash(2, "KeyError", "'nick'"));
        assert!(
            found[0].contains("raise ValueError(f\"an entry of players has no field {error}\") from error")
        );
        let text = "TABLE = {}\ndef factor(unit):\n    return TABLE[unit]\n";
        let found = rewritten(&MissingKey, text, crash(3, "KeyError", "'x'"));
        assert!(found[0].contains("raise ValueError(f\"unknown unit: {unit!r}\") from error"));
    }

    #[test]
    fn other_errors_are_ignored() {
        let text = "def f(x):\n    return x[\"a\"]\n";
        assert!(rewritten(&MissingKey, text, crash(2, "IndexError", "")).is_empty());
        assert!(rewritten(&MissingKey, "def f(x):\n    return g(x)\n", crash(2, "KeyError", "")).is_empty());
        let mut failed = crash(2, "TypeError", "");
        failed.scenario = "user_misuse".to_owned();
        assert!(rewritten(&WrongFieldType, text, failed).is_empty());
    }

    fn drift(line: u32, exception: &str, message: &str) -> SectionFailure {
        SectionFailure { scenario: "schema_drift".to_owned(), ..crash(line, exception, message) }
    }

    #[test]
    fn fields_of_another_type_raise_the_exception_of_the_module() {
        let text = "class Bad(Exception):\n    pass\ndef f(invoice):\n    due = invoice.get(\"due\")\n    if due is None:\n        raise Bad(\"not due\")\n    return due.isoformat()\n";
        let found = rewritten(&WrongFieldType, text, drift(7, "AttributeError", ""));
        let expected = text.replace(
            "    return due.isoformat()\n",
            "    try:\n        return due.isoformat()\n    except AttributeError as error:\n        raise Bad(\"invoice has a field of the wrong type\") from error\n",
        );
        assert_eq!(found[0], expected);
        assert!(found[1].contains("except (AttributeError, TypeError) as error:"));
        assert!(rewritten(&WrongFieldType, text, crash(7, "AttributeError", "")).is_empty());
        let text = "def f(record):\n    return User(**record)\n";
        let found = rewritten(&WrongFieldType, text, drift(2, "TypeError", "unexpected keyword"));
        assert!(found[0].contains("raise ValueError(\"record has missing or unknown fields\") from error"));
    }
}
