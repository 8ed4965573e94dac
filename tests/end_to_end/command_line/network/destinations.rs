//! Reachable and refused destinations.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use menace_tests::{MenaceInvocation, RepositoryTree, menace_binary};
use serde_json::{Value, json};

use super::name_server::name_server;
use super::two_hosts::{FAR, TwoHosts};
use super::{RecordedFlows, echoing_datagrams, has, interpreter, inverting_server, python, run};

#[test]
fn forbidden_destinations_are_refused_immediately_and_recorded() {
    let program = "
import socket, time
def attempt(action):
    began = time.monotonic()
    try:
        action()
        print('reached')
    except OSError as error:
        print(type(error).__name__)
    assert time.monotonic() - began < 1, 'a refusal is immediate'
def send(family, address):
    with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
        datagrams.settimeout(5)
        datagrams.connect(address)
        datagrams.send(b'x')
        datagrams.recv(1)
attempt(lambda: socket.create_connection(('93.184.216.34', 443), timeout=5))
attempt(lambda: socket.create_connection(('2606:2800:220:1::1', 443), timeout=5))
attempt(lambda: send(socket.AF_INET, ('93.184.216.34', 123)))
attempt(lambda: send(socket.AF_INET6, ('2606:2800:220:1::1', 123)))
attempt(lambda: socket.getaddrinfo('api.test.example', 443))
";
    let (printed, RecordedFlows(flows)) = python("deny", &[], program);
    let refusals =
        ["ConnectionRefusedError", "ConnectionRefusedError", "OSError", "PermissionError", "gaierror"];
    assert_eq!(printed.lines().collect::<Vec<_>>(), refusals);
    let seen: Vec<Value> = flows.iter().map(|flow| json!([flow["protocol"], flow["destination"]])).collect();
    let expected = json!([
        ["tcp", "93.184.216.34:443"],
        ["tcp", "[2606:2800:220:1::1]:443"],
        ["udp", "93.184.216.34:123"],
        ["udp", "[2606:2800:220:1::1]:123"],
        ["dns", "api.test.example"],
    ]);
    assert_eq!(json!(seen), expected);
    for flow in &flows {
        assert_eq!(
            (&flow["verdict"], &flow["reason"]),
            (&json!("refused"), &json!("no rule allows it")),
            "{flow}"
        );
    }
}

#[test]
fn without_a_network_there_is_nothing_to_record() {
    let program = "import socket\nassert socket.socket().connect_ex(('93.184.216.34', 443)) != 0";
    let (_, RecordedFlows(flows)) = python("none", &[], program);
    assert_eq!(flows, [] as [Value; 0]);
}

