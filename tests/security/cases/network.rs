//! The network of the host and hosts behind it. A sandbox without a network has only its own loopback.

use std::io::ErrorKind;
use std::net::{IpAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};

use menace_sandbox::Sandbox;

use crate::harness::{CaseContext, read};
use crate::host::marker;
use crate::probe::attempts;

const UNREACHABLE: [&str; 4] = ["ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL", "ECONNREFUSED"];

pub(crate) async fn only_its_own_loopback_interface_exists(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let program = "
say('interfaces', [name for _, name in socket.if_nameindex()])
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname(), timeout=5)
client.send(b'hello')
say('loopback', server.accept()[0].recv(10))
say('routes', len(open('/proc/net/route').readlines()) - 1)
";
    let tried = attempts(&*sandbox, program).await;
    assert_eq!((tried.get("interfaces"), tried.get("loopback")), ("['lo']", "b'hello'"));
    assert_eq!(tried.get("routes"), "0");
    assert_ne!(
        read(&*sandbox, "readlink /proc/self/ns/net").await.trim(),
        std::fs::read_link("/proc/self/ns/net").unwrap().to_str().unwrap()
    );
}

/// Address of this machine on its default route, if it has one.
pub(super) fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // Connecting a datagram socket sends nothing; it only chooses an address.
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

/// Cloud metadata services, private ranges, well-known public addresses, and the address of this machine.
pub(crate) async fn no_address_is_reachable(context: &CaseContext) {
    let mut addresses: Vec<String> = [
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "10.0.0.1",
        "172.16.0.1",
        "172.17.0.1",
        "192.168.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "1.1.1.1",
        "8.8.8.8",
        "192.0.2.1",
        "255.255.255.255",
        "224.0.0.1",
        "fd00:ec2::254",
        "fe80::1",
        "fc00::1",
        "2606:4700:4700::1111",
        "ff02::1",
    ]
    .map(str::to_owned)
    .into();
    addresses.extend(own_address().map(|address| address.to_string()));
    let list = addresses.iter().map(|address| format!("'{address}'")).collect::<Vec<_>>().join(", ");
    let sandbox = context.sandbox().await;
    let program = format!(
        "def place(address, port):
    # A link-local address needs an interface index, and there is only one interface.
    return (address, port, 0, 1 if address[0] == 'f' else 0) if ':' in address else (address, port)
def connect(address, kind, port):
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    with socket.socket(family, kind) as opened:
        opened.settimeout(1)
        if kind == socket.SOCK_DGRAM:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            opened.sendto(b'x', place(address, port))
        else:
            opened.connect(place(address, port))
for address in ({list}):
    attempt(address + ' tcp 80', lambda: connect(address, socket.SOCK_STREAM, 80))
    attempt(address + ' tcp 443', lambda: connect(address, socket.SOCK_STREAM, 443))
    attempt(address + ' udp 53', lambda: connect(address, socket.SOCK_DGRAM, 53))"
    );
    let tried = attempts(&*sandbox, &program).await;
    tried.assert_all(addresses.len() * 3, &UNREACHABLE);
    assert!(tried.outcome.wall_ms < 2000.0, "a refusal is immediate: {} ms", tried.outcome.wall_ms);
}

pub(crate) async fn the_loopback_of_the_host_is_not_reachable(context: &CaseContext) {
    let listeners = ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"].map(TcpListener::bind);
    let listeners: Vec<TcpListener> = listeners.into_iter().flatten().collect();
    assert!(!listeners.is_empty(), "this host has a loopback");
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    datagrams.set_nonblocking(true).unwrap();
    let sandbox = context.sandbox().await;
    for listener in &listeners {
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let program = format!(
            "for address in ('127.0.0.1', '::1', '0.0.0.0', '127.1.2.3', '::ffff:127.0.0.1', 'localhost'):
    attempt(address, lambda: socket.create_connection((address, {port}), timeout=1))
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {}))",
            datagrams.local_addr().unwrap().port()
        );
        attempts(&*sandbox, &program).await.assert_all(6, &UNREACHABLE);
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "a connection arrived");
    }
    assert_eq!(datagrams.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

pub(crate) async fn names_are_not_resolved(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let program = "
for name in ('example.com', 'metadata.google.internal', 'host.docker.internal', 'localhost'):
    try:
        say(name, sorted({entry[4][0] for entry in socket.getaddrinfo(name, 80)}))
    except socket.gaierror:
        say(name, 'unknown')
";
    let tried = attempts(&*sandbox, program).await;
    for name in ["example.com", "metadata.google.internal", "host.docker.internal"] {
        assert_eq!(tried.get(name), "unknown");
    }
    assert!(tried.get("localhost").contains("127.0.0.1"), "{}", tried.get("localhost"));
    assert!(tried.outcome.wall_ms < 2000.0, "a refusal is immediate: {} ms", tried.outcome.wall_ms);
}

pub(crate) async fn abstract_sockets_of_the_host_are_not_reachable(context: &CaseContext) {
    try_abstract_sockets(&*context.sandbox().await).await;
}

/// Tries to reach abstract sockets of the host, which belong to its network namespace and are in no directory.
pub(super) async fn try_abstract_sockets(sandbox: &dyn Sandbox) {
    let name = marker();
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    let datagram_name = format!("{name}-datagram");
    let datagrams =
        UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&datagram_name).unwrap()).unwrap();
    UnixStream::connect_addr(&address).expect("the socket is reachable from the host");
    listener.accept().unwrap();
    listener.set_nonblocking(true).unwrap();
    datagrams.set_nonblocking(true).unwrap();
    let program = format!(
        "attempt('stream', lambda: socket.socket(socket.AF_UNIX).connect('\\0{name}'))
attempt('datagram', lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '\\0{datagram_name}'))
names = open('/proc/net/unix').read()
assert '{name}' not in names, names"
    );
    attempts(sandbox, &program).await.assert_all(2, &["ECONNREFUSED", "EPERM"]);
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "a connection arrived");
    assert_eq!(datagrams.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

pub(crate) async fn raw_sockets_are_refused(context: &CaseContext) {
    try_raw_sockets(&*context.sandbox().await).await;
}

pub(super) async fn try_raw_sockets(sandbox: &dyn Sandbox) {
    let program = "
attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt('raw 6', lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58))
attempt('raw without a protocol', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW))
attempt('packet', lambda: socket.socket(17, socket.SOCK_RAW, 0))
attempt('packet without a header', lambda: socket.socket(17, socket.SOCK_DGRAM, 0))
attempt('low port', lambda: socket.socket().bind(('127.0.0.1', 22)))
";
    attempts(sandbox, program).await.assert_all(6, &["EPERM", "EACCES", "EAFNOSUPPORT"]);
}
