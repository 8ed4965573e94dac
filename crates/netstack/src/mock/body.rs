//! Body of a mock's response, which may be truncated on purpose.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// Body that is sent completely or truncated.
#[derive(Debug)]
pub(super) struct MockBody {
    rest: Bytes,
    /// Length announced in the header.
    length: u64,
    end: MockBodyEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MockBodyEnd {
    Good,
    /// Fails after the remaining bytes were sent.
    BreaksOff,
    Breaks,
}

/// The body was truncated on purpose.
#[derive(Debug)]
pub(super) struct TruncatedBody;

impl std::fmt::Display for TruncatedBody {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("response truncated on purpose")
    }
}

impl std::error::Error for TruncatedBody {}

impl From<Infallible> for TruncatedBody {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl MockBody {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self { length: bytes.len() as u64, rest: bytes, end: MockBodyEnd::Good }
    }

    /// Sends half of the bytes, but announces the whole length.
    pub(super) fn half(mut bytes: Bytes) -> Self {
        let length = bytes.len() as u64;
        bytes.truncate(bytes.len() / 2);
        Self { rest: bytes, length: length.max(1), end: MockBodyEnd::BreaksOff }
    }
}

impl Body for MockBody {
    type Data = Bytes;
    type Error = TruncatedBody;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TruncatedBody>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.rest)))));
        }
        match self.end {
            MockBodyEnd::Good => Poll::Ready(None),
            // hyper flushes the first half only when the body returns `PendingAction`.
            MockBodyEnd::BreaksOff => {
                self.end = MockBodyEnd::Breaks;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            MockBodyEnd::Breaks => Poll::Ready(Some(Err(TruncatedBody))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.end == MockBodyEnd::Good
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}
