//! Injected faults in HTTP responses, as a client sees them.

use serde_json::{Value, json};

use super::mocks::mocked;
use super::{RecordedFlows, interpreter, run, sandbox};

/// Requests a faulty response `times` times, over HTTP and over HTTPS, and prints each response or error.
fn ask(answer: &Value, times: usize) -> [(Vec<String>, RecordedFlows); 2] {
    let rule = rule(answer);
    // A short timeout only for a response that never comes.
    let timeout = if answer["fault"] == "stall" { 0.5 } else { 30.0 };
    ["http", "https"].map(|scheme| {
        let (tree, network) = mocked(&rule);
        let program = format!(
            "
import urllib.error, urllib.request
for _ in range({times}):
    try:
        with urllib.request.urlopen('{scheme}://api.test.example/', timeout={timeout}) as answer:
            print(answer.status, answer.read())
    except urllib.error.HTTPError as error:
        print(error.code, dict(error.headers).get('www-authenticate'), dict(error.headers).get('retry-after'))
    except Exception as error:
        print(type(getattr(error, 'reason', error)).__name__, getattr(error, 'partial', None))
"
        );
        let (printed, flows) = run(&tree, &network, &[], &[interpreter(), "-I", "-c", &program]);
        (printed.lines().map(str::to_owned).collect(), flows)
    })
}

fn rule(answer: &Value) -> Value {
    let mut whole = json!({"body": "0123456789abcdef".repeat(4)});
    whole.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    json!([{"host": "api.test.example", "respond": whole}])
}

fn faults(flows: &RecordedFlows) -> Vec<&Value> {
    flows.requests().into_iter().map(|request| &request["fault"]).collect()
}

const WHOLE: &str = "200 b'0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'";

#[test]
fn a_reset_breaks_the_connection() {
    let [plain, encrypted] = ask(&json!({"fault": "reset"}), 1);
    assert_eq!(plain.0, ["ConnectionResetError None"]);
    // OpenSSL may report a reset as an end of file, which Python turns into an error.
    assert!(
        ["ConnectionResetError None", "RemoteDisconnected None"].contains(&&*encrypted.0[0]),
        "{encrypted:?}"
    );
    for (_, flows) in [plain, encrypted] {
        assert_eq!(
            (&flows.one("tcp")["verdict"], &flows.one("tcp")["reason"]),
            (&json!("mocked"), &json!("reset by a mock"))
        );
    }
}

#[test]
fn requests_before_a_reset_are_recorded() {
    for (printed, flows) in ask(&json!({"fault": "reset"}), 200) {
        assert_eq!((printed.len(), flows.requests().len()), (200, 200));
        assert!(faults(&flows).into_iter().all(|fault| *fault == "reset"), "{flows:?}");
    }
}

#[test]
fn a_truncated_answer_ends_in_its_middle() {
    for (printed, flows) in ask(&json!({"fault": "truncate"}), 1) {
        assert_eq!(printed, ["IncompleteRead b'0123456789abcdef0123456789abcdef'"]);
        assert_eq!(faults(&flows), [&json!("truncate")]);
    }
}

#[test]
fn a_corrupt_answer_has_the_right_length() {
    for (printed, flows) in ask(&json!({"fault": "corrupt"}), 1) {
        let changed = format!("200 b'{}'", r"\xa5123456789abcdef".repeat(4));
        assert_eq!(printed, [changed]);
        assert_eq!(faults(&flows), [&json!("corrupt")]);
    }
}

#[test]
fn every_third_request_fails_and_no_other() {
    for (printed, flows) in ask(&json!({"fail_every": 3}), 6) {
        let failed = "503 None 1";
        assert_eq!(printed, [WHOLE, WHOLE, failed, WHOLE, WHOLE, failed]);
        let (none, unavailable) = (&Value::Null, &json!("unavailable"));
        assert_eq!(faults(&flows), [none, none, unavailable, none, none, unavailable]);
    }
}

#[test]
fn the_requests_that_are_named_fail_and_no_others() {
    for (printed, _) in ask(&json!({"fail_on": [1, 3], "fault": "forbidden"}), 4) {
        let failed = "403 None None";
        assert_eq!(printed, [failed, WHOLE, failed, WHOLE]);
    }
}

#[test]
fn an_unauthorized_response_has_a_challenge() {
    for (printed, flows) in ask(&json!({"fault": "unauthorized"}), 1) {
        assert_eq!(printed, ["401 Bearer error=\"invalid_token\" None"]);
        assert_eq!(flows.requests()[0]["status"], 401);
    }
}

#[test]
fn an_answer_that_stalls_never_comes() {
    for (printed, flows) in ask(&json!({"fault": "stall"}), 1) {
        assert_eq!(printed, ["TimeoutError None"]);
        assert_eq!((faults(&flows), &flows.requests()[0]["status"]), (vec![&json!("stall")], &Value::Null));
    }
}

#[test]
fn an_answer_that_is_late_comes() {
    for (printed, flows) in ask(&json!({"delay": "200ms"}), 1) {
        assert_eq!(printed, [WHOLE]);
        assert!(flows.one("tcp")["duration_ms"].as_f64().unwrap() >= 200.0, "{flows:?}");
    }
}

#[test]
fn requests_of_a_timed_out_program_are_recorded() {
    let (tree, network) = mocked(&rule(&json!({"fault": "stall"})));
    let program = "import urllib.request\nurllib.request.urlopen('http://api.test.example/path')";
    let command = [interpreter(), "-I", "-c", program];
    let report = sandbox(&tree, &network, &["--timeout", "1s"], &command).run().exits_with(124).json();
    let flows = RecordedFlows(report["flows"].as_array().unwrap().clone());
    assert_eq!((&flows.requests()[0]["path"], faults(&flows)), (&json!("/path"), vec![&json!("stall")]));
}
