//! What the host and the program inside say to each other, over the standard streams of the program.
//!
//! Both directions are frames: one byte for the kind, four for the length, and the body. What a command prints is a
//! frame of its own kind, so that nothing that it prints can be taken for a report.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use menace_model::sandbox::{FileEntry, FileEvent, FileWork, TerminalSize};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Where the program is in a container.
pub const PLACE: &str = "/.menace/inside";

/// The argument with which it is the first process of a container.
pub const FIRST: &str = "first";

/// The argument with which it does what one [`Order`] asks for.
pub const SERVE: &str = "serve";

/// How many bytes of input may be under way: more are sent when the command has read some.
pub const WINDOW: usize = 256 << 10;

/// A frame that is longer is a mistake of somebody.
pub const LONGEST_FRAME: usize = 1 << 20;

/// The length of what comes before the body of a frame.
pub const HEADER: usize = 5;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// To the inside: an [`Order`], the first frame.
    Order,
    /// To the inside: bytes for the command to read, of an archive, or of a connection.
    Input,
    /// To the inside: there is no more input.
    InputEnd,
    /// To the inside: a [`Control`].
    Control,
    /// From the inside: bytes that were printed, of an archive, or of a connection.
    Output,
    /// From the inside: bytes that were printed to stderr.
    Complaint,
    /// From the inside: a [`Report`].
    Report,
}

impl Kind {
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

/// What the program is to do. It does one thing and ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Order {
    /// Lead a command.
    Run(Box<Run>),
    /// Unpack the archive that comes as input.
    Unpack {
        /// Where to; it is made if it is missing.
        directory: PathBuf,
    },
    /// Pack a file or directory, with paths relative to its parent.
    Pack {
        /// Which.
        path: PathBuf,
    },
    /// Work on files for a user.
    Files(FileWork),
    /// Say what was written: the answer is [`Report::Listed`], as often as it takes.
    List(Listing),
    /// Pack what was written, with paths relative to the root.
    PackWritten(Listing),
    /// Remove these, if they are there.
    Remove {
        /// Files and directories.
        paths: Vec<PathBuf>,
    },
    /// Tell what happens to files, until nobody listens.
    Watch {
        /// A file or directory.
        path: PathBuf,
    },
    /// Be a connection to a port of the loopback interface.
    Connect {
        /// Which.
        port: u16,
    },
    /// Say what the kernel says about this sandbox.
    Inspect,
}

/// A command to be led.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Run {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// All its variables.
    pub environment: BTreeMap<String, String>,
    /// Where it starts.
    pub directory: PathBuf,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How much time of the processors it may take, with all that it starts.
    pub cpu_time: Option<Duration>,
    /// Nothing else runs in the sandbox, and nothing outlives it.
    pub exclusive: bool,
    /// It gets a terminal.
    pub terminal: Option<TerminalSize>,
}

/// What belongs to a sandbox and not to what it was made of.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Listing {
    /// Directories that are looked through.
    pub directories: Vec<PathBuf>,
    /// Single paths, of which those are listed that are no directories.
    pub paths: Vec<PathBuf>,
    /// Of what is in the directories, only what has changed after this moment is written: nanoseconds since 1970.
    pub after: Option<i128>,
}

/// What is asked of a command that runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Control {
    /// Send it a signal.
    Signal(i32),
    /// Its terminal has another size.
    Resize(TerminalSize),
    /// Kill it with all that it started.
    Kill,
}

/// What the program says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Report {
    /// The command is about to be started. It is said before because a program can stop its leader with its first breath, and
    /// whoever waits for it has to know by then that its time runs.
    Starting {
        /// Processes of the sandbox that the kernel has killed before because memory ran out; nothing where nobody counts.
        oom_kills: Option<u64>,
    },
    /// The command runs, or the connection is there, or files are watched.
    Started,
    /// It could not be started.
    NotStarted {
        /// What the kernel said.
        errno: i32,
        /// What could not be done.
        step: Step,
    },
    /// So many bytes of the input were read by the command.
    Consumed(u64),
    /// The command does not read any more.
    InputClosed,
    /// The command ended.
    Ended(Box<End>),
    /// The work is done.
    Done(Answer),
    /// A part of a listing.
    Listed(Vec<Found>),
    /// Something happened to a file that is watched.
    Event(FileEvent),
    /// The work could not be done.
    Failed {
        /// For the user.
        problem: String,
    },
    /// The work takes a while, and somebody does it. This is said all the time.
    StillWorking,
}

/// What starting a command consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Entering its working directory.
    Directory,
    /// Making a terminal.
    Terminal,
    /// Executing the program.
    Execute,
    /// Connecting to a port.
    Connect,
}

