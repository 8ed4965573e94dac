//! Connection to a program in a container, relayed by the guest program.

use std::io;
use std::path::Path;
use std::sync::Arc;

use menace_guest::protocol::{Kind, Order, Report};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf};

use super::handle::Handle;
use super::link::{Link, ToInside, wrong};
use crate::SandboxError;

/// Bytes per message.
const CHUNK: usize = 32 << 10;

/// Connects to a port of the container's loopback interface.
pub(super) async fn connect(handle: &Arc<Handle>, port: u16) -> Result<DuplexStream, SandboxError> {
    let mut link = Link::open(handle, &Order::Connect { port }).await?;
    match link.report("connect to a port of", Path::new("/"), &mut Vec::new()).await? {
        Report::Started => {}
        Report::NotStarted { errno, .. } => {
            return Err(SandboxError::Port { port, source: io::Error::from_raw_os_error(errno) });
        }
        other => return Err(wrong(&format!("{other:?} in place of a connection"))),
    }
    let (ours, theirs) = tokio::io::duplex(CHUNK);
    tokio::spawn(pass_on(link, theirs));
    Ok(ours)
}

/// Relays data until the program in the container closes its side or the caller stops reading. When this ends, so does
/// the guest program.
async fn pass_on(mut link: Link, stream: DuplexStream) {
    let (from_caller, mut to_caller) = tokio::io::split(stream);
    let sending = tokio::spawn(send(from_caller, link.to.clone()));
    while let Ok(Some((Kind::Output, bytes))) = link.from.next().await {
        if to_caller.write_all(&bytes).await.is_err() {
            break;
        }
    }
    sending.abort();
}

async fn send(mut from: ReadHalf<DuplexStream>, to: ToInside) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.send(Kind::InputEnd, &[]).await;
        }
        to.send(Kind::Input, buffer.get(..length).unwrap_or_default()).await?;
    }
}
