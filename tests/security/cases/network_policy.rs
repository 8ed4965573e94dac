//! Destinations that a sandbox with a network must not reach: only those that a rule allows, without a bypass.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};

use menace_model::network::{FlowDisposition, FlowProtocol, FlowRecord, NetworkMode, NetworkSpec};
use menace_model::sandbox::SandboxSpec;
use menace_sandbox::Sandbox;
use menace_tests::MenaceInvocation;
use serde_json::Value;

use super::network::{own_address, try_abstract_sockets, try_raw_sockets};
use crate::harness::{CaseContext, skip_unclaimed};
use crate::name_server::name_server;
use crate::probe::{attempts, interpreter};
use crate::two_hosts::{FAR, NEAR, TwoHosts};

/// Errors that a forbidden connection gets immediately.
const REFUSED: [&str; 3] = ["ECONNREFUSED", "EHOSTUNREACH", "EACCES"];

/// Python prelude that tries a destination. Datagrams are refused with an ICMP message.
const REACH: &str = "
def place(address, port):
    # A link-local address needs an interface index.
    link = socket.if_nametoindex('net0') if address.startswith('fe80') else 0
    return (address, port, 0, link) if ':' in address else (address, port)
def reach(address, port, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, kind) as opened:
        opened.settimeout(5)
        opened.connect(place(address, port))
        if kind == socket.SOCK_DGRAM:
            opened.send(b'x')
            opened.recv(1)
def addresses(name):
    try:
        return sorted({entry[4][0] for entry in socket.getaddrinfo(name, 80)})
    except socket.gaierror as error:
        return socket.EAI_NONAME == error.errno and 'no such name' or str(error)
";

/// Whether the backend can give networks to this user; reports the skip if not.
pub(crate) fn has_networks(context: &CaseContext) -> bool {
    let device = File::options().read(true).write(true).open("/dev/net/tun");
    let has_networks = context.backend.capabilities().network && device.is_ok();
    if !has_networks {
        skip_unclaimed("a network, for which this user needs access to /dev/net/tun");
    }
    has_networks
}

/// Creates a sandbox with a network that has these allow rules.
async fn allowing(
    context: &CaseContext,
    rules: &[&str],
    resolver: Option<SocketAddr>,
) -> Option<Arc<dyn Sandbox>> {
    if !has_networks(context) {
        return None;
    }
    let allow = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let network = NetworkMode::Managed(Box::new(NetworkSpec { allow, resolver, ..NetworkSpec::default() }));
    Some(context.create(SandboxSpec { network, ..SandboxSpec::default() }).await)
}

async fn flows(sandbox: &dyn Sandbox) -> Vec<FlowRecord> {
    sandbox.network().await.unwrap().flows
}

fn verdicts(flows: &[FlowRecord], destination: &str) -> Vec<FlowDisposition> {
    flows.iter().filter(|flow| flow.destination == destination).map(|flow| flow.verdict).collect()
}

/// Tries each address over TCP and UDP; all are refused immediately, and recorded under menace's name for them.
async fn refuses(context: &CaseContext, addresses: &[(&str, &str)]) {
    let Some(sandbox) = allowing(context, &["*"], None).await else { return };
    let list: String = addresses.iter().map(|(address, _)| format!("'{address}', ")).collect();
    let program = format!(
        "{REACH}
for address in ({list}):
    attempt(address + ' tcp', lambda: reach(address, 80))
    attempt(address + ' udp', lambda: reach(address, 53, socket.SOCK_DGRAM))"
    );
    let tried = attempts(&*sandbox, &program).await;
    tried.assert_all(addresses.len() * 2, &REFUSED);
    assert!(tried.outcome.wall_ms < 2000.0, "a refusal is immediate: {} ms", tried.outcome.wall_ms);
    let seen = flows(&*sandbox).await.into_iter();
    let seen: Vec<_> = seen.map(|flow| (flow.protocol, flow.destination, flow.verdict)).collect();
    let expected = |(_, recorded): &(&str, &str)| {
        let of = |protocol, port| {
            let destination = SocketAddr::new(recorded.parse().unwrap(), port).to_string();
            (protocol, destination, FlowDisposition::Refused)
        };
        [of(FlowProtocol::Tcp, 80), of(FlowProtocol::Udp, 53)]
    };
    assert_eq!(seen, addresses.iter().flat_map(expected).collect::<Vec<_>>());
}

/// Cloud metadata services first: a program that can read them has the rights of the machine.
pub(crate) async fn private_addresses_are_refused_even_if_all_are_allowed(context: &CaseContext) {
    let addresses = [
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "192.0.0.192",
        "10.0.0.1",
        "10.255.255.254",
        "172.16.0.1",
        "172.31.255.254",
        "192.168.0.1",
        "100.64.0.1",
        "192.0.2.1",
        "198.18.0.9",
        "240.0.0.1",
    ];
    refuses(context, &addresses.map(|address| (address, address))).await;
}

