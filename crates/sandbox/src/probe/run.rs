//! Parent side of the probes: starts one child per probe, all concurrently, with a common timeout.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use super::catalog::{CapabilityProbe, PROBES};
use super::child::CHILD_ARGUMENT;
use super::result::{CapabilityProbeResult, ProbeChildReport};

/// Timeout of all probes. A probe takes milliseconds; a kernel that needs longer than this hangs.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Probes every feature that isolation can use. `executable` is a program that calls [`child_main`](super::child_main)
/// at the start of its `main`; the calling process itself changes nothing.
pub fn run(executable: &Path) -> Vec<CapabilityProbeResult> {
    let started: Vec<_> = PROBES.iter().map(|probe| (probe, start(executable, probe.name))).collect();
    let deadline = Instant::now() + TIME_LIMIT;
    started
        .into_iter()
        .map(|(probe, child)| {
            let answer = match child {
                Ok(child) => read_answer(child, deadline),
                Err(error) => {
                    no_answer(format!("failed to start {} {CHILD_ARGUMENT}: {error}", executable.display()))
                }
            };
            finding(probe, answer)
        })
        .collect()
}

/// Starts a probe child as the leader of a process group, so that its descendants can be killed with it.
fn start(executable: &Path, name: &str) -> std::io::Result<Child> {
    Command::new(executable)
        .args([CHILD_ARGUMENT, name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

fn finding(probe: &'static CapabilityProbe, answer: ProbeChildReport) -> CapabilityProbeResult {
    CapabilityProbeResult {
        name: probe.name,
        group: probe.group,
        required: probe.required,
        present: answer.present,
        detail: answer.detail,
        purpose: probe.purpose,
        remedy: answer.remedy.unwrap_or_else(|| probe.remedy.to_owned()),
    }
}

fn read_answer(mut child: Child, deadline: Instant) -> ProbeChildReport {
    let Some(line) = read_until_end(&mut child, deadline) else {
        end(child);
        return no_answer(format!("timed out after {} s", TIME_LIMIT.as_secs()));
    };
    let status = match child.wait() {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    serde_json::from_slice(&line)
        .unwrap_or_else(|_| no_answer(format!("the probe exited without an answer ({status})")))
}

/// Reads the child's whole output; `None` if the child or one of its descendants still holds the pipe at the deadline.
fn read_until_end(child: &mut Child, deadline: Instant) -> Option<Vec<u8>> {
    let pipe = child.stdout.as_mut().expect("stdout of a probe is a pipe");
    let mut line = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).expect("the limit is a few seconds");
        match poll(&mut [PollFd::new(&*pipe, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
        }
        match pipe.read(&mut buffer) {
            Ok(0) => return Some(line),
            Ok(length) => line.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Kills the child and its descendants. A separate thread waits for it, because a process that hangs in the kernel may
/// take long to die.
fn end(mut child: Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // The child may have exited meanwhile; its pid is not reused before it is waited for.
        let _ = kill_process_group(group, Signal::KILL);
    }
    std::thread::spawn(move || child.wait());
}

fn no_answer(detail: String) -> ProbeChildReport {
    ProbeChildReport { present: false, detail, remedy: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_executable_is_reported_for_each_probe() {
        let findings = run(Path::new("/nonexistent/menace"));
        assert_eq!(findings.len(), PROBES.len());
        for finding in findings {
            assert!(!finding.present && finding.detail.contains("/nonexistent/menace"), "{finding:?}");
        }
    }

    #[test]
    fn an_executable_without_answers_fails_every_probe() {
        for finding in run(Path::new("/bin/true")) {
            assert!(!finding.present && finding.detail.contains("without an answer"), "{finding:?}");
        }
    }

    #[test]
    fn a_hanging_child_is_killed_with_its_descendants() {
        let child = Command::new("/bin/sh")
            .args(["-c", "sleep 600 & sleep 600"])
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        let answer = read_answer(child, Instant::now());
        assert!(!answer.present && answer.detail.contains("timed out"), "{answer:?}");
        let deadline = Instant::now() + Duration::from_secs(10);
        while rustix::process::test_kill_process_group(group).is_ok() {
            assert!(Instant::now() < deadline, "the group outlived its probe");
            std::thread::yield_now();
        }
    }
}
