//! netem: the kernel's own network shaping, put on the loopback interface of a network namespace of our own.

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

use super::namespaces::{Kind, enter};
use super::refusal::{Refusal, at};

/// The loopback interface is the first one of every network namespace.
const LOOPBACK: i32 = 1;
const PARENT_ROOT: u32 = 0xffff_ffff;
/// `tc_netem_qopt`: latency in ticks, limit in packets, loss, gap, duplication, jitter.
const NETEM_OPTIONS: [u32; 6] = [1_000, 100, 0, 0, 0, 0];

/// Shapes a loopback interface. A discipline that every kernel has is put there first, so that a refusal of the second
/// one says something about netem and not about us.
pub(super) fn netem() -> Result<String, Refusal> {
    enter(Kind::Net)?;
    set_queue_discipline("pfifo", &[]).map_err(at("set any queue discipline"))?;
    let options: Vec<u8> = NETEM_OPTIONS.iter().flat_map(|number| number.to_ne_bytes()).collect();
    set_queue_discipline("netem", &options).map_err(|errno| match errno {
        Errno::NOENT => {
            Refusal::Absent { what: "the kernel has other queue disciplines but not netem".to_owned() }
        }
        errno => at("set the queue discipline netem")(errno),
    })?;
    Ok("a loopback interface was shaped".to_owned())
}

fn set_queue_discipline(kind: &str, options: &[u8]) -> Result<(), Errno> {
    // Without a protocol it is that of routing.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&socket, &request(kind, options), SendFlags::empty())?;
    let mut buffer = [0; 4096];
    let (length, _) = recv(&socket, &mut buffer, RecvFlags::empty())?;
    match acknowledged(&buffer[..length]) {
        Some(0) => Ok(()),
        Some(error) => Err(Errno::from_raw_os_error(error.saturating_neg())),
        None => Err(Errno::BADMSG),
    }
}

/// `RTM_NEWQDISC` that makes or replaces what is at the root of the loopback interface.
fn request(kind: &str, options: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 4];
    for number in [LOOPBACK.cast_unsigned(), 0, PARENT_ROOT, 0] {
        body.extend(number.to_ne_bytes());
    }
    body.extend(attribute(libc::TCA_KIND, format!("{kind}\0").as_bytes()));
    if !options.is_empty() {
        body.extend(attribute(libc::TCA_OPTIONS, options));
    }
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    let mut message = Vec::new();
    message.extend(u32::try_from(16 + body.len()).expect("the message is short").to_ne_bytes());
    message.extend(libc::RTM_NEWQDISC.to_ne_bytes());
    message.extend(u16::try_from(flags).expect("the flags of netlink have 16 bits").to_ne_bytes());
    // The sequence number and the sender, neither of which a single question needs.
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// A length, a kind and a value, filled up to a multiple of four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(u16::try_from(4 + value.len()).expect("the attribute is short").to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The error number of a message `NLMSG_ERROR`, zero for success and negative otherwise.
fn acknowledged(message: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
    let error = i32::from_ne_bytes(message.get(16..20)?.try_into().ok()?);
    (i32::from(kind) == libc::NLMSG_ERROR).then_some(error)
}
