//! Corrupted writes: writes altered bytes in place of the caller's.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use super::intercepted_thread::{InterceptedThread, descriptor};

/// Most bytes written per call. A call with more bytes gets a short write and has to write the rest itself, as after
/// any short write.
const MOST: usize = 1 << 20;
/// Distance between altered bytes; the first byte is always altered.
const EVERY: usize = 64;

/// Performs a write call with altered bytes and returns its result. `None` if the call does not write to a regular
/// file.
pub(super) fn write_corrupted(
    target: InterceptedThread,
    name: &str,
    arguments: &[u64; 6],
) -> Option<io::Result<usize>> {
    let (pieces, at) = match name {
        "write" => (vec![(arguments[1], arguments[2])], None),
        "pwrite64" => (vec![(arguments[1], arguments[2])], Some(arguments[3])),
        "writev" => (vector(target, arguments)?, None),
        "pwritev" => (vector(target, arguments)?, Some(arguments[3])),
        _ => return None,
    };
    let mut file = File::from(target.descriptor(descriptor(arguments[0]))?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = gather(target, &pieces)?;
    if bytes.is_empty() {
        return None;
    }
    for byte in bytes.iter_mut().step_by(EVERY) {
        *byte ^= 0x95;
    }
    Some(match at {
        None => file.write(&bytes),
        Some(at) => file.write_at(&bytes, at),
    })
}

/// Addresses and lengths of the buffers of a vectored write.
fn vector(target: InterceptedThread, arguments: &[u64; 6]) -> Option<Vec<(u64, u64)>> {
    let count = usize::try_from(arguments[2]).ok().filter(|count| *count <= 1024)?;
    let mut bytes = vec![0; count * 16];
    target.memory()?.read_exact_at(&mut bytes, arguments[1]).ok()?;
    let number = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.try_into().ok()?));
    bytes.chunks_exact(16).map(|piece| Some((number(piece.get(..8)?)?, number(piece.get(8..)?)?))).collect()
}

fn gather(target: InterceptedThread, pieces: &[(u64, u64)]) -> Option<Vec<u8>> {
    let memory = target.memory()?;
    let mut bytes = Vec::new();
    for (address, length) in pieces {
        let length = usize::try_from(*length).ok()?.min(MOST - bytes.len());
        let start = bytes.len();
        bytes.resize(start + length, 0);
        memory.read_exact_at(bytes.get_mut(start..)?, *address).ok()?;
    }
    Some(bytes)
}
