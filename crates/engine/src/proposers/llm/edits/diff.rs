//! Unified diffs as models write them: line prefixes are reliable, line counts often are not.

use super::edit::{AnswerEdit, EditChange, EditLine};
use super::error::EditError;
use super::file_names::stripped;
use super::parse::{AnswerEditParser, truncated_line};

/// Line number and counts in the header of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct HunkHeader {
    line: Option<usize>,
    /// Number of lines before and after the change.
    counts: Option<(i64, i64)>,
}

impl HunkHeader {
    fn of(line: &str) -> Self {
        Self::numbers(line).unwrap_or_default()
    }

    fn numbers(line: &str) -> Option<Self> {
        let mut words = line.trim_start_matches('@').split_whitespace();
        let (line, old) = range(words.next()?.strip_prefix('-')?)?;
        let (_, new) = range(words.next()?.strip_prefix('+')?)?;
        Some(Self { line: Some(line), counts: Some((old, new)) })
    }
}

fn range(text: &str) -> Option<(usize, i64)> {
    let (line, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((line.parse().ok()?, i64::from(count.parse::<u32>().ok()?)))
}

/// Reason why the lines of a hunk end.
enum HunkEnd {
    /// The answer ended.
    Answer,
    /// A fence was closed, or another hunk or file starts.
    Clear,
    /// A line that cannot belong to a hunk, possibly after an empty line.
    Prose { after_empty: bool },
}

impl AnswerEditParser<'_> {
    /// Whether a line and the next one name the file of a diff. A removed line may begin with `-- ` as well.
    pub(super) fn is_header(&self, at: usize) -> bool {
        let named = |at: usize, sign: &str| {
            let name = self.line(at).and_then(|line| line.strip_prefix(sign));
            name.is_some_and(|name| !name.trim().is_empty())
        };
        named(at, "--- ") && named(at + 1, "+++ ")
    }

    /// Reads `--- a/cart.py` and `+++ b/cart.py`.
    pub(super) fn header(&mut self) -> Result<(), EditError> {
        let name = |at: usize| self.line(at).map_or("", |line| file_name(&line[4..])).to_owned();
        let (old, new) = (name(self.at), name(self.at + 1));
        let path = same_file(&old, &new)?;
        let is_of_git = self.section.as_ref().is_some_and(|(known, hunks)| *known == path && *hunks == 0);
        if !is_of_git {
            self.end_section()?;
        }
        self.section = Some((path, 0));
        self.at += 2;
        Ok(())
    }

    /// Reads `diff --git a/cart.py b/cart.py` and Git's extended header lines.
    pub(super) fn git_header(&mut self) -> Result<(), EditError> {
        self.end_section()?;
        let names = self.line(self.at).unwrap_or_default().trim_start_matches("diff --git ");
        let (old, new) = names.split_once(" b/").unwrap_or((names, names));
        let path = stripped(file_name(old)).to_owned();
        let to = stripped(file_name(new)).to_owned();
        self.at += 1;
        while let Some(line) = self.line(self.at) {
            match first_words(line) {
                "index" | "similarity" | "dissimilarity" => {}
                "new file" => return Err(EditError::NewFile { path }),
                "deleted file" => return Err(EditError::Deletion { path }),
                "rename" | "copy" => return Err(EditError::Rename { from: path, to }),
                "old mode" | "new mode" => return Err(EditError::Mode { path }),
                "Binary files" | "GIT binary" => return Err(EditError::Binary { path }),
                _ => break,
            }
            self.at += 1;
        }
        if path != to {
            return Err(EditError::Rename { from: path, to });
        }
        self.section = Some((path, 0));
        Ok(())
    }

    pub(super) fn hunk(&mut self) -> Result<(), EditError> {
        let text = self.line(self.at).unwrap_or_default();
        if text.starts_with("@@@") {
            return Err(EditError::Merge { line: self.at + 1, text: truncated_line(text) });
        }
        let header = HunkHeader::of(text);
        let path = match &mut self.section {
            Some((path, hunks)) => {
                *hunks += 1;
                path.clone()
            }
            None => return Err(EditError::HunkWithoutFile { line: self.at + 1 }),
        };
        let label = self.label("hunk", &path);
        self.at += 1;
        let mut body = HunkBody { lines: Vec::new(), empty: 0, left: header.counts };
        let end = self.body(&mut body);
        self.refuse_half(&label, &body, &end)?;
        if body.lines.is_empty() {
            return Err(EditError::EmptyHunk { label });
        }
        let notes = notes(&label, header, &body.lines);
        let change = EditChange::Hunk { line: header.line, lines: body.lines };
        self.push(AnswerEdit { path, label, change, notes })
    }

    /// Reads lines as long as they can belong to a hunk.
    fn body(&mut self, body: &mut HunkBody) -> HunkEnd {
        loop {
            let Some(line) = self.line(self.at) else { return HunkEnd::Answer };
            if self.ends_a_hunk(line, body) {
                return HunkEnd::Clear;
            }
            let is_over = body.left == Some((0, 0));
            let prose = HunkEnd::Prose { after_empty: body.empty > 0 };
            match line.as_bytes().first() {
                None if is_over && self.fence.is_none() => return HunkEnd::Clear,
                None => body.empty_line(),
                Some(b' ') => body.push(EditLine::Keep(line[1..].to_owned())),
                Some(b'-') => body.push(EditLine::Remove(line[1..].to_owned())),
                Some(b'+') => body.push(EditLine::Add(line[1..].to_owned())),
                // `\ No newline at end of file`: files keep the end that they have.
                Some(b'\\') => {}
                Some(_) if is_over && self.fence.is_none() => return HunkEnd::Clear,
                Some(_) => return prose,
            }
            self.at += 1;
        }
    }

    fn ends_a_hunk(&self, line: &str, body: &HunkBody) -> bool {
        let is_over = body.left.is_none_or(|(old, new)| old <= 0 && new <= 0);
        let third = self.line(self.at + 2).unwrap_or_default();
        line.starts_with("@@")
            || line.starts_with("diff --git ")
            || line.starts_with("Index: ")
            || self.fence.is_some_and(|fence| fence.is_closed_by(line))
            || (self.is_header(self.at) && (is_over || third.starts_with("@@")))
            // Signature separator of `git format-patch`.
            || (line.trim_end() == "--" && body.left == Some((0, 0)))
    }

    /// Refuses an incomplete hunk, which could remove lines without adding their replacement.
    fn refuse_half(&self, label: &str, body: &HunkBody, end: &HunkEnd) -> Result<(), EditError> {
        let is_short = body.left.is_some_and(|(old, new)| old > 0 || new > 0);
        match end {
            HunkEnd::Answer if is_short || self.fence.is_some() => {
                Err(EditError::Unfinished { label: label.into() })
            }
            HunkEnd::Prose { after_empty } => {
                if self.fence.is_none() && !is_short && *after_empty && !self.has_signs_ahead() {
                    return Ok(());
                }
                let text = truncated_line(self.line(self.at).unwrap_or_default());
                Err(EditError::BadLine { label: label.into(), line: self.at + 1, text })
            }
            HunkEnd::Answer | HunkEnd::Clear => Ok(()),
        }
    }

    /// Whether lines before the next hunk may still belong to this one.
    fn has_signs_ahead(&self) -> bool {
        let ahead = (self.at..).map_while(|at| Some((at, self.line(at)?)));
        ahead
            .take_while(|(at, line)| !line.starts_with("@@") && !self.is_header(*at))
            .any(|(_, line)| line.starts_with(['+', '-']))
    }
}

