//! Classification of raw outcomes.

use menace_model::calls::{OutcomeKind, ReportedException};
use menace_model::network::{DirectionCounts, FlowRequest};
use menace_sandbox::native::RawOutcome;
use serde_json::Value;

use crate::call::Call;
use crate::outcome::CallClassification;
use crate::stress::FaultEvidence;
use crate::stubs::Stub;

/// `ENOSPC`.
const DISK_FULL: i32 = 28;

/// Exceptions that reject an argument.
const COMPLAINTS: [&str; 5] = ["TypeError", "AttributeError", "ValueError", "KeyError", "IndexError"];

/// Error numbers with which the sandbox denies an operation: `EPERM`, `EACCES`, `EROFS`, `ENOSYS`, `ENETUNREACH`.
const REFUSALS: [i32; 5] = [1, 13, 30, 38, 101];

/// Classifies the outcome of a call.
pub fn classify(raw: &RawOutcome, call: &Call) -> CallClassification {
    let verdict = classify_result(raw, call);
    // A failure counts even without evidence that the fault fired.
    if verdict.kind.is_success() && !has_evidence(raw, call) {
        return CallClassification {
            kind: OutcomeKind::Void,
            reason: Some(missing_evidence(&call.circumstances.proofs)),
            ..verdict
        };
    }
    verdict
}

fn classify_result(raw: &RawOutcome, call: &Call) -> CallClassification {
    let answer = raw.returned.as_ref();
    let facts = answer.and_then(facts_of);
    let verdict = |kind, reason: Option<String>| CallClassification {
        kind,
        facts: facts.clone(),
        reason,
        value: answer.and_then(|answer| answer["value"].as_str()).map(str::to_owned),
    };
    if raw.timed_out {
        return verdict(OutcomeKind::Timeout, Some(format!("timed out after {} ms", call.timeout_ms)));
    }
    if raw.oom {
        return verdict(OutcomeKind::Oom, Some("memory limit exceeded".into()));
    }
    // The harness exits with 0 after its answer; with any other exit status the answer cannot be trusted.
    let Some(answer) = answer.filter(|_| raw.exit_code == Some(0)) else {
        return classify_without_answer(raw);
    };
    let took = answer["took_ms"].as_f64().unwrap_or(0.0);
    if let Some(limit) = call.circumstances.within_ms.filter(|limit| took > *limit as f64) {
        return CallClassification::new(OutcomeKind::Timeout, format!("timed out after {limit} ms"));
    }
    let stage = answer["stage"].as_str().unwrap_or_default();
    let why = answer["why"].as_str().map(str::to_owned);
    match (stage, &facts) {
        ("done", _) if why.is_some() => verdict(OutcomeKind::Wrong, why),
        ("done", _) => verdict(OutcomeKind::Ok, None),
        // An object that does not accept a hostile or drifted field has rejected it.
        ("build", _) if call.stub.hostile + call.stub.drifted > 0 => verdict(OutcomeKind::Void, why),
        ("lookup" | "build", _) => verdict(OutcomeKind::HarnessError, why),
        ("import", Some(facts)) if is_missing_dependency(facts) => verdict(
            OutcomeKind::HarnessError,
            Some(format!("failed to import the module: {}", facts.message)),
        ),
        ("call" | "import", Some(facts)) => {
            let changed = answer["changed"].as_bool().unwrap_or(false);
            let (kind, reason) = classify_exception(facts, &call.stub, &call.declared, raw, changed);
            verdict(kind, reason)
        }
        _ => verdict(OutcomeKind::HarnessError, Some(format!("unexpected harness answer: {answer}"))),
    }
}

/// Whether the required evidence was observed. Profiles that require none affect every call.
fn has_evidence(raw: &RawOutcome, call: &Call) -> bool {
    let proofs = &call.circumstances.proofs;
    let seen = |proof: &FaultEvidence| match proof {
        FaultEvidence::Overlap => {
            // A process that ended before it could answer was in the middle of its burst.
            let overlapping = raw.returned.as_ref().map(|answer| answer["overlapping"].as_u64().unwrap_or(0));
            overlapping.is_none_or(|overlapping| overlapping > 1)
        }
        FaultEvidence::Starved => raw.returned.as_ref().is_none_or(|answer| answer["starved"] == true),
        FaultEvidence::Memory => {
            let limit = call.circumstances.limits.memory.unwrap_or(u64::MAX);
            raw.usage.peak_rss_bytes.is_some_and(|peak| peak > limit / 2)
        }
        FaultEvidence::Disk => raw.disk_full,
        FaultEvidence::Deadline => true,
        FaultEvidence::Delayed => packets(raw, |counts| counts.delayed) > 0,
        FaultEvidence::Disturbed => {
            packets(raw, |counts| counts.lost + counts.delayed + counts.duplicated + counts.reordered) > 0
        }
        FaultEvidence::Upstream => requests(raw).any(|request| request.fault.is_some()),
        FaultEvidence::Drifted => call.stub.drifted > 0 || requests(raw).any(|request| request.drifted > 0),
        FaultEvidence::Faulted => raw.faults.iter().any(|fault| fault.fired > 0),
    };
    proofs.is_empty() || proofs.iter().any(seen)
}

