//! Resolves real names, on threads of their own because the host's resolver blocks.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::dns;

/// Concurrent lookups. Further queries are answered with a failure immediately.
const MAX_LOOKUPS: usize = 32;
/// Timeout of a name server.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Result of a lookup.
pub(crate) type DnsLookupResult = Result<Vec<IpAddr>, DnsLookupError>;

/// Reason why no address was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DnsLookupError {
    /// Error of the host's resolver, which does not always tell a missing name from an unreachable name server.
    Host(String),
    /// The name server did not answer.
    Server,
}

/// Resolver with a bounded number of concurrent lookups.
#[derive(Debug, Clone, Default)]
pub(crate) struct DnsResolver {
    server: Option<SocketAddr>,
    running: Arc<AtomicUsize>,
}

impl DnsResolver {
    /// Creates a resolver that queries this server, or uses the host's resolver.
    pub(crate) fn new(server: Option<SocketAddr>) -> Self {
        Self { server, running: Arc::default() }
    }

    /// Starts a lookup that passes its result to `then`; false when too many lookups are running.
    pub(crate) fn look_up(&self, name: String, then: impl FnOnce(DnsLookupResult) + Send + 'static) -> bool {
        if self.running.fetch_add(1, Ordering::AcqRel) >= MAX_LOOKUPS {
            self.running.fetch_sub(1, Ordering::AcqRel);
            return false;
        }
        let (server, running) = (self.server, Arc::clone(&self.running));
        let work = move || {
            then(match server {
                None => resolve_on_host(&name),
                Some(server) => query_server(&name, server).ok_or(DnsLookupError::Server),
            });
            running.fetch_sub(1, Ordering::AcqRel);
        };
        let is_started = std::thread::Builder::new().name("menace: names".into()).spawn(work).is_ok();
        if !is_started {
            self.running.fetch_sub(1, Ordering::AcqRel);
        }
        is_started
    }
}

fn resolve_on_host(name: &str) -> DnsLookupResult {
    let found = (name, 0).to_socket_addrs().map_err(|error| DnsLookupError::Host(error.to_string()))?;
    Ok(found.map(|address| address.ip()).collect())
}

fn query_server(name: &str, server: SocketAddr) -> Option<Vec<IpAddr>> {
    let any: SocketAddr = if server.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(server).ok()?;
    let id = random_id()?;
    for question in dns::questions(name, id)? {
        socket.send(&question).ok()?;
    }
    let (mut found, mut left) = (Vec::new(), vec![id, id.wrapping_add(1)]);
    let until = Instant::now() + LOOKUP_TIMEOUT;
    let mut bytes = [0; 4096];
    while !left.is_empty() {
        let timeout = until.saturating_duration_since(Instant::now());
        socket.set_read_timeout(Some(timeout).filter(|timeout| !timeout.is_zero())?.into()).ok()?;
        let length = socket.recv(&mut bytes).ok()?;
        if let Some((answered, addresses)) = bytes.get(..length).and_then(dns::addresses)
            && let Some(index) = left.iter().position(|id| *id == answered)
        {
            left.swap_remove(index);
            found.extend(addresses);
        }
    }
    Some(found)
}

fn random_id() -> Option<u16> {
    let mut bytes = [0; 2];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).ok()?;
    Some(u16::from_ne_bytes(bytes))
}
