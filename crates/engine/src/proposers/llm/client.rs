//! HTTP client of an `OpenAI`-compatible endpoint: streamed answers, bounded in size and time, with retries.

use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use menace_model::settings::Secret;
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tracing::{Instrument, info_span};

use super::model::{LanguageModel, ModelError, ModelReply, ModelRequest};
use super::stream::{PartialModelReply, error_message};
use super::token_count;

/// Address and limits of a model endpoint.
#[derive(Debug, Clone)]
pub struct ModelEndpoint {
    /// Base URL, including `/v1`.
    pub base_url: String,
    /// API key.
    pub key: Option<Secret>,
    /// Name of the model.
    pub model: String,
    /// Time limit of one answer, over all attempts.
    pub timeout: Duration,
    /// Requests per minute; 0 means unlimited.
    pub per_minute: u32,
}

/// A model reached over HTTP.
#[derive(Debug)]
pub struct HttpModel {
    endpoint: ModelEndpoint,
    client: Client,
    /// Time at which the next request may be sent.
    next: Mutex<Option<Instant>>,
}

/// First retry delay; it doubles with each retry.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Maximum bytes of a response per allowed token, including the framing of the stream.
const BYTES_PER_TOKEN: usize = 600;
const LEAST_BYTES: usize = 1 << 20;

/// Failure of one attempt.
enum ModelAttemptFailure {
    Final(ModelError),
    /// A transient failure, with the delay that the server asked for.
    Passing(String, Option<Duration>),
}

impl HttpModel {
    /// Creates the client of an endpoint.
    pub fn new(endpoint: ModelEndpoint) -> Result<Self, ModelError> {
        let client = client()?;
        Ok(Self { endpoint, client, next: Mutex::new(None) })
    }

    /// Waits for the rate limit.
    async fn wait_for_rate_limit(&self) {
        let Some(apart) = Duration::from_mins(1).checked_div(self.endpoint.per_minute) else { return };
        let at = {
            let Ok(mut next) = self.next.lock() else { return };
            let at = next.map_or_else(Instant::now, |next| next.max(Instant::now()));
            *next = Some(at + apart);
            at
        };
        tokio::time::sleep_until(at.into()).await;
    }

    async fn attempt(&self, body: &Value, most: usize) -> Result<PartialModelReply, ModelAttemptFailure> {
        self.wait_for_rate_limit().await;
        let address = format!("{}/chat/completions", self.endpoint.base_url.trim_end_matches('/'));
        let mut request = self.client.post(address).json(body);
        if let Some(key) = &self.endpoint.key {
            request = request.bearer_auth(key.expose());
        }
        let response = request
            .send()
            .await
            .map_err(|error| ModelAttemptFailure::Passing(describe_error(&error), None))?;
        let response = check_status(response).await?;
        let kind = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        let is_whole = kind.is_some_and(|kind| kind.starts_with("application/json"));
        read(response, is_whole, most).await
    }

    async fn attempts(
        &self,
        body: &Value,
        most: usize,
        last: &Mutex<Option<String>>,
    ) -> Result<PartialModelReply, ModelError> {
        let mut wait = FIRST_WAIT;
        loop {
            match self.attempt(body, most).await {
                Ok(parts) => return Ok(parts),
                Err(ModelAttemptFailure::Final(error)) => return Err(error),
                Err(ModelAttemptFailure::Passing(problem, asked)) => {
                    tracing::debug!("retrying request to {}: {problem}", self.endpoint.model);
                    if let Ok(mut last) = last.lock() {
                        *last = Some(problem);
                    }
                    tokio::time::sleep(asked.unwrap_or(wait).min(LONGEST_WAIT)).await;
                    wait *= 2;
                }
            }
        }
    }
}

#[async_trait]
impl LanguageModel for HttpModel {
    fn name(&self) -> &str {
        &self.endpoint.model
    }

