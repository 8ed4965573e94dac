//! Relays a connection between the host and a port of the loopback interface.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use menace_guest::protocol::{GuestFrameKind, GuestReport, GuestStartStep, read_frame};

use crate::streams::{HostReader, RequestOutput, report};

/// Both addresses of localhost on which a program may listen.
const LOOPBACK: [&str; 2] = ["127.0.0.1", "::1"];

/// Connects, and relays until one side has closed.
pub(crate) fn serve(port: u16) -> io::Result<()> {
    let stream = match connect(port) {
        Ok(stream) => stream,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::ECONNREFUSED);
            return report(&GuestReport::NotStarted { errno, step: GuestStartStep::Connect });
        }
    };
    report(&GuestReport::Started)?;
    let input = stream.try_clone()?;
    thread::spawn(move || {
        // Without the host the connection has no other end; a program that has stopped reading may still write.
        let end = if relay_input(&input).is_ok() { Shutdown::Write } else { Shutdown::Both };
        drop(input.shutdown(end));
    });
    relay_output(&stream)
}

fn connect(port: u16) -> io::Result<TcpStream> {
    let [first, second] = LOOPBACK;
    TcpStream::connect((first, port)).or_else(|error| TcpStream::connect((second, port)).map_err(|_| error))
}

fn relay_input(mut stream: &TcpStream) -> io::Result<()> {
    loop {
        match read_frame(&mut HostReader)? {
            Some((GuestFrameKind::Input, body)) => stream.write_all(&body)?,
            Some((GuestFrameKind::InputEnd, _)) => return Ok(()),
            _ => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn relay_output(mut stream: &TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; 32 << 10];
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        RequestOutput.write_all(buffer.get(..length).unwrap_or_default())?;
    }
}
