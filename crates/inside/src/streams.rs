//! The streams to the host, for orders that wait for one thing at a time.

use std::io::{self, Read, Write};

use menace_inside::protocol::{
    Kind, LONGEST_FRAME, Report, encode, read_frame, write_frame,
};

/// Says something to the host.
pub(crate) fn report(report: &Report) -> io::Result<()> {
    write_frame(&mut io::stdout().lock(), Kind::Report, &encode(report)?)
}

/// The input of an order as one stream.
#[derive(Default)]
pub(crate) struct Input {
    frame: Vec<u8>,
    read: usize,
    is_over: bool,
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.frame.len() && !self.is_over {
            match read_frame(&mut io::stdin().lock())? {
                Some((Kind::Input, body)) => (self.frame, self.read) = (body, 0),
                Some((Kind::InputEnd, _)) => self.is_over = true,
                // Half an archive is none.
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some((kind, _)) => return Err(io::Error::other(format!("{kind:?} among the input"))),
            }
        }
        let left = self.frame.get(self.read..).unwrap_or_default();
        let length = left.len().min(buffer.len());
        buffer.iter_mut().zip(left).for_each(|(to, from)| *to = *from);
        self.read += length;
        Ok(length)
    }
}

/// What an order prints, as frames.
pub(crate) struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = bytes.get(..LONGEST_FRAME).unwrap_or(bytes);
        write_frame(&mut io::stdout().lock(), Kind::Output, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}
