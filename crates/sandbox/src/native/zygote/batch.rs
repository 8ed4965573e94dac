//! Many calls of one module in one sandbox: the module is imported once, and every call is a copy of that process.
//!
//! It holds as long as a call is ordinary: it answers, ends well, and leaves nothing behind. Whatever else happens is
//! not judged here: such a call is made again, alone in a sandbox of its own, and the calls after it in a new batch.

use std::time::{Duration, Instant};

use menace_model::network::NetworkReport;
use menace_model::sandbox::Usage;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::call::{CallSpec, RawOutcome};
use super::calls::{PATIENCE, Zygote, request_of};
use super::keeper::Keeper;
use super::line::{LONGEST_RESULT, Line};
use super::slots::{Before, Slot};
use crate::SandboxError;
use crate::native::pipes::{Kept, Reading};

/// What the process that holds the module says after a call.
#[derive(Debug, Deserialize)]
struct Head {
    status: i32,
    clean: bool,
    cpu_user_us: u64,
    cpu_system_us: u64,
    largest_process_bytes: u64,
}

/// What came of a call in a batch.
enum Made {
    /// It was ordinary.
    Ordinary(Box<RawOutcome>),
    /// Its time was over, or it ran out of memory; the sandbox is not used again.
    Last(Box<RawOutcome>),
    /// Something else, which only a call alone can tell.
    Unusual,
}

/// A process that holds a module, and its sandbox.
struct Session {
    slot: Slot,
    keeper: Keeper,
    line: Line,
}

impl Zygote {
    /// Makes calls of one module, one after the other. What came of them is in their order.
    pub async fn call_batch(
        &self,
        module: &str,
        specs: &[CallSpec],
    ) -> Result<Vec<RawOutcome>, SandboxError> {
        let mut made = Vec::with_capacity(specs.len());
        let mut session: Option<Session> = None;
        while let Some(spec) = specs.get(made.len()) {
            // A sandbox for a single call is cheaper than one for many.
            if session.is_none() && specs.len() - made.len() > 1 {
                session = self.open_session(module, spec).await?;
                if session.is_none() {
                    // Calls cannot share the import of this module.
                    for spec in &specs[made.len()..] {
                        made.push(self.call(spec).await?);
                    }
                    break;
                }
            }
            let Some(mut open) = session.take() else {
                made.push(self.call(spec).await?);
                continue;
            };
            match open.call(spec, self.output_limit()).await? {
                Made::Ordinary(outcome) => {
                    made.push(*outcome);
                    session = Some(open);
                }
                Made::Last(outcome) => {
                    open.abandon().await;
                    made.push(*outcome);
                }
                Made::Unusual => {
                    open.abandon().await;
                    made.push(self.call(spec).await?);
                }
            }
        }
        if let Some(session) = session {
            session.close().await;
        }
        Ok(made)
    }

    /// Imports the module in a sandbox; `None` when calls cannot share that.
    async fn open_session(&self, module: &str, first: &CallSpec) -> Result<Option<Session>, SandboxError> {
        let mut slot = self.take_slot().await;
        let Some(keeper) = self.keeper(&mut slot).await? else { return Ok(None) };
        // The time of each call is watched here; the keeper only has to end with us.
        let Some(line) = Line::open(&keeper, Duration::from_hours(24)).await? else { return Ok(None) };
        let mut session = Session { slot, keeper, line };
        let request = request_of(&json!({"kind": "batch", "module": module, "of": first.request["kind"]}))?;
        let is_ready = match tokio::time::timeout(first.timeout, session.line.ask(&request)).await {
            Ok(Some(answer)) => {
                if !answer["why_not"].is_null() {
                    tracing::debug!("calls of {module} do not share its import: {}", answer["why_not"]);
                }
                answer.get("why_not").is_some_and(Value::is_null)
            }
            Ok(None) | Err(_) => false,
        };
        if is_ready {
            return Ok(Some(session));
        }
        session.abandon().await;
        Ok(None)
    }
}

