//! Protocol between the host and the guest program, over the standard streams of the guest program.
//!
//! Both directions consist of frames: one byte for the kind, four for the length, and the body. The output of a command is
//! sent in frames of its own kind, so that no output can be mistaken for a report.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use menace_model::sandbox::{FileEntry, FileEvent, FileOperation, TerminalSize};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ReportedFailure;

/// Path of the guest program in a container.
pub const PLACE: &str = "/.menace/inside";

/// Argument that makes the guest program the init process of a container.
pub const FIRST: &str = "first";

/// Argument that makes the guest program execute one [`GuestRequest`].
pub const SERVE: &str = "serve";

/// Bytes of input that may be in flight: more are sent when the command has read some.
pub const WINDOW: usize = 256 << 10;

/// Longest valid frame; a longer one is a protocol error.
pub const LONGEST_FRAME: usize = 1 << 20;

/// Length of the header of a frame.
pub const HEADER: usize = 5;

/// Kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestFrameKind {
    /// To the guest: an [`GuestRequest`], the first frame.
    Order,
    /// To the guest: bytes of a command's input, of an archive, or of a connection.
    Input,
    /// To the guest: end of the input.
    InputEnd,
    /// To the guest: a [`CommandControl`].
    Control,
    /// From the guest: bytes of a command's stdout, of an archive, or of a connection.
    Output,
    /// From the guest: bytes of a command's stderr.
    Complaint,
    /// From the guest: a [`GuestReport`].
    Report,
}

impl GuestFrameKind {
    const ALL: [Self; 7] = [
        Self::Order,
        Self::Input,
        Self::InputEnd,
        Self::Control,
        Self::Output,
        Self::Complaint,
        Self::Report,
    ];

    fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Task for one process of the guest program, which executes it and exits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum GuestRequest {
    /// Lead a command.
    Run(Box<GuestCommand>),
    /// Unpack the archive that is sent as input.
    Unpack {
        /// Target directory, created if it is missing.
        directory: PathBuf,
    },
    /// Pack a file or directory, with paths relative to its parent.
    Pack {
        /// File or directory to pack.
        path: PathBuf,
    },
    /// Perform a file operation for a user.
    Files(FileOperation),
    /// List the files that were written. The answer is one or more [`GuestReport::Listed`].
    List(ListingRequest),
    /// Pack the files that were written, with paths relative to the root.
    PackWritten(ListingRequest),
    /// Remove these paths, if they exist.
    Remove {
        /// Files and directories.
        paths: Vec<PathBuf>,
    },
    /// Report changes to files until the host disconnects.
    Watch {
        /// File or directory to watch.
        path: PathBuf,
    },
    /// Relay a connection to a port of the loopback interface.
    Connect {
        /// Port of the loopback interface.
        port: u16,
    },
    /// Report the isolation and usage of this sandbox, as seen by the kernel.
    Inspect,
}

/// Command to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GuestCommand {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Complete environment of the command.
    pub environment: BTreeMap<String, String>,
    /// Working directory.
    pub directory: PathBuf,
    /// Wall time limit.
    pub timeout: Option<Duration>,
    /// CPU time limit of the command and its descendants.
    pub cpu_time: Option<Duration>,
    /// Whether the command has the sandbox to itself: no other command runs, and all processes are killed at its end.
    pub exclusive: bool,
    /// Size of its terminal; `None` for pipes.
    pub terminal: Option<TerminalSize>,
}

/// Paths to list or pack, and the moment after which a changed file counts as written by the sandbox.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ListingRequest {
    /// Directories to walk.
    pub directories: Vec<PathBuf>,
    /// Single paths; those that are directories are left out.
    pub paths: Vec<PathBuf>,
    /// An entry of the directories counts as written if it changed after this moment, in nanoseconds since 1970.
    pub after: Option<i128>,
}

/// Request concerning a running command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum CommandControl {
    /// Send a signal to the command.
    Signal(i32),
    /// Change the size of its terminal.
    Resize(TerminalSize),
    /// Kill the command and its descendants.
    Kill,
}

/// Message of the guest program to the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum GuestReport {
    /// The command is about to be started. It is sent beforehand because a program can stop its leader immediately, and the
    /// host has to know by then that the timeout is running.
    Starting {
        /// OOM kills in the sandbox so far; `None` where they are not counted.
        oom_kills: Option<u64>,
    },
    /// The command runs, or the connection is established, or the watch is in place.
    Started,
    /// The command or connection could not be started.
    NotStarted {
        /// Error number from the kernel.
        errno: i32,
        /// Step that failed.
        step: GuestStartStep,
    },
    /// Number of bytes of the input that the command has read since the last report.
    Consumed(u64),
    /// The command has closed its input.
    InputClosed,
    /// The command ended.
    Ended(Box<GuestCommandResult>),
    /// The order was executed.
    Done(GuestReply),
    /// Part of a listing.
    Listed(Vec<ListedFile>),
    /// Change of a watched file.
    Event(FileEvent),
    /// The order could not be executed.
    Failed(ReportedFailure),
    /// The order is still being executed. Sent periodically.
    StillWorking,
}

/// Steps of starting a command or connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GuestStartStep {
    /// Entering its working directory.
    Directory,
    /// Creating a terminal.
    Terminal,
    /// Executing the program.
    Execute,
    /// Connecting to a port.
    Connect,
}

