//! The audit trail: an append-only file. Each line has the hash of the line before it, which reveals changed, removed
//! and inserted lines. A second file beside it holds the number and hash of the last line, which reveals truncation.
//!
//! A process that may write both files can forge a whole new trail. Protection against that needs another machine:
//! send it the lines, or the last hash at intervals.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use menace_model::{ErrorClass, ErrorDetails};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The audit trail in a file.
#[derive(Debug)]
pub struct AuditTrail {
    path: PathBuf,
    files: Mutex<AuditFiles>,
}

#[derive(Debug)]
struct AuditFiles {
    trail: File,
    head: File,
    /// Length of the trail at the last access, and its last line.
    known: Option<(u64, AuditHead)>,
}

/// Number and hash of the last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct AuditHead {
    number: u64,
    hash: String,
}

/// The trail could not be opened, written or read.
#[derive(Debug, Error)]
#[error("failed to {action} the audit trail {path}: {source}")]
pub struct AuditError {
    path: PathBuf,
    action: &'static str,
    source: io::Error,
}

impl ErrorDetails for AuditError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Environment
    }

    fn hint(&self) -> Option<String> {
        Some("AUDIT_LOG_PATH sets its path".into())
    }
}

/// Start of the last field of a line: the hash of everything before it.
const HASH: &str = r#","hash":""#;
const HASH_LENGTH: usize = 64;
const END: &str = "\"}";
/// Length of the first read from the end of the file when searching the last line.
const TAIL: u64 = 16 << 10;

impl AuditTrail {
    /// Opens a trail, creating it if it does not exist.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        let failed = |source| AuditError { path: path.to_owned(), action: "open", source };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        let trail = File::options().create(true).read(true).append(true).open(path).map_err(failed)?;
        let mut options = File::options();
        let head = options
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(head_of(path))
            .map_err(failed)?;
        Ok(Self { path: path.to_owned(), files: Mutex::new(AuditFiles { trail, head, known: None }) })
    }

    /// Appends a line: the fields of an object, its number, and the hashes. Several processes may append
    /// concurrently. Data that the kernel has accepted survives the end of this process.
    pub fn add(&self, entry: &impl Serialize) -> Result<(), AuditError> {
        let failed = |source| AuditError { path: self.path.clone(), action: "write", source };
        let fields = serde_json::to_string(entry).map_err(|error| failed(error.into()))?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.trail.lock().map_err(failed)?;
        let added = files.add(&fields);
        let unlocked = files.trail.unlock();
        added.and(unlocked).map_err(failed)
    }
}

impl AuditFiles {
    fn add(&mut self, fields: &str) -> io::Result<()> {
        let length = self.trail.metadata()?.len();
        let last = match self.known.take() {
            Some((known, last)) if known == length => last,
            _ => self.last(length)?,
        };
        let is_torn = length > 0 && !ends_line(&self.trail, length)?;
        let number = last.number + 1;
        let open = fields
            .strip_suffix('}')
            .ok_or_else(|| io::Error::other("an audit entry must be a JSON object"))?;
        let comma = if open.len() > 1 { "," } else { "" };
        let body = format!(r#"{open}{comma}"number":{number},"previous":"{}""#, last.hash);
        let hash = blake3::hash(body.as_bytes()).to_hex().to_string();
        // A line that a crash left incomplete stays on its own line, where verification reports it.
        let before = if is_torn { "\n" } else { "" };
        let line = format!("{before}{body}{HASH}{hash}{END}\n");
        self.trail.write_all(line.as_bytes())?;
        let head = AuditHead { number, hash };
        let mut said = serde_json::to_vec(&head)?;
        said.push(b'\n');
        self.head.write_all_at(&said, 0)?;
        self.head.set_len(said.len() as u64)?;
        self.known = Some((length + line.len() as u64, head));
        Ok(())
    }
}

impl AuditFiles {
    /// Reads the last line. Its number is at least that of the head file, so that truncated lines leave a gap in the
    /// numbers.
    fn last(&self, length: u64) -> io::Result<AuditHead> {
        let mut last = last_line(&self.trail, length)?;
        let mut said = vec![0; 256];
        let read = self.head.read_at(&mut said, 0)?;
        let noted = serde_json::from_slice::<AuditHead>(said.get(..read).unwrap_or_default());
        last.number = last.number.max(noted.map_or(0, |noted| noted.number));
        Ok(last)
    }
}

fn head_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".head");
    name.into()
}

fn ends_line(trail: &File, length: u64) -> io::Result<bool> {
    let mut last = [0];
    trail.read_exact_at(&mut last, length - 1)?;
    Ok(last == *b"\n")
}

