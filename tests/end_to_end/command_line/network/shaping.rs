//! Traffic shaping: delay, loss, duplication, reordering, bandwidth, partitions.

use serde_json::json;

use super::{RecordedFlows, echoing_datagrams, inverting_server, python};

/// Program that connects, and prints how long that took or the error.
fn connecting(port: u16, timeout: f64) -> String {
    format!(
        "
import socket, time
began = time.monotonic()
try:
    opened = socket.create_connection(('198.18.0.1', {port}), timeout={timeout})
except OSError as error:
    print(type(error).__name__)
else:
    print(time.monotonic() - began)
    began = time.monotonic()
    opened.send(b'x')
    opened.recv(1)
    print(time.monotonic() - began)
"
    )
}

fn seconds(printed: &str) -> Vec<f64> {
    printed.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn a_host_that_is_partitioned_off_does_not_answer() {
    let port = inverting_server();
    let network = format!("allow=127.0.0.1:{port}");
    for host in ["host.menace.internal", "198.18.0.0/15", "*"] {
        let (printed, flows) = python(&network, &["--partition", host], &connecting(port, 0.3));
        assert_eq!(printed, "TimeoutError\n", "{host}");
        let flow = flows.one("tcp");
        assert_eq!(flow["verdict"], "partitioned", "{host}");
        assert_eq!((&flow["out"]["lost"], &flow["in"]["packets"]), (&flow["out"]["packets"], &json!(0)));
    }
    let (printed, flows) = python(&network, &["--partition", "other.test.example"], &connecting(port, 10.0));
    assert_eq!((seconds(&printed).len(), &flows.one("tcp")["verdict"]), (2, &json!("allowed")));
}

#[test]
fn netem_delays_outgoing_packets_or_is_reported_missing() {
    let port = inverting_server();
    let tree = menace_tests::RepositoryTree::new();
    let outcome = tree
        .menace(["sandbox", "run", "--net", &format!("allow=127.0.0.1:{port}")])
        .arguments([
            "--shaper",
            "netem",
            "--latency",
            "150ms",
            "--",
            "python3",
            "-c",
            &connecting(port, 10.0),
        ])
        .run();
    let found = tree.menace(["doctor", "--json"]).run().json();
    let netem = found.as_array().unwrap().iter().find(|check| check["name"] == "netem").unwrap();
    if netem["present"] == true {
        let trips = seconds(&outcome.success().stdout);
        assert!(trips.iter().all(|trip| *trip >= 0.15), "{trips:?}");
    } else {
        outcome
            .exits_with(3)
            .stderr_contains(&["cannot shape packets with netem", "\nhint: this kernel has no netem"]);
    }
}

#[test]
fn a_round_trip_takes_the_configured_delay() {
    let port = inverting_server();
    let (printed, flows) =
        python(&format!("allow=127.0.0.1:{port}"), &["--latency", "150ms"], &connecting(port, 10.0));
    for trip in seconds(&printed) {
        assert!(trip >= 0.15, "a round trip took only {trip} seconds");
    }
    let flow = flows.one("tcp");
    assert_eq!(flow["out"]["delayed"], flow["out"]["packets"]);
    assert!(
        flow["first_byte_ms"].as_f64().unwrap() >= 300.0,
        "connecting is one round trip, the response another: {flow}"
    );
}

#[test]
fn faults_apply_only_inside_their_window() {
    let port = inverting_server();
    let connect = |window: &str, timeout| {
        let options = ["--partition", "*", "--latency", "1s", "--fault-window", window];
        python(&format!("allow=127.0.0.1:{port}"), &options, &connecting(port, timeout))
    };
    let (printed, flows) = connect("0s-1h", 0.3);
    assert_eq!((printed.as_str(), &flows.one("tcp")["verdict"]), ("TimeoutError\n", &json!("partitioned")));
    let (printed, flows) = connect("1h-2h", 30.0);
    let flow = flows.one("tcp");
    assert_eq!((seconds(&printed).len(), &flow["verdict"]), (2, &json!("allowed")));
    assert_eq!((&flow["out"]["delayed"], &flow["out"]["lost"]), (&json!(0), &json!(0)));
}

/// Numbers of the datagrams that came back, of a hundred.
fn survivors(port: u16, seed: &str) -> (String, RecordedFlows) {
    let program = format!(
        "
import socket
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.connect(('198.18.0.1', {port}))
for number in range(100):
    datagrams.send(str(number).encode())
# Datagrams come back in order, so none follows after one of the last.
datagrams.settimeout(0.2)
survivors = []
while True:
    try:
        got = datagrams.recv(10).decode()
    except TimeoutError:
        datagrams.send(b'end')
        continue
    if got == 'end':
        break
    survivors.append(got)
print(*survivors)
"
    );
    python(&format!("allow=127.0.0.1:{port}"), &["--loss", "20%", "--seed", seed], &program)
}

#[test]
fn the_seed_determines_which_packets_are_lost() {
    let port = echoing_datagrams();
    let (first, flows) = survivors(port, "1");
    let count = first.split_whitespace().count();
    // Each direction loses a fifth of them.
    assert!((45..=80).contains(&count), "{count} of 100 came back");
    let flow = flows.one("udp");
    let lost = flow["out"]["lost"].as_u64().unwrap() + flow["in"]["lost"].as_u64().unwrap();
    assert!(lost >= 100 - count as u64, "{count} came back: {flow}");
    assert_eq!(survivors(port, "1").0, first);
    assert_ne!(survivors(port, "2").0, first);
}

#[test]
fn a_duplicated_packet_arrives_twice_and_tcp_is_unaffected() {
    let (port, datagram_port) = (inverting_server(), echoing_datagrams());
    let program = format!(
        "
import socket
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.settimeout(10)
datagrams.connect(('198.18.0.1', {datagram_port}))
datagrams.send(b'x')
# Two arrive, and each of the two answers arrives twice.
assert [datagrams.recv(10) for _ in range(4)] == [b'x'] * 4
opened = socket.create_connection(('198.18.0.1', {port}), timeout=10)
opened.sendall(bytes(range(256)) * 400)
opened.shutdown(socket.SHUT_WR)
received = b''.join(iter(lambda: opened.recv(1 << 16), b''))
assert received == bytes(reversed(range(256))) * 400, len(received)
"
    );
    let (_, flows) = python("allow=127.0.0.1", &["--duplicate", "100%"], &program);
    let flow = flows.one("udp");
    assert_eq!((&flow["out"]["duplicated"], &flow["in"]["duplicated"]), (&json!(1), &json!(2)));
    assert_eq!(flows.one("tcp")["in"]["bytes"], 256 * 400);
}

#[test]
fn a_byte_stream_is_in_order_despite_packet_reordering() {
    let port = inverting_server();
    let program = format!(
        "
import socket, threading
opened = socket.create_connection(('198.18.0.1', {port}), timeout=30)
def send():
    opened.sendall(bytes(range(256)) * 400)
    opened.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
received = b''.join(iter(lambda: opened.recv(1 << 16), b''))
assert received == bytes(reversed(range(256))) * 400, len(received)
"
    );
    let options = ["--latency", "10ms", "--jitter", "5ms", "--reorder", "30%", "--duplicate", "10%"];
    let (_, flows) = python(&format!("allow=127.0.0.1:{port}"), &options, &program);
    let flow = flows.one("tcp");
    for direction in ["out", "in"] {
        for what in ["delayed", "reordered", "duplicated"] {
            assert!(
                flow[direction][what].as_u64().unwrap() > 0,
                "no packet was {what} in direction {direction}: {flow}"
            );
        }
    }
}

#[test]
fn a_bandwidth_is_not_exceeded() {
    let port = inverting_server();
    let program = format!(
        "
import socket, time
opened = socket.create_connection(('198.18.0.1', {port}), timeout=30)
began = time.monotonic()
opened.sendall(bytes(250_000))
left = 250_000
while left > 0:
    left -= len(opened.recv(1 << 16))
print(time.monotonic() - began)
"
    );
    let (printed, _) = python(&format!("allow=127.0.0.1:{port}"), &["--bandwidth", "2mbit"], &program);
    // Two megabits are 250 kilobytes and take a second.
    assert!(seconds(&printed)[0] >= 1.0, "the transfer took only {printed} seconds");
}

#[test]
fn download_stalls_do_not_grow() {
    let port = inverting_server();
    let program = format!(
        "
import socket, threading, time
opened = socket.create_connection(('198.18.0.1', {port}), timeout=50)
threading.Thread(target=opened.sendall, args=(bytes(5_000_000),)).start()
left, before, longest = 5_000_000, time.monotonic(), 0
while left > 0:
    left -= len(opened.recv(1 << 16))
    now = time.monotonic()
    longest, before = max(longest, now - before), now
print(longest)
"
    );
    let (printed, _) = python(&format!("allow=127.0.0.1:{port}"), &["--loss", "2%"], &program);
    assert!(seconds(&printed)[0] < 3.0, "the download stalled for {printed} seconds");
}

#[test]
fn the_loopback_of_the_host_is_partitioned_off_as_it_is_allowed() {
    let port = inverting_server();
    for host in ["127.0.0.1", "localhost"] {
        let network = format!("allow={host}:{port}");
        let (printed, _) = python(&network, &["--partition", host], &connecting(port, 0.3));
        assert_eq!(printed, "TimeoutError\n", "{host}");
    }
}
