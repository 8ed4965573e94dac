//! Connection to the engine: present, missing, lost, behind TLS.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use menace_model::ErrorDetails;
use menace_model::sandbox::{ExecRequest, SandboxSpec, SandboxUser};
use menace_sandbox::docker::{DockerBackend, DockerOptions};
use menace_sandbox::{Backend, SandboxError};

use crate::proxy::EngineProxy;
use crate::{PROMPT, connect, read, with_engine};

fn problem<T>(result: Result<T, SandboxError>) -> String {
    match result {
        Ok(_) => panic!("this should have been an error"),
        Err(error) => {
            let hint = error.hint().map_or(String::new(), |hint| format!("\nhint: {hint}"));
            format!("{error}{hint}")
        }
    }
}

#[test]
fn a_missing_engine_is_an_error_with_a_hint() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let options = DockerOptions::from_environment("test");
    for (host, tls, expected) in [
        (format!("unix://{}/none.sock", directory.path().display()), None, "start dockerd"),
        ("tcp://127.0.0.1:9".to_owned(), None, "start dockerd"),
        ("ssh://somewhere".to_owned(), None, "unix:///path or tcp://host:port"),
        ("tcp://127.0.0.1:9".to_owned(), Some(directory.path().to_owned()), "key.pem"),
    ] {
        let options = DockerOptions { host: host.clone(), tls, ..options.clone() };
        let text = problem(runtime.block_on(DockerBackend::connect(&options)));
        assert!(text.contains(expected), "{host}: {text}");
    }
}

#[test]
fn a_missing_image_is_refused() {
    with_engine(|options| async move {
        let spec = SandboxSpec { image: Some("no-such-image:1".into()), ..SandboxSpec::default() };
        let text = problem(connect(&options).await.create(spec).await);
        assert!(text.contains("no-such-image:1") && text.contains("hint: docker pull"), "{text}");
    });
}

#[test]
fn an_externally_removed_container_is_gone() {
    with_engine(|options| async move {
        let sandbox = connect(&options).await.create(SandboxSpec::default()).await.unwrap();
        let mut process = sandbox.spawn(ExecRequest::new(["sleep", "100"])).await.unwrap();
        let mut socket = UnixStream::connect(options.host.trim_start_matches("unix://")).unwrap();
        let id = sandbox.id();
        write!(socket, "DELETE /containers/menace-{id}?force=1 HTTP/1.0\r\nHost: engine\r\n\r\n").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.0 204"), "{answer}");
        let gone = |result: Result<(), SandboxError>| {
            assert!(matches!(result, Err(SandboxError::Gone { .. })), "{result:?}");
        };
        gone(tokio::time::timeout(PROMPT, process.next()).await.unwrap().map(drop));
        gone(sandbox.exec(ExecRequest::new(["true"])).await.map(drop));
        gone(sandbox.stats().await.map(drop));
        gone(sandbox.pause().await);
        sandbox.destroy().await.unwrap();
    });
}

#[test]
fn a_lost_engine_is_an_error_not_a_hang() {
    with_engine(|options| async move {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("engine.sock");
        let proxy = EngineProxy::at(&socket, &options.host);
        let cut_off = DockerOptions { host: format!("unix://{}", socket.display()), ..options.clone() };
        let backend = connect(&cut_off).await;
        let sandbox = backend.create(SandboxSpec::default()).await.unwrap();
        let mut process = sandbox.spawn(ExecRequest::new(["sleep", "100"])).await.unwrap();
        proxy.cut();
        let started = Instant::now();
        let text = problem(process.next().await);
        assert!(text.contains("hint: start dockerd"), "{text}");
        assert!(problem(sandbox.stats().await).contains("hint: start dockerd"));
        assert!(problem(sandbox.destroy().await).contains("hint: start dockerd"));
        assert!(started.elapsed() < PROMPT, "{:?}", started.elapsed());
        let direct = connect(&options).await;
        let found = direct.adopt(sandbox.id(), &SandboxSpec::default()).await.unwrap().unwrap();
        found.destroy().await.unwrap();
    });
}

#[test]
fn an_engine_behind_tls_accepts_client_certificates() {
    with_engine(|options| async move {
        let directory = tempfile::tempdir().unwrap();
        let (_proxy, port) = EngineProxy::with_tls(directory.path(), &options.host).await;
        let host = format!("tcp://localhost:{port}");
        let with =
            DockerOptions { host: host.clone(), tls: Some(directory.path().to_owned()), ..options.clone() };
        let backend = connect(&with).await;
        let sandbox = backend.create(SandboxSpec::default()).await.unwrap();
        assert_eq!(read(&*sandbox, "echo through TLS").await, "through TLS\n");
        assert!(
            sandbox.isolation().await.unwrap().left_out.iter().any(|step| step.contains("another machine"))
        );
        sandbox.destroy().await.unwrap();
        let without = DockerOptions { host, tls: None, ..options };
        assert!(DockerBackend::connect(&without).await.is_err());
    });
}

#[test]
fn root_in_a_container_has_no_capabilities_and_is_mapped() {
    with_engine(|options| async move {
        let spec = SandboxSpec { user: SandboxUser { uid: 0, gid: 0 }, ..SandboxSpec::default() };
        // The engine of the tests runs with `--userns-remap`.
        let sandbox = connect(&options).await.create(spec).await.unwrap();
        assert_eq!(
            read(&*sandbox, "id -u; grep CapEff /proc/self/status").await,
            "0\nCapEff:\t0000000000000000\n"
        );
        assert!(sandbox.isolation().await.unwrap().user_ns);
    });
}