/// The last line of the chain. Without one, the whole file precedes the chain, and the first hash covers all of it.
fn last_line(trail: &File, length: u64) -> io::Result<AuditHead> {
    let mut size = TAIL.min(length);
    loop {
        let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        trail.read_exact_at(&mut bytes, length - size)?;
        // The first piece may be the end of a longer line, which does not parse.
        let mut lines = bytes.split(|byte| *byte == b'\n').rev();
        if let Some(line) = lines.find_map(AuditLine::read) {
            return Ok(AuditHead { number: line.number, hash: line.hash });
        }
        if size == length {
            return Ok(AuditHead { number: 0, hash: blake3::hash(&bytes).to_hex().to_string() });
        }
        size = (size * 4).min(length);
    }
}

/// A line of the chain with its own fields.
struct AuditLine {
    number: u64,
    previous: String,
    hash: String,
    /// Whether the hash matches the text.
    is_itself: bool,
}

#[derive(Deserialize)]
struct AuditChainLink {
    number: u64,
    previous: String,
}

impl AuditLine {
    fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let linked: AuditChainLink = serde_json::from_str(text).ok()?;
        let rest = text.strip_suffix(END)?;
        let hash = rest.get(rest.len().checked_sub(HASH_LENGTH)?..)?;
        let body = rest.strip_suffix(hash)?.strip_suffix(HASH)?;
        let is_itself = blake3::hash(body.as_bytes()).to_hex().as_str() == hash;
        Some(Self { number: linked.number, previous: linked.previous, hash: hash.to_owned(), is_itself })
    }
}

/// Result of verifying a trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditVerification {
    /// Number of lines in the chain.
    pub lines: u64,
    /// Number of lines before the start of the chain.
    pub before: u64,
    /// Problems, with the line number in the file.
    pub problems: Vec<AuditProblem>,
    /// Last hash, to be stored where writers of the trail have no access.
    pub last: Option<String>,
}

/// A problem of one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditProblem {
    /// Line number in the file, from 1.
    pub line: u64,
    /// Description of the problem.
    pub what: String,
}

