//! Timeouts for calls that can block forever.

use super::scope::{SyntaxParts, TransformScope, add_keyword, assigned, is_plain, name_of};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Ranged, Stmt, TextRange, ast};

/// Adds a timeout to calls that wait for another machine or process.
#[derive(Debug)]
pub(in crate::transforms) struct HttpTimeout;

/// A call that can block, with the timeout for it.
struct BlockingCall<'a> {
    call: &'a ast::ExprCall,
    seconds: u32,
    /// Whether a call without a timeout is a security finding.
    is_request: bool,
}

impl Transform for HttpTimeout {
    fn name(&self) -> &'static str {
        "http-timeout"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of(source, cause) else { return Vec::new() };
        let gain = match scene.failed {
            None => ProposalGain::Findings,
            Some(failed) if failed.kind == "timeout" => ProposalGain::Robustness,
            Some(_) => return Vec::new(),
        };
        let mut waiting = waiting(&scene);
        if gain == ProposalGain::Robustness {
            // A timeout that raises an uncaught exception still fails, only sooner.
            let caught = caught(&scene);
            waiting.retain(|waiting| caught.iter().any(|part| part.contains_range(waiting.call.range())));
        }
        let (requests, others): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|waiting| waiting.is_request);
        [requests, others].iter().filter_map(|calls| limit(source, calls, gain)).collect()
    }
}

fn limit(source: &EditableSource, calls: &[BlockingCall], gain: ProposalGain) -> Option<SourceRewrite> {
    let mut edits = source.edit();
    for BlockingCall { call, seconds, .. } in calls {
        edits = match call.arguments.find_keyword("timeout") {
            Some(given) => edits.replace(&given.value, seconds.to_string()),
            None => add_keyword(edits, source, call, &format!("timeout={seconds}")),
        };
    }
    let why = "Set a timeout, because the call can block forever.".to_owned();
    Some(SourceRewrite { text: edits.finish()?, why, gain })
}

/// Ranges of the function whose exceptions are handled in it.
fn caught(scene: &TransformScope) -> Vec<TextRange> {
    let statements = scene.parts().statements.into_iter();
    let tries = statements.filter_map(Stmt::as_try_stmt).filter(|one| !one.handlers.is_empty());
    let covers = |one: &ast::StmtTry| Some(one.body.first()?.range().cover(one.body.last()?.range()));
    tries.filter_map(covers).collect()
}

fn waiting<'a>(scene: &TransformScope<'a>) -> Vec<BlockingCall<'a>> {
    let sessions = sessions(scene);
    let calls = scene.parts().expressions.into_iter().filter_map(Expr::as_call_expr);
    calls
        .filter(|call| is_plain(call) && scene.touches(*call))
        .filter_map(|call| {
            let full = scene.names.full(&call.func).or_else(|| method(&call.func, &sessions))?;
            let (seconds, is_request) = missing(&full, call)?;
            Some(BlockingCall { call, seconds, is_request })
        })
        .collect()
}

/// Names of sessions that the function creates.
fn sessions<'a>(scene: &TransformScope<'a>) -> Vec<&'a str> {
    let made = |value: &Expr| match value {
        Expr::Call(call) => scene.names.full(&call.func).is_some_and(|full| is_session(&full)),
        _ => false,
    };
    let mut names = Vec::new();
    for statement in scene.parts().statements {
        match statement {
            Stmt::With(with) => names.extend(
                with.items
                    .iter()
                    .filter(|item| made(&item.context_expr))
                    .filter_map(|item| name_of(item.optional_vars.as_deref()?)),
            ),
            other => names.extend(assigned(other).filter(|(_, value)| made(value)).map(|(name, _)| name)),
        }
    }
    names.retain(|name| is_always(scene, name, &made));
    names
}

fn is_session(full: &str) -> bool {
    matches!(full, "requests.Session" | "requests.session")
}

fn is_always(scene: &TransformScope, name: &str, made: &dyn Fn(&Expr) -> bool) -> bool {
    let others = SyntaxParts::of(scene.body).statements;
    !others.iter().filter_map(|other| assigned(other)).any(|(other, value)| other == name && !made(value))
}

fn method(callee: &Expr, sessions: &[&str]) -> Option<String> {
    let attribute = callee.as_attribute_expr()?;
    let is_ours = name_of(&attribute.value).is_some_and(|name| sessions.contains(&name));
    is_ours.then(|| format!("session.{}", attribute.attr))
}

