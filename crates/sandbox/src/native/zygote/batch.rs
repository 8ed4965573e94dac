//! Many calls of one module in one sandbox: the module is imported once, and every call is a fork of that process.
//!
//! A batch continues as long as each call is ordinary: it answers, exits with 0, and leaves nothing behind. Any other
//! call is not judged here: it is rerun alone in a sandbox of its own, and the calls after it run in a new batch.

use std::time::{Duration, Instant};

use menace_model::calls::{CallSpec, RawOutcome};
use menace_model::harness::{BatchCallReport, BatchReply, BatchRequest, HarnessReply, HarnessRequest};
use menace_model::sandbox::ResourceUsage;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::call_streams::{CallStreams, LONGEST_RESULT};
use super::isolated_calls::{PATIENCE, Zygote, encode_request};
use super::slot_supervisor::SlotSupervisor;
use super::slots::{Slot, SlotStartCounters};
use crate::SandboxError;
use crate::native::pipes::{OutputCapture, ProgramOutputPipe};

/// Result of a call in a batch.
enum BatchCallResult {
    /// An ordinary call; the batch continues.
    Ordinary(Box<RawOutcome>),
    /// A timeout or out-of-memory kill; the sandbox is not used again.
    Last(Box<RawOutcome>),
    /// Any other result, which has to be judged by a rerun alone.
    Unusual,
}

/// Process that has imported a module, and its sandbox.
struct BatchSession {
    slot: Slot,
    keeper: SlotSupervisor,
    line: CallStreams,
}

