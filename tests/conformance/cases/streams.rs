//! Commands with streamed input and output.

use std::io;
use std::time::Duration;

use menace_model::sandbox::ExecRequest;
use menace_sandbox::{Backend, ProcessEvent, SandboxError};
use tokio::io::AsyncWriteExt;

use crate::harness::{error, finish, path_exists, read, read_at_least, sandbox, script};

pub(crate) async fn spawn_streams_in_order(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let mut process = sandbox.spawn(script("seq 1 50000; exit 4")).await.unwrap();
    let (printed, outcome) = finish(&mut *process).await;
    let expected: String = (1..=50_000).map(|number| format!("{number}\n")).collect();
    assert!(printed == expected, "{} of {} bytes", printed.len(), expected.len());
    assert_eq!((outcome.exit_code, outcome.truncated), (Some(4), false), "streamed output is not captured");
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
}

pub(crate) async fn spawn_keeps_the_streams_apart(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let mut process = sandbox.spawn(script("echo one; echo two >&2; echo three")).await.unwrap();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let outcome = loop {
        match process.next().await.unwrap() {
            ProcessEvent::Stdout(bytes) => stdout.extend(bytes),
            ProcessEvent::Stderr(bytes) => stderr.extend(bytes),
            ProcessEvent::Exited(outcome) => break outcome,
        }
    };
    assert_eq!((stdout.as_slice(), stderr.as_slice()), (&b"one\nthree\n"[..], &b"two\n"[..]));
    assert_eq!(outcome.exit_code, Some(0));
}

pub(crate) async fn stdin_is_interactive(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let mut process = sandbox.spawn(ExecRequest::new(["cat"])).await.unwrap();
    for line in ["one\n", "two\n", "three\n"] {
        process.write(line.as_bytes()).await.unwrap();
        assert_eq!(read_at_least(&mut *process, line.len()).await, line);
    }
    process.close_stdin().await.unwrap();
    let (rest, outcome) = finish(&mut *process).await;
    assert_eq!((rest.as_str(), outcome.exit_code), ("", Some(0)));
}

pub(crate) async fn stdin_of_the_request_comes_first(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let request = ExecRequest { stdin: b"first\n".to_vec(), ..ExecRequest::new(["cat"]) };
    let mut process = sandbox.spawn(request).await.unwrap();
    process.write(b"second\n").await.unwrap();
    process.close_stdin().await.unwrap();
    assert_eq!(finish(&mut *process).await.0, "first\nsecond\n");
}

/// Writes far more than the pipes in both directions hold: a caller that writes everything before it reads would block
/// forever.
pub(crate) async fn a_command_is_written_to_while_it_is_read(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let mut process = sandbox.spawn(ExecRequest::new(["cat"])).await.unwrap();
    let mut stdin = process.take_stdin().await.expect("stdin was not taken before");
    assert!(process.take_stdin().await.is_none(), "stdin can be taken only once");
    let text = "0123456789abcde\n".repeat(1 << 17);
    let sent = text.clone();
    let writing = tokio::spawn(async move { stdin.write_all(sent.as_bytes()).await });
    let (printed, outcome) = finish(&mut *process).await;
    writing.await.unwrap().unwrap();
    assert!(printed == text, "{} of {} bytes", printed.len(), text.len());
    assert_eq!(outcome.exit_code, Some(0));
}

pub(crate) async fn a_signal_ends_the_command(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGINT] {
        let mut process = sandbox.spawn(script("echo ready; exec sleep 100")).await.unwrap();
        read_at_least(&mut *process, "ready\n".len()).await;
        process.signal(signal).await.unwrap();
        let (_, outcome) = finish(&mut *process).await;
        assert_eq!((outcome.exit_code, outcome.signal), (None, Some(signal)), "{outcome:?}");
        assert!(!outcome.timed_out);
    }
}

pub(crate) async fn writing_to_an_ended_command_is_a_broken_pipe(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let mut process = sandbox.spawn(ExecRequest::new(["true"])).await.unwrap();
    finish(&mut *process).await;
    match error(process.write(b"too late\n").await) {
        SandboxError::Io { source, .. } => assert_eq!(source.kind(), io::ErrorKind::BrokenPipe),
        other => panic!("{other}"),
    }
}

pub(crate) async fn a_missing_program_cannot_be_spawned(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let failed = error(sandbox.spawn(ExecRequest::new(["no-such-program"])).await);
    assert!(
        matches!(&failed, SandboxError::Start { program, .. } if program == "no-such-program"),
        "{failed}"
    );
}

pub(crate) async fn a_spawned_command_times_out(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let request = script("echo before; sleep 100").timeout(Duration::from_millis(500));
    let (printed, outcome) = finish(&mut *sandbox.spawn(request).await.unwrap()).await;
    assert_eq!(printed, "before\n");
    assert!(outcome.timed_out);
    assert_eq!((outcome.exit_code, outcome.signal), (None, None));
}

/// Seven megabytes are more than any pipe holds, and a command prints them in far less time than it is given here.
pub(crate) async fn a_command_waits_for_its_reader(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let mut process = sandbox.spawn(script("seq 1 1000000; echo done > finished")).await.unwrap();
    let begin = read_at_least(&mut *process, 1).await;
    read(&*sandbox, "sleep 0.5").await;
    assert!(!path_exists(&*sandbox, "finished").await, "the backend reads ahead of its reader");
    let (rest, outcome) = finish(&mut *process).await;
    assert_eq!((begin + &rest).lines().count(), 1_000_000);
    assert_eq!(outcome.exit_code, Some(0));
    assert!(path_exists(&*sandbox, "finished").await);
}

pub(crate) async fn a_dropped_command_is_killed_with_its_children(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let text = "echo ready; sh -c 'sleep 0.5; echo late > late; true'; echo later > later";
    let mut process = sandbox.spawn(script(text)).await.unwrap();
    read_at_least(&mut *process, "ready\n".len()).await;
    drop(process);
    read(&*sandbox, "sleep 1").await;
    assert!(!path_exists(&*sandbox, "later").await, "the command outlived its handle");
    assert!(!path_exists(&*sandbox, "late").await, "a child outlived the handle");
}
