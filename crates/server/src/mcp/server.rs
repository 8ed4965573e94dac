//! MCP messages and their responses.

use std::ffi::OsString;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;

use super::tools::{McpTools, described};
use crate::client::DaemonClient;

/// Supported protocol versions, newest first.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];
/// Size limit of a message, in bytes.
const MAX_MESSAGE: usize = 64 << 20;

/// JSON-RPC error codes.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// MCP server.
#[derive(Clone)]
pub struct McpServer {
    tools: McpTools,
}

impl McpServer {
    /// Creates a server for the sandboxes of a service; `program` is the menace binary, for tools outside the service.
    pub fn new(client: DaemonClient, program: OsString) -> Self {
        Self { tools: McpTools::new(client, program) }
    }

    /// Reads messages, one per line, until the end of the input. Messages are handled concurrently.
    pub async fn serve(
        &self,
        mut reader: impl AsyncBufRead + Unpin,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> std::io::Result<()> {
        let writer = Arc::new(Mutex::new(writer));
        let mut pending = tokio::task::JoinSet::new();
        let mut line = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line).await? == 0 {
                break;
            }
            if line.trim().is_empty() {
                continue;
            }
            let (this, text, writer) = (self.clone(), std::mem::take(&mut line), Arc::clone(&writer));
            pending.spawn(async move {
                let Some(answer) = this.answer(text.as_bytes()).await else { return Ok(()) };
                let mut writer = writer.lock().await;
                writer.write_all(format!("{answer}\n").as_bytes()).await?;
                writer.flush().await
            });
        }
        while let Some(written) = pending.join_next().await {
            written.map_err(std::io::Error::other)??;
        }
        Ok(())
    }

    /// Handles a message; returns `None` for notifications.
    pub async fn answer(&self, message: &[u8]) -> Option<Value> {
        if message.len() > MAX_MESSAGE {
            return Some(failed(&Value::Null, INVALID_REQUEST, "message too large"));
        }
        match serde_json::from_slice(message) {
            Err(error) => Some(failed(&Value::Null, PARSE_ERROR, &error.to_string())),
            Ok(Value::Array(several)) => {
                let mut answers = Vec::new();
                for one in &several {
                    answers.extend(self.answer_one(one).await);
                }
                (!answers.is_empty()).then(|| answers.into())
            }
            Ok(one) => self.answer_one(&one).await,
        }
    }

    async fn answer_one(&self, message: &Value) -> Option<Value> {
        let Some(method) = message["method"].as_str() else {
            // The server sends no requests, so responses are ignored.
            let is_response = message.get("result").is_some() || message.get("error").is_some();
            return (!is_response).then(|| failed(&message["id"], INVALID_REQUEST, "method is missing"));
        };
        let id = message.get("id")?;
        let parameters = &message["params"];
        let result = match method {
            "initialize" => Ok(initialize_result(parameters)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": described() })),
            "tools/call" => self.call(parameters).await,
            "resources/list" => Ok(json!({ "resources": [] })),
            "prompts/list" => Ok(json!({ "prompts": [] })),
            _ => Err((METHOD_NOT_FOUND, format!("unknown method {method:?}"))),
        };
        Some(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, problem)) => failed(id, code, &problem),
        })
    }

    /// Calls a tool. A failure of the tool is part of the result, so that the model can read it.
    async fn call(&self, parameters: &Value) -> Result<Value, (i64, String)> {
        let name = parameters["name"].as_str().ok_or((INVALID_PARAMS, "name is missing".to_owned()))?;
        let nothing = json!({});
        let arguments = parameters.get("arguments").unwrap_or(&nothing);
        match self.tools.call(name, arguments).await {
            None => Err((INVALID_PARAMS, format!("unknown tool {name:?}"))),
            Some(Ok(text)) => Ok(json!({ "content": [{ "type": "text", "text": text }], "isError": false })),
            Some(Err(text)) => Ok(json!({ "content": [{ "type": "text", "text": text }], "isError": true })),
        }
    }
}

fn initialize_result(parameters: &Value) -> Value {
    let requested = parameters["protocolVersion"].as_str().unwrap_or_default();
    let version = VERSIONS.iter().find(|version| **version == requested).unwrap_or(&VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": { "listChanged": false } },
        "serverInfo": { "name": "menace", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Sandboxes for untrusted code. Create one with create_sandbox, run commands in it with execute, and \
                         destroy it when you are done. Files are in /workspace. There is no network unless requested.",
    })
}

fn failed(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