/// IPv4 addresses can be embedded in IPv6 addresses in more than one way.
pub(crate) async fn ipv6_does_not_bypass_the_rules(context: &CaseContext) {
    let same = |address: &'static str| (address, address);
    let addresses = [
        same("fd00:ec2::254"),
        same("fd20:ce::254"),
        same("fc00::1"),
        same("fe80::1"),
        same("fec0::1"),
        same("2001:db8::1"),
        // The kernel itself maps this to the IPv4 address.
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("::ffff:169.254.169.254", "169.254.169.254"),
        same("64:ff9b::a9fe:a9fe"),
        same("64:ff9b::a00:1"),
        same("2002:a00:1::"),
        same("2001:0:a00:1::1"),
        same("::a00:1"),
    ];
    refuses(context, &addresses).await;
}

/// The agent of Azure, which has a public address, and ranges that IANA has reserved.
pub(crate) async fn reserved_public_addresses_are_refused(context: &CaseContext) {
    let addresses = ["168.63.129.16", "::ffff:0:a00:1", "100::1", "2001:2::1", "3fff::1", "5f00::1"];
    refuses(context, &addresses.map(|address| (address, address))).await;
}

pub(crate) async fn the_host_loopback_must_be_allowed_explicitly(context: &CaseContext) {
    // A rule for one of its ports opens no other port.
    let Some(sandbox) = allowing(context, &["*", "127.0.0.1:9"], None).await else { return };
    let listeners = ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"].map(TcpListener::bind);
    let listeners: Vec<TcpListener> = listeners.into_iter().flatten().collect();
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    datagrams.set_nonblocking(true).unwrap();
    let own = own_address().map(|address| format!("'{address}'")).unwrap_or_default();
    for listener in &listeners {
        listener.set_nonblocking(true).unwrap();
        let (port, datagram_port) =
            (listener.local_addr().unwrap().port(), datagrams.local_addr().unwrap().port());
        let program = format!(
            "{REACH}
found = addresses('host.menace.internal')
assert len(found) == 2, found
for address in [*found, '127.0.0.1', '::1', {own}]:
    attempt(address + ' tcp', lambda: reach(address, {port}))
    attempt(address + ' udp', lambda: reach(address, {datagram_port}, socket.SOCK_DGRAM))"
        );
        let count = if own.is_empty() { 8 } else { 10 };
        attempts(&*sandbox, &program).await.assert_all(count, &REFUSED);
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "a connection arrived");
    }
    assert_eq!(datagrams.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// DNS rebinding: the name server of the attacker gives another answer to the second query.
pub(crate) async fn a_rebound_name_keeps_its_first_addresses(context: &CaseContext) {
    let server = name_server(|_, before| {
        // Programs ask for IPv4 and IPv6 concurrently, which may be two queries here.
        let answers = [FAR, FAR, "127.0.0.1", "10.0.0.1", "169.254.169.254"];
        vec![answers[before.min(4)].parse().unwrap()]
    });
    let Some(sandbox) = allowing(context, &["*.test.example"], Some(server)).await else { return };
    let program = format!(
        "{REACH}
for number in range(3):
    say(number, addresses('rebound.test.example'))"
    );
    // A new process has no DNS cache, but menace keeps the first answer.
    for _ in 0..2 {
        let tried = attempts(&*sandbox, &program).await;
        for number in ["0", "1", "2"] {
            assert_eq!(tried.get(number), format!("['{FAR}']"));
        }
    }
}

pub(crate) async fn names_of_forbidden_addresses_do_not_resolve(context: &CaseContext) {
    let server = name_server(|name, _| {
        let addresses: &[&str] = match name {
            "private.test.example" => &["10.0.0.1", "169.254.169.254", "fd00:ec2::254"],
            "loopback.test.example" => &["127.0.0.1", "0.0.0.0", "::1", "::"],
            "mapped.test.example" => &["::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe"],
            _ => &["10.0.0.1", FAR, "fd00::1", "::ffff:127.0.0.1"],
        };
        addresses.iter().map(|address| address.parse().unwrap()).collect()
    });
    let Some(sandbox) = allowing(context, &["*"], Some(server)).await else { return };
    let program = format!(
        "{REACH}
for name in ('private', 'loopback', 'mapped', 'mixed'):
    say(name, addresses(name + '.test.example'))"
    );
    let tried = attempts(&*sandbox, &program).await;
    let flows = flows(&*sandbox).await;
    for name in ["private", "loopback", "mapped"] {
        assert_eq!(tried.get(name), "no such name");
        assert_eq!(verdicts(&flows, &format!("{name}.test.example")), [FlowDisposition::Refused]);
    }
    assert_eq!(tried.get("mixed"), format!("['{FAR}']"));
    assert_eq!(verdicts(&flows, "mixed.test.example"), [FlowDisposition::Allowed]);
}

/// A forwarded query reaches the name server of its domain, and its name may carry a secret.
pub(crate) async fn forbidden_names_are_not_forwarded(context: &CaseContext) {
    let asked = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&asked);
    let server = name_server(move |name, _| {
        seen.lock().unwrap().insert(name.to_owned());
        vec![FAR.parse().unwrap()]
    });
    let Some(sandbox) = allowing(context, &["api.test.example"], Some(server)).await else { return };
    let program = format!(
        "{REACH}
for name in ('secret.other.example', 'secret.api.test.example', 'notapi.test.example', 'api.test.example.other.example'):
    say(name, addresses(name))
say('allowed', addresses('API.test.example'))
for address in ('198.18.0.1', '8.8.8.8'):
    attempt(address, lambda: reach(address, 53))
attempt('the server itself', lambda: reach('198.18.0.1', {}, socket.SOCK_DGRAM))
attempt('another server', lambda: reach('8.8.8.8', 53, socket.SOCK_DGRAM))",
        server.port()
    );
    let tried = attempts(&*sandbox, &program).await;
    for name in ["secret.other", "secret.api.test", "notapi.test", "api.test.example.other"] {
        assert_eq!(tried.get(&format!("{name}.example")), "no such name");
    }
    assert_eq!(tried.get("allowed"), format!("['{FAR}']"));
    for attempt in ["198.18.0.1", "8.8.8.8", "the server itself", "another server"] {
        assert!(REFUSED.contains(&tried.get(attempt)), "{attempt}: {}", tried.get(attempt));
    }
    let asked: Vec<String> = asked.lock().unwrap().iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(asked, ["api.test.example"]);
}

