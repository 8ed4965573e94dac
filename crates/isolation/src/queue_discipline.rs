//! The kernel's queueing discipline for outgoing packets of an interface: `RTM_NEWQDISC` of routing netlink.

use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};
use serde::{Deserialize, Serialize};

const PARENT_ROOT: u32 = 0xffff_ffff;
/// Maximum number of packets in netem's queue; more are lost.
const HELD_PACKETS: u32 = 10_000;
/// From `linux/pkt_sched.h`; the libc crate does not have them.
const TCA_NETEM_REORDER: u16 = 3;
const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
const TCA_NETEM_PRNG_SEED: u16 = 14;

/// Options of netem.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct NetemOptions {
    /// Additional delay of a packet.
    pub delay: Duration,
    /// Variation of the delay from packet to packet, uniformly distributed.
    pub jitter: Duration,
    /// Share of packets that are lost.
    pub loss: f64,
    /// Share of packets that are duplicated.
    pub duplicate: f64,
    /// Share of packets that are sent without delay.
    pub reorder: f64,
    /// Bytes per second.
    pub rate: Option<u64>,
    /// Seed of netem's random numbers; ignored by kernels before 6.6.
    pub seed: u64,
}

impl NetemOptions {
    /// Encodes the options: `tc_netem_qopt` (latency, limit, loss, gap, duplication, jitter) and attributes.
    fn options(&self) -> Vec<u8> {
        // Reordering considers every packet, which is a gap of one.
        let gap = u32::from(self.reorder > 0.0);
        let numbers = [0, HELD_PACKETS, share(self.loss), gap, share(self.duplicate), 0];
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        bytes.extend(attribute(TCA_NETEM_LATENCY64, &nanoseconds(self.delay)));
        bytes.extend(attribute(TCA_NETEM_JITTER64, &nanoseconds(self.jitter)));
        bytes.extend(attribute(TCA_NETEM_PRNG_SEED, &self.seed.to_ne_bytes()));
        if self.reorder > 0.0 {
            let correlation = 0_u32;
            let value = [share(self.reorder), correlation].map(u32::to_ne_bytes).concat();
            bytes.extend(attribute(TCA_NETEM_REORDER, &value));
        }
        if let Some(rate) = self.rate {
            // `tc_netem_rate`: the rate, with zero overhead for headers and cells; a rate beyond 32 bits is in
            // `RATE64`.
            let fitting = u32::try_from(rate).unwrap_or(u32::MAX);
            bytes.extend(attribute(TCA_NETEM_RATE64, &rate.to_ne_bytes()));
            bytes.extend(attribute(TCA_NETEM_RATE, &[fitting, 0, 0, 0].map(u32::to_ne_bytes).concat()));
        }
        bytes
    }

    /// Applies the options to outgoing packets of an interface in this network namespace.
    pub fn set(&self, interface: i32) -> Result<(), Errno> {
        set(interface, "netem", &self.options())
    }
}

/// Encodes a share as a fraction of 2^32 - 1, as the kernel does.
fn share(share: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is between 0 and 1")]
    let parts = (share * f64::from(u32::MAX)).round() as u32;
    parts
}

fn nanoseconds(time: Duration) -> [u8; 8] {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX).to_ne_bytes()
}

/// Creates or replaces the root queueing discipline of an interface.
pub fn set(interface: i32, kind: &str, options: &[u8]) -> Result<(), Errno> {
    // Without a protocol number the socket is one of routing netlink.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&socket, &request(interface, kind, options), SendFlags::empty())?;
    let mut buffer = [0; 4096];
    let (length, _) = recv(&socket, &mut buffer, RecvFlags::empty())?;
    match acknowledged(&buffer[..length]) {
        Some(0) => Ok(()),
        Some(error) => Err(Errno::from_raw_os_error(error.saturating_neg())),
        None => Err(Errno::BADMSG),
    }
}

fn request(interface: i32, kind: &str, options: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 4];
    for number in [interface.cast_unsigned(), 0, PARENT_ROOT, 0] {
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
    // The sequence number and the sender, neither of which a single request needs.
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// Encodes an attribute: length, kind and value, padded to a multiple of four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(u16::try_from(4 + value.len()).expect("the attribute is short").to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Error number of a message `NLMSG_ERROR`, zero for success and negative otherwise.
fn acknowledged(message: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
    let error = i32::from_ne_bytes(message.get(16..20)?.try_into().ok()?);
    (i32::from(kind) == libc::NLMSG_ERROR).then_some(error)
}

#[cfg(test)]
mod tests {
    use rustix::thread::UnshareFlags;

    use super::*;
    use crate::forked_child;

    /// The loopback interface is the first one of every network namespace.
    const LOOPBACK: i32 = 1;

    #[test]
    fn a_discipline_is_set_and_an_unknown_one_is_refused() {
        forked_child::run_as_root_of_a_user_namespace(|| {
            // SAFETY: the process has one thread that matters, and no sockets.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.unwrap();
            set(LOOPBACK, "pfifo", &[]).unwrap();
            assert_eq!(set(LOOPBACK, "no_such_thing", &[]), Err(Errno::NOENT));
            // A kernel with netem accepts all of the options.
            let netem = NetemOptions {
                delay: Duration::from_millis(5),
                jitter: Duration::from_millis(1),
                loss: 0.01,
                duplicate: 0.01,
                reorder: 0.01,
                rate: Some(1 << 33),
                seed: 7,
            };
            assert!(matches!(netem.set(LOOPBACK), Ok(()) | Err(Errno::NOENT)));
        });
    }

    #[test]
    fn options_begin_with_the_fixed_structure() {
        let options = NetemOptions { loss: 1.0, reorder: 0.5, ..NetemOptions::default() }.options();
        let numbers: Vec<u32> = options[..24]
            .chunks_exact(4)
            .map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap()))
            .collect();
        assert_eq!(numbers, [0, HELD_PACKETS, u32::MAX, 1, 0, 0]);
        assert_eq!(options.len() % 4, 0);
    }
}
