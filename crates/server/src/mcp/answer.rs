//! Messages of the protocol and the answers to them.

use std::ffi::OsString;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;

use super::tools::{Tools, described};
use crate::client::Client;

/// Versions of the protocol that we speak, the newest first.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];
/// A message that is longer is none.
const LONGEST: usize = 64 << 20;

/// Codes of JSON-RPC.
const NOT_JSON: i64 = -32700;
const NO_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const NO_PARAMETERS: i64 = -32602;

/// Somebody who answers a model.
#[derive(Clone)]
pub struct Mcp {
    tools: Tools,
}

impl Mcp {
    /// With the sandboxes of a service; `program` is menace itself, for what is no part of the service.
    pub fn new(client: Client, program: OsString) -> Self {
        Self { tools: Tools::new(client, program) }
    }

    /// Answers messages, one in a line, until there are no more. Several are answered at once.
    pub async fn serve(
        &self,
        mut reader: impl AsyncBufRead + Unpin,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> std::io::Result<()> {
        let writer = Arc::new(Mutex::new(writer));
        let mut under_way = tokio::task::JoinSet::new();
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
            under_way.spawn(async move {
                let Some(answer) = this.answer(text.as_bytes()).await else { return Ok(()) };
                let mut writer = writer.lock().await;
                writer.write_all(format!("{answer}\n").as_bytes()).await?;
                writer.flush().await
            });
        }
        while let Some(written) = under_way.join_next().await {
            written.map_err(std::io::Error::other)??;
        }
        Ok(())
    }

    /// The answer to a message; nothing to one that wants none.
    pub async fn answer(&self, message: &[u8]) -> Option<Value> {
        if message.len() > LONGEST {
            return Some(failed(&Value::Null, NO_REQUEST, "the message is too long"));
        }
        match serde_json::from_slice(message) {
            Err(error) => Some(failed(&Value::Null, NOT_JSON, &error.to_string())),
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
            // An answer to a question that we did not ask is nobody's business.
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            return (!is_answer).then(|| failed(&message["id"], NO_REQUEST, "a message needs a method"));
        };
        let id = message.get("id")?;
        let parameters = &message["params"];
        let result = match method {
            "initialize" => Ok(greeting(parameters)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": described() })),
            "tools/call" => self.call(parameters).await,
            "resources/list" => Ok(json!({ "resources": [] })),
            "prompts/list" => Ok(json!({ "prompts": [] })),
            _ => Err((NO_METHOD, format!("there is no method {method:?}"))),
        };
        Some(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, problem)) => failed(id, code, &problem),
        })
    }

    /// What a tool says. One that fails says so in its answer, so that the model can read it.
    async fn call(&self, parameters: &Value) -> Result<Value, (i64, String)> {
        let name = parameters["name"].as_str().ok_or((NO_PARAMETERS, "a tool has a name".to_owned()))?;
        let nothing = json!({});
        let arguments = parameters.get("arguments").unwrap_or(&nothing);
        match self.tools.call(name, arguments).await {
            None => Err((NO_PARAMETERS, format!("there is no tool {name:?}"))),
            Some(Ok(text)) => Ok(json!({ "content": [{ "type": "text", "text": text }], "isError": false })),
            Some(Err(text)) => Ok(json!({ "content": [{ "type": "text", "text": text }], "isError": true })),
        }
    }
}

fn greeting(parameters: &Value) -> Value {
    let asked = parameters["protocolVersion"].as_str().unwrap_or_default();
    let version = VERSIONS.iter().find(|version| **version == asked).unwrap_or(&VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": { "listChanged": false } },
        "serverInfo": { "name": "menace", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Sandboxes for code that nobody trusts yet. Make one with create_sandbox, run commands in it with \
                         execute, and destroy it when you are done. Files are in /workspace; there is no network unless asked for.",
    })
}

fn failed(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
