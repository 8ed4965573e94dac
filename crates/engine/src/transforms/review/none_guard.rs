//! Results that can be `None`.

use super::scope::{TransformScope, assigned, begins_line, is_plain, name_of, single_rewrite, text_of};
use super::{Cause, ProposalGain, SectionFailure, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Stmt, ast};

/// Checks a result for `None` before it is used.
#[derive(Debug)]
pub(in crate::transforms) struct NoneGuard;

impl Transform for NoneGuard {
    fn name(&self) -> &'static str {
        "none-guard"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of(source, cause) else { return Vec::new() };
        let Some(used) = scene.failed.and_then(NoneUse::of) else { return Vec::new() };
        let statement = scene.failed.and_then(|failed| source.statement_at(failed.line));
        let Some(statement) = statement.filter(|statement| begins_line(source, statement)) else {
            return Vec::new();
        };
        let mut search = NoneUseFinder { used, found: Vec::new() };
        match statement {
            Stmt::If(branch) => search.visit_expr(&branch.test),
            Stmt::For(each) => search.visit_expr(&each.iter),
            Stmt::Return(_) | Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::AugAssign(_) | Stmt::Expr(_) => {
                search.visit_stmt(statement);
            }
            _ => return Vec::new(),
        }
        // With several candidates the failing one is unknown.
        let [missing] = search.found.as_slice() else { return Vec::new() };
        let text = guarded(&scene, statement, missing);
        single_rewrite(
            text,
            "Raise an error if the result is None, before it is used.",
            ProposalGain::Robustness,
        )
    }
}

/// Use of `None` that failed.
enum NoneUse {
    /// Access to this attribute.
    Attribute(String),
    Subscript,
}

impl NoneUse {
    fn of(failed: &SectionFailure) -> Option<Self> {
        let message = failed.message.as_str();
        match failed.exception.as_deref()? {
            "AttributeError" => {
                let rest = message.split("'NoneType' object has no attribute '").nth(1)?;
                Some(Self::Attribute(rest.split('\'').next()?.to_owned()))
            }
            "TypeError" => {
                message.contains("'NoneType' object is not subscriptable").then_some(Self::Subscript)
            }
            _ => None,
        }
    }
}

/// Finds the expressions used in this way that are certainly evaluated.
struct NoneUseFinder<'a> {
    used: NoneUse,
    found: Vec<&'a Expr>,
}

impl<'a> Visitor<'a> for NoneUseFinder<'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match (expression, &self.used) {
            (Expr::Attribute(inner), NoneUse::Attribute(name)) if inner.attr.as_str() == name => {
                self.found.push(&inner.value);
            }
            (Expr::Subscript(inner), NoneUse::Subscript) => self.found.push(&inner.value),
            _ => {}
        }
        match expression {
            Expr::Lambda(_)
            | Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::DictComp(_)
            | Expr::Generator(_) => {}
            Expr::If(choice) => self.visit_expr(&choice.test),
            Expr::BoolOp(both) => both.values.iter().take(1).for_each(|first| self.visit_expr(first)),
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}
}

fn guarded(scene: &TransformScope, statement: &Stmt, missing: &Expr) -> Option<String> {
    let source = scene.source;
    let raise = |message: &str| format!("    raise ValueError(\"{message}\")");
    match missing {
        Expr::Name(name) => {
            let name = name.id.as_str();
            // Every value of the name must be such a result, otherwise the cause may be a different one.
            let values =
                scene.parts().statements.into_iter().filter_map(assigned).filter(|(other, _)| *other == name);
            let messages: Option<Vec<String>> = values.map(|(_, value)| absent(scene, value)).collect();
            let message = messages?.into_iter().next()?;
            source.edit().before(statement, &[format!("if {name} is None:"), raise(&message)]).finish()
        }
        Expr::Call(call) => {
            let message = absent(scene, missing)?;
            let is_match = scene.names.full(&call.func).is_some_and(|full| full.starts_with("re."));
            let names: &[&str] = if is_match { &["match", "found"] } else { &["found", "result"] };
            let name = scene.names.first_free(names)?;
            let lines =
                [format!("{name} = {}", source.of(missing)), format!("if {name} is None:"), raise(&message)];
            // A multi-line call would keep its old indentation.
            let fits = !source.of(missing).contains('\n');
            fits.then(|| source.edit().before(statement, &lines).replace(missing, name).finish())?
        }
        _ => None,
    }
}

