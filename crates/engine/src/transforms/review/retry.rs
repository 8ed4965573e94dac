//! Upstreams that fail intermittently.

use super::scope::{TransformScope, deeper, is_alone, name_of, single_rewrite, value_of};
use super::{Cause, ProposalGain, SectionFailure, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Stmt, ast};

/// Retries a read-only request.
#[derive(Debug)]
pub(in crate::transforms) struct RetryIdempotent;

impl Transform for RetryIdempotent {
    fn name(&self) -> &'static str {
        "retry-idempotent"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of(source, cause) else { return Vec::new() };
        let Some(failed) = scene.failed.filter(|failed| is_upstream(failed)) else { return Vec::new() };
        // In a coroutine the sleep would block the event loop.
        let is_async = scene.function.is_none_or(|function| function.node.is_async);
        if is_async || !scene.names.is_free("attempt") || !scene.names.can_import("time", "time") {
            return Vec::new();
        }
        let statements = scene.parts().statements;
        let mut failing =
            statements.into_iter().filter(|statement| failed.line > 0 && scene.touches(*statement));
        let found = failing.find_map(|statement| Some((statement, exception(&scene, statement)?)));
        let Some((statement, exception)) = found else { return Vec::new() };
        // Indentation would change the content of a multi-line string.
        let has_long_text = ["\"\"\"", "'''"].iter().any(|quotes| source.of(statement).contains(quotes));
        let can_move = is_alone(source, statement) && !has_long_text;
        let text = can_move.then(|| retried(source, statement, exception));
        let text = text.and_then(|new| source.edit().replace(statement, new).import("time").finish());
        let why = "Retry the read-only request, with up to three attempts and exponential backoff.";
        single_rewrite(text, why, ProposalGain::Robustness)
    }
}

fn is_upstream(failed: &SectionFailure) -> bool {
    let is_scenario =
        ["flaky", "latency", "network", "upstream"].iter().any(|word| failed.scenario.contains(word));
    is_scenario && matches!(failed.kind.as_str(), "crash" | "timeout" | "denied" | "")
}

/// Exception of a statement that consists of one read-only request, raised when the upstream fails.
fn exception(scene: &TransformScope, statement: &Stmt) -> Option<&'static str> {
    match statement {
        Stmt::With(with) if !with.is_async => {
            let [item] = with.items.as_slice() else { return None };
            let response = name_of(item.optional_vars.as_deref()?)?;
            let exception = request(scene, &item.context_expr)?;
            with.body.iter().all(|inner| only_reads(scene, inner, response)).then_some(exception)
        }
        Stmt::Assign(_) | Stmt::Return(_) => request(scene, reading(value_of(statement)?)),
        _ => None,
    }
}

/// Strips `response.read()`, `response.json()` and the like, which are part of the request.
fn reading(expression: &Expr) -> &Expr {
    match expression {
        Expr::Call(call) if call.arguments.is_empty() => match &*call.func {
            Expr::Attribute(method) if matches!(method.attr.as_str(), "read" | "json" | "decode") => {
                reading(&method.value)
            }
            _ => expression,
        },
        Expr::Attribute(attribute)
            if matches!(attribute.attr.as_str(), "text" | "content" | "status_code") =>
        {
            reading(&attribute.value)
        }
        _ => expression,
    }
}

fn request(scene: &TransformScope, expression: &Expr) -> Option<&'static str> {
    let call = expression.as_call_expr()?;
    match scene.names.full(&call.func)?.as_str() {
        "requests.get" | "requests.head" if scene.names.imports("requests", "requests") => {
            Some("requests.RequestException")
        }
        // With more arguments than the address it can send data.
        "urllib.request.urlopen" if call.arguments.args.len() == 1 && sends_nothing(call) => Some("OSError"),
        _ => None,
    }
}

fn sends_nothing(call: &ast::ExprCall) -> bool {
    call.arguments
        .keywords
        .iter()
        .all(|keyword| matches!(keyword.arg.as_deref(), Some("timeout" | "context")))
}

