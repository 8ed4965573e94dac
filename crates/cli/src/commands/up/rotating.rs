//! Log files of services, rotated by size. A library would bring compression, a clock and threads of its own for three
//! renames.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Maximum size of a file, and number of older files that are kept.
pub(super) const LARGEST: u64 = 1 << 20;
pub(super) const ARCHIVES: u32 = 3;

/// Append-only log file; `name.1` to `name.3` are the older files.
pub(super) struct RotatingLog {
    path: PathBuf,
    file: File,
    length: u64,
    largest: u64,
}

impl RotatingLog {
    /// Opens a log file for appending.
    pub(super) fn open(path: &Path, largest: u64) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let file = File::options().create(true).append(true).open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, length, largest })
    }

    /// Appends a line, which is never split between two files.
    pub(super) fn line(&mut self, text: &[u8]) -> io::Result<()> {
        let length = text.len() as u64 + 1;
        if self.length > 0 && self.length + length > self.largest {
            self.rotate()?;
        }
        self.file.write_all(&[text, b"\n"].concat())?;
        self.length += length;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..ARCHIVES).rev() {
            rename_if_exists(&self.archive(number), &self.archive(number + 1))?;
        }
        rename_if_exists(&self.path, &self.archive(1))?;
        *self = Self::open(&self.path, self.largest)?;
        Ok(())
    }

    fn archive(&self, number: u32) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        name.into()
    }
}

fn rename_if_exists(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        moved => moved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_lines_are_dropped_and_no_line_is_split() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("logs/loop.log");
        let mut log = RotatingLog::open(&path, 20).unwrap();
        for number in 0..10 {
            log.line(format!("line {number}").as_bytes()).unwrap();
        }
        drop(log);
        RotatingLog::open(&path, 20).unwrap().line(b"line 10, which is long").unwrap();
        let mut kept: Vec<String> = fs::read_dir(path.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        kept.sort();
        assert_eq!(kept, ["loop.log", "loop.log.1", "loop.log.2", "loop.log.3"]);
        let read = |name: &str| fs::read_to_string(path.with_file_name(name)).unwrap();
        assert_eq!(read("loop.log"), "line 10, which is long\n");
        assert_eq!(
            (read("loop.log.1"), read("loop.log.3")),
            ("line 8\nline 9\n".into(), "line 4\nline 5\n".into())
        );
    }
}
