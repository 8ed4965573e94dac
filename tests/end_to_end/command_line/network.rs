//! `menace sandbox run --net`: real programs on a network that is refused, forwarded, mocked and faulty.

mod destinations;
mod faults;
mod invalid_options;
mod mocks;
#[path = "../../security/name_server.rs"]
mod name_server;
mod shaping;
#[path = "../../security/two_hosts.rs"]
mod two_hosts;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};

use menace_tests::{MenaceInvocation, RepositoryTree};
use serde_json::Value;

/// `menace sandbox run --json --net NETWORK OPTIONS -- COMMAND`, not started yet.
fn sandbox(tree: &RepositoryTree, network: &str, options: &[&str], command: &[&str]) -> MenaceInvocation {
    tree.menace(["sandbox", "run", "--json", "--net", network])
        .arguments(options)
        .arguments(["--"])
        .arguments(command)
}

/// Runs a command that has to succeed, and returns its stdout and the recorded flows.
#[track_caller]
fn run(tree: &RepositoryTree, network: &str, options: &[&str], command: &[&str]) -> (String, RecordedFlows) {
    let report = sandbox(tree, network, options, command).run().success().json();
    assert_eq!(report["flows_left_out"], 0);
    (
        report["stdout"].as_str().unwrap().to_owned(),
        RecordedFlows(report["flows"].as_array().unwrap().clone()),
    )
}

/// The same for a program in Python.
#[track_caller]
fn python(network: &str, options: &[&str], program: &str) -> (String, RecordedFlows) {
    run(&RepositoryTree::new(), network, options, &[interpreter(), "-I", "-c", program])
}

/// Python of the system if there is one: the shims that version managers put before it on `PATH` are slow to start.
fn interpreter() -> &'static str {
    const OF_THE_SYSTEM: &str = "/usr/bin/python3";
    if Path::new(OF_THE_SYSTEM).exists() { OF_THE_SYSTEM } else { "python3" }
}

/// Recorded flows of a network.
#[derive(Debug)]
struct RecordedFlows(Vec<Value>);

impl RecordedFlows {
    /// Flows of a protocol, in the order in which they began.
    fn of(&self, protocol: &str) -> Vec<&Value> {
        self.0.iter().filter(|flow| flow["protocol"] == protocol).collect()
    }

    /// The only flow of a protocol.
    #[track_caller]
    fn one(&self, protocol: &str) -> &Value {
        let [flow] = self.of(protocol)[..] else { panic!("not one flow of {protocol}: {self:?}") };
        flow
    }

    /// All requests to mocks.
    fn requests(&self) -> Vec<&Value> {
        self.0.iter().filter_map(|flow| flow["requests"].as_array()).flatten().collect()
    }
}

/// Starts a server on the loopback of this host that sends every byte back inverted, until the test is over: its answers
/// cannot be mistaken for the data that was sent.
fn inverting_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || {
                let mut stream = stream.unwrap();
                let mut bytes = vec![0; 1 << 16];
                // The client may have disconnected.
                while let Ok(length @ 1..) = stream.read(&mut bytes) {
                    bytes[..length].iter_mut().for_each(|byte| *byte = !*byte);
                    if stream.write_all(&bytes[..length]).is_err() {
                        return;
                    }
                }
                let _ = stream.shutdown(Shutdown::Write);
            });
        }
    });
    port
}

/// Starts a server that echoes every datagram.
fn echoing_datagrams() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut bytes = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            socket.send_to(&bytes[..length], from).unwrap();
        }
    });
    port
}

/// Whether a command of this host works, for tests that need an optional program; reports the skip if not.
#[expect(clippy::print_stderr, reason = "a test reports what it does not test")]
fn has(command: &[&str]) -> bool {
    let (program, arguments) = command.split_first().unwrap();
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let has = status.is_ok_and(|status| status.success());
    if !has {
        eprintln!("skipped: `{}` does not work on this host", command.join(" "));
    }
    has
}