impl Zygote {
    /// Makes calls of one module sequentially and returns their outcomes in order.
    pub async fn call_batch(
        &self,
        module: &str,
        specs: &[CallSpec],
    ) -> Result<Vec<RawOutcome>, SandboxError> {
        let mut made = Vec::with_capacity(specs.len());
        let mut session: Option<BatchSession> = None;
        while let Some(spec) = specs.get(made.len()) {
            // For a single call, a plain sandbox is cheaper than a batch session.
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
                BatchCallResult::Ordinary(outcome) => {
                    made.push(*outcome);
                    session = Some(open);
                }
                BatchCallResult::Last(outcome) => {
                    open.abandon().await;
                    made.push(*outcome);
                }
                BatchCallResult::Unusual => {
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

    /// Imports the module in a sandbox; `None` when calls cannot share the import.
    async fn open_session(
        &self,
        module: &str,
        first: &CallSpec,
    ) -> Result<Option<BatchSession>, SandboxError> {
        let mut slot = self.take_slot().await;
        let Some(supervisor) = self.ready_supervisor(&mut slot).await? else { return Ok(None) };
        // The timeout of each call is enforced here; the supervisor only has to end with the session.
        let Some(streams) = CallStreams::open(&supervisor, Duration::from_hours(24)).await? else {
            return Ok(None);
        };
        let mut session = BatchSession { slot, keeper: supervisor, line: streams };
        let request =
            HarnessRequest::Batch(BatchRequest { module: module.to_owned(), of: first.request.kind() });
        let reply = tokio::time::timeout(first.timeout, session.line.exchange_request(&request)).await;
        match reply.unwrap_or(Ok(None))? {
            Some(HarnessReply::Batch(BatchReply { why_not: None })) => return Ok(Some(session)),
            Some(HarnessReply::Batch(BatchReply { why_not: Some(reason) })) => {
                tracing::debug!("no shared import for calls of {module}: {reason}");
            }
            Some(other) => tracing::debug!("no shared import for calls of {module}: {other:?}"),
            None => {}
        }
        session.abandon().await;
        Ok(None)
    }
}

impl BatchSession {
    async fn call(&mut self, spec: &CallSpec, output_limit: u64) -> Result<BatchCallResult, SandboxError> {
        let request = encode_request(&spec.request)?;
        let before = self.slot.before()?;
        let began = Instant::now();
        let answered =
            tokio::time::timeout(spec.timeout, self.line.exchange_call(&request, output_limit)).await;
        let wall_ms = began.elapsed().as_secs_f64() * 1e3;
        let Ok(reply) = answered else {
            return Ok(BatchCallResult::Last(Box::new(self.timed_out(&before, wall_ms)?)));
        };
        let Some(CallExchange { report: head, answer, stdout, stderr }) = reply else {
            return Ok(BatchCallResult::Unusual);
        };
        let measured = ResourceUsage {
            cpu_user_ms: Some(head.cpu_user_us as f64 / 1e3),
            cpu_system_ms: Some(head.cpu_system_us as f64 / 1e3),
            peak_rss_bytes: Some(head.largest_process_bytes),
            io_read_bytes: None,
            io_write_bytes: None,
            cpu_throttled_ms: None,
        };
        let (usage, oom) = self.slot.after(&before, measured)?;
        if oom && head.status == libc::SIGKILL && answer.is_empty() {
            // Of all processes in the group, the kernel killed the call and left the module process.
            let killed = outcome_of_exit(None, Some(libc::SIGKILL), wall_ms, usage, (stdout, stderr));
            return Ok(BatchCallResult::Last(Box::new(RawOutcome { oom, ..killed })));
        }
        let reply = spec.request.parse_reply(&answer);
        if oom || !head.clean || head.status != 0 || !reply.is_valid() {
            tracing::debug!("rerunning a call alone: {head:?}, out of memory: {oom}");
            return Ok(BatchCallResult::Unusual);
        }
        let ordinary = outcome_of_exit(Some(0), None, wall_ms, usage, (stdout, stderr));
        Ok(BatchCallResult::Ordinary(Box::new(RawOutcome { reply: Some(reply), ..ordinary })))
    }

    fn timed_out(&self, before: &SlotStartCounters, wall_ms: f64) -> Result<RawOutcome, SandboxError> {
        let (usage, oom) = self.slot.after(before, ResourceUsage::default())?;
        let late =
            outcome_of_exit(None, None, wall_ms, usage, (OutputCapture::new(0), OutputCapture::new(0)));
        Ok(RawOutcome { timed_out: true, oom, ..late })
    }

    /// Ends the module process and leaves the supervisor in its slot for the next call.
    async fn close(self) {
        let Self { mut slot, keeper: supervisor, line: streams } = self;
        drop(streams);
        if let Ok(Ok(Some(_))) = tokio::time::timeout(PATIENCE, supervisor.end()).await {
            slot.return_supervisor(supervisor);
        }
    }

    /// Ends all processes in the slot.
    async fn abandon(self) {
        let Self { slot, keeper: supervisor, line: streams } = self;
        drop((streams, supervisor));
        // A killed process holds its memory for a moment, in the group that the next call in this slot uses.
        let end = Instant::now() + PATIENCE;
        while slot.is_occupied() && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Outcome of a call with this exit and without an answer of the harness.
fn outcome_of_exit(
    exit_code: Option<i32>,
    signal: Option<i32>,
    wall_ms: f64,
    usage: ResourceUsage,
    (stdout, stderr): (OutputCapture, OutputCapture),
) -> RawOutcome {
    RawOutcome {
        exit_code,
        signal,
        wall_ms,
        usage,
        truncated: stdout.is_truncated || stderr.is_truncated,
        stdout: stdout.text(),
        stderr: stderr.text(),
        ..RawOutcome::default()
    }
}

/// Reply of one call of a batch.
struct CallExchange {
    report: BatchCallReport,
    /// Answer of the call; empty if it gave none.
    answer: Vec<u8>,
    stdout: OutputCapture,
    stderr: OutputCapture,
}

impl CallStreams {
    /// Sends a request that only harness code answers; `None` when there is no answer.
    async fn exchange_request(
        &mut self,
        request: &HarnessRequest,
    ) -> Result<Option<HarnessReply>, SandboxError> {
        let bytes = encode_request(request)?;
        let answer = async {
            self.stream.write_all(&bytes).await.ok()?;
            read_part(&mut self.stream).await
        };
        Ok(answer.await.map(|answer| request.parse_reply(&answer)))
    }

    /// Makes one call of a batch and collects its output until it ends. `None` when the report is malformed.
    async fn exchange_call(&mut self, request: &[u8], limit: u64) -> Option<CallExchange> {
        self.stream.write_all(request).await.ok()?;
        let (mut stdout, mut stderr) = (OutputCapture::new(limit), OutputCapture::new(limit));
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
        let report = serde_json::from_slice(&head).ok()?;
        Some(CallExchange { report, answer, stdout, stderr })
    }
}

/// Reads the rest of an ended process's pipe.
fn read_rest(from: &mut ProgramOutputPipe, kept: &mut OutputCapture) {
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
