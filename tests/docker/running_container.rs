//! Operations on a running container.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::sandbox::{
    ExecRequest, FileEventKind, FileKind, FileOperation, LimitsChange, SandboxLimits, SandboxSpec,
    TerminalSize,
};
use menace_sandbox::{Backend, ProcessEvent, SandboxError, SandboxProcess};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{PROMPT, connect, put, read, with_engine};

async fn until(process: &mut dyn SandboxProcess, text: &str) -> String {
    let mut printed = String::new();
    while !printed.contains(text) {
        match tokio::time::timeout(PROMPT, process.next()).await.expect("the command prints in time").unwrap()
        {
            ProcessEvent::Stdout(bytes) => printed.push_str(&String::from_utf8_lossy(&bytes)),
            other => panic!("expected {text:?} after {printed:?}: {other:?}"),
        }
    }
    printed
}

#[test]
fn a_terminal_can_be_resized() {
    with_engine(|options| async move {
        let sandbox = connect(&options).await.create(SandboxSpec::default()).await.unwrap();
        let size = |columns, rows| TerminalSize { columns, rows };
        let request = ExecRequest { terminal: Some(size(100, 30)), ..ExecRequest::new(["sh"]) };
        let mut shell = sandbox.spawn(request).await.unwrap();
        shell.write(b"stty size; tty\n").await.unwrap();
        until(&mut *shell, "30 100\r\n/dev/pts/").await;
        shell.resize(size(132, 50)).await.unwrap();
        shell.write(b"stty size; exit 5\n").await.unwrap();
        until(&mut *shell, "50 132").await;
        let outcome = loop {
            if let ProcessEvent::Exited(outcome) = shell.next().await.unwrap() {
                break outcome;
            }
        };
        assert_eq!(outcome.exit_code, Some(5));
    });
}

#[test]
fn a_listening_program_is_reachable_without_a_network() {
    with_engine(|options| async move {
        let sandbox = connect(&options).await.create(SandboxSpec::default()).await.unwrap();
        let nobody = sandbox.connect(8123).await.err().expect("no program listens yet");
        assert!(matches!(nobody, SandboxError::Port { port: 8123, .. }), "{nobody}");
        let server = "import socket\nserver = socket.create_server(('127.0.0.1', 8123))\nprint('ready', flush=True)\n\
                      client, _ = server.accept()\nheard = b''\nwhile part := client.recv(65536): heard += part\n\
                      client.sendall(heard.upper())";
        let mut process = sandbox.spawn(ExecRequest::new(["python3", "-c", server])).await.unwrap();
        until(&mut *process, "ready").await;
        let mut connection = sandbox.connect(8123).await.unwrap();
        let text = "hello ".repeat(50_000);
        connection.write_all(text.as_bytes()).await.unwrap();
        connection.shutdown().await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        assert!(answer == text.to_uppercase(), "{} of {} bytes", answer.len(), text.len());
    });
}

#[test]
fn limits_change_while_the_sandbox_runs() {
    with_engine(|options| async move {
        let sandbox = connect(&options).await.create(SandboxSpec::default()).await.unwrap();
        let change = LimitsChange { memory: Some(64 << 20), cpus: Some(0.5), pids: Some(20) };
        sandbox.change_limits(change).await.unwrap();
        let hoard = ExecRequest::new(["python3", "-c", "hoard = bytearray(b'x') * (100 << 20)"]);
        let outcome = sandbox.exec(hoard).await.unwrap();
        assert!(outcome.oom && outcome.exit_code != Some(0), "{outcome:?}");
        let forks = "n=0; while [ $n -lt 40 ]; do sleep 5 & n=$((n+1)); done";
        let outcome = sandbox.exec(ExecRequest::new(["sh", "-c", forks]).exclusive()).await.unwrap();
        assert_ne!(outcome.exit_code, Some(0), "{outcome:?}");
        let too_much = LimitsChange { memory: Some(1 << 60), ..LimitsChange::default() };
        assert!(matches!(sandbox.change_limits(too_much).await, Err(SandboxError::Refused { .. })));
    });
}

#[test]
fn stopping_ends_processes_and_keeps_files() {
    with_engine(|options| async move {
        let limits = SandboxLimits { disk: Some(16 << 20), ..SandboxLimits::default() };
        let backend = connect(&options).await;
        for spec in [SandboxSpec::default(), SandboxSpec { limits, ..SandboxSpec::default() }] {
            let sandbox = backend.create(spec).await.unwrap();
            read(&*sandbox, "echo kept > file; echo too > /tmp/file; (setsid sleep 300 > /dev/null 2>&1 &)")
                .await;
            assert!(sandbox.stats().await.unwrap().pids.unwrap() >= 1);
            sandbox.pause().await.unwrap();
            sandbox.stop().await.unwrap();
            assert_eq!(sandbox.stats().await.unwrap().pids, Some(0));
            sandbox.start().await.unwrap();
            assert_eq!(read(&*sandbox, "cat file /tmp/file").await, "kept\ntoo\n");
        }
    });
}

