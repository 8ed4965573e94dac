//! Reader of a streamed answer (server-sent events). There are crates for this; here the size is checked before anything is
//! parsed, because an endpoint may send without end.

use serde::Deserialize;

use super::model::ModelError;

/// Answer received so far.
#[derive(Debug, Default)]
pub(super) struct PartialModelReply {
    /// Bytes of an incomplete line.
    open: Vec<u8>,
    received: usize,
    pub(super) text: String,
    pub(super) usage: Option<ModelTokenUsage>,
    pub(super) is_done: bool,
    /// Whether the answer was cut off at `max_tokens`.
    pub(super) is_cut: bool,
}

/// Token counts of the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct ModelTokenUsage {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
}

#[derive(Deserialize)]
struct ModelStreamChunk {
    #[serde(default)]
    choices: Vec<ModelStreamChoice>,
    usage: Option<ModelTokenUsage>,
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct ModelStreamChoice {
    /// Part of a streamed answer.
    delta: Option<ModelStreamDelta>,
    /// Whole answer, if it is not streamed.
    message: Option<ModelStreamDelta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ModelStreamDelta {
    content: Option<String>,
}

impl PartialModelReply {
    /// Adds received bytes.
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

    /// Ends the stream.
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

    /// Adds a chunk or a whole answer, as JSON.
    pub(super) fn json(&mut self, data: &[u8]) -> Result<(), ModelError> {
        let chunk: ModelStreamChunk = serde_json::from_slice(data)
            .map_err(|error| ModelError::Garbled { problem: error.to_string() })?;
        if let Some(error) = chunk.error {
            return Err(ModelError::Garbled { problem: error_message(&error) });
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

/// Message of an error object of the endpoint.
pub(super) fn error_message(error: &serde_json::Value) -> String {
    let message =
        error["message"].as_str().or(error["error"]["message"].as_str()).or(error["error"].as_str());
    message.map_or_else(|| error.to_string(), str::to_owned).chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": a comment\r\n\r\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\u{fc}\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";

    #[test]
    fn a_stream_is_read_correctly_with_any_chunk_size() {
        for size in 1..40 {
            let mut parts = PartialModelReply::default();
            for piece in STREAM.as_bytes().chunks(size) {
                parts.take(piece, 10_000).unwrap();
            }
            parts.end().unwrap();
            assert_eq!(parts.text, "aüb");
            assert_eq!(parts.usage, Some(ModelTokenUsage { prompt_tokens: 7, completion_tokens: 2 }));
            assert!(parts.is_done);
        }
    }

    #[test]
    fn an_answer_cut_off_at_its_limit_is_detected() {
        let mut parts = PartialModelReply::default();
        let said = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"length\"}]}\n";
        parts.take(said, 1000).unwrap();
        assert!(parts.is_cut);
    }

    #[test]
    fn an_endless_stream_is_refused() {
        let mut parts = PartialModelReply::default();
        let all: Result<(), ModelError> = (0..1000).try_for_each(|_| parts.take(b"data: {}\n", 500));
        assert_eq!(all, Err(ModelError::TooLong { most: 500 }));
    }

    #[test]
    fn malformed_chunks_and_error_objects_are_errors() {
        let problem =
            |text: &str| PartialModelReply::default().take(text.as_bytes(), 1000).unwrap_err().to_string();
        assert!(problem("data: <html>\n").contains("malformed response"));
        assert!(problem("data: {\"error\":{\"message\":\"overloaded\"}}\n").ends_with("overloaded"));
    }
}