/// Several queries from one port; libc would use a new port for each.
pub(crate) async fn every_dns_query_is_recorded(context: &CaseContext) {
    let Some(sandbox) = allowing(context, &[], None).await else { return };
    let program = r"
import struct
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.settimeout(5)
server.connect(('198.18.0.1', 53))
for number, name in enumerate(('first', 'second', 'third')):
    label = bytes([len(name)]) + name.encode()
    server.send(struct.pack('>6H', number, 0x100, 1, 0, 0, 0) + label + b'\7example\0' + struct.pack('>2H', 1, 1))
    say(name, server.recv(512)[3] & 15)
";
    let tried = attempts(&*sandbox, program).await;
    let flows = flows(&*sandbox).await;
    for name in ["first", "second", "third"] {
        assert_eq!(tried.get(name), "3", "the response code is NXDOMAIN");
        assert_eq!(verdicts(&flows, &format!("{name}.example")), [FlowDisposition::Refused], "{flows:?}");
    }
}

/// A program that already knows the address of a host that is allowed by name still has to resolve the name first.
pub(crate) async fn an_address_is_refused_until_its_name_was_resolved(context: &CaseContext) {
    let server = name_server(|_, _| vec![FAR.parse().unwrap()]);
    let Some(sandbox) = allowing(context, &["api.test.example:443"], Some(server)).await else { return };
    let program = format!(
        "{REACH}
attempt('not asked for', lambda: reach('{FAR}', 443))
assert addresses('api.test.example') == ['{FAR}']
attempt('another port', lambda: reach('{FAR}', 80))
attempt('datagrams to another port', lambda: reach('{FAR}', 53, socket.SOCK_DGRAM))
attempt('a neighbour', lambda: reach('93.184.216.35', 443))"
    );
    attempts(&*sandbox, &program).await.assert_all(4, &REFUSED);
    let flows = flows(&*sandbox).await;
    let refused = flows.iter().filter(|flow| flow.verdict == FlowDisposition::Refused).count();
    assert_eq!((flows.len(), refused), (5, 4), "{flows:?}");
}

/// A service of the host that listens on its public address may rely only on all clients being on other machines.
pub(crate) async fn public_addresses_of_the_host_itself_are_refused(context: &CaseContext) {
    let Some(hosts) = TwoHosts::connected().filter(|_| has_networks(context)) else { return };
    let listener = hosts.on_near(|| TcpListener::bind((NEAR, 80)).unwrap());
    listener.set_nonblocking(true).unwrap();
    let program = format!(
        "
import socket
for host in ('{NEAR}', 'own.test.example'):
    assert socket.socket().connect_ex((host, 80)) == 111
"
    );
    let report = run_near(&hosts, "allow=*", NEAR, &program);
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "a connection arrived");
    assert_eq!(verdicts_of_connections(&report), ["refused", "refused"]);
}

