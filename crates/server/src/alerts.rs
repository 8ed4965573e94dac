//! Sends alerts to people: to the log, to a webhook, to a command. A channel that fails does not affect the others.

use std::process::Stdio;
use std::time::Duration;

use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// A condition that needs a person's attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServiceAlert {
    /// Time, such as `2026-11-18T01:23:45.678Z`.
    pub at: String,
    /// Kind of alert, such as `service.restarted`.
    pub kind: String,
    /// Affected service, image or container.
    pub subject: String,
    /// Description of the condition.
    pub message: String,
}

impl ServiceAlert {
    /// Creates an alert with the current time.
    pub fn now(kind: &str, subject: &str, message: impl Into<String>) -> Self {
        Self {
            at: crate::clock::format_time(crate::clock::now_ms()),
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            message: message.into(),
        }
    }
}

/// Channels of alerts, in addition to the log.
#[derive(Debug, Clone, Default)]
pub struct AlertDispatcher {
    /// URL that receives the alert as JSON in a POST request.
    pub webhook: Option<String>,
    /// Shell command that receives the alert as JSON on stdin.
    pub command: Option<String>,
}

/// Attempts to reach the webhook, and the pause before the second one; it doubles before the third.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);
/// Timeout of one webhook request, and of the command.
const TIMEOUT: Duration = Duration::from_secs(20);

impl AlertDispatcher {
    /// Sends the alert to all channels. Failures are logged and returned.
    pub async fn dispatch(&self, alert: &ServiceAlert) -> Vec<String> {
        tracing::error!(kind = alert.kind, subject = alert.subject, "alert: {}", alert.message);
        let (posted, ran) = tokio::join!(self.post(alert), self.run(alert));
        let problems: Vec<String> = [posted, ran].into_iter().filter_map(Result::err).collect();
        for problem in &problems {
            tracing::error!("failed to send an alert: {problem}");
        }
        problems
    }

    async fn post(&self, alert: &ServiceAlert) -> Result<(), String> {
        let Some(webhook) = &self.webhook else { return Ok(()) };
        // Fails if a provider is installed already, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(TIMEOUT).build();
        // Webhook URLs are secrets, and reqwest's errors contain them.
        let client = client.map_err(|error| error.without_url().to_string())?;
        let mut last = String::new();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(PAUSE * 2_u32.pow(attempt - 1)).await;
            }
            let sent = client.post(webhook).json(alert).send().await;
            match sent.and_then(reqwest::Response::error_for_status) {
                Ok(_) => return Ok(()),
                Err(error) => last = error.without_url().to_string(),
            }
        }
        Err(format!("ALERT_WEBHOOK_URL: {last}"))
    }

    async fn run(&self, alert: &ServiceAlert) -> Result<(), String> {
        let Some(line) = &self.command else { return Ok(()) };
        let failed = |problem: String| format!("ALERT_COMMAND: {problem}");
        let text = serde_json::to_vec(alert).map_err(|error| failed(error.to_string()))?;
        let mut child = Command::new("sh")
            .args(["-c", line])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // The command need not read its stdin.
            let _ = stdin.write_all(&text).await;
        }
        match tokio::time::timeout(TIMEOUT, child.wait_with_output()).await {
            Err(_) => Err(failed(format!("timed out after {TIMEOUT:?}"))),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Ok(Ok(done)) if done.status.success() => Ok(()),
            Ok(Ok(done)) => {
                let stderr = String::from_utf8_lossy(&done.stderr);
                Err(failed(format!("{}: {}", done.status, stderr.lines().last().unwrap_or("no output"))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::post;
    use axum::{Json, Router};
    use serde_json::Value;
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[tokio::test]
    async fn all_channels_receive_the_alert_and_failures_are_returned() {
        let (sender, mut received) = unbounded_channel();
        let receive = move |Json(alert): Json<Value>| async move {
            sender.send(alert).unwrap();
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, Router::new().route("/hook", post(receive))).await });
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("alert.json");
        let mut dispatcher = AlertDispatcher {
            webhook: Some(format!("http://{address}/hook")),
            command: Some(format!("cat > {}", file.display())),
        };
        let alert = ServiceAlert::now("service.failed", "loop", "it fell over");
        assert_eq!(dispatcher.dispatch(&alert).await, Vec::<String>::new());
        let expected = serde_json::to_value(&alert).unwrap();
        assert_eq!(received.recv().await.unwrap(), expected);
        assert_eq!(serde_json::from_slice::<Value>(&std::fs::read(&file).unwrap()).unwrap(), expected);
        dispatcher.webhook = Some(format!("http://{address}/secret-token"));
        dispatcher.command = Some("echo broken >&2; exit 3".into());
        let problems = dispatcher.dispatch(&alert).await;
        assert!(problems[0].contains("404") && !problems[0].contains("secret-token"), "{problems:?}");
        assert!(problems[1].contains("broken"), "{problems:?}");
    }
}
