//! An answer that comes in parts, as server-sent events. There are crates for this; here every part is bounded before it is
//! looked at, since an endpoint may send without end.

use serde::Deserialize;

use super::model::ModelError;

/// What came so far.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// A line that has not ended yet.
    open: Vec<u8>,
    received: usize,
    pub(super) text: String,
    pub(super) usage: Option<Usage>,
    pub(super) is_done: bool,
    /// It was longer than it may be.
    pub(super) is_cut: bool,
}

/// Tokens, as the endpoint counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Usage {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Usage>,
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Choice {
    /// A part of an answer that comes in parts.
    delta: Option<Said>,
    /// All of one that does not.
    message: Option<Said>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
}

impl Parts {
    /// Takes bytes as they come.
    pub(super) fn take(&mut self, bytes: &[u8], most: usize) -> Result<(), ModelError> {
        self.received += bytes.len();
        if self.received > most {
            return Err(ModelError::TooLong { most });
        }
        for byte in bytes {
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.open);
                self.line(&line)?;
            } else {
                self.open.push(*byte);
            }
        }
        Ok(())
    }

    /// Nothing more comes.
    pub(super) fn end(&mut self) -> Result<(), ModelError> {
        let line = std::mem::take(&mut self.open);
        self.line(&line)
    }

    fn line(&mut self, line: &[u8]) -> Result<(), ModelError> {
        let line = String::from_utf8_lossy(line);
        let Some(data) = line.trim_end_matches('\r').strip_prefix("data:") else { return Ok(()) };
        let data = data.trim();
        if data == "[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        if !data.is_empty() {
            self.json(data.as_bytes())?;
        }
        Ok(())
    }

    /// A part, or all of an answer, as JSON.
    pub(super) fn json(&mut self, data: &[u8]) -> Result<(), ModelError> {
        let chunk: Chunk = serde_json::from_slice(data)
            .map_err(|error| ModelError::Garbled { problem: error.to_string() })?;
        if let Some(error) = chunk.error {
            return Err(ModelError::Garbled { problem: said(&error) });
        }
        for choice in chunk.choices {
            self.is_cut |= choice.finish_reason.as_deref() == Some("length");
            let said = choice.delta.or(choice.message);
            self.text.extend(said.and_then(|said| said.content));
        }
        self.usage = chunk.usage.or(self.usage);
        Ok(())
    }
}

/// What an error of an endpoint says, in a line.
pub(super) fn said(error: &serde_json::Value) -> String {
    let message =
        error["message"].as_str().or(error["error"]["message"].as_str()).or(error["error"].as_str());
    message.map_or_else(|| error.to_string(), str::to_owned).chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": a comment\r\n\r\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\u{fc}\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";

    #[test]
    fn parts_are_put_together_wherever_they_are_cut() {
        for size in 1..40 {
            let mut parts = Parts::default();
            for piece in STREAM.as_bytes().chunks(size) {
                parts.take(piece, 10_000).unwrap();
            }
            parts.end().unwrap();
            assert_eq!(parts.text, "aüb");
            assert_eq!(parts.usage, Some(Usage { prompt_tokens: 7, completion_tokens: 2 }));
            assert!(parts.is_done);
        }
    }

    #[test]
    fn an_answer_that_was_cut_off_is_known_by_its_reason() {
        let mut parts = Parts::default();
        let said = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"length\"}]}\n";
        parts.take(said, 1000).unwrap();
        assert!(parts.is_cut);
    }

    #[test]
    fn what_has_no_end_is_cut_off() {
        let mut parts = Parts::default();
        let all: Result<(), ModelError> = (0..1000).try_for_each(|_| parts.take(b"data: {}\n", 500));
        assert_eq!(all, Err(ModelError::TooLong { most: 500 }));
    }

    #[test]
    fn garbage_and_errors_are_told_apart_from_answers() {
        let problem = |text: &str| Parts::default().take(text.as_bytes(), 1000).unwrap_err().to_string();
        assert!(problem("data: <html>\n").contains("no answer"));
        assert!(problem("data: {\"error\":{\"message\":\"overloaded\"}}\n").ends_with("overloaded"));
    }
}
