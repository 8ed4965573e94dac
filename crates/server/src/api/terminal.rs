//! A terminal in a sandbox, over a WebSocket.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::{SinkExt, StreamExt};
use menace_model::sandbox::{ExecRequest, TerminalSize};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

use super::SharedSandboxes;
use super::extractors::{PathParams, QueryParams};
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{
    BackgroundProcess, BackgroundProcessState as Progress, Caller, ProcessControl, SandboxEntry,
    TranscriptRetention,
};

/// WebSocket subprotocol, for callers that request one.
pub(crate) const PROTOCOL: &str = "menace.terminal";

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct TerminalQuery {
    /// Command, with words separated by spaces; default: a shell.
    command: Option<String>,
    /// Working directory.
    workdir: Option<String>,
    /// Width in characters.
    #[param(minimum = 1, maximum = 1000)]
    columns: Option<u16>,
    /// Height in lines.
    #[param(minimum = 1, maximum = 1000)]
    rows: Option<u16>,
}

/// Open a terminal over a WebSocket.
///
/// Binary messages carry input and output. Text messages are `{"columns": 100, "rows": 30}` from the client, and
/// `{"exit_code": 0}` or `{"error": "…"}` from the server as the last message.
#[utoipa::path(get, path = "/api/sandboxes/{id}/terminal", tag = "commands", params(("id" = String, Path), TerminalQuery),
    responses((status = 101, description = "Switching to the WebSocket protocol."),
        (status = 400, description = "Not a WebSocket request.", body = ErrorBody),
        (status = 404, description = "Sandbox not found.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused or stopped.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 422, description = "Invalid command.", body = ErrorBody),
        (status = 426, description = "Not a WebSocket request.", body = ErrorBody)))]
pub(super) async fn terminal(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
    QueryParams(which): QueryParams<TerminalQuery>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    let upgrade = upgrade.map_err(|rejection| {
        ApiError::new(rejection.status(), "no_websocket", rejection.body_text())
            .hint("connect with a WebSocket; to run a single command, use POST …/execute")
    })?;
    let usual = TerminalSize::default();
    let command = which.command.filter(|command| !command.trim().is_empty());
    let request = ExecRequest {
        command: match &command {
            Some(command) => command.split_whitespace().map(str::to_owned).collect(),
            None => vec!["/bin/sh".into(), "-i".into()],
        },
        environment: [("TERM".to_owned(), "xterm-256color".to_owned())].into(),
        directory: which.workdir.map(Into::into),
        terminal: Some(TerminalSize {
            columns: which.columns.unwrap_or(usual.columns),
            rows: which.rows.unwrap_or(usual.rows),
        }),
        ..ExecRequest::default()
    };
    let running = entry.start(request, TranscriptRetention::All).await?;
    Ok(upgrade.protocols([PROTOCOL]).on_upgrade(move |socket| connected(entry, running, socket)))
}

async fn connected(entry: Arc<SandboxEntry>, running: Arc<BackgroundProcess>, socket: WebSocket) {
    let _used = entry.used();
    let (mut sink, mut stream) = socket.split();
    let input = async {
        while let Some(Ok(message)) = stream.next().await {
            match message {
                Message::Binary(bytes) if !running.write(&bytes).await => break,
                Message::Text(text) => {
                    if let Ok(size) = serde_json::from_str::<TerminalSize>(&text) {
                        running.control(ProcessControl::Resize(size)).await;
                    }
                }
                Message::Close(_) => break,
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) => {}
            }
        }
    };
    let output = async {
        let mut number = 0;
        while let Ok(chunks) = running.transcript.after(number).await {
            let Some(last) = chunks.last().map(|chunk| chunk.number) else { break };
            for chunk in chunks {
                if sink.send(Message::Binary(chunk.bytes.into())).await.is_err() {
                    return;
                }
            }
            number = last;
        }
        let last = match running.ended().await {
            Progress::Ended(outcome, _) => {
                json!({ "exit_code": outcome.exit_code, "signal": outcome.signal })
            }
            Progress::Lost(problem, _) => json!({ "error": problem }),
            Progress::Running => json!({ "error": "the end of the process could not be observed" }),
        };
        // Fails if the client has disconnected.
        drop(sink.send(Message::Text(last.to_string().into())).await);
        drop(sink.send(Message::Close(None)).await);
    };
    tokio::select! {
        () = input => {}
        () = output => {}
    }
    // A terminal without a client is closed.
    running.control(ProcessControl::Kill).await;
    entry.forget(&running.id);
}
