//! The tools that a model has.

use std::ffi::OsString;
use std::process::Stdio;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{Client, encoded};
use crate::sandboxes::Executed;

/// The most of an output that a model is given.
const LONGEST: usize = 100_000;

/// Somebody who does what tools do.
#[derive(Clone)]
pub(super) struct Tools {
    client: Client,
    program: OsString,
}

#[expect(clippy::needless_pass_by_value, reason = "it is written where it is passed")]
fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "properties": properties, "required": required, "additionalProperties": false },
    })
}

/// All tools, as a model is told of them.
pub(super) fn described() -> Vec<Value> {
    let sandbox = json!({ "type": "string", "description": "The id that create_sandbox returned" });
    let path = json!({ "type": "string", "description": "Where it is inside, such as /workspace/main.py" });
    vec![
        tool(
            "create_sandbox",
            "Make a sandbox: an isolated Linux with an empty /workspace. Returns its id.",
            json!({
                "project_name": { "type": "string", "description": "What to call it" },
                "memory_limit": { "type": "string", "description": "The most memory, such as 512m; 1g without this" },
                "cpu_limit": { "type": "string", "description": "The most CPU cores, such as 0.5" },
                "ttl": { "type": "string", "description": "When it is destroyed, such as 1h" },
                "snapshot": { "type": "string", "description": "A snapshot whose files it begins with" },
            }),
            &[],
        ),
        tool("list_sandboxes", "List the sandboxes that there are.", json!({}), &[]),
        tool(
            "execute",
            "Run a command in a sandbox to its end; returns its exit code and what it printed.",
            json!({
                "sandbox_id": sandbox,
                "command": { "type": "array", "items": { "type": "string" }, "minItems": 1,
                    "description": "The program and its arguments; for a shell line [\"sh\", \"-c\", \"…\"]" },
                "workdir": { "type": "string", "description": "Where it starts; /workspace without this" },
                "stdin": { "type": "string", "description": "What it reads" },
                "timeout": { "type": "string", "description": "How long it may take, such as 30s; a minute without this" },
            }),
            &["sandbox_id", "command"],
        ),
        tool(
            "read_file",
            "Read a text file of a sandbox.",
            json!({ "sandbox_id": sandbox, "path": path }),
            &["sandbox_id", "path"],
        ),
        tool(
            "write_file",
            "Write a text file in a sandbox; directories on the way are made.",
            json!({ "sandbox_id": sandbox, "path": path, "content": { "type": "string" } }),
            &["sandbox_id", "path", "content"],
        ),
        tool(
            "list_files",
            "List a directory of a sandbox.",
            json!({ "sandbox_id": sandbox, "path": path }),
            &["sandbox_id", "path"],
        ),
        tool(
            "snapshot_sandbox",
            "Keep a copy of the files of a sandbox; returns its id, for create_sandbox.",
            json!({ "sandbox_id": sandbox, "name": { "type": "string" } }),
            &["sandbox_id"],
        ),
        tool(
            "destroy_sandbox",
            "Destroy a sandbox with all that is in it.",
            json!({ "sandbox_id": sandbox }),
            &["sandbox_id"],
        ),
        tool(
            "run_scenarios",
            "Call functions of a Python repository of this machine in sandboxes, in five scenarios (ordinary, many at once, \
             hostile input, drifted schema, flaky upstream), and return what fails.",
            json!({
                "repository": { "type": "string", "description": "Its directory" },
                "workflow": { "type": "string", "description": "Sections such as shop.cart:checkout, separated by commas" },
            }),
            &["repository", "workflow"],
        ),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfSandbox {
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
struct Scenarios {
    repository: String,
    workflow: String,
}

impl Tools {
    pub(super) fn new(client: Client, program: OsString) -> Self {
        Self { client, program }
    }

    /// What a tool says, or why it cannot do it; nothing if there is no such tool.
    pub(super) async fn call(&self, name: &str, arguments: &Value) -> Option<Result<String, String>> {
        Some(match name {
            "create_sandbox" => self.create(arguments).await,
            "list_sandboxes" => self.asked("GET", "/api/sandboxes?limit=1000", None).await,
            "execute" => self.execute(arguments).await,
            "read_file" | "write_file" | "list_files" | "snapshot_sandbox" | "destroy_sandbox" => {
                match serde_json::from_value::<OfSandbox>(arguments.clone()) {
                    Ok(of) => self.of_sandbox(name, of).await,
                    Err(error) => Err(error.to_string()),
                }
            }
            "run_scenarios" => match serde_json::from_value::<Scenarios>(arguments.clone()) {
                Ok(which) => self.scenarios(&which).await,
                Err(error) => Err(error.to_string()),
            },
            _ => return None,
        })
    }

    async fn asked(&self, method: &str, path: &str, body: Option<Value>) -> Result<String, String> {
        let answer = self.client.bytes(method, path, body).await.map_err(|error| error.to_string())?;
        Ok(shortened(&String::from_utf8_lossy(&answer)))
    }

    async fn create(&self, arguments: &Value) -> Result<String, String> {
        self.asked("POST", "/api/sandboxes", Some(arguments.clone())).await
    }

    async fn execute(&self, arguments: &Value) -> Result<String, String> {
        let mut body = arguments.clone();
        let fields = body.as_object_mut().ok_or("arguments have names")?;
        let id = fields.remove("sandbox_id").and_then(|id| id.as_str().map(str::to_owned));
        let id = id.ok_or("sandbox_id is missing")?;
        // A model that forgets a command must not wait for ever.
        fields.entry("timeout").or_insert_with(|| "60s".into());
        let path = format!("/api/sandboxes/{}/execute", encoded(&id));
        let done: Executed =
            self.client.ask("POST", &path, Some(body)).await.map_err(|error| error.to_string())?;
        let how = match (done.exit_code, done.end.timed_out, done.end.oom) {
            (_, true, _) => "it took too long and was killed".to_owned(),
            (_, _, true) => "it ran out of memory and was killed".to_owned(),
            (Some(code), ..) => format!("exit code {code}"),
            (None, ..) => format!("killed by signal {}", done.end.signal.unwrap_or(0)),
        };
        let stderr =
            if done.stderr.is_empty() { String::new() } else { format!("\n--- stderr\n{}", done.stderr) };
        Ok(shortened(&format!("{how}\n--- stdout\n{}{stderr}", done.stdout)))
    }

    async fn of_sandbox(&self, name: &str, of: OfSandbox) -> Result<String, String> {
        let base = format!("/api/sandboxes/{}", encoded(&of.sandbox_id));
        let file = format!("{base}/files/{}", encoded(of.path.trim_start_matches('/')));
        match name {
            "write_file" => {
                let put = self.client.put(&file, of.content.into_bytes()).await;
                put.map(|()| format!("wrote {}", of.path)).map_err(|error| error.to_string())
            }
            "snapshot_sandbox" => {
                self.asked("POST", &format!("{base}/snapshots"), Some(json!({ "name": of.name }))).await
            }
            "destroy_sandbox" => self.asked("DELETE", &base, None).await.map(|_| "it is gone".to_owned()),
            _ => self.asked("GET", &file, None).await,
        }
    }

    async fn scenarios(&self, which: &Scenarios) -> Result<String, String> {
        let done = tokio::process::Command::new(&self.program)
            .args(["run-scenarios", "--json", "--repo", &which.repository, "--", &which.workflow])
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| error.to_string())?;
        let stdout = String::from_utf8_lossy(&done.stdout);
        // 1 says that something fails, which is what was asked for.
        match done.status.code() {
            Some(0 | 1) => Ok(shortened(&stdout)),
            _ => Err(shortened(&String::from_utf8_lossy(&done.stderr))),
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => {
            let left = text.len() - end;
            format!("{}\n… and {left} bytes more", text.get(..end).unwrap_or_default())
        }
    }
}
