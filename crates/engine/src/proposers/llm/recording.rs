//! Recording of requests and answers in a file, so that a resumed run reuses the answers it had and tests need no model.

use std::collections::{HashMap, VecDeque};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::model::{LanguageModel, ModelError, ModelReply, ModelRequest};

/// One line of the recording.
#[derive(Debug, Serialize, Deserialize)]
struct RecordingLine {
    /// Hash of the model and the request.
    key: String,
    model: String,
    request: ModelRequest,
    reply: Result<ModelReply, ModelError>,
}

/// Recorded answers.
#[derive(Debug, Default)]
pub struct ModelRecording {
    answers: HashMap<String, VecDeque<Result<ModelReply, ModelError>>>,
}

impl ModelRecording {
    /// Reads a recording; a missing file is an empty one. An incomplete last line was being written when the process
    /// died and is ignored.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let wrong =
            |problem: String| ModelError::Recording { problem: format!("{}: {problem}", path.display()) };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(wrong(error.to_string())),
        };
        let mut found = Self::default();
        for (number, line) in text.split_inclusive('\n').enumerate() {
            match serde_json::from_str::<RecordingLine>(line) {
                Ok(line) => found.answers.entry(line.key).or_default().push_back(line.reply),
                Err(_) if !line.ends_with('\n') => break,
                Err(error) => return Err(wrong(format!("line {}: {error}", number + 1))),
            }
        }
        Ok(found)
    }

    fn take(&mut self, key: &str) -> Option<Result<ModelReply, ModelError>> {
        self.answers.get_mut(key)?.pop_front()
    }
}

/// A model whose answers are recorded. Requests with a recorded answer are not sent.
pub struct RecordedModel {
    /// `None` for a replay of recorded answers.
    inner: Option<Box<dyn LanguageModel>>,
    name: String,
    known: Mutex<ModelRecording>,
    files: Vec<PathBuf>,
}

impl RecordedModel {
    /// Records the answers of a model. Known answers are used first; new ones are appended to all files.
    pub fn new(inner: Box<dyn LanguageModel>, known: ModelRecording, files: Vec<PathBuf>) -> Self {
        let name = inner.name().to_owned();
        Self { inner: Some(inner), name, known: Mutex::new(known), files }
    }

    /// Replays recorded answers only.
    pub fn replay(name: &str, known: ModelRecording) -> Self {
        Self { inner: None, name: name.to_owned(), known: Mutex::new(known), files: Vec::new() }
    }

    fn write(
        &self,
        key: &str,
        request: &ModelRequest,
        reply: &Result<ModelReply, ModelError>,
    ) -> Result<(), ModelError> {
        let wrong = |problem: String| ModelError::Recording { problem };
        let line = RecordingLine {
            key: key.to_owned(),
            model: self.name.clone(),
            request: request.clone(),
            reply: reply.clone(),
        };
        let mut text = serde_json::to_string(&line).map_err(|error| wrong(error.to_string()))?;
        text.push('\n');
        for path in &self.files {
            append(path, &text).map_err(|error| wrong(format!("{}: {error}", path.display())))?;
        }
        Ok(())
    }
}

/// Appends a line, after truncating an incomplete one.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).read(true).open(path)?;
    let text = std::fs::read(path)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < text.len() {
        file.set_len(whole as u64)?;
    }
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

#[async_trait]
impl LanguageModel for RecordedModel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn ask(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let key = key(&self.name, request);
        let known = self.known.lock().ok().and_then(|mut known| known.take(&key));
        if let Some(known) = known {
            return known;
        }
        let Some(inner) = &self.inner else { return Err(ModelError::NotRecorded) };
        let reply = inner.ask(request).await;
        self.write(&key, request, &reply)?;
        reply
    }
}

fn key(model: &str, request: &ModelRequest) -> String {
    let mut hasher = blake3::Hasher::new();
    let parts = request.messages.iter().map(|message| message.content.as_str());
    for part in std::iter::once(model).chain(parts) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::model::{ChatMessage, ChatRole};
    use super::*;

    /// Counts its requests.
    struct CountingModel(AtomicU64);

    #[async_trait]
    impl LanguageModel for CountingModel {
        fn name(&self) -> &'static str {
            "counting"
        }

        async fn ask(&self, _: &ModelRequest) -> Result<ModelReply, ModelError> {
            let number = self.0.fetch_add(1, Ordering::Relaxed);
            let text = format!("answer {number}");
            Ok(ModelReply { text, input_tokens: 1, output_tokens: 2, is_counted_there: true, is_cut: false })
        }
    }

    fn question(text: &str) -> ModelRequest {
        let messages = vec![ChatMessage { role: ChatRole::User, content: text.into() }];
        ModelRequest { messages, max_tokens: 10 }
    }

    #[tokio::test]
    async fn recorded_requests_are_not_sent_again_and_new_ones_are() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("answers.jsonl");
        let model = || Box::new(CountingModel(AtomicU64::new(0)));
        let first = RecordedModel::new(model(), ModelRecording::read(&file).unwrap(), vec![file.clone()]);
        assert_eq!(first.ask(&question("a")).await.unwrap().text, "answer 0");
        assert_eq!(first.ask(&question("a")).await.unwrap().text, "answer 1");
        // The process dies in the middle of a line.
        let mut text = std::fs::read_to_string(&file).unwrap();
        text.push_str("{\"key\": \"ab");
        std::fs::write(&file, &text).unwrap();
        let again = RecordedModel::new(model(), ModelRecording::read(&file).unwrap(), vec![file.clone()]);
        assert_eq!(again.ask(&question("a")).await.unwrap().text, "answer 0");
        assert_eq!(again.ask(&question("a")).await.unwrap().text, "answer 1");
        assert_eq!(again.ask(&question("b")).await.unwrap().text, "answer 0");
        let replay = RecordedModel::replay("counting", ModelRecording::read(&file).unwrap());
        assert_eq!(replay.ask(&question("b")).await.unwrap().text, "answer 0");
        assert_eq!(replay.ask(&question("c")).await, Err(ModelError::NotRecorded));
    }

    #[test]
    fn a_malformed_recording_is_an_error_and_a_missing_one_is_empty() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("answers.jsonl");
        assert!(ModelRecording::read(&file).unwrap().answers.is_empty());
        std::fs::write(&file, "not json\n").unwrap();
        assert!(ModelRecording::read(&file).unwrap_err().to_string().contains("line 1"));
    }
}
