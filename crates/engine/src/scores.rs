//! Publishing of patch scores to a score server, if one is configured. Scores that cannot be sent are queued in a file; the
//! ledger holds all of them anyway.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use menace_store::PatchRecord;
use reqwest::Client;
use serde_json::{Value, json};

use crate::proposers::llm::{ModelError, http_client};
use crate::secrets::scrubbed;

/// Publisher of patch scores; does nothing without a server.
#[derive(Debug, Default)]
pub struct ScorePublisher {
    remote: Option<ScoreServer>,
}

#[derive(Debug)]
struct ScoreServer {
    address: String,
    client: Client,
    /// File with queued scores.
    waiting: PathBuf,
    /// Whether the failure was logged: it is logged once.
    is_said: AtomicBool,
}

const WITHIN: Duration = Duration::from_secs(5);

impl ScorePublisher {
    /// Sends scores to an HTTP server; scores that it does not accept are queued in the file `waiting`.
    pub fn remote(address: &str, waiting: PathBuf) -> Result<Self, ModelError> {
        let client = http_client()?;
        let is_said = AtomicBool::new(false);
        Ok(Self { remote: Some(ScoreServer { address: address.to_owned(), client, waiting, is_said }) })
    }

    /// Sends the score of a patch and all queued scores. Source code is never sent.
    pub async fn share(&self, record: &PatchRecord) {
        let Some(remote) = &self.remote else { return };
        let score = score(record);
        let mut all = read_queued_scores(&remote.waiting);
        all.push(score.clone());
        match remote.send(&all).await {
            Ok(()) => {
                if all.len() > 1 {
                    let _ = std::fs::remove_file(&remote.waiting);
                }
            }
            Err(problem) => {
                if !remote.is_said.swap(true, Ordering::Relaxed) {
                    tracing::warn!("failed to send patch scores, queued instead: {problem}");
                }
                if let Err(error) = add(&remote.waiting, &score) {
                    tracing::warn!("failed to write {}: {error}", remote.waiting.display());
                }
            }
        }
    }
}

impl ScoreServer {
    async fn send(&self, scores: &[Value]) -> Result<(), String> {
        let sent = self
            .client
            .post(&self.address)
            .json(&json!({"version": 1, "scores": scores}))
            .timeout(WITHIN)
            .send();
        let response = sent.await.map_err(|error| error.without_url().to_string())?;
        let status = response.status();
        if status.is_success() { Ok(()) } else { Err(format!("server answered {status}")) }
    }
}

fn score(record: &PatchRecord) -> Value {
    let name = Path::new(&record.repository).file_name().map(|name| name.to_string_lossy().into_owned());
    json!({
        "run": record.run.to_string(),
        "number": record.number,
        "proposal": record.proposal,
        "repository": name,
        "section": record.section,
        "proposer": record.proposer,
        "state": record.state,
        "at_ms": record.at_ms,
        "gain": record.verdict.verdict.gain,
        "figures": record.verdict.verdict.figures,
        "score": record.verdict.verdict.score,
        "cost": record.cost,
        "why": scrubbed(&record.detail.why),
    })
}

fn read_queued_scores(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn add(path: &Path, score: &Value) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{score}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use menace_model::patches::{PatchDetail, StepCost, Verdict};
    use menace_store::PatchState;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn record(number: u64) -> PatchRecord {
        PatchRecord {
            run: "r_01kbz7q3m9x4vt".parse().unwrap(),
            number,
            proposal: format!("p_{number}"),
            repository: "/home/somebody/shop".into(),
            section: "cart:total".into(),
            proposer: "transform:divide-by-zero".into(),
            state: PatchState::Kept,
            at_ms: 1,
            detail: PatchDetail {
                why: "a guard".into(),
                diff: "-secret code".into(),
                ..PatchDetail::default()
            },
            verdict: Verdict { gain: Some(0.5), score: Some(1.5), ..Verdict::default() }.into(),
            cost: StepCost::default(),
            commit: None,
        }
    }

    /// Accepts one request and returns its body.
    async fn accept_request(listener: &tokio::net::TcpListener) -> String {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut all = Vec::new();
        let mut part = [0; 4096];
        loop {
            let count = socket.read(&mut part).await.unwrap();
            all.extend_from_slice(&part[..count]);
            let text = String::from_utf8_lossy(&all).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| {
                    line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
                });
                if body.len() >= length.unwrap_or(0) {
                    socket.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await.unwrap();
                    return body.to_owned();
                }
            }
        }
    }

    #[tokio::test]
    async fn unsent_scores_are_queued_and_sent_with_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("waiting.jsonl");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/scores", listener.local_addr().unwrap());
        drop(listener);
        let unreachable = ScorePublisher::remote(&address, file.clone()).unwrap();
        unreachable.share(&record(0)).await;
        assert_eq!(read_queued_scores(&file).len(), 1);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/scores", listener.local_addr().unwrap());
        let reachable = ScorePublisher::remote(&address, file.clone()).unwrap();
        let one = record(1);
        let (body, ()) = tokio::join!(accept_request(&listener), reachable.share(&one));
        assert!(body.contains("\"p_0\"") && body.contains("\"p_1\""), "{body}");
        assert!(!body.contains("secret code") && !body.contains("somebody"), "{body}");
        assert!(!file.exists());
    }
}