    async fn ask(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let body = json!({
            "model": self.endpoint.model,
            "messages": request.messages,
            "max_tokens": request.max_tokens,
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        let allowed = usize::try_from(request.max_tokens).unwrap_or(usize::MAX);
        let most = allowed.saturating_mul(BYTES_PER_TOKEN).max(LEAST_BYTES);
        let last = Mutex::new(None);
        let within = self.endpoint.timeout;
        let span = info_span!("chat", otel.kind = "client", gen_ai.request.model = self.endpoint.model);
        let asked = self.attempts(&body, most, &last).instrument(span);
        let parts = match tokio::time::timeout(within, asked).await {
            Ok(parts) => parts?,
            Err(_) => return Err(ModelError::Late { within, last: last.into_inner().unwrap_or(None) }),
        };
        let is_cut = parts.is_cut;
        Ok(match parts.usage {
            Some(usage) => ModelReply {
                text: parts.text,
                input_tokens: usage.prompt_tokens,
                output_tokens: usage.completion_tokens,
                is_counted_there: true,
                is_cut,
            },
            None => ModelReply {
                input_tokens: token_count::tokens_of(&request.messages),
                output_tokens: token_count::tokens(&parts.text),
                text: parts.text,
                is_counted_there: false,
                is_cut,
            },
        })
    }
}

/// Creates a client for HTTP and HTTPS.
pub(crate) fn client() -> Result<Client, ModelError> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Installing fails if another part of this process has installed a provider, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let build = Client::builder().connect_timeout(Duration::from_secs(10)).build();
    build.map_err(|error| ModelError::Garbled { problem: describe_error(&error) })
}

/// Reads a whole answer.
async fn read(
    mut response: Response,
    is_whole: bool,
    most: usize,
) -> Result<PartialModelReply, ModelAttemptFailure> {
    let mut parts = PartialModelReply::default();
    let mut whole = Vec::new();
    loop {
        match response.chunk().await {
            Err(error) => return Err(ModelAttemptFailure::Passing(describe_error(&error), None)),
            Ok(None) => break,
            Ok(Some(bytes)) if is_whole => {
                whole.extend_from_slice(&bytes);
                if whole.len() > most {
                    return Err(ModelAttemptFailure::Final(ModelError::TooLong { most }));
                }
            }
            Ok(Some(bytes)) => parts.take(&bytes, most).map_err(ModelAttemptFailure::Final)?,
        }
        if parts.is_done {
            return Ok(parts);
        }
    }
    if is_whole { parts.json(&whole) } else { parts.end() }.map_err(ModelAttemptFailure::Final)?;
    if parts.text.is_empty() && !is_whole && !parts.is_done {
        let problem = "the stream ended before an answer".to_owned();
        return Err(ModelAttemptFailure::Final(ModelError::Garbled { problem }));
    }
    Ok(parts)
}

async fn check_status(mut response: Response) -> Result<Response, ModelAttemptFailure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let wait = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    let start = match response.chunk().await {
        Ok(Some(bytes)) => bytes.to_vec(),
        Ok(None) | Err(_) => Vec::new(),
    };
    let message = serde_json::from_slice::<Value>(&start).map_or_else(
        |_| String::from_utf8_lossy(&start).chars().take(200).collect(),
        |value| error_message(&value),
    );
    let is_passing = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
    Err(if is_passing {
        ModelAttemptFailure::Passing(format!("{status}: {message}"), wait.map(Duration::from_secs))
    } else {
        ModelAttemptFailure::Final(ModelError::Refused { status: status.as_u16(), message })
    })
}

/// Error message without the URL, which may contain a password.
pub(super) fn describe_error(error: &reqwest::Error) -> String {
    let mut text = match error {
        error if error.is_connect() => "failed to connect".to_owned(),
        error if error.is_timeout() => "timed out".to_owned(),
        _ => "connection failed".to_owned(),
    };
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}