/// The answer of work that has one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Answer {
    /// There is nothing to say.
    Nothing,
    /// An archive was unpacked; everything that changes from now on has changed after this moment.
    Unpacked {
        /// Nanoseconds since 1970.
        at: i128,
    },
    /// About files.
    Files(Vec<FileEntry>),
    /// What the kernel says.
    Inspected(Box<Inspection>),
}

/// Something that is in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Its path, absolute. It may be no text.
    pub path: std::ffi::OsString,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Whether it was made or changed after the moment of the listing.
    pub is_written: bool,
}

/// How a command ended, and what it took.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one way to end, and several can be true at once")]
pub struct End {
    /// What it returned.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Its time was over.
    pub timed_out: bool,
    /// Its time on the processors was over.
    pub cpu_exceeded: bool,
    /// Something of it could not be killed in time; the host has to end everything in the sandbox.
    pub has_survivors: bool,
    /// A disk of the sandbox was full.
    pub disk_full: bool,
    /// Processes of the sandbox that the kernel killed meanwhile because memory ran out; nothing where nobody counts.
    pub oom_kills: Option<u64>,
    /// From its start to its end, in microseconds.
    pub wall_us: u64,
    /// In user mode, in microseconds.
    pub cpu_user_us: u64,
    /// In the kernel, in microseconds.
    pub cpu_system_us: u64,
    /// Most memory of the sandbox at one time, or of its largest process.
    pub peak_bytes: u64,
    /// Read from devices.
    pub io_read_bytes: Option<u64>,
    /// Written to devices.
    pub io_write_bytes: Option<u64>,
    /// How long it had to wait because the share of the processors was used up, in nanoseconds.
    pub throttled_ns: Option<u64>,
}

/// What the kernel says about a sandbox, from inside.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Inspection {
    /// Kinds and inodes.
    pub namespaces: Vec<(String, u64)>,
    /// The union of all sets.
    pub capabilities: u64,
    /// `NoNewPrivs`.
    pub no_new_privs: bool,
    /// `Seccomp`.
    pub seccomp_mode: u64,
    /// Bytes of files in the directories that can be written.
    pub disk_bytes: u64,
    /// Processes that the kernel killed because memory ran out.
    pub oom_kills: Option<u64>,
}

/// The frame of a kind with this body.
pub fn frame(kind: Kind, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    push_frame(&mut bytes, kind, body);
    bytes
}

/// Adds a frame to bytes that are to be sent.
pub fn push_frame(bytes: &mut Vec<u8>, kind: Kind, body: &[u8]) {
    // Whoever sends splits what is longer; a length that does not fit would be refused by the other side.
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    bytes.push(kind as u8);
    bytes.extend(length.to_le_bytes());
    bytes.extend(body);
}

/// The body of a frame with a message.
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_allocvec(message).map_err(io::Error::other)
}

/// A message from the body of a frame.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    postcard::from_bytes(body).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Takes the first frame of what was read, if all of it is there.
pub fn take_frame(buffer: &mut Vec<u8>) -> io::Result<Option<(Kind, Vec<u8>)>> {
    let Some((header, _)) = buffer.split_first_chunk::<HEADER>() else { return Ok(None) };
    let (kind, length) = read_header(*header)?;
    if buffer.len() < HEADER + length {
        return Ok(None);
    }
    let body = buffer.drain(..HEADER + length).skip(HEADER).collect();
    Ok(Some((kind, body)))
}

/// Writes a frame and waits until that is done.
pub fn write_frame(writer: &mut impl Write, kind: Kind, body: &[u8]) -> io::Result<()> {
    writer.write_all(&frame(kind, body))?;
    writer.flush()
}

/// Waits for a frame; nothing at the end of the stream.
pub fn read_frame(reader: &mut impl Read) -> io::Result<Option<(Kind, Vec<u8>)>> {
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

fn read_header(header: [u8; HEADER]) -> io::Result<(Kind, usize)> {
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let [kind, length @ ..] = header;
    let kind = Kind::of(kind).ok_or_else(|| wrong(format!("a frame of the unknown kind {kind}")))?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST_FRAME {
        return Err(wrong(format!("a frame of {length} bytes")));
    }
    Ok((kind, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let bytes = [frame(Kind::Output, b"printed"), frame(Kind::InputEnd, b"")].concat();
        let (mut buffer, mut found) = (Vec::new(), Vec::new());
        for byte in bytes {
            buffer.push(byte);
            found.extend(take_frame(&mut buffer).unwrap());
        }
        assert_eq!(found, [(Kind::Output, b"printed".to_vec()), (Kind::InputEnd, Vec::new())]);
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        assert!(take_frame(&mut vec![99, 0, 0, 0, 0]).is_err());
        assert!(take_frame(&mut vec![0, 255, 255, 255, 255]).is_err());
    }
}
