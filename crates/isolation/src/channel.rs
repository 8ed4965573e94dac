//! Messages with file descriptors between menace's own processes, over a socket that preserves message boundaries.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::{Serialize, de::DeserializeOwned};

/// Longer messages are sent in a memory file, because a socket's buffer is limited by the host's settings.
const LONGEST_INLINE: usize = 32 << 10;
/// Upper bound of the descriptors of a message.
const MOST_DESCRIPTORS: usize = 24;

const INLINE: u8 = 0;
const IN_A_FILE: u8 = 1;

/// Creates the two ends of a channel. Started programs inherit neither.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends a message.
pub fn send<T: Serialize>(channel: impl AsFd, message: &T, descriptors: &[BorrowedFd]) -> io::Result<()> {
    let mut bytes = vec![INLINE];
    bytes = postcard::to_extend(message, bytes).map_err(io::Error::other)?;
    if bytes.len() <= LONGEST_INLINE {
        return send_bytes(channel.as_fd(), &bytes, descriptors);
    }
    let mut file = File::from(memfd_create("menace-message", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes.get(1..).unwrap_or_default())?;
    file.rewind()?;
    let mut all = descriptors.to_vec();
    all.push(file.as_fd());
    send_bytes(channel.as_fd(), &[IN_A_FILE], &all)
}

/// Sends bytes as one message.
pub fn send_bytes(channel: BorrowedFd, bytes: &[u8], descriptors: &[BorrowedFd]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    let slices = [io::IoSlice::new(bytes)];
    loop {
        match sendmsg(channel, &slices, &mut ancillary, SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Receives a message; `None` when the other end is closed.
pub fn receive<T: DeserializeOwned>(channel: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; LONGEST_INLINE + 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let length = loop {
        let mut slices = [io::IoSliceMut::new(&mut bytes)];
        match recvmsg(channel.as_fd(), &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Ok(message) => break message.bytes,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    let Some((kind, body)) = bytes.get(..length).and_then(<[u8]>::split_first) else { return Ok(None) };
    let message = match *kind {
        INLINE => postcard::from_bytes(body),
        _ => postcard::from_bytes(&read_file(descriptors.pop())?),
    };
    message.map(|message| Some((message, descriptors))).map_err(io::Error::other)
}

fn read_file(descriptor: Option<OwnedFd>) -> io::Result<Vec<u8>> {
    let descriptor = descriptor.ok_or_else(|| io::Error::other("message without its memory file"))?;
    let mut bytes = Vec::new();
    File::from(descriptor).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(message: &str) -> (String, Vec<OwnedFd>) {
        let (left, right) = pair().unwrap();
        let extra = File::open("/dev/null").unwrap();
        send(&left, &message, &[extra.as_fd()]).unwrap();
        receive(&right).unwrap().unwrap()
    }

    #[test]
    fn short_and_long_messages_arrive_with_their_descriptors() {
        for length in [0, 1, LONGEST_INLINE, 5 << 20] {
            let message = "x".repeat(length);
            let (received, descriptors) = round_trip(&message);
            assert!(received == message, "a message of {length} bytes changed");
            assert_eq!(descriptors.len(), 1);
        }
    }

    #[test]
    fn a_closed_channel_gives_no_message() {
        let (left, right) = pair().unwrap();
        drop(left);
        assert!(receive::<String>(&right).unwrap().is_none());
    }
}
