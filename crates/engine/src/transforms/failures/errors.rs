//! Replacement of library errors by errors of the function, with a message that names the input.

use super::exception_names::{BUILTIN, spelled};
use super::messages::{about_inputs, about_values};
use super::site::{FailureSite, callee, expressions, is_alone, is_simple, robustness_rewrite, statements};
use super::{Cause, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Stmt, ast};

/// Adds the exception to a `try` that handles other errors of the same lines.
pub(in crate::transforms) struct WidenExcept;

impl Transform for WidenExcept {
    fn name(&self) -> &'static str {
        "widen-except"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        // A handler for wrong values is not meant for wrong types, and name errors are bugs in the code.
        let is_misuse = site.failed.scenario == "user_misuse";
        if is_misuse && matches!(site.exception(), "TypeError" | "AttributeError") || site.is_concurrent() {
            return Vec::new();
        }
        let Some(name) = spelled(&site, site.exception()) else { return Vec::new() };
        let Some((caught, handler)) = enclosing(&site).and_then(suitable) else { return Vec::new() };
        let types = match caught {
            Expr::Tuple(tuple) => tuple.elts.iter().map(|one| source.of(one)).collect::<Vec<_>>().join(", "),
            one => source.of(one).to_owned(),
        };
        let why = format!("Handle `{}` like the other exceptions of this `try`.", name.name);
        let mut edits = source.edit().replace(caught, format!("({types}, {})", name.name));
        // The message about a missing field would be wrong for another error.
        for statement in
            handler.body.iter().filter(|statement| source.of(*statement).contains(" has no field {"))
        {
            edits = edits.replace(
                statement,
                source.of(statement).replace(" has no field {", " does not have the expected fields: {"),
            );
        }
        robustness_rewrite(Some(name.import(edits)), why).into_iter().collect()
    }
}

/// Innermost `try` of the function whose body contains the line.
fn enclosing<'a>(site: &FailureSite<'a>) -> Option<&'a ast::StmtTry> {
    let line = site.failed.line;
    let has = |attempt: &ast::StmtTry| attempt.body.iter().any(|inner| site.source.is_in(line, inner));
    statements(&site.function.node.body).into_iter().rev().find_map(|statement| match statement {
        Stmt::Try(attempt) if !attempt.is_star && has(attempt) => Some(attempt),
        _ => None,
    })
}

/// First handler for wrong values that does not use attributes of the exception, with its types.
fn suitable(attempt: &ast::StmtTry) -> Option<(&Expr, &ast::ExceptHandlerExceptHandler)> {
    attempt.handlers.iter().find_map(|handler| {
        let ast::ExceptHandler::ExceptHandler(handler) = handler;
        let caught = handler.type_.as_deref()?;
        let types = match caught {
            Expr::Tuple(tuple) => &*tuple.elts,
            one => std::slice::from_ref(one),
        };
        let uses_attributes = handler.name.as_ref().is_some_and(|name| {
            expressions(&handler.body).into_iter().any(|expr| match expr {
                Expr::Attribute(found) => {
                    matches!(&*found.value, Expr::Name(error) if error.id.as_str() == name.as_str())
                }
                _ => false,
            })
        });
        (types.iter().all(is_about_values) && !uses_attributes).then_some((caught, handler))
    })
}

/// Whether an exception type means a wrong value. Specific system errors, such as a missing file, are excluded: their
/// handlers are too specific for other errors.
fn is_about_values(caught: &Expr) -> bool {
    let name = match caught {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        _ => return false,
    };
    let is_special =
        name.starts_with("File") || name.ends_with("DirectoryError") || name == "PermissionError";
    let others = ["JSONDecodeError", "InvalidOperation", "error", "Error"];
    name != "StopIteration" && !is_special && (BUILTIN.contains(&name) || others.contains(&name))
}

/// Replaces the `RecursionError` of input that is nested too deeply.
pub(in crate::transforms) struct RecursionTooDeep;

