//! Tests beyond the conformance suite: scripts as in a real shell, and errors for everything unsupported.

use std::sync::Arc;

use menace_model::sandbox::{ExecOutcome, ExecRequest, SandboxLimits, SandboxSpec};
use menace_sandbox::{Backend, Sandbox, SandboxError};

use crate::FakeBackend;

async fn sandbox() -> Arc<dyn Sandbox> {
    FakeBackend.create(SandboxSpec::default()).await.unwrap()
}

async fn sh(script: &str) -> ExecOutcome {
    sandbox().await.exec(ExecRequest::new(["sh", "-c", script])).await.unwrap()
}

#[track_caller]
fn assert_fails(outcome: &ExecOutcome, script: &str) {
    assert!(outcome.exit_code.is_some_and(|code| code != 0), "{script}: {outcome:?}");
    assert!(!outcome.stderr.is_empty(), "{script}: {outcome:?}");
    assert_eq!(outcome.stdout, "", "{script}");
}

#[tokio::test]
async fn scripts_behave_as_in_a_real_shell() {
    for script in [
        "echo one; echo two",
        "true && echo yes || echo no",
        "false && echo yes || echo no",
        "false || exit 3; exit 4",
        "false; echo $?",
        "A='x  y'; echo $A; echo \"$A\"; echo '$A'; echo ${A}z",
        "A='x  y'; B=$A; echo \"$B\"; B=\"<$A>\"$A; echo \"$B\"",
        "EMPTY=; echo a $EMPTY b \"$EMPTY\" c",
        "A=' b '; echo a${A}c a$A$A",
        "echo a\\ b \"q\\\"q\" 'it''s'",
        "'A=1'; echo $?",
        "echo A=1 =2",
        "echo one > f; echo two >> f; cat < f; cat f f > g; cat g; ls",
        "echo lost 2>/dev/null >/dev/null; ls missing 2> e; test -s e; echo $?",
        "echo both >&2; echo to stdout 2>&1",
        "{ls} 2> /dev/null; echo $?",
        "no-such-program; echo $?",
        "cd /tmp; pwd; echo $PWD",
        "sh -c 'kill -9 $$'; echo $?",
        "sh -c 'exit 3'; echo $?; exit 0; echo never",
        "mkdir d; ln -s d l; echo t > l/f; cat d/f; rm l; ls d",
        "mkdir -p a/b/c; rm -r a/b; ls a; test -d a; echo $?; rm a",
        "echo a2>f; cat f; ls",
        "seq 3; seq 2 4; head -c 5 /dev/zero > z; ls z; echo x > u; test -s u; echo $?",
        "test a = a; echo $?; test a != a; echo $?; test -e missing; echo $?",
        "cat < missing; echo $?",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let real =
            std::process::Command::new("sh").args(["-c", script]).current_dir(&directory).output().unwrap();
        let fake = sh(script).await;
        assert_eq!(fake.stdout, String::from_utf8(real.stdout).unwrap(), "{script}: {fake:?}");
        assert_eq!(fake.exit_code, real.status.code(), "{script}: {fake:?}");
        assert_eq!(fake.stderr.is_empty(), real.stderr.is_empty(), "{script}: {fake:?}");
    }
}

#[tokio::test]
async fn unsupported_shell_syntax_is_an_error() {
    for script in [
        "echo a | cat",
        "sleep 100 &",
        "if true; then echo a; fi",
        "while true; do echo a; done",
        "echo $(pwd)",
        "echo `pwd`",
        "echo *",
        "(echo a)",
        "echo $1",
        "echo ${A:-b}",
        "echo 'open",
        "echo a &&",
        "A=1 env",
        "cat << end",
        "no-such-program",
        "kill -9 1",
        "cd missing",
    ] {
        assert_fails(&sh(script).await, script);
    }
}

#[tokio::test]
async fn unsupported_arguments_are_an_error() {
    for script in [
        "cat -n f",
        "head -n 1 f",
        "head -c x",
        "sleep soon",
        "sleep",
        "mkdir",
        "mkdir -m 700 d",
        "rm missing",
        "rm -i f",
        "rm /tmp",
        "id",
        "id -n",
        "ls -l",
        "ln a b",
        "chmod u+x f",
        "test a -nt b",
        "env -i",
        "env A=1 true",
        "seq a",
        "pwd -P",
        "cat missing",
        "cat /tmp",
    ] {
        assert_fails(&sh(script).await, script);
    }
}

#[tokio::test]
async fn files_of_the_sandbox_are_not_programs() {
    let sandbox = sandbox().await;
    sandbox.exec(ExecRequest::new(["sh", "-c", "echo > f; echo > g; chmod 755 g"])).await.unwrap();
    for program in ["/workspace/f", "/workspace/g"] {
        let error = sandbox.exec(ExecRequest::new([program])).await.unwrap_err();
        assert!(matches!(&error, SandboxError::Start { .. }), "{error}");
    }
    let environment = [("PATH".to_owned(), "/nowhere".to_owned())].into();
    let request = ExecRequest { environment, ..ExecRequest::new(["true"]) };
    let error = sandbox.exec(request).await.unwrap_err();
    assert!(matches!(&error, SandboxError::Start { .. }), "{error}");
}

#[tokio::test]
async fn limits_that_need_a_kernel_are_refused() {
    let backend = FakeBackend;
    for limits in [
        SandboxLimits { memory: Some(1 << 30), ..SandboxLimits::default() },
        SandboxLimits { cpus: Some(1.0), ..SandboxLimits::default() },
        SandboxLimits { cpu_time: Some(std::time::Duration::from_secs(1)), ..SandboxLimits::default() },
        SandboxLimits { pids: Some(10), ..SandboxLimits::default() },
    ] {
        let made = backend.create(SandboxSpec { limits, ..SandboxSpec::default() }).await;
        assert!(matches!(made.err(), Some(SandboxError::Refused { .. })));
    }
}
