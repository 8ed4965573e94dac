//! Classification of raw outcomes.

use menace_model::calls::{OutcomeKind, RawOutcome, ReportedException};
use menace_model::harness::{CallReply, CallResult, HarnessReply};
use menace_model::network::{DirectionCounts, FlowRequest};

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
    let reply = raw.reply.as_ref().and_then(HarnessReply::as_call);
    let verdict = |kind, reason: Option<String>| CallClassification {
        kind,
        facts: reply.and_then(CallReply::exception).cloned(),
        reason,
        value: reply.and_then(CallReply::returned).and_then(|value| value.text.clone()),
    };
    if raw.timed_out {
        return verdict(OutcomeKind::Timeout, Some(format!("timed out after {} ms", call.timeout_ms)));
    }
    if raw.oom {
        return verdict(OutcomeKind::Oom, Some("memory limit exceeded".into()));
    }
    // The harness exits with 0 after its reply; with any other exit status the reply cannot be trusted.
    let reply = match raw.reply.as_ref().filter(|_| raw.exit_code == Some(0)) {
        None => return classify_without_reply(raw),
        Some(HarnessReply::Call(reply)) => reply,
        Some(HarnessReply::Malformed { problem }) => {
            let reason = format!("malformed reply of the harness: {problem}");
            return verdict(OutcomeKind::HarnessError, Some(reason));
        }
        Some(_) => {
            let reason = "the harness replied to another kind of request";
            return verdict(OutcomeKind::HarnessError, Some(reason.into()));
        }
    };
    let took = reply.took_ms.unwrap_or(0.0);
    if let Some(limit) = call.circumstances.within_ms.filter(|limit| took > *limit as f64) {
        return CallClassification::new(OutcomeKind::Timeout, format!("timed out after {limit} ms"));
    }
    match &reply.result {
        CallResult::Returned(_) => verdict(OutcomeKind::Ok, None),
        CallResult::ExampleDiffers(why) => verdict(OutcomeKind::Wrong, Some(why.clone())),
        // An object that does not accept a hostile or drifted field has rejected it.
        CallResult::NotBuilt(why) if call.stub.hostile + call.stub.drifted > 0 => {
            verdict(OutcomeKind::Void, Some(why.clone()))
        }
        CallResult::NotFound(why) | CallResult::NotBuilt(why) => {
            verdict(OutcomeKind::HarnessError, Some(why.clone()))
        }
        CallResult::ImportFailed(error) if is_missing_dependency(error) => verdict(
            OutcomeKind::HarnessError,
            Some(format!("failed to import the module: {}", error.message)),
        ),
        CallResult::ImportFailed(error) => {
            let (kind, reason) = classify_exception(error, &call.stub, &call.declared, raw, false);
            verdict(kind, reason)
        }
        CallResult::Raised { error, changed } => {
            let (kind, reason) = classify_exception(error, &call.stub, &call.declared, raw, *changed);
            verdict(kind, reason)
        }
    }
}

