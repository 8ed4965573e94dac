//! Commands that run to their end.

use std::time::{Duration, Instant};

use menace_model::sandbox::{ExecRequest, SandboxLimits, SandboxSpec, SandboxUser};
use menace_sandbox::{Backend, SandboxError};

use crate::harness::{all, error, read, sandbox, sh, skip_unclaimed};

pub(crate) async fn exec_returns_the_exit_code(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    for (command, code) in [
        (&["true"][..], 0),
        (&["false"], 1),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "false; exit 255"], 255),
        (&["sh", "-c", "false || exit 3; exit 4"], 3),
    ] {
        let outcome = sandbox.exec(ExecRequest::new(command.iter().copied())).await.unwrap();
        assert_eq!((outcome.exit_code, outcome.signal), (Some(code), None), "{command:?}");
        assert!(
            !outcome.timed_out && !outcome.truncated && !outcome.disk_full && !outcome.oom,
            "{outcome:?}"
        );
    }
}

pub(crate) async fn exec_reports_the_signal(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    for signal in [libc::SIGKILL, libc::SIGTERM] {
        let outcome = sh(&*sandbox, &format!("echo before; kill -{signal} $$; echo after")).await;
        assert_eq!((outcome.exit_code, outcome.signal), (None, Some(signal)), "{outcome:?}");
        assert_eq!(outcome.stdout, "before\n");
        assert!(!outcome.timed_out);
    }
}

pub(crate) async fn stdout_and_stderr_are_kept_apart(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let outcome = sh(&*sandbox, "echo one; echo two >&2; echo three").await;
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("one\nthree\n", "two\n"));
}

pub(crate) async fn output_that_is_not_utf8_is_decoded_lossily(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let request = ExecRequest { stdin: b"a\xffb\n".to_vec(), ..ExecRequest::new(["cat"]) };
    assert_eq!(sandbox.exec(request).await.unwrap().stdout, "a\u{fffd}b\n");
}

pub(crate) async fn arguments_arrive_unchanged(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    for argument in ["two  words", "$HOME", "'\"`", "line\nline", "größe ☃", "*", ""] {
        let outcome = sandbox.exec(ExecRequest::new(["echo", "<", argument, ">"])).await.unwrap();
        assert_eq!(outcome.stdout, format!("< {argument} >\n"));
    }
}

pub(crate) async fn stdin_is_read_to_its_end(backend: &dyn Backend) {
    let limits = SandboxLimits { output: 4 << 20, ..SandboxLimits::default() };
    let sandbox = backend.create(SandboxSpec { limits, ..SandboxSpec::default() }).await.unwrap();
    let text: String = (0..150_000).map(|number| format!("{number}\n")).collect();
    let request = ExecRequest { stdin: text.clone().into_bytes(), ..ExecRequest::new(["cat"]) };
    let outcome = sandbox.exec(request).await.unwrap();
    assert!(outcome.stdout == text, "{} of {} bytes came back", outcome.stdout.len(), text.len());
    assert!(!outcome.truncated);
}

pub(crate) async fn a_command_without_stdin_reads_the_end(backend: &dyn Backend) {
    let outcome = sh(&*sandbox(backend).await, "cat; echo end").await;
    assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("end\n", Some(0)));
}

pub(crate) async fn unread_stdin_is_not_an_error(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let request = ExecRequest { stdin: vec![b'x'; 1 << 20], ..ExecRequest::new(["true"]) };
    assert_eq!(sandbox.exec(request).await.unwrap().exit_code, Some(0));
}

pub(crate) async fn a_program_is_found_by_its_path(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let outcome = sandbox.exec(ExecRequest::new(["/bin/sh", "-c", "echo found"])).await.unwrap();
    assert_eq!(outcome.stdout, "found\n");
}

pub(crate) async fn a_missing_program_cannot_be_started(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    for program in ["no-such-program", "/usr/bin/no-such-program", "./no-such-program"] {
        match error(sandbox.exec(ExecRequest::new([program])).await) {
            SandboxError::Start { program: named, source } => {
                assert_eq!(named, program);
                assert_eq!(source.raw_os_error(), Some(libc::ENOENT), "{source}");
            }
            other => panic!("{program}: {other}"),
        }
    }
    assert_eq!(read(&*sandbox, "echo alive").await, "alive\n");
}

pub(crate) async fn an_empty_command_is_an_error(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    error(sandbox.exec(ExecRequest::default()).await);
    assert_eq!(read(&*sandbox, "echo alive").await, "alive\n");
}

pub(crate) async fn a_shell_exits_127_for_a_missing_program(backend: &dyn Backend) {
    let outcome = sh(&*sandbox(backend).await, "no-such-program").await;
    assert_eq!(outcome.exit_code, Some(127));
    assert!(outcome.stderr.contains("not found"), "{}", outcome.stderr);
}

pub(crate) async fn concurrent_commands_do_not_wait_for_each_other(backend: &dyn Backend) {
    const COMMANDS: u32 = 8;
    let sandbox = sandbox(backend).await;
    let started = Instant::now();
    let commands = (0..COMMANDS).map(|number| {
        let sandbox = &sandbox;
        async move { read(&**sandbox, &format!("sleep 0.5; echo {number}")).await }
    });
    let printed = all(commands).await;
    let expected: Vec<String> = (0..COMMANDS).map(|number| format!("{number}\n")).collect();
    assert_eq!(printed, expected);
    let one_after_the_other = Duration::from_millis(500) * COMMANDS;
    assert!(started.elapsed() < one_after_the_other, "{:?}", started.elapsed());
}

pub(crate) async fn commands_run_as_the_given_user(backend: &dyn Backend) {
    let default = sandbox(backend).await;
    assert_eq!(read(&*default, "id -u; id -g").await, "1000\n1000\n");
    if !backend.capabilities().any_user {
        return skip_unclaimed(backend, "another user");
    }
    let spec = SandboxSpec { user: SandboxUser { uid: 4242, gid: 4343 }, ..SandboxSpec::default() };
    let other = backend.create(spec).await.unwrap();
    assert_eq!(read(&*other, "id -u; id -g; echo mine > file; cat file").await, "4242\n4343\nmine\n");
}
