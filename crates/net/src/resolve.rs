//! Looking up names of the world, on threads of their own because the host's way to do so blocks.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::dns;

/// Names that are looked up at the same time. More are answered with a failure at once.
const MOST_AT_ONCE: usize = 32;
/// How long a name server may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was found, or why nothing was.
pub(crate) type Found = Result<Vec<IpAddr>, NotFound>;

/// Why no address was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotFound {
    /// The host says so; it does not always say whether there is no such name or nobody who knows.
    Host(String),
    /// The name server does not answer.
    Server,
}

/// Looks up names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resolver {
    server: Option<SocketAddr>,
    under_way: Arc<AtomicUsize>,
}

impl Resolver {
    /// Asks this server, or as the host does.
    pub(crate) fn new(server: Option<SocketAddr>) -> Self {
        Self { server, under_way: Arc::default() }
    }

    /// Looks up a name and then says what was found; false when too many are looked up already.
    pub(crate) fn look_up(&self, name: String, then: impl FnOnce(Found) + Send + 'static) -> bool {
        if self.under_way.fetch_add(1, Ordering::AcqRel) >= MOST_AT_ONCE {
            self.under_way.fetch_sub(1, Ordering::AcqRel);
            return false;
        }
        let (server, under_way) = (self.server, Arc::clone(&self.under_way));
        let work = move || {
            then(match server {
                None => ask_host(&name),
                Some(server) => ask_server(&name, server).ok_or(NotFound::Server),
            });
            under_way.fetch_sub(1, Ordering::AcqRel);
        };
        let is_started = std::thread::Builder::new().name("menace: names".into()).spawn(work).is_ok();
        if !is_started {
            self.under_way.fetch_sub(1, Ordering::AcqRel);
        }
        is_started
    }
}

fn ask_host(name: &str) -> Found {
    let found = (name, 0).to_socket_addrs().map_err(|error| NotFound::Host(error.to_string()))?;
    Ok(found.map(|address| address.ip()).collect())
}

fn ask_server(name: &str, server: SocketAddr) -> Option<Vec<IpAddr>> {
    let any: SocketAddr = if server.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(server).ok()?;
    let id = random_id()?;
    for question in dns::questions(name, id)? {
        socket.send(&question).ok()?;
    }
    let (mut found, mut left) = (Vec::new(), vec![id, id.wrapping_add(1)]);
    let until = Instant::now() + PATIENCE;
    let mut bytes = [0; 4096];
    while !left.is_empty() {
        let patience = until.saturating_duration_since(Instant::now());
        socket.set_read_timeout(Some(patience).filter(|patience| !patience.is_zero())?.into()).ok()?;
        let length = socket.recv(&mut bytes).ok()?;
        if let Some((answered, addresses)) = bytes.get(..length).and_then(dns::addresses)
            && let Some(place) = left.iter().position(|id| *id == answered)
        {
            left.swap_remove(place);
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
