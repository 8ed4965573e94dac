//! Networks: refused and forwarded connections, and rules that change.

use std::io::{Read, Write};
use std::net::TcpListener;

use menace_model::network::{FlowDisposition, NetworkMode, NetworkSpec};
use menace_model::sandbox::{ExecRequest, SandboxSpec};
use menace_sandbox::{Backend, Sandbox, SandboxError};

use crate::harness::skip_unclaimed;

fn spec(rules: &[String]) -> NetworkSpec {
    NetworkSpec { allow: rules.iter().map(|rule| rule.parse().unwrap()).collect(), ..NetworkSpec::default() }
}

/// Starts a server that sends the same word to every client, for as long as the test runs.
fn greeter() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let _ = connection.write_all(b"hello");
            let _ = connection.shutdown(std::net::Shutdown::Write);
            let _ = connection.read_to_end(&mut Vec::new());
        }
    });
    port
}

/// Data that a program in the sandbox reads from a port of the host's loopback, or its error.
async fn read_from_host(sandbox: &dyn Sandbox, port: u16) -> String {
    let program = format!(
        "import socket\ntry:\n    print(socket.create_connection(('host.menace.internal', {port})).recv(9))\n\
         except OSError as error:\n    print(error)\n"
    );
    let outcome = sandbox.exec(ExecRequest::new(["python3", "-c", &program])).await.unwrap();
    outcome.stdout.trim().to_owned()
}

pub(crate) async fn rules_apply_and_can_change_while_a_sandbox_runs(backend: &dyn Backend) {
    if !backend.capabilities().network {
        let network = NetworkMode::Managed(Box::default());
        let refused = backend.create(SandboxSpec { network, ..SandboxSpec::default() }).await;
        assert!(refused.is_err(), "an unclaimed network must be refused, not ignored");
        return skip_unclaimed(backend, "a network");
    }
    let port = greeter();
    let network = NetworkMode::Managed(Box::default());
    let sandbox = backend.create(SandboxSpec { network, ..SandboxSpec::default() }).await.unwrap();
    assert_eq!(read_from_host(&*sandbox, port).await, "[Errno 111] Connection refused");
    sandbox.change_network(spec(&[format!("127.0.0.1:{port}")])).await.unwrap();
    assert_eq!(read_from_host(&*sandbox, port).await, "b'hello'");
    sandbox.change_network(spec(&[])).await.unwrap();
    assert_eq!(read_from_host(&*sandbox, port).await, "[Errno 111] Connection refused");
    let report = sandbox.network().await.unwrap();
    let connections = report.flows.iter().filter(|flow| flow.destination.ends_with(&format!(":{port}")));
    let verdicts: Vec<FlowDisposition> = connections.map(|flow| flow.verdict).collect();
    // The name has an IPv4 and an IPv6 address, and a client that is refused at one tries the other.
    let refused = [FlowDisposition::Refused; 2];
    assert_eq!(verdicts, [&refused[..], &[FlowDisposition::Allowed], &refused].concat());
}

pub(crate) async fn a_connection_that_is_no_longer_allowed_is_reset(backend: &dyn Backend) {
    if !backend.capabilities().network {
        return skip_unclaimed(backend, "a network");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let allowed = spec(&[format!("127.0.0.1:{port}")]);
    let network = NetworkMode::Managed(Box::new(allowed));
    let sandbox = backend.create(SandboxSpec { network, ..SandboxSpec::default() }).await.unwrap();
    let program = format!(
        "import socket\nconnection = socket.create_connection(('host.menace.internal', {port}))\n\
         print('there', flush=True)\ntry:\n    connection.recv(1)\nexcept OSError as error:\n    print(error)\n"
    );
    let mut process = sandbox.spawn(ExecRequest::new(["python3", "-c", &program])).await.unwrap();
    let menace_sandbox::ProcessEvent::Stdout(there) = process.next().await.unwrap() else {
        panic!("the command printed nothing")
    };
    assert_eq!(there, b"there\n");
    sandbox.change_network(spec(&[])).await.unwrap();
    let (printed, _) = crate::harness::finish(&mut *process).await;
    assert_eq!(printed.trim(), "[Errno 104] Connection reset by peer");
}

pub(crate) async fn a_sandbox_without_a_network_cannot_be_given_one(backend: &dyn Backend) {
    let sandbox = crate::harness::sandbox(backend).await;
    let refused = sandbox.change_network(spec(&["*".into()])).await;
    assert!(matches!(refused, Err(SandboxError::Refused { .. })), "{refused:?}");
    assert_eq!(sandbox.network().await.unwrap().flows, []);
}

pub(crate) async fn an_invalid_network_is_refused(backend: &dyn Backend) {
    if !backend.capabilities().network {
        return skip_unclaimed(backend, "a network");
    }
    let mut wrong = NetworkSpec::default();
    wrong.shape.out.loss = 1.5;
    let network = NetworkMode::Managed(Box::new(wrong));
    let refused = backend.create(SandboxSpec { network, ..SandboxSpec::default() }).await.err();
    assert!(matches!(refused, Some(SandboxError::Refused { .. })), "{refused:?}");
}