fn packets(raw: &RawOutcome, count: impl Fn(&DirectionCounts) -> u64) -> u64 {
    raw.network.flows.iter().map(|flow| count(&flow.out) + count(&flow.into)).sum()
}

fn requests(raw: &RawOutcome) -> impl Iterator<Item = &FlowRequest> {
    raw.network.flows.iter().flat_map(|flow| &flow.requests)
}

/// Describes why the required evidence is missing.
pub(crate) fn missing_evidence(proofs: &[FaultEvidence]) -> String {
    let word = |proof: &FaultEvidence| match proof {
        FaultEvidence::Overlap => "its calls did not overlap",
        FaultEvidence::Starved => "no process waited for a CPU",
        FaultEvidence::Memory => "it used less than half of the memory limit",
        FaultEvidence::Disk => "it did not fill the disk",
        FaultEvidence::Deadline => "it has no deadline",
        FaultEvidence::Delayed => "none of its packets were delayed",
        FaultEvidence::Disturbed => "none of its packets were affected",
        FaultEvidence::Upstream => "none of its requests failed",
        FaultEvidence::Drifted => "no field that it received was changed",
        FaultEvidence::Faulted => "none of its file operations failed",
    };
    proofs.iter().map(word).collect::<Vec<_>>().join(", and ")
}

fn facts_of(answer: &Value) -> Option<ReportedException> {
    serde_json::from_value(answer.get("error")?.clone()).ok()
}

/// Classifies a process that ended before the harness could answer.
fn classify_without_answer(raw: &RawOutcome) -> CallClassification {
    let reason = match (raw.signal, raw.exit_code) {
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, Some(code)) => format!("the process exited with code {code}"),
        (None, None) => "the process ended without an answer".to_owned(),
    };
    CallClassification::new(OutcomeKind::Crash, reason)
}

/// A third-party module that is not installed says nothing about the code.
fn is_missing_dependency(facts: &ReportedException) -> bool {
    facts.is_a("ImportError")
}

