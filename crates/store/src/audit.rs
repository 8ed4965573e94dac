//! The audit trail: a file to which lines are only added. Each line has the hash of the one before it, so that one that was
//! changed, taken out or put in is found. Beside the file is another that says which line was the last, so that lines that were
//! cut off are missed.
//!
//! Whoever may write both files can write a whole new trail. What cannot be forged needs another machine: send the lines, or the
//! last hash now and then, to one.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The trail of a file.
#[derive(Debug)]
pub struct AuditTrail {
    path: PathBuf,
    files: Mutex<Files>,
}

#[derive(Debug)]
struct Files {
    trail: File,
    head: File,
    /// How long the trail was when we last looked, and what its last line was.
    known: Option<(u64, Head)>,
}

/// Which line is the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    number: u64,
    hash: String,
}

/// Why a trail cannot be written or read.
#[derive(Debug, Error)]
#[error("the audit trail {path} cannot be {action}: {source}\nhint: AUDIT_LOG_PATH says where it is")]
pub struct AuditError {
    path: PathBuf,
    action: &'static str,
    source: io::Error,
}

/// What ends a line: its hash, of everything before.
const HASH: &str = r#","hash":""#;
const HASH_LENGTH: usize = 64;
const END: &str = "\"}";
/// Where the last line is looked for at first, from the end of the file.
const TAIL: u64 = 16 << 10;

impl AuditTrail {
    /// Opens a trail, and makes it when it is not there.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        let failed = |source| AuditError { path: path.to_owned(), action: "opened", source };
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
        Ok(Self { path: path.to_owned(), files: Mutex::new(Files { trail, head, known: None }) })
    }

    /// Adds a line: the fields of an object, its number, and the hashes. Several processes may do so at once. What the kernel
    /// has taken survives the end of this process.
    pub fn add(&self, entry: &impl Serialize) -> Result<(), AuditError> {
        let failed = |source| AuditError { path: self.path.clone(), action: "written", source };
        let fields = serde_json::to_string(entry).map_err(|error| failed(error.into()))?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.trail.lock().map_err(failed)?;
        let added = files.add(&fields);
        let unlocked = files.trail.unlock();
        added.and(unlocked).map_err(failed)
    }
}

impl Files {
    fn add(&mut self, fields: &str) -> io::Result<()> {
        let length = self.trail.metadata()?.len();
        let last = match self.known.take() {
            Some((known, last)) if known == length => last,
            _ => self.last(length)?,
        };
        let is_torn = length > 0 && !ends_line(&self.trail, length)?;
        let number = last.number + 1;
        let open = fields.strip_suffix('}').ok_or_else(|| io::Error::other("an entry is an object"))?;
        let comma = if open.len() > 1 { "," } else { "" };
        let body = format!(r#"{open}{comma}"number":{number},"previous":"{}""#, last.hash);
        let hash = blake3::hash(body.as_bytes()).to_hex().to_string();
        // What a crash left of a line stays, on a line of its own, where it is found.
        let before = if is_torn { "\n" } else { "" };
        let line = format!("{before}{body}{HASH}{hash}{END}\n");
        self.trail.write_all(line.as_bytes())?;
        let head = Head { number, hash };
        let mut said = serde_json::to_vec(&head)?;
        said.push(b'\n');
        self.head.write_all_at(&said, 0)?;
        self.head.set_len(said.len() as u64)?;
        self.known = Some((length + line.len() as u64, head));
        Ok(())
    }
}

impl Files {
    /// The last line. Lines that were cut off keep their numbers, so that they are missed.
    fn last(&self, length: u64) -> io::Result<Head> {
        let mut last = last_line(&self.trail, length)?;
        let mut said = vec![0; 256];
        let read = self.head.read_at(&mut said, 0)?;
        let noted = serde_json::from_slice::<Head>(said.get(..read).unwrap_or_default());
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

/// The last line that belongs to the chain. A file without one is what came before it, which the chain vouches for as a whole.
fn last_line(trail: &File, length: u64) -> io::Result<Head> {
    let mut size = TAIL.min(length);
    loop {
        let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        trail.read_exact_at(&mut bytes, length - size)?;
        // The first piece may be the end of a longer line, which is no line.
        let mut lines = bytes.split(|byte| *byte == b'\n').rev();
        if let Some(line) = lines.find_map(Line::read) {
            return Ok(Head { number: line.number, hash: line.hash });
        }
        if size == length {
            return Ok(Head { number: 0, hash: blake3::hash(&bytes).to_hex().to_string() });
        }
        size = (size * 4).min(length);
    }
}

/// A line of the chain, as it says itself.
struct Line {
    number: u64,
    previous: String,
    hash: String,
    /// Whether its hash is that of its text.
    is_itself: bool,
}

#[derive(Deserialize)]
struct Linked {
    number: u64,
    previous: String,
}

impl Line {
    fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let linked: Linked = serde_json::from_str(text).ok()?;
        let rest = text.strip_suffix(END)?;
        let hash = rest.get(rest.len().checked_sub(HASH_LENGTH)?..)?;
        let body = rest.strip_suffix(hash)?.strip_suffix(HASH)?;
        let is_itself = blake3::hash(body.as_bytes()).to_hex().as_str() == hash;
        Some(Self { number: linked.number, previous: linked.previous, hash: hash.to_owned(), is_itself })
    }
}

/// What is to be said about a trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Lines of the chain.
    pub lines: u64,
    /// Lines that were there before the chain began.
    pub before: u64,
    /// What is wrong, with the number of the line in the file.
    pub problems: Vec<Problem>,
    /// The last hash, to be noted where nobody who writes the trail can write.
    pub last: Option<String>,
}

/// Something that was done to a trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The line of the file, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
}