/// Timeout in seconds for a call without one, and whether it is a request that counts as a finding.
fn missing(full: &str, call: &ast::ExprCall) -> Option<(u32, bool)> {
    let (module, name) = full.rsplit_once('.')?;
    let is_verb =
        matches!(name, "get" | "post" | "put" | "delete" | "head" | "patch" | "options" | "request");
    let given = call.arguments.find_keyword("timeout").map(|keyword| &keyword.value);
    let is_none = given.is_some_and(Expr::is_none_literal_expr);
    let is_open = |positional: usize| is_none || given.is_none() && call.arguments.args.len() < positional;
    match (module, name) {
        // The security rules do not cover requests of a session.
        ("session", _) if is_verb => is_open(usize::MAX).then_some((10, false)),
        ("requests", _) if is_verb => is_open(usize::MAX).then_some((10, true)),
        // httpx has a default timeout unless it is disabled.
        ("httpx", "Client" | "AsyncClient" | "stream") => is_none.then_some((10, true)),
        ("httpx", _) if is_verb => is_none.then_some((10, true)),
        ("urllib.request", "urlopen") => is_open(3).then_some((10, false)),
        ("socket", "create_connection") => is_open(2).then_some((10, false)),
        ("smtplib", "SMTP" | "SMTP_SSL") => is_open(4).then_some((10, false)),
        ("ftplib", "FTP") => is_open(5).then_some((10, false)),
        ("subprocess", "run" | "check_output" | "check_call" | "call") => {
            is_open(usize::MAX).then_some((60, false))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::SectionFailure;
    use super::super::scope::testing::{failure, review};
    use super::*;

    #[test]
    fn requests_get_a_timeout() {
        let text = "import requests as r\n\ndef f(u):\n    a = r.get(u)\n    return r.post(\n        u,\n        data=a.text,\n    )\n";
        assert_eq!(
            review(&HttpTimeout, text, "f").unwrap(),
            "import requests as r\n\ndef f(u):\n    a = r.get(u, timeout=10)\n    return r.post(\n        u,\n        data=a.text,\n        timeout=10,\n    )\n"
        );
        let text =
            "import requests\ndef f(u):\n    with requests.Session() as s:\n        return s.get(u).text\n";
        assert_eq!(
            review(&HttpTimeout, text, "f").unwrap(),
            "import requests\ndef f(u):\n    with requests.Session() as s:\n        return s.get(u, timeout=10).text\n"
        );
        let text = "from urllib.request import urlopen\nimport httpx\ndef f(u):\n    httpx.get(u)\n    httpx.get(u, timeout=None)\n    return urlopen(u)\n";
        assert_eq!(
            review(&HttpTimeout, text, "f").unwrap(),
            "from urllib.request import urlopen\nimport httpx\ndef f(u):\n    httpx.get(u)\n    httpx.get(u, timeout=10)\n    return urlopen(u)\n"
        );
    }

    #[test]
    fn only_the_failing_line_changes() {
        let text = "import subprocess\n\n\ndef f(c):\n    try:\n        subprocess.run(c)\n        return subprocess.check_output(c)\n    except OSError:\n        return b''\n";
        let failed = SectionFailure {
            section: "f".into(),
            line: 7,
            kind: "timeout".into(),
            ..SectionFailure::default()
        };
        assert_eq!(
            failure(&HttpTimeout, text, failed.clone()).unwrap(),
            text.replace("check_output(c)", "check_output(c, timeout=60)")
        );
        assert_eq!(failure(&HttpTimeout, text, SectionFailure { kind: "crash".into(), ..failed }), None);
    }

    #[test]
    fn a_timeout_without_a_handler_is_not_proposed() {
        let text = "import subprocess\n\n\ndef f(c):\n    try:\n        pass\n    except OSError:\n        pass\n    return subprocess.check_output(c)\n";
        let failed = SectionFailure {
            section: "f".into(),
            line: 9,
            kind: "timeout".into(),
            ..SectionFailure::default()
        };
        assert_eq!(failure(&HttpTimeout, text, failed), None);
    }

    #[test]
    fn existing_timeouts_stay() {
        for text in [
            "import requests\ndef f(u):\n    return requests.get(u, timeout=3)\n",
            "import requests\ndef f(u, **k):\n    return requests.get(u, **k)\n",
            "def f(requests, u):\n    return requests.get(u)\n",
            "from urllib.request import urlopen\ndef f(u):\n    return urlopen(u, None, 3)\n",
            "def f(d):\n    return d.get(1)\n",
        ] {
            assert_eq!(review(&HttpTimeout, text, "f"), None, "{text}");
        }
    }
}
