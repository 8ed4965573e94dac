//! Exception handlers that catch too much.

use std::collections::BTreeSet;

use super::scope::{SyntaxParts, TransformScope, single_rewrite, value_of};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::{EditableSource, SourceEdits};
use crate::syntax::{Expr, Ranged, Stmt, TextRange, TextSize, ast};

/// Narrows `except:`, which also catches `SystemExit` and `KeyboardInterrupt`, and `except Exception: pass`, which hides
/// every programming error.
#[derive(Debug)]
pub(in crate::transforms) struct BareExcept;

impl Transform for BareExcept {
    fn name(&self) -> &'static str {
        "bare-except"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        let mut edits = source.edit();
        for statement in scene.parts().statements {
            if let Stmt::Try(attempt) = statement {
                edits = narrow(&scene, attempt, edits);
            }
        }
        let why = "Narrow the handler, so that it does not hide interrupts and programming errors.";
        single_rewrite(edits.finish(), why, ProposalGain::Findings)
    }
}

fn narrow<'s>(scene: &TransformScope, attempt: &ast::StmtTry, edits: SourceEdits<'s>) -> SourceEdits<'s> {
    let [.., ast::ExceptHandler::ExceptHandler(handler)] = attempt.handlers.as_slice() else { return edits };
    let is_silent = matches!(handler.body.as_slice(), [Stmt::Pass(_) | Stmt::Continue(_)]);
    let is_only = attempt.handlers.len() == 1;
    let known = if is_silent && is_only { exceptions(scene, &attempt.body) } else { None };
    match (&handler.type_, known) {
        (None, known) if !exits_or_suspends(&attempt.body) && !reraises(&handler.body) => {
            let keyword = TextRange::at(handler.start(), TextSize::of("except"));
            let what = known.unwrap_or_else(|| "Exception".to_owned());
            edits.replace(keyword, format!("except {what}"))
        }
        (Some(caught), Some(known)) if scene.names.full(caught).as_deref() == Some("Exception") => {
            edits.replace(&**caught, known)
        }
        _ => edits,
    }
}

/// Whether the block can exit the program on purpose, or suspends it.
fn exits_or_suspends(body: &[Stmt]) -> bool {
    SyntaxParts::of(body).expressions.iter().any(|part| match part {
        Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_) => true,
        Expr::Name(name) => matches!(name.id.as_str(), "exit" | "quit" | "SystemExit" | "KeyboardInterrupt"),
        Expr::Attribute(attribute) => matches!(attribute.attr.as_str(), "exit" | "_exit" | "main"),
        _ => false,
    })
}

fn reraises(body: &[Stmt]) -> bool {
    SyntaxParts::of(body)
        .statements
        .iter()
        .any(|part| matches!(part, Stmt::Raise(raise) if raise.exc.is_none()))
}

/// Exceptions that the only statement of a block can raise, as written in a handler.
fn exceptions(scene: &TransformScope, body: &[Stmt]) -> Option<String> {
    let [statement] = body else { return None };
    let mut found = BTreeSet::new();
    raised(scene, value_of(statement)?, &mut found)?;
    let found: Vec<&str> = found.into_iter().collect();
    match found.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        several => Some(format!("({})", several.join(", "))),
    }
}

/// Adds the exceptions that an expression can raise; `None` if it can raise unknown ones.
fn raised(scene: &TransformScope, expression: &Expr, found: &mut BTreeSet<&'static str>) -> Option<()> {
    match expression {
        Expr::Name(_) => Some(()),
        Expr::Call(call) => {
            found.extend(raised_by(&scene.names.full(&call.func)?, call)?);
            call.arguments.keywords.iter().try_for_each(|keyword| raised(scene, &keyword.value, found))?;
            call.arguments.args.iter().try_for_each(|argument| raised(scene, argument, found))
        }
        Expr::Subscript(subscript) if !subscript.slice.is_slice_expr() => {
            let is_key = subscript.slice.is_string_literal_expr();
            found.extend([if is_key { "KeyError" } else { "LookupError" }, "TypeError"]);
            raised(scene, &subscript.value, found)?;
            raised(scene, &subscript.slice, found)
        }
        other => other.is_literal_expr().then_some(()),
    }
}

fn raised_by(full: &str, call: &ast::ExprCall) -> Option<Vec<&'static str>> {
    // A path with a null byte raises ValueError.
    let is_fixed = call.arguments.args.iter().all(Expr::is_literal_expr);
    let file_errors = if is_fixed { vec!["OSError"] } else { vec!["OSError", "ValueError"] };
    match full {
        "int" | "float" => Some(vec!["OverflowError", "TypeError", "ValueError"]),
        "json.loads" => Some(vec!["TypeError", "ValueError"]),
        "open" | "os.remove" | "os.unlink" | "os.mkdir" | "os.makedirs" | "os.rmdir" | "os.removedirs"
        | "os.rename" | "os.replace" | "os.listdir" | "os.stat" | "os.chmod" | "os.path.getsize"
        | "os.path.getmtime" => Some(file_errors),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::review;
    use super::*;

    #[test]
    fn bare_handlers_catch_exceptions() {
        let text = "def f(x):\n    try:\n        return g(x)\n    except:\n        return None\n";
        assert_eq!(
            review(&BareExcept, text, "f").unwrap(),
            "def f(x):\n    try:\n        return g(x)\n    except Exception:\n        return None\n"
        );
    }

    #[test]
    fn silent_handlers_catch_only_possible_exceptions() {
        let text = "import os\n\ndef f(x):\n    try:\n        x = int(x)\n    except Exception:\n        pass\n    try:\n        os.remove(x)\n    except:\n        pass\n    try:\n        y = x[\"a\"]\n    except Exception as e: pass\n";
        assert_eq!(
            review(&BareExcept, text, "f").unwrap(),
            "import os\n\ndef f(x):\n    try:\n        x = int(x)\n    except (OverflowError, TypeError, ValueError):\n        pass\n    try:\n        os.remove(x)\n    except (OSError, ValueError):\n        pass\n    try:\n        y = x[\"a\"]\n    except (KeyError, TypeError) as e: pass\n"
        );
    }

    #[test]
    fn deliberate_handlers_stay() {
        for text in [
            "def f(x):\n    try:\n        g(x)\n    except Exception:\n        pass\n",
            "def f(x):\n    try:\n        g(x)\n    except:\n        log()\n        raise\n",
            "import sys\ndef f(x):\n    try:\n        sys.exit(1)\n    except:\n        pass\n",
            "def f(x):\n    try:\n        yield x\n    except:\n        pass\n",
            "def f(x):\n    try:\n        int(x)\n        g(x)\n    except Exception:\n        pass\n",
        ] {
            assert_eq!(review(&BareExcept, text, "f"), None, "{text}");
        }
    }
}