/// Error message for a call that returned `None`; `None` for calls that always return a value.
fn absent(scene: &TransformScope, value: &Expr) -> Option<String> {
    let call = value.as_call_expr().filter(|call| is_plain(call))?;
    let full = scene.names.full(&call.func).unwrap_or_default();
    match full.as_str() {
        "re.match" | "re.search" | "re.fullmatch" => return Some("no match".to_owned()),
        "os.environ.get" | "os.getenv" => return missing_key(call, "value"),
        "shutil.which" => return missing_key(call, "program"),
        _ => {}
    }
    let Expr::Attribute(method) = &*call.func else { return None };
    match method.attr.as_str() {
        "get" => missing_key(call, "value"),
        "match" | "search" | "fullmatch" => Some("no match".to_owned()),
        "fetchone" | "first" if call.arguments.is_empty() => Some("no row".to_owned()),
        "find" => Some("not found".to_owned()),
        _ => None,
    }
}

/// Message for a missing key; `None` for a call with a default.
fn missing_key(call: &ast::ExprCall, kind: &str) -> Option<String> {
    let [key] = &*call.arguments.args else { return None };
    let is_word =
        |key: &&str| key.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-. ".contains(letter));
    match (text_of(key).filter(is_word), name_of(key)) {
        (Some(key), _) => Some(format!("missing {key}")),
        _ => Some(format!("missing {kind}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::{failure, review};
    use super::*;

    fn failed(line: u32, exception: &str, message: &str) -> SectionFailure {
        SectionFailure {
            section: "f".into(),
            line,
            kind: "crash".into(),
            exception: Some(exception.into()),
            message: message.into(),
            ..SectionFailure::default()
        }
    }

    const GROUP: &str = "'NoneType' object has no attribute 'group'";

    #[test]
    fn names_are_checked() {
        let text = "import re\ndef f(x):\n    m = re.match(\"a\", x)\n    return m.group(0)\n";
        assert_eq!(
            failure(&NoneGuard, text, failed(4, "AttributeError", GROUP)).unwrap(),
            "import re\ndef f(x):\n    m = re.match(\"a\", x)\n    if m is None:\n        raise ValueError(\"no match\")\n    return m.group(0)\n"
        );
    }

    #[test]
    fn calls_are_assigned_to_a_name() {
        let text = "import re\ndef f(x):\n    return re.match(\"a\", x).group(0)\n";
        assert_eq!(
            failure(&NoneGuard, text, failed(3, "AttributeError", GROUP)).unwrap(),
            "import re\ndef f(x):\n    match = re.match(\"a\", x)\n    if match is None:\n        raise ValueError(\"no match\")\n    return match.group(0)\n"
        );
        let text = "def f(d):\n    return d.get(\"user\")[0]\n";
        assert_eq!(
            failure(&NoneGuard, text, failed(2, "TypeError", "'NoneType' object is not subscriptable"))
                .unwrap(),
            "def f(d):\n    found = d.get(\"user\")\n    if found is None:\n        raise ValueError(\"missing user\")\n    return found[0]\n"
        );
    }

    #[test]
    fn ambiguous_uses_are_not_changed() {
        let text = "def f(x):\n    return x.group(0)\n";
        assert_eq!(failure(&NoneGuard, text, failed(2, "AttributeError", GROUP)), None);
        let text = "import re\ndef f(x):\n    return re.match('a', x).group() + re.match('b', x).group()\n";
        assert_eq!(failure(&NoneGuard, text, failed(3, "AttributeError", GROUP)), None);
        let text = "import re\ndef f(x):\n    return x and re.match('a', x).group()\n";
        assert_eq!(failure(&NoneGuard, text, failed(3, "AttributeError", GROUP)), None);
        assert_eq!(failure(&NoneGuard, text, failed(3, "KeyError", "'a'")), None);
        assert_eq!(review(&NoneGuard, text, "f"), None);
        let text = "import re\ndef f(x): return re.match('a', x).group()\n";
        assert_eq!(failure(&NoneGuard, text, failed(2, "AttributeError", GROUP)), None);
    }
}