#[test]
fn file_names_are_arbitrary() {
    with_engine(|options| async move {
        let sandbox = connect(&options).await.create(SandboxSpec::default()).await.unwrap();
        let names = ["-rf", "two\nlines", "größe", "*", " "];
        for name in names {
            put(&*sandbox, "/workspace", name, "text").await;
        }
        let mut listed: Vec<String> = Vec::new();
        for entry in sandbox.files(FileOperation::List("/workspace".into())).await.unwrap() {
            assert_eq!((entry.kind, entry.size, entry.mode), (FileKind::File, 4, 0o644), "{entry:?}");
            listed.push(entry.name);
        }
        let mut expected = names.map(str::to_owned).to_vec();
        expected.sort();
        assert_eq!(listed, expected);
        let at = |name: &str| PathBuf::from("/workspace").join(name);
        sandbox.files(FileOperation::MakeDirectory(at("deep/er"))).await.unwrap();
        sandbox.files(FileOperation::Rename { from: at("-rf"), to: at("deep/er/-rf") }).await.unwrap();
        sandbox.files(FileOperation::Remove(at("*"))).await.unwrap();
        assert_eq!(read(&*sandbox, "ls -Ab | wc -l; ls deep/er").await, "4\n-rf\n");
        let missing = sandbox.files(FileOperation::Look(at("missing"))).await.unwrap_err().to_string();
        assert!(missing.contains("/workspace/missing"), "{missing}");
    });
}

#[test]
fn file_events_are_reported() {
    with_engine(|options| async move {
        let sandbox = connect(&options).await.create(SandboxSpec::default()).await.unwrap();
        let mut watch = sandbox.watch(Path::new("/workspace")).await.unwrap();
        read(&*sandbox, "echo text > file").await;
        let event = tokio::time::timeout(PROMPT, watch.next()).await.unwrap().unwrap();
        assert_eq!((event.kind, event.path.as_str()), (FileEventKind::Created, "/workspace/file"));
        sandbox.destroy().await.unwrap();
        let end = async { while watch.next().await.is_some() {} };
        tokio::time::timeout(PROMPT, end).await.expect("the event stream ends with the sandbox");
    });
}

#[test]
fn a_read_only_root_leaves_the_workspace_and_tmp() {
    with_engine(|options| async move {
        let spec = SandboxSpec { read_only_root: true, ..SandboxSpec::default() };
        let sandbox = connect(&options).await.create(spec).await.unwrap();
        let text = "for place in / /etc /var /home; do touch $place/file 2> /dev/null && echo $place; done; \
                    echo 1 > /tmp/file && echo 2 > file && cat /tmp/file file; true";
        assert_eq!(read(&*sandbox, text).await, "1\n2\n");
        put(&*sandbox, "/tmp/below", "put", "3\n").await;
        assert_eq!(read(&*sandbox, "cat /tmp/below/put").await, "3\n");
        let written = sandbox.changes().await.unwrap().written;
        assert_eq!(written, ["/tmp/below/put", "/tmp/file", "/workspace/file"]);
    });
}

#[test]
fn caller_labels_are_stored_and_menace_labels_cannot_be_forged() {
    with_engine(|options| async move {
        let backend = connect(&options).await;
        let spec = |name: &str| SandboxSpec {
            labels: BTreeMap::from([(name.to_owned(), "value".to_owned())]),
            ..SandboxSpec::default()
        };
        let refused = backend.create(spec("menace.owner")).await.err().expect("the label is reserved");
        assert!(matches!(refused, SandboxError::Refused { .. }), "{refused}");
        backend.create(spec("session")).await.unwrap().destroy().await.unwrap();
    });
}

#[test]
fn a_timed_out_command_does_not_end_other_commands() {
    with_engine(|options| async move {
        let sandbox = connect(&options).await.create(SandboxSpec::default()).await.unwrap();
        let mut other = sandbox.spawn(ExecRequest::new(["sh", "-c", "echo ready; cat"])).await.unwrap();
        until(&mut *other, "ready").await;
        let orphans = "(setsid sh -c 'sleep 300' > /dev/null 2>&1 &) ; sleep 300";
        let request = ExecRequest::new(["sh", "-c", orphans]).timeout(Duration::from_millis(300));
        assert!(sandbox.exec(request).await.unwrap().timed_out);
        other.write(b"still here\n").await.unwrap();
        until(&mut *other, "still here").await;
        assert_eq!(read(&*sandbox, "ps -o args | grep -c '[s]leep 300'; true").await, "0\n");
    });
}
