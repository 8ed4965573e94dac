//! Reading and writing the kernel's files in control groups, with their paths in every error.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::CgroupError;

/// Writes a setting. The file is never created: in a control group a missing file is a missing feature.
pub(super) fn write(path: &Path, value: &str) -> Result<(), CgroupError> {
    write_once(path, value).map_err(CgroupError::write(path, value))
}

/// Writes a setting if the kernel has it; returns whether it has.
pub(super) fn write_if_there(path: &Path, value: &str) -> Result<bool, CgroupError> {
    match write_once(path, value) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(CgroupError::write(path, value)(error)),
    }
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<String, CgroupError> {
    fs::read_to_string(path).map_err(CgroupError::read(path))
}

/// Reads a file that not every kernel has.
pub(super) fn read_if_there(path: &Path) -> Result<Option<String>, CgroupError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CgroupError::read(path)(error)),
    }
}

/// Reads a file with a single number that not every kernel has.
pub(super) fn read_number_if_there(path: &Path) -> Result<Option<u64>, CgroupError> {
    read_if_there(path)?.map(|text| number(path, text.trim())).transpose()
}

/// Number of a key in a file of lines like `key number`.
pub(super) fn value_of(path: &Path, text: &str, key: &str) -> Result<Option<u64>, CgroupError> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    value.map(|value| number(path, value)).transpose()
}

/// Parses a number in a file.
pub(super) fn number(path: &Path, text: &str) -> Result<u64, CgroupError> {
    text.parse().map_err(|_| CgroupError::Parse { path: path.to_owned(), text: text.to_owned() })
}

/// Polls, with pauses that grow from 50 µs to 2 ms, until `done` returns true or the time is over, and returns
/// whether it did. Cgroup v1 has no notification of its changes that could be waited on.
pub(super) fn poll(
    limit: Duration,
    mut done: impl FnMut() -> Result<bool, CgroupError>,
) -> Result<bool, CgroupError> {
    let started = Instant::now();
    let mut pause = Duration::from_micros(50);
    while !done()? {
        if started.elapsed() >= limit {
            return Ok(false);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    }
    Ok(true)
}

fn write_once(path: &Path, value: &str) -> io::Result<()> {
    // The kernel takes a setting from one call of write; it ignores truncation, which only makes the fabricated trees of
    // the tests behave alike.
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(value.as_bytes())
}