/// Result of an order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum GuestReply {
    /// No result.
    Nothing,
    /// The archive was unpacked. Later changes have a change time after this moment.
    Unpacked {
        /// Nanoseconds since 1970.
        at: i128,
    },
    /// Entries that a file operation returned.
    Files(Vec<FileEntry>),
    /// Isolation and usage of the sandbox.
    Inspected(Box<GuestInspection>),
}

/// Entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedFile {
    /// Absolute path, not necessarily valid UTF-8.
    pub path: std::ffi::OsString,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Whether it was created or changed after the moment of the listing.
    pub is_written: bool,
}

/// Result and resource usage of a command.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one way to end, and several can be true at once")]
pub struct GuestCommandResult {
    /// Exit code, unless a signal ended it.
    pub exit_code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// The wall time limit was exceeded.
    pub timed_out: bool,
    /// The CPU time limit was exceeded.
    pub cpu_exceeded: bool,
    /// A descendant could not be killed in time; the host has to kill everything in the sandbox.
    pub has_survivors: bool,
    /// A disk of the sandbox was full.
    pub disk_full: bool,
    /// OOM kills in the sandbox during the command; `None` where they are not counted.
    pub oom_kills: Option<u64>,
    /// Wall time, in microseconds.
    pub wall_us: u64,
    /// CPU time in user mode, in microseconds.
    pub cpu_user_us: u64,
    /// CPU time in the kernel, in microseconds.
    pub cpu_system_us: u64,
    /// Peak memory of the sandbox, or of its largest process where the cgroup is not visible.
    pub peak_bytes: u64,
    /// Bytes read from devices.
    pub io_read_bytes: Option<u64>,
    /// Bytes written to devices.
    pub io_write_bytes: Option<u64>,
    /// Time for which it was throttled by the CPU quota, in nanoseconds.
    pub throttled_ns: Option<u64>,
}

/// Isolation and usage of a sandbox, read from the kernel inside it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct GuestInspection {
    /// Kinds and inodes of the namespaces.
    pub namespaces: Vec<(String, u64)>,
    /// Union of all capability sets.
    pub capabilities: u64,
    /// `NoNewPrivs` of `/proc/self/status`.
    pub no_new_privs: bool,
    /// `Seccomp` of `/proc/self/status`.
    pub seccomp_mode: u64,
    /// Bytes of files in the writable directories.
    pub disk_bytes: u64,
    /// OOM kills so far; `None` where they are not counted.
    pub oom_kills: Option<u64>,
}

/// Builds a frame of a kind with this body.
pub fn frame(kind: GuestFrameKind, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    push_frame(&mut bytes, kind, body);
    bytes
}

/// Appends a frame to a send buffer.
pub fn push_frame(bytes: &mut Vec<u8>, kind: GuestFrameKind, body: &[u8]) {
    // Callers split longer bodies; a length that does not fit would be rejected by the receiver.
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    bytes.push(kind as u8);
    bytes.extend(length.to_le_bytes());
    bytes.extend(body);
}

/// Encodes a message as the body of a frame.
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_allocvec(message).map_err(io::Error::other)
}

/// Decodes a message from the body of a frame.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    postcard::from_bytes(body).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Removes the first frame from a receive buffer, if it is complete.
pub fn take_frame(buffer: &mut Vec<u8>) -> io::Result<Option<(GuestFrameKind, Vec<u8>)>> {
    let Some((header, _)) = buffer.split_first_chunk::<HEADER>() else { return Ok(None) };
    let (kind, length) = read_header(*header)?;
    if buffer.len() < HEADER + length {
        return Ok(None);
    }
    let body = buffer.drain(..HEADER + length).skip(HEADER).collect();
    Ok(Some((kind, body)))
}

/// Writes a frame, blocking until it is flushed.
pub fn write_frame(writer: &mut impl Write, kind: GuestFrameKind, body: &[u8]) -> io::Result<()> {
    writer.write_all(&frame(kind, body))?;
    writer.flush()
}

/// Reads a frame, blocking; `None` at the end of the stream.
pub fn read_frame(reader: &mut impl Read) -> io::Result<Option<(GuestFrameKind, Vec<u8>)>> {
    let mut header = [0; HEADER];
    match reader.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let (kind, length) = read_header(header)?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((kind, body)))
}

fn read_header(header: [u8; HEADER]) -> io::Result<(GuestFrameKind, usize)> {
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let [kind, length @ ..] = header;
    let kind = GuestFrameKind::of(kind).ok_or_else(|| wrong(format!("unknown frame kind {kind}")))?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST_FRAME {
        return Err(wrong(format!("frame of {length} bytes exceeds the limit of {LONGEST_FRAME}")));
    }
    Ok((kind, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip_when_read_byte_by_byte() {
        let bytes =
            [frame(GuestFrameKind::Output, b"printed"), frame(GuestFrameKind::InputEnd, b"")].concat();
        let (mut buffer, mut found) = (Vec::new(), Vec::new());
        for byte in bytes {
            buffer.push(byte);
            found.extend(take_frame(&mut buffer).unwrap());
        }
        assert_eq!(
            found,
            [(GuestFrameKind::Output, b"printed".to_vec()), (GuestFrameKind::InputEnd, Vec::new())]
        );
    }

    #[test]
    fn invalid_headers_are_errors() {
        assert!(take_frame(&mut vec![99, 0, 0, 0, 0]).is_err());
        assert!(take_frame(&mut vec![0, 255, 255, 255, 255]).is_err());
    }
}