/// Reads a whole trail and verifies its chain.
pub fn verify(path: &Path) -> Result<AuditVerification, AuditError> {
    let failed = |source| AuditError { path: path.to_owned(), action: "read", source };
    // The lock keeps other processes from appending between the reads of the trail and of the head file.
    let trail = File::open(path).map_err(failed)?;
    trail.lock_shared().map_err(failed)?;
    let text = std::fs::read(path).map_err(failed)?;
    let head = match std::fs::read(head_of(path)) {
        Ok(head) => serde_json::from_slice(&head).ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    Ok(AuditVerifier::of(&text, head))
}

struct AuditVerifier {
    verified: AuditVerification,
    expected: Option<AuditHead>,
}

impl AuditVerifier {
    fn of(text: &[u8], head: Option<AuditHead>) -> AuditVerification {
        let verified = AuditVerification { lines: 0, before: 0, problems: Vec::new(), last: None };
        let mut reading = Self { verified, expected: None };
        let mut start = 0;
        for (at, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let bare = line.strip_suffix(b"\n").unwrap_or(line);
            reading.line(at as u64 + 1, bare, text.get(..start).unwrap_or_default());
            start += line.len();
        }
        reading.end(head)
    }

    fn line(&mut self, at: u64, text: &[u8], before: &[u8]) {
        let Some(line) = AuditLine::read(text) else {
            match self.expected {
                None => self.verified.before += 1,
                Some(_) => self.wrong(at, "not a valid audit line".to_owned()),
            }
            return;
        };
        if !line.is_itself {
            self.wrong(at, "it was changed after it was written".to_owned());
        }
        let expected = self
            .expected
            .clone()
            .unwrap_or_else(|| AuditHead { number: 0, hash: blake3::hash(before).to_hex().to_string() });
        if line.previous != expected.hash || line.number != expected.number + 1 {
            let what = match line.number.checked_sub(expected.number + 1) {
                Some(0) => "the preceding lines were changed".to_owned(),
                Some(missing) => format!("{missing} lines before it are missing"),
                None => "out of order".to_owned(),
            };
            self.wrong(at, what);
        }
        self.verified.lines += 1;
        self.expected = Some(AuditHead { number: line.number, hash: line.hash });
    }

    fn wrong(&mut self, line: u64, what: String) {
        self.verified.problems.push(AuditProblem { line, what });
    }

    fn end(mut self, head: Option<AuditHead>) -> AuditVerification {
        let at = self.verified.before + self.verified.lines;
        let last = self.expected.take();
        match (&last, head) {
            (Some(last), Some(head)) if head.number > last.number => {
                self.wrong(at, format!("{} lines after it are missing", head.number - last.number));
            }
            (None, Some(head)) => self.wrong(at, format!("all {} lines are missing", head.number)),
            (Some(last), Some(head)) if head.number == last.number && head.hash != last.hash => {
                self.wrong(at, "not the last line that was written".to_owned());
            }
            (Some(_), None) => {
                self.wrong(at, "the head file is missing".to_owned());
            }
            // A crash between the writes of a line and of the head leaves a head that is one line behind.
            _ => {}
        }
        self.verified.last = last.map(|last| last.hash);
        self.verified
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn trail_of(entries: usize) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let trail = AuditTrail::open(&path).unwrap();
        for number in 0..entries {
            trail.add(&json!({"what": format!("entry {number}")})).unwrap();
        }
        (directory, path)
    }

    fn problems(path: &Path) -> Vec<(u64, String)> {
        verify(path).unwrap().problems.into_iter().map(|problem| (problem.line, problem.what)).collect()
    }

    fn rewritten(path: &Path, change: impl FnOnce(&mut Vec<String>)) {
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text.lines().map(str::to_owned).collect();
        change(&mut lines);
        std::fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    #[test]
    fn a_trail_that_was_only_appended_to_is_valid() {
        let (_directory, path) = trail_of(5);
        let verified = verify(&path).unwrap();
        assert_eq!((verified.lines, verified.before, verified.problems.len()), (5, 0, 0));
        let last = std::fs::read_to_string(&path).unwrap().lines().last().unwrap().to_owned();
        assert!(last.contains(&verified.last.unwrap()) && last.contains(r#""what":"entry 4""#), "{last}");
    }

    #[test]
    fn every_change_is_found() {
        let (_directory, path) = trail_of(5);
        rewritten(&path, |lines| lines[2] = lines[2].replace("entry 2", "entry 9"));
        assert_eq!(problems(&path), [(3, "it was changed after it was written".to_owned())]);
        let (_directory, path) = trail_of(5);
        rewritten(&path, |lines| drop(lines.remove(2)));
        assert_eq!(problems(&path), [(3, "1 lines before it are missing".to_owned())]);
        let (_directory, path) = trail_of(5);
        rewritten(&path, |lines| lines.truncate(3));
        assert_eq!(problems(&path), [(3, "2 lines after it are missing".to_owned())]);
        let (_directory, path) = trail_of(5);
        rewritten(&path, |lines| lines.swap(1, 2));
        assert_eq!(problems(&path).len(), 3);
        let (_directory, path) = trail_of(2);
        rewritten(&path, Vec::clear);
        assert_eq!(problems(&path), [(0, "all 2 lines are missing".to_owned())]);
    }

    #[test]
    fn a_removed_trail_leaves_a_gap_before_the_next_line() {
        let (_directory, path) = trail_of(3);
        std::fs::remove_file(&path).unwrap();
        AuditTrail::open(&path).unwrap().add(&json!({"what": "new"})).unwrap();
        assert_eq!(problems(&path), [(1, "3 lines before it are missing".to_owned())]);
        let (_directory, path) = trail_of(3);
        rewritten(&path, |lines| lines.truncate(1));
        AuditTrail::open(&path).unwrap().add(&json!({"what": "new"})).unwrap();
        assert_eq!(problems(&path), [(2, "2 lines before it are missing".to_owned())]);
    }

    #[test]
    fn a_forged_line_breaks_the_chain() {
        let (_directory, path) = trail_of(3);
        // An attacker who knows the hash function changes the second line and its hash.
        rewritten(&path, |lines| {
            let body = lines[1].replace("entry 1", "entry 7");
            let body = body.get(..body.len() - HASH_LENGTH - END.len() - HASH.len()).unwrap();
            lines[1] = format!("{body}{HASH}{}{END}", blake3::hash(body.as_bytes()).to_hex());
        });
        assert_eq!(problems(&path), [(3, "the preceding lines were changed".to_owned())]);
    }

    #[test]
    fn lines_before_the_chain_are_covered_by_its_first_hash() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        std::fs::write(&path, "{\"old\":1}\n{\"old\":2}\n").unwrap();
        AuditTrail::open(&path).unwrap().add(&json!({})).unwrap();
        let verified = verify(&path).unwrap();
        assert_eq!((verified.lines, verified.before, verified.problems.len()), (1, 2, 0));
        rewritten(&path, |lines| lines[0] = "{\"old\":9}".into());
        assert_eq!(problems(&path), [(3, "the preceding lines were changed".to_owned())]);
    }

    #[test]
    fn concurrent_writers_keep_the_chain_and_a_torn_line_stays_visible() {
        let (_directory, path) = trail_of(1);
        let others: Vec<_> = (0..4)
            .map(|_| {
                let path = path.clone();
                std::thread::spawn(move || {
                    let trail = AuditTrail::open(&path).unwrap();
                    (0..50).for_each(|number| trail.add(&json!({"long": "x".repeat(number * 50)})).unwrap());
                })
            })
            .collect();
        for other in others {
            other.join().unwrap();
        }
        let verified = verify(&path).unwrap();
        assert_eq!((verified.lines, verified.problems.len()), (201, 0));
        File::options().append(true).open(&path).unwrap().write_all(b"{\"torn").unwrap();
        AuditTrail::open(&path).unwrap().add(&json!({"what": "after"})).unwrap();
        assert_eq!(problems(&path), [(202, "not a valid audit line".to_owned())]);
        assert_eq!(verify(&path).unwrap().lines, 202);
    }
}