/// Whether the required evidence was observed. Profiles that require none affect every call.
fn has_evidence(raw: &RawOutcome, call: &Call) -> bool {
    let proofs = &call.circumstances.proofs;
    // A process that ended before it could reply was in the middle of its call.
    let reported = |is_seen: fn(&CallReply) -> bool| {
        raw.reply.as_ref().is_none_or(|reply| reply.as_call().is_some_and(is_seen))
    };
    let seen = |proof: &FaultEvidence| match proof {
        FaultEvidence::Overlap => reported(|reply| reply.overlapping.is_some_and(|count| count > 1)),
        FaultEvidence::Starved => reported(|reply| reply.starved == Some(true)),
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

/// Classifies a process that ended before the harness could reply.
fn classify_without_reply(raw: &RawOutcome) -> CallClassification {
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
    use menace_model::harness::ReturnedValue;

    use super::*;
    use crate::stress::{CallsPerCell, StressProfile};

    pub(crate) fn raw(reply: CallReply) -> RawOutcome {
        let reply = Some(HarnessReply::Call(reply));
        RawOutcome { reply, exit_code: Some(0), wall_ms: 1.0, ..RawOutcome::default() }
    }

    fn done() -> CallReply {
        CallReply::of(CallResult::Returned(ReturnedValue::default()))
    }

    fn exception(name: &str, raised: bool) -> ReportedException {
        ReportedException {
            exception: name.into(),
            module: "builtins".into(),
            bases: vec![name.into(), "Exception".into()],
            message: "m".into(),
            frames: vec![("a.py".into(), 3, "f".into())],
            raised,
            ..ReportedException::default()
        }
    }

    fn raises(error: ReportedException) -> CallReply {
        CallReply::of(CallResult::Raised { error: Box::new(error), changed: false })
    }

    pub(crate) fn error(name: &str, raised: bool) -> CallReply {
        raises(exception(name, raised))
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

    fn kind(reply: CallReply, stub: &Stub) -> OutcomeKind {
        classify(&raw(reply), &call(stub, "{}")).kind
    }

    #[test]
    fn an_explicit_exception_is_rejected_and_any_other_is_a_crash() {
        let stub = Stub::default();
        assert_eq!(kind(error("ValueError", true), &stub), OutcomeKind::Rejected);
        assert_eq!(kind(error("ValueError", false), &stub), OutcomeKind::Crash);
        assert_eq!(kind(error("Gone", false), &stub), OutcomeKind::Rejected);
        assert_eq!(kind(error("MemoryError", false), &stub), OutcomeKind::Oom);
        assert_eq!(kind(done(), &stub), OutcomeKind::Ok);
    }

    #[test]
    fn only_a_complaint_about_a_wrong_argument_is_not_a_crash() {
        let wrong = Stub { is_wrong: true, ..Stub::default() };
        assert_eq!(kind(error("TypeError", false), &wrong), OutcomeKind::Rejected);
        assert_eq!(kind(error("ZeroDivisionError", false), &wrong), OutcomeKind::Crash);
        let error = Box::new(exception("TypeError", false));
        let changed = CallReply::of(CallResult::Raised { error, changed: true });
        assert_eq!(kind(changed, &wrong), OutcomeKind::Crash);
    }

    #[test]
    fn limits_and_signals_have_their_own_kinds() {
        let late = RawOutcome { timed_out: true, ..RawOutcome::default() };
        assert_eq!(classify(&late, &call(&Stub::default(), "{}")).kind, OutcomeKind::Timeout);
        let killed = RawOutcome { signal: Some(11), ..RawOutcome::default() };
        let verdict = classify(&killed, &call(&Stub::default(), "{}"));
        assert_eq!(
            (verdict.kind, verdict.reason.as_deref()),
            (OutcomeKind::Crash, Some("killed by signal 11"))
        );
    }

    #[test]
    fn a_sandbox_refusal_is_denied_unless_the_code_raises_it() {
        let refused =
            |raised| raises(ReportedException { errno: Some(13), ..exception("PermissionError", raised) });
        assert_eq!(kind(refused(false), &Stub::default()), OutcomeKind::Denied);
        assert_eq!(kind(refused(true), &Stub::default()), OutcomeKind::Rejected);
    }

    #[test]
    fn a_call_without_evidence_is_void() {
        let stub = Stub::default();
        let of = |raw: &RawOutcome, preset: &str| classify(raw, &call(&stub, preset)).kind;
        let slow = CallReply { took_ms: Some(700.0), ..done() };
        let mut ended = raw(slow.clone());
        assert_eq!(of(&ended, r#"{"FAILURE_MODES": "cpu"}"#), OutcomeKind::Void);
        ended.reply = Some(HarnessReply::Call(CallReply { starved: Some(true), ..slow }));
        assert_eq!(of(&ended, r#"{"FAILURE_MODES": "cpu"}"#), OutcomeKind::Ok);
        assert_eq!(of(&ended, r#"{"FAILURE_MODES": "memory"}"#), OutcomeKind::Void);
        ended.usage.peak_rss_bytes = Some(40 << 20);
        assert_eq!(of(&ended, r#"{"FAILURE_MODES": "memory"}"#), OutcomeKind::Ok);
        assert_eq!(of(&ended, r#"{"FAILURE_MODES": "disk"}"#), OutcomeKind::Void);
        let crashed = raw(error("KeyError", false));
        assert_eq!(of(&crashed, r#"{"FAILURE_MODES": "concurrency_spike"}"#), OutcomeKind::Crash);
        let forged = RawOutcome { exit_code: Some(1), ..raw(done()) };
        assert_eq!(of(&forged, "{}"), OutcomeKind::Crash);
        assert_eq!(of(&ended, r#"{"FAILURE_MODES": "concurrency_spike"}"#), OutcomeKind::Void);
        assert_eq!(of(&ended, r#"{"FAILURE_MODES": "timeout", "TIMEOUT": 0.5}"#), OutcomeKind::Timeout);
        assert_eq!(of(&ended, r#"{"FAILURE_MODES": "timeout", "TIMEOUT": 1}"#), OutcomeKind::Ok);
    }

    #[test]
    fn a_malformed_reply_is_a_harness_error() {
        let malformed = HarnessReply::Malformed { problem: "unknown field `x`".into() };
        let verdict =
            classify(&RawOutcome { reply: Some(malformed), ..raw(done()) }, &call(&Stub::default(), "{}"));
        assert_eq!(verdict.kind, OutcomeKind::HarnessError);
        assert_eq!(verdict.reason.as_deref(), Some("malformed reply of the harness: unknown field `x`"));
    }
}
