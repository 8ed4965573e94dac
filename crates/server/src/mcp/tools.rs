//! MCP tools.

use std::ffi::OsString;
use std::process::Stdio;

use menace_model::ErrorDetails;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{DaemonClient, encoded};
use crate::sandboxes::ExecuteResponse;

/// Maximum number of characters returned to the model.
const MAX_OUTPUT: usize = 100_000;

/// Implementation of the tools.
#[derive(Clone)]
pub(super) struct McpTools {
    client: DaemonClient,
    program: OsString,
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass JSON literals")]
fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "properties": properties, "required": required, "additionalProperties": false },
    })
}

/// Descriptions of all tools.
pub(super) fn described() -> Vec<Value> {
    let sandbox = json!({ "type": "string", "description": "Sandbox id returned by create_sandbox" });
    let path = json!({ "type": "string", "description": "Path in the sandbox, such as /workspace/main.py" });
    vec![
        tool(
            "create_sandbox",
            "Create a sandbox: an isolated Linux environment with an empty /workspace. Returns its id.",
            json!({
                "project_name": { "type": "string", "description": "Name of the sandbox" },
                "memory_limit": { "type": "string", "description": "Memory limit, such as 512m; default 1g" },
                "cpu_limit": { "type": "string", "description": "Limit of CPU cores, such as 0.5" },
                "ttl": { "type": "string", "description": "Time until the sandbox is destroyed, such as 1h" },
                "snapshot": { "type": "string", "description": "Id of a snapshot to restore files from" },
            }),
            &[],
        ),
        tool("list_sandboxes", "List all sandboxes.", json!({}), &[]),
        tool(
            "execute",
            "Run a command in a sandbox and wait for its end. Returns the exit code and the output.",
            json!({
                "sandbox_id": sandbox,
                "command": { "type": "array", "items": { "type": "string" }, "minItems": 1,
                    "description": "Program and arguments; for a shell command use [\"sh\", \"-c\", \"…\"]" },
                "workdir": { "type": "string", "description": "Working directory; default /workspace" },
                "stdin": { "type": "string", "description": "Content of stdin" },
                "timeout": { "type": "string", "description": "Timeout, such as 30s; default 60s" },
            }),
            &["sandbox_id", "command"],
        ),
        tool(
            "read_file",
            "Read a text file in a sandbox.",
            json!({ "sandbox_id": sandbox, "path": path }),
            &["sandbox_id", "path"],
        ),
        tool(
            "write_file",
            "Write a text file in a sandbox. Missing directories are created.",
            json!({ "sandbox_id": sandbox, "path": path, "content": { "type": "string" } }),
            &["sandbox_id", "path", "content"],
        ),
        tool(
            "list_files",
            "List a directory in a sandbox.",
            json!({ "sandbox_id": sandbox, "path": path }),
            &["sandbox_id", "path"],
        ),
        tool(
            "snapshot_sandbox",
            "Take a snapshot of the files of a sandbox. Returns its id for create_sandbox.",
            json!({ "sandbox_id": sandbox, "name": { "type": "string" } }),
            &["sandbox_id"],
        ),
        tool(
            "destroy_sandbox",
            "Destroy a sandbox and its files.",
            json!({ "sandbox_id": sandbox }),
            &["sandbox_id"],
        ),
        tool(
            "run_scenarios",
            "Call functions of a local Python repository in sandboxes under five scenarios (normal, concurrent calls, hostile \
             input, schema drift, flaky upstream) and return the failures.",
            json!({
                "repository": { "type": "string", "description": "Path of the repository" },
                "workflow": { "type": "string", "description": "Sections such as shop.cart:checkout, separated by commas" },
            }),
            &["repository", "workflow"],
        ),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SandboxToolArguments {
    sandbox_id: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioToolArguments {
    repository: String,
    workflow: String,
}

impl McpTools {
    pub(super) fn new(client: DaemonClient, program: OsString) -> Self {
        Self { client, program }
    }

    /// Calls a tool and returns its output or error; `None` if there is no such tool.
    pub(super) async fn call(&self, name: &str, arguments: &Value) -> Option<Result<String, String>> {
        Some(match name {
            "create_sandbox" => self.create(arguments).await,
            "list_sandboxes" => self.request("GET", "/api/sandboxes?limit=1000", None).await,
            "execute" => self.execute(arguments).await,
            "read_file" | "write_file" | "list_files" | "snapshot_sandbox" | "destroy_sandbox" => {
                match serde_json::from_value::<SandboxToolArguments>(arguments.clone()) {
                    Ok(of) => self.call_on_sandbox(name, of).await,
                    Err(error) => Err(error.to_string()),
                }
            }
            "run_scenarios" => match serde_json::from_value::<ScenarioToolArguments>(arguments.clone()) {
                Ok(which) => self.scenarios(&which).await,
                Err(error) => Err(error.to_string()),
            },
            _ => return None,
        })
    }

    async fn request(&self, method: &str, path: &str, body: Option<Value>) -> Result<String, String> {
        let answer = self.client.bytes(method, path, body).await.map_err(|error| with_hint(&error))?;
        Ok(shortened(&String::from_utf8_lossy(&answer)))
    }

    async fn create(&self, arguments: &Value) -> Result<String, String> {
        self.request("POST", "/api/sandboxes", Some(arguments.clone())).await
    }

    async fn execute(&self, arguments: &Value) -> Result<String, String> {
        let mut body = arguments.clone();
        let fields = body.as_object_mut().ok_or("arguments must be an object")?;
        let id = fields.remove("sandbox_id").and_then(|id| id.as_str().map(str::to_owned));
        let id = id.ok_or("sandbox_id is missing")?;
        // Without a timeout a hanging command would block the model for ever.
        fields.entry("timeout").or_insert_with(|| "60s".into());
        let path = format!("/api/sandboxes/{}/execute", encoded(&id));
        let done: ExecuteResponse =
            self.client.request_json("POST", &path, Some(body)).await.map_err(|error| with_hint(&error))?;
        let how = match (done.exit_code, done.end.timed_out, done.end.oom) {
            (_, true, _) => "killed: timeout exceeded".to_owned(),
            (_, _, true) => "killed: memory limit exceeded".to_owned(),
            (Some(code), ..) => format!("exit code {code}"),
            (None, ..) => format!("killed by signal {}", done.end.signal.unwrap_or(0)),
        };
        let stderr =
            if done.stderr.is_empty() { String::new() } else { format!("\n--- stderr\n{}", done.stderr) };
        Ok(shortened(&format!("{how}\n--- stdout\n{}{stderr}", done.stdout)))
    }

    async fn call_on_sandbox(&self, name: &str, of: SandboxToolArguments) -> Result<String, String> {
        let base = format!("/api/sandboxes/{}", encoded(&of.sandbox_id));
        let file = format!("{base}/files/{}", encoded(of.path.trim_start_matches('/')));
        match name {
            "write_file" => {
                let put = self.client.put(&file, of.content.into_bytes()).await;
                put.map(|()| format!("wrote {}", of.path)).map_err(|error| with_hint(&error))
            }
            "snapshot_sandbox" => {
                self.request("POST", &format!("{base}/snapshots"), Some(json!({ "name": of.name }))).await
            }
            "destroy_sandbox" => self.request("DELETE", &base, None).await.map(|_| "destroyed".to_owned()),
            _ => self.request("GET", &file, None).await,
        }
    }

    async fn scenarios(&self, which: &ScenarioToolArguments) -> Result<String, String> {
        let done = tokio::process::Command::new(&self.program)
            .args(["run-scenarios", "--json", "--repo", &which.repository, "--", &which.workflow])
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| error.to_string())?;
        let stdout = String::from_utf8_lossy(&done.stdout);
        // Exit code 1 means that calls failed, which is a valid result.
        match done.status.code() {
            Some(0 | 1) => Ok(shortened(&stdout)),
            _ => Err(shortened(&String::from_utf8_lossy(&done.stderr))),
        }
    }
}

/// Error and hint for the model that called the tool.
fn with_hint(error: &impl ErrorDetails) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_OUTPUT) {
        None => text.to_owned(),
        Some((end, _)) => {
            let left = text.len() - end;
            format!("{}\n… {left} more bytes", text.get(..end).unwrap_or_default())
        }
    }
}