impl Transform for RecursionTooDeep {
    fn name(&self) -> &'static str {
        "too-deep"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        if site.exception() != "RecursionError" {
            return Vec::new();
        }
        // The limit can be reached anywhere in the function; the recursive call is on the stack in every case.
        let Some(site) = at_recursion(site) else { return Vec::new() };
        let is_number = site.inputs().iter().all(|name| site.annotation(name) == Some("int"));
        let wrong = if is_number { "is too large" } else { "is nested too deeply" };
        let why = "Raise an error that names the input when the recursion limit is exceeded.";
        about_inputs(&site, wrong)
            .and_then(|text| robustness_rewrite(site.translate(&text), why))
            .into_iter()
            .collect()
    }
}

/// The failure, moved to the statement with the recursive call if there is exactly one.
fn at_recursion(site: FailureSite<'_>) -> Option<FailureSite<'_>> {
    if calls(site.statement, &site) && is_simple(site.statement) {
        return Some(site);
    }
    let all = statements(&site.function.node.body).into_iter();
    let recursive: Vec<&Stmt> = all
        .filter(|statement| {
            is_simple(statement) && is_alone(site.source, statement) && calls(statement, &site)
        })
        .collect();
    match recursive.as_slice() {
        [only] => site.moved_to(only),
        _ => Some(site),
    }
}

fn calls(statement: &Stmt, site: &FailureSite<'_>) -> bool {
    let name = site.function.node.name.as_str();
    expressions(std::slice::from_ref(statement)).into_iter().any(|expr| match expr {
        Expr::Call(call) => match &*call.func {
            Expr::Name(found) => found.id.as_str() == name,
            Expr::Attribute(found) => found.attr.as_str() == name,
            _ => false,
        },
        _ => false,
    })
}

/// Replaces the error of a library that rejects a value.
pub(in crate::transforms) struct LibraryRejection;

impl Transform for LibraryRejection {
    fn name(&self) -> &'static str {
        "refused-by-library"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        let exception = site.exception();
        let is_code =
            matches!(exception, "RecursionError" | "AttributeError" | "OverflowError" | "StopIteration");
        // System errors about a file are clear already, and callers may handle them.
        let is_system = exception == "OSError"
            || exception.starts_with("File")
            || exception.ends_with("DirectoryError")
            || exception == "PermissionError";
        // A TypeError means a wrong value only if the arguments have the declared types.
        let is_type = exception == "TypeError" && site.failed.scenario != "hostile_input";
        if is_code || is_type || is_system || site.is_concurrent() {
            return Vec::new();
        }
        let why = format!("Replace `{exception}` of a library by an error that names the input.");
        let wrong = wrong_for(&site);
        // A value with thousands of digits does not belong into a message.
        let text = if wrong == TOO_LONG { about_inputs(&site, wrong) } else { about_values(&site, wrong) };
        text.and_then(|text| robustness_rewrite(site.translate(&text), why)).into_iter().collect()
    }
}

const TOO_LONG: &str = "has too many digits";

