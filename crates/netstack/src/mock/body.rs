//! Body of a mock's response, which may be truncated on purpose.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// Body that is sent completely or truncated.
#[derive(Debug)]
pub(super) struct Content {
    rest: Bytes,
    /// Length announced in the header.
    length: u64,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Good,
    /// Fails after the remaining bytes were sent.
    BreaksOff,
    Breaks,
}

/// The body was truncated on purpose.
#[derive(Debug)]
pub(super) struct BrokenOff;

impl std::fmt::Display for BrokenOff {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("response truncated on purpose")
    }
}

impl std::error::Error for BrokenOff {}

impl From<Infallible> for BrokenOff {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl Content {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self { length: bytes.len() as u64, rest: bytes, end: End::Good }
    }

    /// Sends half of the bytes, but announces the whole length.
    pub(super) fn half(mut bytes: Bytes) -> Self {
        let length = bytes.len() as u64;
        bytes.truncate(bytes.len() / 2);
        Self { rest: bytes, length: length.max(1), end: End::BreaksOff }
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.rest)))));
        }
        match self.end {
            End::Good => Poll::Ready(None),
            // hyper flushes the first half only when the body returns `Pending`.
            End::BreaksOff => {
                self.end = End::Breaks;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            End::Breaks => Poll::Ready(Some(Err(BrokenOff))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.end == End::Good
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}