fn classify_exception(
    facts: &ReportedException,
    stub: &Stub,
    declared: &[String],
    raw: &RawOutcome,
    changed: bool,
) -> (OutcomeKind, Option<String>) {
    let rejected = |why: &str| (OutcomeKind::Rejected, Some(why.to_owned()));
    if facts.is_a("MemoryError") {
        return (OutcomeKind::Oom, None);
    }
    if facts.refused && facts.is_a("TypeError") {
        return rejected("Python rejected the call");
    }
    if facts.raised {
        return rejected("raised explicitly");
    }
    if facts.own_class {
        return rejected("the exception class is defined in the repository");
    }
    if declared.iter().any(|name| facts.is_a(name.rsplit('.').next().unwrap_or(name))) {
        return rejected("declared in the docstring");
    }
    // Not every failed write raises an `OSError`: SQLite has its own exceptions.
    if facts.errno == Some(DISK_FULL) || raw.disk_full {
        return (OutcomeKind::DiskFull, None);
    }
    if facts.is_a("SystemExit") {
        return rejected("it requested the end of the program");
    }
    if facts.errno.is_some_and(|errno| REFUSALS.contains(&errno)) || facts.is_a("gaierror") {
        return (OutcomeKind::Denied, None);
    }
    let complains = COMPLAINTS.iter().any(|complaint| facts.is_a(complaint));
    // A complaint about a changed response is not about an argument.
    let is_about_answer = requests(raw).any(|request| request.drifted > 0 || request.fault.is_some());
    if complains && (stub.is_wrong || stub.is_doubtful) && !changed && !is_about_answer {
        return rejected("the argument was invalid");
    }
    (OutcomeKind::Crash, None)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;
    use crate::stress::{CallsPerCell, StressProfile};

    pub(crate) fn raw(answer: Value) -> RawOutcome {
        RawOutcome {
            returned: Some(answer),
            exit_code: Some(0),
            signal: None,
            timed_out: false,
            oom: false,
            disk_full: false,
            wall_ms: 1.0,
            usage: menace_model::sandbox::ResourceUsage::default(),
            stdout: String::new(),
            stderr: String::new(),
            truncated: false,
            network: menace_model::network::NetworkReport::default(),
            faults: Vec::new(),
        }
    }

    fn error(exception: &str, raised: bool) -> Value {
        json!({"stage": "call", "error": {
            "exception": exception, "module": "builtins", "bases": [exception, "Exception"], "message": "m",
            "frames": [["a.py", 3, "f"]], "raised": raised, "own_class": false, "refused": false,
        }})
    }

    pub(crate) fn call(stub: &Stub, preset: &str) -> Call {
        let preset = &menace_model::presets::read(preset).unwrap()[0];
        Call {
            module: "shop.cart".into(),
            function: "add".into(),
            path: "shop/cart.py".into(),
            line: 1,
            declared: vec!["shop.errors.Gone".into()],
            stub: stub.clone(),
            seed: 0,
            circumstances: StressProfile::of(preset, CallsPerCell::default()),
            timeout_ms: 5000,
            examples: false,
            across: false,
            reads: Vec::new(),
            needs_world: false,
            covers: false,
        }
    }

    fn kind(answer: Value, stub: &Stub) -> OutcomeKind {
        classify(&raw(answer), &call(stub, "{}")).kind
    }

    #[test]
    fn an_explicit_exception_is_rejected_and_any_other_is_a_crash() {
        let stub = Stub::default();
        assert_eq!(kind(error("ValueError", true), &stub), OutcomeKind::Rejected);
        assert_eq!(kind(error("ValueError", false), &stub), OutcomeKind::Crash);
        assert_eq!(kind(error("Gone", false), &stub), OutcomeKind::Rejected);
        assert_eq!(kind(error("MemoryError", false), &stub), OutcomeKind::Oom);
        assert_eq!(kind(json!({"stage": "done"}), &stub), OutcomeKind::Ok);
    }

    #[test]
    fn only_a_complaint_about_a_wrong_argument_is_not_a_crash() {
        let wrong = Stub { is_wrong: true, ..Stub::default() };
        assert_eq!(kind(error("TypeError", false), &wrong), OutcomeKind::Rejected);
        assert_eq!(kind(error("ZeroDivisionError", false), &wrong), OutcomeKind::Crash);
        let mut changed = error("TypeError", false);
        changed["changed"] = json!(true);
        assert_eq!(kind(changed, &wrong), OutcomeKind::Crash);
    }

    #[test]
    fn limits_and_signals_have_their_own_kinds() {
        let mut late = raw(Value::Null);
        late.timed_out = true;
        assert_eq!(classify(&late, &call(&Stub::default(), "{}")).kind, OutcomeKind::Timeout);
        let killed = RawOutcome { returned: None, signal: Some(11), exit_code: None, ..raw(Value::Null) };
        let verdict = classify(&killed, &call(&Stub::default(), "{}"));
        assert_eq!(
            (verdict.kind, verdict.reason.as_deref()),
            (OutcomeKind::Crash, Some("killed by signal 11"))
        );
    }

    #[test]
    fn a_sandbox_refusal_is_denied_unless_the_code_raises_it() {
        let mut refused = error("PermissionError", false);
        refused["error"]["errno"] = json!(13);
        assert_eq!(kind(refused.clone(), &Stub::default()), OutcomeKind::Denied);
        refused["error"]["raised"] = json!(true);
        assert_eq!(kind(refused, &Stub::default()), OutcomeKind::Rejected);
    }

    #[test]
    fn a_call_without_evidence_is_void() {
        let stub = Stub::default();
        let of = |raw: &RawOutcome, preset: &str| classify(raw, &call(&stub, preset)).kind;
        let mut done = raw(json!({"stage": "done", "took_ms": 700.0}));
        assert_eq!(of(&done, r#"{"FAILURE_MODES": "cpu"}"#), OutcomeKind::Void);
        done.returned.as_mut().unwrap()["starved"] = true.into();
        assert_eq!(of(&done, r#"{"FAILURE_MODES": "cpu"}"#), OutcomeKind::Ok);
        assert_eq!(of(&done, r#"{"FAILURE_MODES": "memory"}"#), OutcomeKind::Void);
        done.usage.peak_rss_bytes = Some(40 << 20);
        assert_eq!(of(&done, r#"{"FAILURE_MODES": "memory"}"#), OutcomeKind::Ok);
        assert_eq!(of(&done, r#"{"FAILURE_MODES": "disk"}"#), OutcomeKind::Void);
        let crashed = raw(error("KeyError", false));
        assert_eq!(of(&crashed, r#"{"FAILURE_MODES": "concurrency_spike"}"#), OutcomeKind::Crash);
        let forged = RawOutcome { exit_code: Some(1), ..raw(json!({"stage": "done"})) };
        assert_eq!(of(&forged, "{}"), OutcomeKind::Crash);
        assert_eq!(of(&done, r#"{"FAILURE_MODES": "concurrency_spike"}"#), OutcomeKind::Void);
        assert_eq!(of(&done, r#"{"FAILURE_MODES": "timeout", "TIMEOUT": 0.5}"#), OutcomeKind::Timeout);
        assert_eq!(of(&done, r#"{"FAILURE_MODES": "timeout", "TIMEOUT": 1}"#), OutcomeKind::Ok);
    }
}