/// Problem of the input, derived from the call that rejects it.
fn wrong_for(site: &FailureSite<'_>) -> &'static str {
    let single = site.inputs().len() == 1;
    let found = site.calls().find_map(|(call, _)| {
        let name = callee(site.source, call)?;
        Some(match name.rsplit('.').next().unwrap_or(name) {
            "int" => "is not an integer",
            "float" | "Decimal" | "Fraction" => "is not a number",
            "fromisoformat" | "strptime" => "is not a valid date",
            "loads" if name.contains("json") => "is not valid JSON",
            _ => return None,
        })
    });
    let is_about_digits = site.failed.message.contains("integer string conversion");
    match found {
        Some("is not an integer") if is_about_digits => TOO_LONG,
        Some("is not an integer") if !site.failed.message.contains("invalid literal") => "is invalid",
        Some(wrong) if single => wrong,
        _ if site.exception() == "IndexError" => "is out of range",
        _ => "is invalid",
    }
}

#[cfg(test)]
mod tests {
    use super::super::site::testing::{crash, rewritten};
    use super::*;

    const TRY: &str = "import json\ndef f(text):\n    try:\n        return json.loads(text)\n    except ValueError:\n        return None\n";

    #[test]
    fn handlers_are_widened() {
        let found = rewritten(&WidenExcept, TRY, crash(4, "RecursionError", ""));
        assert_eq!(found, [TRY.replace("except ValueError:", "except (ValueError, RecursionError):")]);
        let text = TRY.replace("ValueError", "(KeyError, ValueError)");
        let found = rewritten(&WidenExcept, &text, crash(4, "IndexError", ""));
        assert_eq!(found, [TRY.replace("ValueError", "(KeyError, ValueError, IndexError)")]);
    }

    #[test]
    fn a_widened_handler_of_missing_fields_gets_a_general_message() {
        let text = "def f(x):\n    try:\n        return x[\"a\"]\n    except KeyError as error:\n        raise ValueError(f\"x has no field {error}\") from error\n";
        let found = rewritten(&WidenExcept, text, crash(3, "TypeError", ""));
        assert_eq!(
            found,
            [text
                .replace("KeyError as", "(KeyError, TypeError) as")
                .replace("has no field", "does not have the expected fields:")]
        );
    }

    #[test]
    fn unrelated_handlers_stay() {
        for other in ["Exception", "StopIteration", "FileNotFoundError", "queue.Empty"] {
            let text = TRY.replace("ValueError", other);
            assert!(rewritten(&WidenExcept, &text, crash(4, "OverflowError", "")).is_empty(), "{other}");
        }
        let text =
            TRY.replace("ValueError:\n        return None", "OSError as error:\n        return error.errno");
        assert!(rewritten(&WidenExcept, &text, crash(4, "ValueError", "")).is_empty());
        assert!(rewritten(&WidenExcept, TRY, crash(4, "NameError", "")).is_empty());
        assert!(
            rewritten(&WidenExcept, "def f(x):\n    return int(x)\n", crash(2, "ValueError", "")).is_empty()
        );
    }

    #[test]
    fn recursion_errors_are_replaced() {
        let text = "def f(tree):\n    if not tree:\n        return 0\n    return 1 + f(tree[0])\n";
        let found = rewritten(&RecursionTooDeep, text, crash(2, "RecursionError", ""));
        let expected = "def f(tree):\n    if not tree:\n        return 0\n    try:\n        return 1 + f(tree[0])\n    except RecursionError as error:\n        raise ValueError(\"tree is nested too deeply\") from error\n";
        assert_eq!(found, [expected]);
        assert!(rewritten(&RecursionTooDeep, text, crash(4, "IndexError", "")).is_empty());
    }

    #[test]
    fn the_replacement_propagates_from_any_depth() {
        let text = "def f(guests: int):\n    return guests * f(guests - 1) if guests > 1 else 1\n";
        let found = rewritten(&RecursionTooDeep, text, crash(2, "RecursionError", "")).remove(0);
        let program = format!(
            "{found}\nassert f(5) == 120\ntry:\n    f(2**31)\nexcept ValueError as error:\n    print(error)\n"
        );
        let output = std::process::Command::new("python3").args(["-c", &program]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "guests is too large\n");
    }

    #[test]
    fn errors_of_libraries_name_the_input() {
        let text = "import shlex\ndef words(line: str):\n    return shlex.split(line)\n";
        let found = rewritten(&LibraryRejection, text, crash(3, "ValueError", "No closing quotation"));
        let expected = "import shlex\ndef words(line: str):\n    try:\n        return shlex.split(line)\n    except ValueError as error:\n        raise ValueError(f\"line is invalid: {line!r}\") from error\n";
        assert_eq!(found, [expected]);
        let text = "from decimal import Decimal\ndef f(amount: Decimal):\n    return amount.quantize(1)\n";
        let found = rewritten(&LibraryRejection, text, crash(3, "InvalidOperation", ""));
        let expected = "from decimal import Decimal, InvalidOperation\ndef f(amount: Decimal):\n    try:\n        return amount.quantize(1)\n    except InvalidOperation as error:\n        raise ValueError(f\"amount is invalid: {amount!r}\") from error\n";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn errors_raised_by_functions_of_the_module_stay() {
        let text = "def g(x):\n    raise ValueError(x)\ndef f(x):\n    return int(g(x))\n";
        assert!(rewritten(&LibraryRejection, text, crash(4, "ValueError", "")).is_empty());
        assert!(
            rewritten(&LibraryRejection, "def f(x):\n    yield int(x)\n", crash(2, "ValueError", ""))
                .is_empty()
        );
        assert!(
            rewritten(&LibraryRejection, "def f():\n    return int(X)\n", crash(2, "ValueError", ""))
                .is_empty()
        );
    }
}