/// Lines of a hunk read so far.
struct HunkBody {
    lines: Vec<EditLine>,
    /// Pending empty lines that may belong to the hunk: models often drop the leading space of empty context lines.
    empty: usize,
    /// Remaining lines according to the header.
    left: Option<(i64, i64)>,
}

impl HunkBody {
    fn push(&mut self, line: EditLine) {
        for _ in 0..std::mem::take(&mut self.empty) {
            self.count(EditLine::Keep(String::new()));
        }
        self.count(line);
    }

    fn count(&mut self, line: EditLine) {
        if let Some((old, new)) = &mut self.left {
            *old -= i64::from(line.before().is_some());
            *new -= i64::from(line.after().is_some());
        }
        self.lines.push(line);
    }

    fn empty_line(&mut self) {
        let empty = i64::try_from(self.empty).unwrap_or(i64::MAX);
        if self.left.is_some_and(|(old, new)| old > empty && new > empty) {
            self.push(EditLine::Keep(String::new()));
        } else {
            self.empty += 1;
        }
    }
}

fn notes(label: &str, header: HunkHeader, lines: &[EditLine]) -> Vec<String> {
    let old = lines.iter().filter(|line| line.before().is_some()).count();
    let new = lines.iter().filter(|line| line.after().is_some()).count();
    match header.counts {
        None => vec![format!("{label} has no line numbers")],
        Some((said_old, said_new))
            if (i64::try_from(old), i64::try_from(new)) != (Ok(said_old), Ok(said_new)) =>
        {
            vec![format!("{label} has {old} old and {new} new lines, not {said_old} and {said_new}")]
        }
        Some(_) => Vec::new(),
    }
}

/// File name without timestamp and quotes.
fn file_name(text: &str) -> &str {
    text.split('\t').next().unwrap_or_default().trim().trim_matches('"')
}

fn same_file(old: &str, new: &str) -> Result<String, EditError> {
    let renamed = || EditError::Rename { from: old.into(), to: new.into() };
    match (old, new) {
        ("/dev/null", _) => Err(EditError::NewFile { path: stripped(new).into() }),
        (_, "/dev/null") => Err(EditError::Deletion { path: stripped(old).into() }),
        _ if old == new => Ok(old.into()),
        _ if stripped(old) == stripped(new) => Ok(stripped(old).into()),
        _ => Err(renamed()),
    }
}

/// Keyword of one of Git's extended header lines, or an empty string.
fn first_words(line: &str) -> &str {
    let known = [
        "index",
        "similarity",
        "dissimilarity",
        "new file",
        "deleted file",
        "rename",
        "copy",
        "old mode",
        "new mode",
        "Binary files",
        "GIT binary",
    ];
    known
        .into_iter()
        .find(|words| line.strip_prefix(words).is_some_and(|rest| rest.starts_with(' ')))
        .unwrap_or("")
}
