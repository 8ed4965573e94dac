//! Size-limited capture of command output.

/// Captured prefix of an output stream.
pub(crate) struct OutputCapture {
    bytes: Vec<u8>,
    most: usize,
    pub(crate) is_truncated: bool,
}

impl OutputCapture {
    pub(crate) fn new(most: u64) -> Self {
        Self { bytes: Vec::new(), most: usize::try_from(most).unwrap_or(usize::MAX), is_truncated: false }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let room = self.most - self.bytes.len();
        self.is_truncated |= bytes.len() > room;
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    pub(crate) fn text(self) -> String {
        String::from_utf8(self.bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}
