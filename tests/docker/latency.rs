//! Latency beside Docker's own client. It asserts nothing and is run by hand:
//! `cargo nextest run --package menace-tests --test docker --run-ignored only --no-capture`.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use menace_model::sandbox::{ExecRequest, SandboxSpec};
use menace_sandbox::Backend;

use crate::{connect, with_engine};

const ROUNDS: usize = 20;

#[test]
#[ignore = "it measures and asserts nothing"]
fn latency_beside_the_docker_client() {
    with_engine(|options| async move {
        let backend = connect(&options).await;
        let mut took: Vec<(&str, Vec<Duration>)> = Vec::new();
        let mut note = |what: &'static str, started: Instant| {
            let time = started.elapsed();
            match took.iter_mut().find(|(name, _)| *name == what) {
                Some((_, times)) => times.push(time),
                None => took.push((what, vec![time])),
            }
        };
        for _ in 0..ROUNDS {
            let started = Instant::now();
            let sandbox = backend.create(SandboxSpec::default()).await.unwrap();
            note("menace create", started);
            let command = Instant::now();
            sandbox.exec(ExecRequest::new(["true"])).await.unwrap();
            note("menace exec", command);
            note("menace create + exec", started);
            let end = Instant::now();
            sandbox.destroy().await.unwrap();
            note("menace destroy", end);
            note("menace create + exec + destroy", started);
            let started = Instant::now();
            client(&options.host, &["run", "--rm", "--network", "none", &options.image, "true"]);
            note("docker run --rm", started);
        }
        for (name, mut times) in took {
            times.sort();
            eprintln!("{name}: p50 {:?}, fastest {:?}", times[ROUNDS / 2], times[0]);
        }
    });
}

fn client(host: &str, arguments: &[&str]) {
    let mut command = Command::new("docker");
    command.args(["--host", host]).args(arguments).stdin(Stdio::null());
    assert!(command.status().unwrap().success());
}
