//! The body of an answer, which may break off.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// Bytes, of which perhaps not all arrive.
#[derive(Debug)]
pub(super) struct Content {
    rest: Bytes,
    /// What the header says.
    length: u64,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Good,
    /// It breaks off when what there is has been sent.
    BreaksOff,
    Breaks,
}

/// The body broke off on purpose.
#[derive(Debug)]
pub(super) struct BrokenOff;

impl std::fmt::Display for BrokenOff {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("broken off on purpose")
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

    /// Half of it arrives, though all was promised.
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
            // Whoever sends the first half does so when there is nothing more to be had at the moment.
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