/// Whether a statement under `with` may run twice.
fn only_reads(scene: &TransformScope, statement: &Stmt, response: &str) -> bool {
    let Some(value) = value_of(statement).filter(|_| !statement.is_expr_stmt()) else { return false };
    let is_response = |expression: &Expr| name_of(reading(expression)) == Some(response);
    match value {
        Expr::Call(call) => {
            let is_json =
                scene.names.full(&call.func).is_some_and(|full| matches!(&*full, "json.load" | "json.loads"));
            is_response(value)
                || is_json && call.arguments.len() == 1 && call.arguments.args.iter().all(is_response)
        }
        other => is_response(other),
    }
}

fn returns(statement: &Stmt) -> bool {
    match statement {
        Stmt::With(with) => with.body.last().is_some_and(Stmt::is_return_stmt),
        other => other.is_return_stmt(),
    }
}

fn retried(source: &EditableSource, statement: &Stmt, exception: &str) -> String {
    let (own, one) = (source.indentation(statement), deeper(source, statement));
    let step = &one[own.len()..];
    let two = format!("{one}{step}");
    let three = format!("{two}{step}");
    let body = source.of(statement).replace(&format!("\n{own}"), &format!("\n{two}"));
    let end = if returns(statement) { String::new() } else { format!("\n{two}break") };
    let lines = [
        "for attempt in range(3):".to_owned(),
        format!("{one}try:"),
        format!("{two}{body}{end}"),
        format!("{one}except {exception}:"),
        format!("{two}if attempt == 2:"),
        format!("{three}raise"),
        format!("{two}time.sleep(0.1 * 2**attempt)"),
    ];
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::{failure, review};
    use super::*;

    fn failed(line: u32) -> SectionFailure {
        SectionFailure {
            section: "f".into(),
            line,
            kind: "crash".into(),
            scenario: "flaky_upstream".into(),
            ..SectionFailure::default()
        }
    }

    #[test]
    fn read_only_requests_are_retried() {
        let text = "import requests\n\n\ndef f(u):\n    response = requests.get(u, timeout=10)\n    return response.json()\n";
        assert_eq!(
            failure(&RetryIdempotent, text, failed(5)).unwrap(),
            "import time\nimport requests\n\n\ndef f(u):\n    for attempt in range(3):\n        try:\n            response = requests.get(u, timeout=10)\n            break\n        except requests.RequestException:\n            if attempt == 2:\n                raise\n            time.sleep(0.1 * 2**attempt)\n    return response.json()\n"
        );
        let text = "import time\nfrom urllib.request import urlopen\n\n\ndef f(u):\n    with urlopen(u) as r:\n        return r.read()\n";
        assert_eq!(
            failure(&RetryIdempotent, text, failed(6)).unwrap(),
            "import time\nfrom urllib.request import urlopen\n\n\ndef f(u):\n    for attempt in range(3):\n        try:\n            with urlopen(u) as r:\n                return r.read()\n        except OSError:\n            if attempt == 2:\n                raise\n            time.sleep(0.1 * 2**attempt)\n"
        );
    }

    #[test]
    fn requests_with_side_effects_are_not_retried() {
        let post = "import requests\n\n\ndef f(u):\n    return requests.post(u)\n";
        assert_eq!(failure(&RetryIdempotent, post, failed(5)), None);
        let sent = "from urllib.request import urlopen\n\n\ndef f(u):\n    return urlopen(u, b'x')\n";
        assert_eq!(failure(&RetryIdempotent, sent, failed(5)), None);
        let get = "import requests\n\n\ndef f(u):\n    return requests.get(u)\n";
        assert_eq!(review(&RetryIdempotent, get, "f"), None);
        let other = SectionFailure { scenario: "ideal".into(), ..failed(5) };
        assert_eq!(failure(&RetryIdempotent, get, other), None);
        let body = "from urllib.request import urlopen\n\n\ndef f(u):\n    with urlopen(u) as r:\n        save(r.read())\n";
        assert_eq!(failure(&RetryIdempotent, body, failed(5)), None);
        let coroutine = "import requests\n\n\nasync def f(u):\n    return requests.get(u)\n";
        assert_eq!(failure(&RetryIdempotent, coroutine, failed(5)), None);
    }
}