/// Reads a whole trail and says whether it is as it was written.
pub fn verify(path: &Path) -> Result<Verified, AuditError> {
    let failed = |source| AuditError { path: path.to_owned(), action: "read", source };
    // Nobody adds a line between the trail and what says which was the last.
    let trail = File::open(path).map_err(failed)?;
    trail.lock_shared().map_err(failed)?;
    let text = std::fs::read(path).map_err(failed)?;
    let head = match std::fs::read(head_of(path)) {
        Ok(head) => serde_json::from_slice(&head).ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    Ok(Reading::of(&text, head))
}

struct Reading {
    verified: Verified,
    expected: Option<Head>,
}

impl Reading {
    fn of(text: &[u8], head: Option<Head>) -> Verified {
        let verified = Verified { lines: 0, before: 0, problems: Vec::new(), last: None };
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
        let Some(line) = Line::read(text) else {
            match self.expected {
                None => self.verified.before += 1,
                Some(_) => self.wrong(at, "it is no line of the trail".to_owned()),
            }
            return;
        };
        if !line.is_itself {
            self.wrong(at, "it was changed after it was written".to_owned());
        }
        let expected = self
            .expected
            .clone()
            .unwrap_or_else(|| Head { number: 0, hash: blake3::hash(before).to_hex().to_string() });
        if line.previous != expected.hash || line.number != expected.number + 1 {
            let what = match line.number.checked_sub(expected.number + 1) {
                Some(0) => "what comes before it was changed".to_owned(),
                Some(missing) => format!("{missing} lines before it are missing"),
                None => "it is not where it was".to_owned(),
            };
            self.wrong(at, what);
        }
        self.verified.lines += 1;
        self.expected = Some(Head { number: line.number, hash: line.hash });
    }

    fn wrong(&mut self, line: u64, what: String) {
        self.verified.problems.push(Problem { line, what });
    }

    fn end(mut self, head: Option<Head>) -> Verified {
        let at = self.verified.before + self.verified.lines;
        let last = self.expected.take();
        match (&last, head) {
            (Some(last), Some(head)) if head.number > last.number => {
                self.wrong(at, format!("{} lines after it are missing", head.number - last.number));
            }
            (None, Some(head)) => self.wrong(at, format!("all {} lines are missing", head.number)),
            (Some(last), Some(head)) if head.number == last.number && head.hash != last.hash => {
                self.wrong(at, "it is not the line that was written last".to_owned());
            }
            (Some(_), None) => {
                self.wrong(at, "the file that says which line is the last is missing".to_owned());
            }
            // A crash between a line and the note of it leaves a note that is one line old.
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
    fn what_was_only_added_to_is_whole() {
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
    fn a_trail_that_was_removed_is_missed_by_the_next_line() {
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
    fn one_line_that_is_made_anew_does_not_fit() {
        let (_directory, path) = trail_of(3);
        // Somebody who knows how hashes are made changes the second line, and its hash with it.
        rewritten(&path, |lines| {
            let body = lines[1].replace("entry 1", "entry 7");
            let body = body.get(..body.len() - HASH_LENGTH - END.len() - HASH.len()).unwrap();
            lines[1] = format!("{body}{HASH}{}{END}", blake3::hash(body.as_bytes()).to_hex());
        });
        assert_eq!(problems(&path), [(3, "what comes before it was changed".to_owned())]);
    }

    #[test]
    fn what_was_there_before_the_chain_is_vouched_for_as_a_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        std::fs::write(&path, "{\"old\":1}\n{\"old\":2}\n").unwrap();
        AuditTrail::open(&path).unwrap().add(&json!({})).unwrap();
        let verified = verify(&path).unwrap();
        assert_eq!((verified.lines, verified.before, verified.problems.len()), (1, 2, 0));
        rewritten(&path, |lines| lines[0] = "{\"old\":9}".into());
        assert_eq!(problems(&path), [(3, "what comes before it was changed".to_owned())]);
    }

    #[test]
    fn several_write_at_once_and_a_torn_line_stays_visible() {
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
        assert_eq!(problems(&path), [(202, "it is no line of the trail".to_owned())]);
        assert_eq!(verify(&path).unwrap().lines, 202);
    }
}
