//! From what was seen to what it is called.

use menace_model::calls::{Facts, OutcomeKind};
use menace_sandbox::native::RawOutcome;
use serde_json::Value;

use crate::stubs::Stub;

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Its name.
    pub kind: OutcomeKind,
    /// The exception, if there was one.
    pub facts: Option<Facts>,
    /// Why it is not an exception: a signal, a limit, a reason of ours.
    pub reason: Option<String>,
    /// What it returned, as Python shows it.
    pub value: Option<String>,
}

impl Verdict {
    /// The text of the exception, or the reason.
    pub fn message(&self) -> Option<String> {
        self.facts.as_ref().map(|facts| facts.message.clone()).or_else(|| self.reason.clone())
    }
}

/// Exceptions that say that an argument is not what was expected.
const COMPLAINTS: [&str; 5] = ["TypeError", "AttributeError", "ValueError", "KeyError", "IndexError"];

/// Judges an outcome. `declared` are the exceptions that the docstring of the section declares.
pub fn judge(raw: &RawOutcome, stub: &Stub, declared: &[String]) -> Verdict {
    let answer = raw.returned.as_ref();
    let facts = answer.and_then(facts_of);
    let verdict = |kind, reason: Option<String>| Verdict {
        kind,
        facts: facts.clone(),
        reason,
        value: answer.and_then(|answer| answer["value"].as_str()).map(str::to_owned),
    };
    if raw.timed_out {
        return verdict(OutcomeKind::Timeout, Some(format!("it was ended after {:.0} ms", raw.wall_ms)));
    }
    if raw.oom {
        return verdict(OutcomeKind::Oom, Some("the memory limit was hit".into()));
    }
    let Some(answer) = answer else { return verdict_without_answer(raw) };
    let stage = answer["stage"].as_str().unwrap_or_default();
    let why = answer["why"].as_str().map(str::to_owned);
    match (stage, &facts) {
        ("done", _) => verdict(OutcomeKind::Ok, None),
        ("lookup" | "build", _) => verdict(OutcomeKind::HarnessError, why),
        ("import", Some(facts)) if is_missing_dependency(facts) => verdict(
            OutcomeKind::HarnessError,
            Some(format!("the module cannot be imported: {}", facts.message)),
        ),
        ("call" | "import", Some(facts)) => {
            let changed = answer["changed"].as_bool().unwrap_or(false);
            let (kind, reason) = judge_exception(facts, stub, declared, raw, changed);
            verdict(kind, reason)
        }
        _ => verdict(OutcomeKind::HarnessError, Some(format!("the harness said {answer}"))),
    }
}

fn facts_of(answer: &Value) -> Option<Facts> {
    serde_json::from_value(answer.get("error")?.clone()).ok()
}

/// The process ended before the harness could say anything.
fn verdict_without_answer(raw: &RawOutcome) -> Verdict {
    let reason = match (raw.signal, raw.exit_code) {
        (Some(signal), _) => format!("it was ended by signal {signal}"),
        (None, Some(code)) => format!("it left the process with exit code {code}"),
        (None, None) => "its process ended without a word".to_owned(),
    };
    Verdict { kind: OutcomeKind::Crash, facts: None, reason: Some(reason), value: None }
}

/// A module of somebody else that is not installed says nothing about the code.
fn is_missing_dependency(facts: &Facts) -> bool {
    facts.is_a("ImportError")
}

fn judge_exception(
    facts: &Facts,
    stub: &Stub,
    declared: &[String],
    raw: &RawOutcome,
    changed: bool,
) -> (OutcomeKind, Option<String>) {
    let rejected = |why: &str| (OutcomeKind::Rejected, Some(why.to_owned()));
    if facts.is_a("MemoryError") {
        return (OutcomeKind::Oom, None);
    }
    if raw.disk_full && facts.is_a("OSError") {
        return (OutcomeKind::DiskFull, None);
    }
    if facts.refused && facts.is_a("TypeError") {
        return rejected("Python refused the call");
    }
    if facts.raised {
        return rejected("it was raised on purpose");
    }
    if facts.own_class {
        return rejected("the exception is one of the repository's own");
    }
    if declared.iter().any(|name| facts.is_a(name.rsplit('.').next().unwrap_or(name))) {
        return rejected("the docstring declares it");
    }
    if facts.is_a("SystemExit") {
        return rejected("it asked for the end of the program");
    }
    let complains = COMPLAINTS.iter().any(|complaint| facts.is_a(complaint));
    if complains && (stub.is_wrong || stub.is_doubtful) && !changed {
        return rejected("what it was given was not what it takes");
    }
    (OutcomeKind::Crash, None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(answer: Value) -> RawOutcome {
        RawOutcome {
            returned: Some(answer),
            exit_code: Some(0),
            signal: None,
            timed_out: false,
            oom: false,
            disk_full: false,
            wall_ms: 1.0,
            usage: menace_model::sandbox::Usage::default(),
            stdout: String::new(),
            stderr: String::new(),
            truncated: false,
        }
    }

    fn error(exception: &str, raised: bool) -> Value {
        json!({"stage": "call", "error": {
            "exception": exception, "module": "builtins", "bases": [exception, "Exception"], "message": "m",
            "frames": [["a.py", 3, "f"]], "raised": raised, "own_class": false, "refused": false,
        }})
    }

    fn kind(answer: Value, stub: &Stub) -> OutcomeKind {
        judge(&raw(answer), stub, &["shop.errors.Gone".to_owned()]).kind
    }

    #[test]
    fn what_is_raised_on_purpose_is_rejected_and_what_happens_is_a_crash() {
        let stub = Stub::default();
        assert_eq!(kind(error("ValueError", true), &stub), OutcomeKind::Rejected);
        assert_eq!(kind(error("ValueError", false), &stub), OutcomeKind::Crash);
        assert_eq!(kind(error("Gone", false), &stub), OutcomeKind::Rejected);
        assert_eq!(kind(error("MemoryError", false), &stub), OutcomeKind::Oom);
        assert_eq!(kind(json!({"stage": "done"}), &stub), OutcomeKind::Ok);
    }

    #[test]
    fn a_complaint_about_a_wrong_argument_is_no_crash_but_everything_else_is() {
        let wrong = Stub { is_wrong: true, ..Stub::default() };
        assert_eq!(kind(error("TypeError", false), &wrong), OutcomeKind::Rejected);
        assert_eq!(kind(error("ZeroDivisionError", false), &wrong), OutcomeKind::Crash);
        let mut changed = error("TypeError", false);
        changed["changed"] = json!(true);
        assert_eq!(kind(changed, &wrong), OutcomeKind::Crash);
    }

    #[test]
    fn limits_and_signals_are_kinds_of_their_own() {
        let mut late = raw(Value::Null);
        late.timed_out = true;
        assert_eq!(judge(&late, &Stub::default(), &[]).kind, OutcomeKind::Timeout);
        let killed = RawOutcome { returned: None, signal: Some(11), exit_code: None, ..raw(Value::Null) };
        let verdict = judge(&killed, &Stub::default(), &[]);
        assert_eq!(
            (verdict.kind, verdict.reason.as_deref()),
            (OutcomeKind::Crash, Some("it was ended by signal 11"))
        );
    }
}
