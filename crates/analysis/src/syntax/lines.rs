//! Conversion of byte offsets to line numbers.

use super::TextSize;

/// Start of each line. `\n`, `\r\n` and a lone `\r` end a line, as they do for Python.
#[derive(Debug)]
pub(crate) struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    pub(crate) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = Vec::with_capacity(bytes.len() / 32 + 1);
        starts.push(0);
        for index in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            let is_half_of_a_pair = bytes[index] == b'\r' && bytes.get(index + 1) == Some(&b'\n');
            if !is_half_of_a_pair {
                starts.push(
                    u32::try_from(index + 1).expect("sources above 4 GiB are rejected when they are read"),
                );
            }
        }
        Self { starts }
    }

    /// The line of an offset, counted from 1.
    pub(crate) fn line_of(&self, offset: TextSize) -> u32 {
        let line = self.starts.partition_point(|start| *start <= offset.to_u32());
        u32::try_from(line).expect("there are no more lines than bytes")
    }

    /// Number of lines as editors count them: a final line end does not start another line.
    pub(crate) fn count(&self, text: &str) -> u32 {
        let started = u32::try_from(self.starts.len()).expect("there are no more lines than bytes");
        if text.is_empty() || text.ends_with(['\n', '\r']) { started - 1 } else { started }
    }

    /// The byte offsets at which lines start.
    pub(crate) fn starts(&self) -> &[u32] {
        &self.starts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_ending_counts_once() {
        let text = "a\nb\r\nc\rd";
        let index = LineIndex::new(text);
        let lines: Vec<u32> =
            ["a", "b", "c", "d"].iter().map(|letter| index.line_of(offset(text, letter))).collect();
        assert_eq!(lines, [1, 2, 3, 4]);
        assert_eq!(index.count(text), 4);
        assert_eq!(LineIndex::new("x\n").count("x\n"), 1);
        assert_eq!(LineIndex::new("").count(""), 0);
    }

    fn offset(text: &str, letter: &str) -> TextSize {
        TextSize::new(u32::try_from(text.find(letter).unwrap()).unwrap())
    }
}
