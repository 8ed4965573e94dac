//! Who changed what: a line for each request that changes something, written before the caller has its answer.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// The file.
#[derive(Debug)]
pub struct Audit {
    file: Mutex<File>,
}

/// One request.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    pub(super) at: String,
    pub(super) key: Option<&'a str>,
    pub(super) peer: String,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) status: u16,
    pub(super) took_ms: f64,
}

impl Audit {
    /// Opens the file, to which lines are added.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        Ok(Self { file: Mutex::new(file) })
    }

    /// Adds a line, in one piece. What the kernel has taken survives the end of this process.
    pub(super) fn write(&self, line: &Line<'_>) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&text)
    }
}