/// Runs a program on the near host, where all names resolve to one address.
fn run_near(hosts: &TwoHosts, network: &str, leads_to: &'static str, program: &str) -> Value {
    let directory = tempfile::tempdir().unwrap();
    hosts.on_near(|| {
        let server = name_server(|_, _| vec![leads_to.parse().unwrap()]).to_string();
        MenaceInvocation::new(directory.path(), directory.path())
            .arguments(["sandbox", "run", "--json", "--net", network, "--dns", &server])
            .arguments(["--", interpreter(), "-I", "-S", "-c", program])
            .run()
            .success()
            .json()
    })
}

fn verdicts_of_connections(report: &Value) -> Vec<&str> {
    let flows = report["flows"].as_array().unwrap().iter().filter(|flow| flow["protocol"] == "tcp");
    flows.map(|flow| flow["verdict"].as_str().unwrap()).collect()
}

/// Domain fronting: the address is that of an allowed host, and the TLS `ClientHello` names a forbidden one.
pub(crate) async fn a_tls_hello_for_another_host_is_not_forwarded(context: &CaseContext) {
    let Some(hosts) = TwoHosts::connected().filter(|_| has_networks(context)) else { return };
    let listener = hosts.on_far(|| TcpListener::bind((FAR, 443)).unwrap());
    let heard = std::thread::spawn(move || {
        let hear = |_| {
            let mut said = vec![0; 4096];
            let length = listener.accept().unwrap().0.read(&mut said).unwrap_or(0);
            said.truncate(length);
            String::from_utf8_lossy(&said).into_owned()
        };
        (0..4).map(hear).collect::<Vec<String>>()
    });
    let program = "
import socket, ssl
def speak(name):
    trusting = ssl._create_unverified_context()
    with socket.create_connection(('api.test.example', 443), timeout=5) as opened:
        try:
            trusting.wrap_socket(opened, server_hostname=name)
        except OSError as error:
            print(name, type(error).__name__)
speak('api.test.example')
speak('other.test.example')
speak(None)
with socket.create_connection(('api.test.example', 443), timeout=5) as opened:
    opened.send(b'no greeting')
    opened.recv(1)
";
    let report = run_near(&hosts, "allow=api.test.example:443", FAR, program);
    let said = report["stdout"].as_str().unwrap();
    assert!(said.contains("other.test.example ConnectionResetError\nNone ConnectionResetError"), "{said}");
    let heard = heard.join().unwrap();
    assert!(heard[0].contains("api.test.example"), "{heard:?}");
    assert_eq!(heard[1..], ["", "", "no greeting"]);
    assert_eq!(verdicts_of_connections(&report), ["allowed", "refused", "refused", "allowed"]);
}

pub(crate) async fn raw_sockets_are_refused_on_a_network_too(context: &CaseContext) {
    let Some(sandbox) = allowing(context, &["*"], None).await else { return };
    try_raw_sockets(&*sandbox).await;
    assert_eq!(flows(&*sandbox).await, []);
}

pub(crate) async fn abstract_sockets_of_the_host_are_not_on_the_network(context: &CaseContext) {
    let Some(sandbox) = allowing(context, &["*"], None).await else { return };
    try_abstract_sockets(&*sandbox).await;
}

/// A program that could set an address or a route, or create an interface, could bypass the netstack.
pub(crate) async fn the_interface_cannot_be_changed(context: &CaseContext) {
    let Some(sandbox) = allowing(context, &["*"], None).await else { return };
    let program = "
import fcntl, struct
say('interfaces', sorted(name for _, name in socket.if_nameindex()))
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
address = struct.pack('16sHH4s8x', b'net0', socket.AF_INET, 0, socket.inet_aton('10.0.0.2'))
flags = struct.pack('16sH14x', b'net0', 0)
attempt('set the address', lambda: fcntl.ioctl(control, 0x8916, address))
attempt('bring it down', lambda: fcntl.ioctl(control, 0x8914, flags))
attempt('delete a route', lambda: fcntl.ioctl(control, 0x890c, bytes(120)))
attempt('another interface', lambda: open('/dev/net/tun', 'r+b', buffering=0))
";
    let tried = attempts(&*sandbox, program).await;
    assert_eq!(tried.get("interfaces"), "['lo', 'net0']");
    for attempt in ["set the address", "bring it down", "delete a route"] {
        assert_eq!(tried.get(attempt), "EPERM", "{attempt}");
    }
    assert!(["ENOENT", "EACCES", "EPERM"].contains(&tried.get("another interface")));
}
