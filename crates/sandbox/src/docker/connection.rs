//! Connection to a program in a container, relayed by the guest program.

use std::io;
use std::path::Path;
use std::sync::Arc;

use menace_guest::protocol::{GuestFrameKind, GuestReport, GuestRequest};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf};

use super::container_channel::{ContainerChannel, ContainerSender, protocol_error};
use super::handle::ContainerHandle;
use crate::SandboxError;

/// Bytes per message.
const CHUNK: usize = 32 << 10;

/// Connects to a port of the container's loopback interface.
pub(super) async fn connect(handle: &Arc<ContainerHandle>, port: u16) -> Result<DuplexStream, SandboxError> {
    let mut link = ContainerChannel::open(handle, &GuestRequest::Connect { port }).await?;
    match link.report("connect to a port of", Path::new("/"), &mut Vec::new()).await? {
        GuestReport::Started => {}
        GuestReport::NotStarted { errno, .. } => {
            return Err(SandboxError::Port { port, source: io::Error::from_raw_os_error(errno) });
        }
        other => return Err(protocol_error(&format!("{other:?} in place of a connection"))),
    }
    let (ours, theirs) = tokio::io::duplex(CHUNK);
    tokio::spawn(pass_on(link, theirs));
    Ok(ours)
}

/// Relays data until the program in the container closes its side or the caller stops reading. When this ends, so does
/// the guest program.
async fn pass_on(mut link: ContainerChannel, stream: DuplexStream) {
    let (from_caller, mut to_caller) = tokio::io::split(stream);
    let sending = tokio::spawn(send(from_caller, link.to.clone()));
    while let Ok(Some((GuestFrameKind::Output, bytes))) = link.from.next().await {
        if to_caller.write_all(&bytes).await.is_err() {
            break;
        }
    }
    sending.abort();
}

async fn send(mut from: ReadHalf<DuplexStream>, to: ContainerSender) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.send(GuestFrameKind::InputEnd, &[]).await;
        }
        to.send(GuestFrameKind::Input, buffer.get(..length).unwrap_or_default()).await?;
    }
}