impl Session {
    async fn call(&mut self, spec: &CallSpec, output_limit: u64) -> Result<Made, SandboxError> {
        let request = request_of(&spec.request)?;
        let before = self.slot.before()?;
        let began = Instant::now();
        let answered =
            tokio::time::timeout(spec.timeout, self.line.converse_once(&request, output_limit)).await;
        let wall_ms = began.elapsed().as_secs_f64() * 1e3;
        let Ok(said) = answered else {
            return Ok(Made::Last(Box::new(self.timed_out(&before, wall_ms)?)));
        };
        let Some((head, returned, stdout, stderr)) = said else { return Ok(Made::Unusual) };
        let measured = Usage {
            cpu_user_ms: Some(head.cpu_user_us as f64 / 1e3),
            cpu_system_ms: Some(head.cpu_system_us as f64 / 1e3),
            peak_rss_bytes: Some(head.largest_process_bytes),
            io_read_bytes: None,
            io_write_bytes: None,
            cpu_throttled_ms: None,
        };
        let (usage, oom) = self.slot.after(&before, measured)?;
        if oom && head.status == libc::SIGKILL && returned.is_none() {
            // Of all that is in the group, the kernel took the call and left the process that holds the module.
            let killed = ended(None, Some(libc::SIGKILL), wall_ms, usage, (stdout, stderr));
            return Ok(Made::Last(Box::new(RawOutcome { oom, ..killed })));
        }
        if oom || !head.clean || head.status != 0 || returned.is_none() {
            tracing::debug!("a call is made again alone: {head:?}, out of memory: {oom}");
            return Ok(Made::Unusual);
        }
        let ordinary = ended(Some(0), None, wall_ms, usage, (stdout, stderr));
        Ok(Made::Ordinary(Box::new(RawOutcome { returned, ..ordinary })))
    }

    fn timed_out(&self, before: &Before, wall_ms: f64) -> Result<RawOutcome, SandboxError> {
        let (usage, oom) = self.slot.after(before, Usage::default())?;
        let late = ended(None, None, wall_ms, usage, (Kept::new(0), Kept::new(0)));
        Ok(RawOutcome { timed_out: true, oom, ..late })
    }

    /// Lets the process end, and its place be used again.
    async fn close(self) {
        let Self { mut slot, keeper, line } = self;
        drop(line);
        if let Ok(Ok(Some(_))) = tokio::time::timeout(PATIENCE, keeper.end()).await {
            slot.leave_keeper(keeper);
        }
    }

    /// Ends everything in the place.
    async fn abandon(self) {
        let Self { slot, keeper, line } = self;
        drop((line, keeper));
        // What was killed still holds its memory for a moment, in the group that the next call in this place has.
        let end = Instant::now() + PATIENCE;
        while slot.is_occupied() && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// A call that ended so, and said nothing to menace.
fn ended(
    exit_code: Option<i32>,
    signal: Option<i32>,
    wall_ms: f64,
    usage: Usage,
    (stdout, stderr): (Kept, Kept),
) -> RawOutcome {
    RawOutcome {
        returned: None,
        exit_code,
        signal,
        timed_out: false,
        oom: false,
        disk_full: false,
        wall_ms,
        usage,
        truncated: stdout.is_truncated || stderr.is_truncated,
        stdout: stdout.text(),
        stderr: stderr.text(),
        network: NetworkReport::default(),
        faults: Vec::new(),
    }
}

impl Line {
    /// Asks for something that only our own code answers.
    async fn ask(&mut self, request: &[u8]) -> Option<Value> {
        self.stream.write_all(request).await.ok()?;
        let body = self.read_part().await?;
        serde_json::from_slice(&body).ok()
    }

    /// One call of many: what was said until it ended is its own. `None` when something is not as it should be.
    async fn converse_once(
        &mut self,
        request: &[u8],
        limit: u64,
    ) -> Option<(Head, Option<Value>, Kept, Kept)> {
        self.stream.write_all(request).await.ok()?;
        let (mut stdout, mut stderr) = (Kept::new(limit), Kept::new(limit));
        let (head, answer) = {
            let (mut out_buffer, mut error_buffer) = (vec![0; 8 << 10], vec![0; 8 << 10]);
            let Self { stream, stdout: out, stderr: error } = self;
            let reply = async {
                let head = read_part(stream).await?;
                Some((head, read_part(stream).await?))
            };
            tokio::pin!(reply);
            loop {
                tokio::select! {
                    biased;
                    reply = &mut reply => break reply?,
                    length = out.read(&mut out_buffer) => stdout.add(&out_buffer[..length]),
                    length = error.read(&mut error_buffer) => stderr.add(&error_buffer[..length]),
                }
            }
        };
        read_rest(&mut self.stdout, &mut stdout);
        read_rest(&mut self.stderr, &mut stderr);
        let head: Head = serde_json::from_slice(&head).ok()?;
        Some((head, serde_json::from_slice(&answer).ok(), stdout, stderr))
    }

    async fn read_part(&mut self) -> Option<Vec<u8>> {
        read_part(&mut self.stream).await
    }
}

/// What a process that has ended left in its pipe.
fn read_rest(from: &mut Reading, kept: &mut Kept) {
    let mut left = from.waiting();
    while let Some(bytes) = from.try_read(&mut left) {
        kept.add(&bytes);
    }
}

async fn read_part(stream: &mut tokio::net::UnixStream) -> Option<Vec<u8>> {
    let length = stream.read_u32_le().await.ok().filter(|length| *length <= LONGEST_RESULT)?;
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).await.ok()?;
    Some(body)
}
