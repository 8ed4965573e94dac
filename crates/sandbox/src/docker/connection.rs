//! A connection to a program inside, through our program beside it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use menace_inside::protocol::{Kind, Order, Report};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf};

use super::handle::Handle;
use super::link::{Link, ToInside, wrong};
use crate::SandboxError;

/// How much is passed on at once.
const CHUNK: usize = 32 << 10;

/// Connects to a port of the loopback interface inside.
pub(super) async fn connect(handle: &Arc<Handle>, port: u16) -> Result<DuplexStream, SandboxError> {
    let mut link = Link::open(handle, &Order::Connect { port }).await?;
    match link.report("connect to a port of", Path::new("/"), &mut Vec::new()).await? {
        Report::Started => {}
        Report::NotStarted { errno, .. } => {
            return Err(SandboxError::Port { port, source: io::Error::from_raw_os_error(errno) });
        }
        other => return Err(wrong(&format!("{other:?} instead of a connection"))),
    }
    let (ours, theirs) = tokio::io::duplex(CHUNK);
    tokio::spawn(pass_on(link, theirs));
    Ok(ours)
}

/// Passes on until the program inside has no more to say, or nobody here listens. When this ends, so does our program inside.
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
