//! A connection to a port of the loopback interface, passed on in both directions.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use menace_inside::protocol::{Kind, Report, Step, read_frame};

use crate::streams::{Host, Output, report};

/// Both addresses that a program may have meant by localhost.
const LOOPBACK: [&str; 2] = ["127.0.0.1", "::1"];

/// Connects and passes on until one side has no more to say.
pub(crate) fn serve(port: u16) -> io::Result<()> {
    let stream = match connect(port) {
        Ok(stream) => stream,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::ECONNREFUSED);
            return report(&Report::NotStarted { errno, step: Step::Connect });
        }
    };
    report(&Report::Started)?;
    let input = stream.try_clone()?;
    thread::spawn(move || {
        // Without the host there is nobody to be connected to; a program that does not read any more may still write.
        let end = if pass_on_input(&input).is_ok() { Shutdown::Write } else { Shutdown::Both };
        drop(input.shutdown(end));
    });
    pass_on_output(&stream)
}

fn connect(port: u16) -> io::Result<TcpStream> {
    let [first, second] = LOOPBACK;
    TcpStream::connect((first, port)).or_else(|error| TcpStream::connect((second, port)).map_err(|_| error))
}

fn pass_on_input(mut stream: &TcpStream) -> io::Result<()> {
    loop {
        match read_frame(&mut Host)? {
            Some((Kind::Input, body)) => stream.write_all(&body)?,
            Some((Kind::InputEnd, _)) => return Ok(()),
            _ => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn pass_on_output(mut stream: &TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; 32 << 10];
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        Output.write_all(buffer.get(..length).unwrap_or_default())?;
    }
}
