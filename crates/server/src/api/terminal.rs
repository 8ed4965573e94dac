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

use super::Shared;
use super::caller::{Asked, Named};
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{Caller, Entry, Keeping, Order, Running, State as Progress};

/// The protocol of the WebSocket, for callers that name one.
pub(crate) const PROTOCOL: &str = "menace.terminal";

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichTerminal {
    /// What runs on it; a shell without this. Words are separated by spaces.
    command: Option<String>,
    /// Where it starts.
    workdir: Option<String>,
    /// Characters in a line.
    #[param(minimum = 1, maximum = 1000)]
    columns: Option<u16>,
    /// Lines.
    #[param(minimum = 1, maximum = 1000)]
    rows: Option<u16>,
}

/// Open a terminal, over a WebSocket
///
/// Binary messages are what is typed and printed. A text message is `{"columns": 100, "rows": 30}` from the caller, and
/// `{"exit_code": 0}` or `{"error": "…"}` from us, which is the last one.
#[utoipa::path(get, path = "/api/sandboxes/{id}/terminal", tag = "commands", params(("id" = String, Path), WhichTerminal),
    responses((status = 101, description = "From now on it is a WebSocket."),
        (status = 400, description = "It is no WebSocket.", body = ErrorBody),
        (status = 404, description = "There is no such sandbox.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused or stopped.", body = ErrorBody),
        (status = 410, description = "The sandbox is gone.", body = ErrorBody),
        (status = 422, description = "That cannot be run.", body = ErrorBody),
        (status = 426, description = "It is no WebSocket.", body = ErrorBody)))]
pub(super) async fn terminal(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
    Asked(which): Asked<WhichTerminal>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    let upgrade = upgrade.map_err(|rejection| {
        ApiError::new(rejection.status(), "no_websocket", rejection.body_text())
            .hint("a terminal is a WebSocket; to run one command, POST …/execute")
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
    let running = entry.start(request, Keeping::All).await?;
    Ok(upgrade.protocols([PROTOCOL]).on_upgrade(move |socket| connected(entry, running, socket)))
}

async fn connected(entry: Arc<Entry>, running: Arc<Running>, socket: WebSocket) {
    let _used = entry.used();
    let (mut sink, mut stream) = socket.split();
    let typed = async {
        while let Some(Ok(message)) = stream.next().await {
            match message {
                Message::Binary(bytes) if !running.write(&bytes).await => break,
                Message::Text(text) => {
                    if let Ok(size) = serde_json::from_str::<TerminalSize>(&text) {
                        running.tell(Order::Resize(size)).await;
                    }
                }
                Message::Close(_) => break,
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) => {}
            }
        }
    };
    let printed = async {
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
            Progress::Running => json!({ "error": "it is not known how it ended" }),
        };
        // Who has hung up does not want to know.
        drop(sink.send(Message::Text(last.to_string().into())).await);
        drop(sink.send(Message::Close(None)).await);
    };
    tokio::select! {
        () = typed => {}
        () = printed => {}
    }
    // A terminal that nobody looks at any more hangs up.
    running.tell(Order::Kill).await;
    entry.forget(&running.id);
}