#[test]
fn five_megabytes_pass_unchanged_both_ways() {
    let port = inverting_server();
    let program = format!(
        "
import hashlib, socket, threading
sent = hashlib.shake_128(b'menace').digest(5_000_000)
opened = socket.create_connection(('host.menace.internal', {port}), timeout=30)
def send():
    opened.sendall(sent)
    opened.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
received = b''.join(iter(lambda: opened.recv(1 << 16), b''))
assert received == bytes(255 - byte for byte in sent), len(received)
"
    );
    for options in [&[][..], &["--latency", "4ms", "--jitter", "2ms"]] {
        let (_, flows) = python(&format!("allow=127.0.0.1:{port}"), options, &program);
        let flow = flows.one("tcp");
        assert_eq!((&flow["verdict"], &flow["name"]), (&json!("allowed"), &json!("host.menace.internal")));
        assert_eq!((&flow["out"]["bytes"], &flow["in"]["bytes"]), (&json!(5_000_000), &json!(5_000_000)));
        assert!(flow["first_byte_ms"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn datagrams_pass_only_to_the_allowed_port() {
    let (named, other) = (echoing_datagrams(), echoing_datagrams());
    let program = format!(
        "
import socket
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.settimeout(10)
datagrams.connect(('host.menace.internal', {named}))
for length in (0, 1, 1400):
    datagrams.send(b'x' * length)
    assert datagrams.recv(2000) == b'x' * length
datagrams.connect(('host.menace.internal', {other}))
datagrams.send(b'x')
try:
    datagrams.recv(1)
except OSError as error:
    print(type(error).__name__)
"
    );
    let (printed, flows) = python(&format!("allow=host.menace.internal:{named}"), &[], &program);
    assert_eq!(printed, "OSError\n");
    let seen: Vec<_> =
        flows.of("udp").iter().map(|flow| json!([flow["verdict"], flow["in"]["bytes"]])).collect();
    assert_eq!(seen, [json!(["allowed", 1401]), json!(["refused", 0])]);
}

#[test]
fn a_closed_port_refuses_as_without_menace() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let program = format!("import socket\nprint(socket.socket().connect_ex(('198.18.0.1', {port})))");
    let (printed, flows) = python(&format!("allow=127.0.0.1:{port}"), &[], &program);
    assert_eq!(printed, "111\n");
    let flow = flows.one("tcp");
    assert_eq!(flow["verdict"], "allowed");
    assert!(flow["reason"].as_str().unwrap().starts_with("failed to connect"), "{flow}");
}

#[test]
fn a_name_is_reached_through_the_given_name_server() {
    let Some(hosts) = TwoHosts::connected() else { return };
    let listener = hosts.on_far(|| TcpListener::bind((FAR, 80)).unwrap());
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut said = [0; 5];
        stream.read_exact(&mut said).unwrap();
        stream.write_all(b"world").unwrap();
        said
    });
    let program = "
import socket
opened = socket.create_connection(('API.test.example', 80), timeout=10)
opened.sendall(b'hello')
assert opened.recv(5) == b'world'
assert socket.socket().connect_ex(('API.test.example', 81)) == 111
";
    let (_, flows) = hosts.on_near(|| {
        let server = name_server(|_, _| vec![FAR.parse().unwrap()]).to_string();
        let options = ["--dns", &server];
        run(
            &RepositoryTree::new(),
            "allow=*.test.example:80",
            &options,
            &[interpreter(), "-I", "-c", program],
        )
    });
    assert_eq!(&answering.join().unwrap(), b"hello");
    let seen = |flow: &&Value| json!([flow["destination"], flow["name"], flow["verdict"]]);
    let expected = [
        json!(["93.184.216.34:80", "api.test.example", "allowed"]),
        json!(["93.184.216.34:81", "api.test.example", "refused"]),
    ];
    assert_eq!(flows.of("tcp").iter().map(seen).collect::<Vec<_>>(), expected);
    assert!(flows.of("dns").iter().all(|flow| flow["verdict"] == "allowed"), "{flows:?}");
}

/// Most systems let every user open `/dev/net/tun`. If this one does not, the device is made accessible for one process.
#[test]
fn an_unprivileged_user_has_a_network() {
    if !has(&["unshare", "--mount", "setpriv", "--version"]) {
        return;
    }
    let tree = RepositoryTree::new();
    let (runtime, executable) = (tree.work().join("runtime"), tree.work().join("menace"));
    fs::create_dir(&runtime).unwrap();
    // The binary of the build may be in a directory that only root can read.
    fs::copy(menace_binary(), &executable).unwrap();
    for (directory, mode) in [(tree.work().parent().unwrap(), 0o755), (&runtime, 0o777)] {
        fs::set_permissions(directory, Permissions::from_mode(mode)).unwrap();
    }
    let script = "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 &&
        exec setpriv --reuid 65534 --regid 65534 --clear-groups ./menace sandbox run --json --net deny -- \"$@\"";
    let connect = "import socket\nassert socket.socket().connect_ex(('93.184.216.34', 443)) == 111";
    let report = MenaceInvocation::of("unshare", &tree.work(), &runtime)
        .arguments(["--mount", "sh", "-c", script, "sh", interpreter(), "-I", "-c", connect])
        .variable("XDG_RUNTIME_DIR", &runtime)
        .run()
        .success()
        .json();
    assert_eq!(report["flows"][0]["verdict"], "refused");
}
