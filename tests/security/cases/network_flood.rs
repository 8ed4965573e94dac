//! Floods of packets and connections, whose state costs memory of menace, not of the sandbox.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use menace_tests::menace_binary;
use serde_json::{Value, json};

use super::network_policy::has_networks;
use crate::harness::CaseContext;
use crate::probe::interpreter;

/// Most memory that menace may use, including its executable.
const BOUND: u64 = 300 << 20;
/// Most flows that are recorded.
const MOST_FLOWS: usize = 10_000;

/// Runs a program that has to succeed, and reads the peak memory of menace afterwards. Printing is the last thing that
/// menace does, and it blocks on output that does not fit in a small pipe: at the first byte its peak is known.
fn run(network: &str, program: &str) -> Value {
    let runtime = tempfile::tempdir().unwrap();
    let mut menace = Command::new(menace_binary())
        .args(["sandbox", "run", "--json", "--open-files", "8192", "--net", network, "--"])
        .args([interpreter(), "-I", "-S", "-c", program])
        .env("XDG_RUNTIME_DIR", runtime.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = menace.stdout.take().unwrap();
    rustix::pipe::fcntl_setpipe_size(&stdout, 4096).unwrap();
    let mut printed = vec![0; 1];
    stdout.read_exact(&mut printed).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", menace.id())).unwrap();
    stdout.read_to_end(&mut printed).unwrap();
    assert!(menace.wait().unwrap().success());
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak << 10 <= BOUND, "menace used {peak} KiB");
    serde_json::from_slice(&printed).unwrap()
}

fn count(report: &Value, verdict: &str) -> usize {
    report["flows"].as_array().unwrap().iter().filter(|flow| flow["verdict"] == verdict).count()
}

pub(crate) async fn refused_connections_and_datagrams_cost_little_memory(context: &CaseContext) {
    if !has_networks(context) {
        return;
    }
    let report = run(
        "deny",
        "
import socket
for number in range(10_500):
    with socket.socket() as opened:
        assert opened.connect_ex((f'192.0.2.{number % 250}', 1 + number)) == 111
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(100_000):
    datagrams.sendto(bytes(200), ('192.0.2.1', 1 + number % 5000))
",
    );
    assert_eq!(count(&report, "refused"), MOST_FLOWS);
    assert_eq!(report["flows"].as_array().unwrap().len(), MOST_FLOWS);
    // Datagrams may be lost before they reach menace, because their sender does not wait.
    assert!(report["flows_left_out"].as_u64().unwrap() >= 500, "{}", report["flows_left_out"]);
}

/// Runs a program that can open connections to a mock, which responds with a megabyte.
fn run_with_mock(program: &str) -> Value {
    let rules = tempfile::NamedTempFile::new().unwrap();
    let rule = json!([{"host": "api.test.example", "respond": {"body": "x".repeat(1 << 20)}}]);
    fs::write(rules.path(), rule.to_string()).unwrap();
    let prelude = r"
import socket
address = socket.getaddrinfo('api.test.example', 80, socket.AF_INET)[0][4]
opened = []
def connect():
    connection = socket.socket()
    if connection.connect_ex(address) == 0:
        opened.append(connection)
        return connection
";
    run(&format!("mock={}", rules.path().display()), &format!("{prelude}{program}"))
}

/// More connections than may be open concurrently, some without a request and some with an incomplete one.
pub(crate) async fn idle_connections_cost_little_memory(context: &CaseContext) {
    const TOO_MANY: usize = 6000;
    if !has_networks(context) {
        return;
    }
    let report = run_with_mock(&format!(
        r"
for number in range({TOO_MANY}):
    connection = connect()
    if connection and number % 2:
        connection.sendall(b'GET / HTTP/1.1\r\nHost: api.test.example\r\n')
print(len(opened))
"
    ));
    let opened: usize = report["stdout"].as_str().unwrap().trim().parse().unwrap();
    assert!((100..TOO_MANY).contains(&opened), "{opened} connections were open concurrently");
    assert_eq!(count(&report, "mocked"), opened + 1, "the DNS query is one more");
    assert_eq!(count(&report, "refused"), TOO_MANY - opened);
}

pub(crate) async fn endless_bodies_cost_little_memory(context: &CaseContext) {
    if !has_networks(context) {
        return;
    }
    run_with_mock(
        r"
for _ in range(60):
    connection = connect()
    connection.sendall(b'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16000000\r\n\r\n')
    connection.sendall(bytes(15_000_000))
",
    );
}

pub(crate) async fn endless_headers_cost_little_memory(context: &CaseContext) {
    if !has_networks(context) {
        return;
    }
    run_with_mock(
        r"
for _ in range(1600):
    connect().sendall(b'GET / HTTP/1.1\r\nHost: a\r\nLong: ' + b'x' * 380_000)
",
    );
}

pub(crate) async fn unread_responses_cost_little_memory(context: &CaseContext) {
    if !has_networks(context) {
        return;
    }
    run_with_mock(
        r"
for _ in range(600):
    connect().sendall(b'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
for connection in opened:
    connection.recv(1)
",
    );
}

pub(crate) async fn long_paths_cost_little_memory(context: &CaseContext) {
    if !has_networks(context) {
        return;
    }
    run_with_mock(
        r"
for _ in range(4):
    connection = connect()
    for _ in range(1000):
        connection.sendall(b'HEAD /' + b'x' * 60_000 + b' HTTP/1.1\r\nHost: a\r\n\r\n')
        connection.recv(4096)
",
    );
}
