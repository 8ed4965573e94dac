//! Name server on the loopback of this host, with answers from a test.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Length of the header of a DNS message.
const HEADER: usize = 12;

/// Starts a server that lives as long as the test. `answer` gets the name and the number of earlier queries for it, so
/// that it can change the answer, as DNS rebinding does.
pub(crate) fn name_server(answer: impl Fn(&str, usize) -> Vec<IpAddr> + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut asked: HashMap<(String, u16), usize> = HashMap::new();
        let mut bytes = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            let message = &bytes[..length];
            let (name, kind, end) = question(message);
            let before = asked.entry((name.clone(), kind)).or_default();
            let records: Vec<Vec<u8>> =
                answer(&name, *before).into_iter().filter_map(|address| record(kind, address)).collect();
            *before += 1;
            let count = u16::try_from(records.len()).unwrap().to_be_bytes();
            let header = [&message[..2], &[0x81, 0x80, 0, 1], &count, &[0; 4]].concat();
            let reply = [&header, &message[HEADER..end], &records.concat()[..]].concat();
            socket.send_to(&reply, from).unwrap();
        }
    });
    address
}

/// Name and record type of the question, and the offset where it ends.
fn question(message: &[u8]) -> (String, u16, usize) {
    let (mut labels, mut at) = (Vec::new(), HEADER);
    while message[at] != 0 {
        let next = at + 1 + usize::from(message[at]);
        labels.push(String::from_utf8_lossy(&message[at + 1..next]));
        at = next;
    }
    let kind = u16::from_be_bytes([message[at + 1], message[at + 2]]);
    (labels.join("."), kind, at + 5)
}

/// Record with an address for the name of the question; `None` if the address is not of the requested type.
fn record(kind: u16, address: IpAddr) -> Option<Vec<u8>> {
    let (own_kind, data) = match address {
        IpAddr::V4(address) => (1, address.octets().to_vec()),
        IpAddr::V6(address) => (28, address.octets().to_vec()),
    };
    let length = u8::try_from(data.len()).unwrap();
    // The name, type, class, time to live and length.
    let head = [0xc0, 0x0c, 0, u8::try_from(kind).ok()?, 0, 1, 0, 0, 0, 0, 0, length];
    (kind == own_kind).then(|| [&head[..], &data].concat())
}
